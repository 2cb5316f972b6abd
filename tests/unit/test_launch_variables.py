"""What becomes of a command's words and its environment, for each launcher."""

from __future__ import annotations

from pathlib import Path

import pytest

from answering import VERSIONS, answer
from stretto import built
from stretto.errors import StrettoError
from stretto.kinds import Abi, Part
from stretto.launch.command import parse_command
from stretto.launch.inject import join_preload, prepare, rank_variables
from stretto.launch.job import Job
from stretto.launch.layout import JobLayout
from stretto.mpi.base import MPIInstallation
from stretto.mpi.intel import IntelMPI
from stretto.mpi.mpich import MPICH
from stretto.mpi.openmpi import ENV_LIST, ENV_LIST_INTERNAL, OpenMPI

LIB = Path("/opt/stretto/libstretto.so")
CHOICE = {"STRETTO_CHOICE": "allreduce=shm;bcast=shm"}
SENT = {"STRETTO_CHOICE": "allreduce=shm bcast=shm"}  # as it reaches the ranks
LISTED = f"STRETTO_CHOICE={SENT['STRETTO_CHOICE']};LD_PRELOAD={LIB}"


def made(kind: str) -> MPIInstallation:
    p = Path("/opt/mpi")
    if kind == "openmpi5":
        return OpenMPI("openmpi", "openmpi", "5.0.11", "", p, None, p / "bin/mpirun")
    if kind == "mpich":
        return MPICH("mpich", "mpich", "5.0.2", "", p, None, p / "bin/mpiexec")
    if kind == "intel":
        return IntelMPI("intel", "mpich", "2021.18", "", p, None, p / "bin/mpirun")
    return OpenMPI("openmpi", "openmpi", "4.1.4", "", p, None, p / "bin/mpirun")


def job(tmp_path: Path, kind: str, line: str, **environ: str) -> Job:
    for name in ("mpirun", "srun", "prterun"):
        answer(tmp_path / name, kind)
    env = {"PATH": f"{tmp_path}:/usr/bin:/bin", **environ}
    command = parse_command(line.split(), env, tmp_path)
    return Job(command, made(kind), JobLayout(None, None, None), env, tmp_path)


def prepared(job: Job) -> tuple[str, dict[str, str]]:
    words, environ = prepare(job, [LIB], CHOICE)
    return " ".join(words), {k: v for k, v in environ.items() if k != "PATH"}


X = f"-x STRETTO_CHOICE={SENT['STRETTO_CHOICE']} -x LD_PRELOAD={LIB}"
GENV = f"-genv STRETTO_CHOICE {SENT['STRETTO_CHOICE']} -genv LD_PRELOAD {LIB}"
BY_ENVIRONMENT = {**SENT, "LD_PRELOAD": str(LIB)}


@pytest.mark.parametrize(
    ("kind", "line", "expected", "env"),
    [
        ("openmpi4", "mpirun -x A -n 2 a : -n 1 b", None, {ENV_LIST_INTERNAL: LISTED}),
        ("openmpi5", "mpirun -n 2 a", f"mpirun {X} -n 2 a", {}),
        ("mpich", "mpirun -n 2 a", f"mpirun {GENV} -n 2 a", {}),
        ("intel", "mpirun -n 2 a", f"mpirun {GENV} -n 2 a", {}),
        ("mpich", "mpirun -configfile f", None, BY_ENVIRONMENT),
        # scripts get all by environment
        ("openmpi4", "sh s.sh", None, {**BY_ENVIRONMENT, ENV_LIST_INTERNAL: LISTED}),
        ("openmpi5", "sh s.sh", None, {**BY_ENVIRONMENT, ENV_LIST: LISTED}),
        ("mpich", "sh s.sh", None, BY_ENVIRONMENT),
    ],
)
def test_each_launcher_is_given_it_in_its_own_way(
    tmp_path: Path, kind: str, line: str, expected: str | None, env: dict[str, str]
) -> None:
    (tmp_path / "s.sh").write_text("mpirun a")
    assert prepared(job(tmp_path, kind, line)) == (expected or line, env)


def test_openmpi4_where_the_user_has_a_list(tmp_path: Path) -> None:
    line = "mpirun --mca mca_base_env_list A=1 -n 2 a"
    words, env = prepared(job(tmp_path, "openmpi4", line))
    assert words == f"mpirun --mca mca_base_env_list A=1;{LISTED} -n 2 a"
    assert env == {}
    words, env = prepared(job(tmp_path, "openmpi4", "mpirun -n 2 a", **{ENV_LIST: "A=1"}))
    assert env == {ENV_LIST: f"A=1;{LISTED}"}
    # in a file of parameters, and with another delimiter: neither the launcher nor the ranks had it
    (tmp_path / ".openmpi").mkdir()
    (tmp_path / ".openmpi" / "mca-params.conf").write_text("#\n mca_base_env_list = A=1;B=2 \n")
    home = {"HOME": str(tmp_path)}
    words, env = prepared(job(tmp_path, "openmpi4", "mpirun -n 2 a", **home))
    assert env[ENV_LIST] == f"A=1;B=2;{LISTED}" and ENV_LIST_INTERNAL not in env
    given = "--mca mca_base_env_list_delimiter ,"
    words, env = prepared(job(tmp_path, "openmpi4", f"mpirun {given} -n 2 a"))
    assert env[ENV_LIST_INTERNAL] == LISTED.replace(";", ",")
    words, env = prepared(job(tmp_path, "openmpi4", line.replace("--mca", f"{given} --mca", 1)))
    assert f"A=1,{LISTED.replace(';', ',')}" in words
    with pytest.raises(StrettoError, match="which separates variables in the Open MPI list"):
        prepared(job(tmp_path, "openmpi4", f"mpirun {given[:-1]}= -n 2 a"))


@pytest.mark.parametrize(
    ("line", "export"),
    [
        ("srun -n 2 a", f"srun --export=ALL,LD_PRELOAD={LIB} -n 2 a"),
        ("srun --export=ALL,A=1 a", f"srun --export=ALL,A=1,LD_PRELOAD={LIB} a"),
        ("srun --export A a", f"srun --export A,STRETTO_CHOICE,LD_PRELOAD={LIB} a"),
        ("srun --export=NONE a", f"srun --export=STRETTO_CHOICE,LD_PRELOAD={LIB} a"),
        ("srun --export=ALL,LD_PRELOAD=/x.so a", f"srun --export=ALL,LD_PRELOAD=/x.so:{LIB} a"),
        ("srun -n 2 a : -n 1 b", f"srun --export=ALL,LD_PRELOAD={LIB} -n 2 a : -n 1 b"),
        # what a component exports hides what the first one does
        (
            "srun -n 2 a : --export=ALL,A=1 b",
            f"srun --export=ALL,LD_PRELOAD={LIB} -n 2 a : --export=ALL,A=1,LD_PRELOAD={LIB} b",
        ),
        (
            "srun --export A a : --export ALL b",
            f"srun --export A,STRETTO_CHOICE,LD_PRELOAD={LIB} a : --export ALL,LD_PRELOAD={LIB} b",
        ),
    ],
)
def test_slurm(tmp_path: Path, line: str, export: str) -> None:
    words, env = prepared(job(tmp_path, "slurm", line))
    assert words == export
    assert env == SENT


@pytest.mark.parametrize(
    ("kind", "line", "expected"),
    [
        ("openmpi4", "mpirun -x LD_PRELOAD=/x.so a", f"mpirun -x LD_PRELOAD=/x.so:{LIB} a"),
        ("mpich", "mpirun -genv LD_PRELOAD /x.so a", f"-genv LD_PRELOAD /x.so:{LIB} a"),
        ("mpich", "mpirun -env LD_PRELOAD=/x.so a", f"-env LD_PRELOAD=/x.so:{LIB} a"),
        ("mpich", "mpirun -n 1 env LD_PRELOAD=/x.so a", f"-n 1 env LD_PRELOAD=/x.so:{LIB} a"),
        ("openmpi5", "mpirun -x LD_PRELOAD=/x.so a", f"-x LD_PRELOAD=/x.so:{LIB} a"),
    ],
)
def test_the_users_preload_stays(tmp_path: Path, kind: str, line: str, expected: str) -> None:
    words, _ = prepared(job(tmp_path, kind, line))
    assert words.endswith(expected)


def test_the_users_preload_in_the_environment_stays(tmp_path: Path) -> None:
    for line in ("mpirun a", "env LD_PRELOAD=/x.so mpirun a"):
        env = {} if "=" in line else {"LD_PRELOAD": "/x.so"}
        words, after = prepared(job(tmp_path, "openmpi4", line, **env))
        assert after[ENV_LIST_INTERNAL].endswith(f"LD_PRELOAD=/x.so:{LIB}")
        assert after.get("LD_PRELOAD") == env.get("LD_PRELOAD")
        assert words == line


def test_settings_of_env_before_the_launcher_do_not_hide_ours(tmp_path: Path) -> None:
    words, _ = prepared(job(tmp_path, "openmpi4", "env STRETTO_CHOICE=x STRETTO_AFTER=1 mpirun a"))
    assert words == f"env STRETTO_CHOICE={SENT['STRETTO_CHOICE']} STRETTO_AFTER=1 mpirun a"


@pytest.mark.parametrize("kind", ["openmpi4", "openmpi5", "mpich", "slurm"])
def test_settings_of_env_before_a_program_do_not_hide_ours(tmp_path: Path, kind: str) -> None:
    """With them --threads 1,2,4 drew a curve of four threads everywhere."""
    launcher = "srun" if kind == "slurm" else "mpirun"
    line = f"{launcher} -n 2 env N=4 A=1 ./a N=9 : -n 1 env STRETTO_VERBOSE=2 N=5 ./b"
    one = job(tmp_path, kind, line, STRETTO_VERBOSE="1")
    words, _ = prepare(one, [], {"N": "3"})
    text = " ".join(words)
    assert text.count("env N=3 A=1 ./a N=9 : ") == 1
    assert text.endswith("env STRETTO_VERBOSE=2 N=3 ./b"), "the user's own is left alone"


def test_the_users_settings_reach_every_rank(tmp_path: Path) -> None:
    one = job(tmp_path, "openmpi5", "mpirun a", STRETTO_VERBOSE="1", STRETTO_LIB_DIR="/x")
    words, _ = prepare(one, [LIB], CHOICE)
    assert "STRETTO_VERBOSE=1" in words
    assert not any("LIB_DIR" in w for w in words)


def test_nothing_to_do_changes_nothing(tmp_path: Path) -> None:
    for kind in VERSIONS:
        name = "srun" if kind == "slurm" else "mpirun"
        one = job(tmp_path, kind, f"{name} -n 2 a")
        assert prepare(one, [], {}) == ([name, "-n", "2", "a"], one.environ)


def test_join_preload() -> None:
    assert join_preload("/a /b", "/b:/c", "") == "/a:/b:/c"


def test_values_and_paths_that_no_launcher_can_carry(tmp_path: Path) -> None:
    with pytest.raises(StrettoError, match="contains a semicolon"):
        rank_variables(job(tmp_path, "mpich", "mpirun a"), [LIB], {"STRETTO_TABLE": "/a;b"})
    with pytest.raises(StrettoError, match="blank, colon"):
        rank_variables(job(tmp_path, "openmpi4", "mpirun a"), [Path("/my dir/lib.so")], {})


def test_library_names(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    names: dict[tuple[Part, Abi, int | None], str] = {
        ("interposer", "mpich", 5): "libstretto-mpich.so",
        ("interposer", "openmpi", 4): "libstretto-openmpi.so",
        ("interposer", "openmpi", 5): "libstretto-openmpi5.so",
        ("interposer", "openmpi", None): "libstretto-openmpi.so",
        ("record", "openmpi", 4): "libstretto-record-openmpi4.so",
        ("record", "openmpi", 5): "libstretto-record-openmpi.so",
        ("record", "mpich", 4): "libstretto-record-mpich.so",
        ("bench", "mpi5", None): "stretto-bench-mpi5",
        ("plan", "mpich", None): "libstretto-plan.so",
    }
    assert {part: built.file_name(*part) for part in names} == names
    monkeypatch.setenv("STRETTO_LIB_DIR", str(tmp_path))
    with pytest.raises(StrettoError, match="not built") as caught:
        built.library("plan", "mpich")
    assert str(tmp_path) in str(caught.value.place)
