"""``A : B`` under launchers of any name, and jobs of which some ranks lack the library."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from mpis import MPIS, REPOSITORY, beside_others
from processes import executable
from stretto.kinds import Part
from stretto.launch.evidence import read_evidence
from stretto.launch.execute import Result, run
from stretto.launch.inject import prepare
from stretto.launch.job import understand
from stretto.launch.library import library_for
from stretto.mpi.detect import LAUNCHER_NAMES, Launcher, identify_launcher, is_launcher
from stretto.mpi.openmpi import ENV_LIST

#: a rank that a busy machine starts late is no rank without the library
SETTINGS = {"STRETTO_CHOICE": "allreduce=shm", "STRETTO_INIT_SECONDS": "300"}


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("programs")
    source = REPOSITORY / "tests" / "programs" / "sums.c"
    return {n: m.compile(source, folder / n) for n, m in MPIS.items() if m.libmpi.exists()}


def start(
    words: list[str], env: dict[str, str], cwd: Path, kind: Part, evidence: Path, **more: str
) -> Result:
    """Run a command as `stretto run` or `stretto profile` does, with more variables."""
    job = understand(words, environ=env, cwd=cwd)
    variables = SETTINGS | more
    for name in ("STRETTO_EVIDENCE", "STRETTO_PROFILE_DIR"):
        variables[name] = str(evidence)
    evidence.mkdir()
    argv, environ = prepare(job, [library_for(kind, job.mpi)], variables)
    with beside_others():
        return run(argv, environ, cwd, timeout=600, capture="yes")


@pytest.mark.parametrize(
    ("words", "version"),
    [
        ("mpirun (Open MPI) 4.1.4", "4.1.4"),
        ("orterun (OpenRTE) 4.1.4", "4.1.4"),
        ("mpirun.openmpi (OpenRTE) 4.1.4", "4.1.4"),
        ("prterun (PRRTE) 3.0.13", None),
    ],
)
def test_launcher_by_another_name_keeps_its_version(
    tmp_path: Path, words: str, version: str | None
) -> None:
    path = executable(tmp_path / "mpirun", f"#!/bin/sh\necho '{words}'\n")
    assert identify_launcher(path) == Launcher(path, "openmpi", version)


def test_launcher_is_known_by_links_and_libraries(tmp_path: Path) -> None:
    orterun = Path("/usr/bin/orterun")
    MPIS["openmpi4"].require()
    link, chain, copy = tmp_path / "start", tmp_path / "again", tmp_path / "copy"
    link.symlink_to(orterun)
    chain.symlink_to("start")
    shutil.copy(orterun, copy)
    for path in (link, chain, copy, orterun):
        assert is_launcher(path), path
    script = tmp_path / "mpirun.sh"  # is not asked: it might begin its work
    executable(script, "#!/bin/sh\nexit 3\n")
    for path in (script, Path("/bin/sh"), tmp_path / "none"):
        assert not is_launcher(path), path
    assert "mpirun_rsh" in LAUNCHER_NAMES


@pytest.mark.mpi
def test_mpmd_under_any_launcher_name_gives_every_program_the_library(
    tmp_path: Path, programs: dict[str, Path]
) -> None:
    """Open MPI 4.1: its -x reaches the first program only."""
    mpi, app = MPIS["openmpi4"].require(), str(programs["openmpi4"])
    (tmp_path / "link").symlink_to("/usr/bin/orterun")
    folder = tmp_path / "bin"
    folder.mkdir()
    executable(folder / "mpirun", '#!/bin/sh\nexec /usr/bin/mpiexec.openmpi "$@"\n')
    (tmp_path / "programs.txt").write_text(f"-n 1 {app} a\n-n 1 {app}\n-n 1 {app} c\n")
    free = ["--oversubscribe", "--bind-to", "none"]
    three = ["-n", "1", app, ":", "-n", "1", "env", "A=b", app, "a : b", ":", "-n", "1", app]
    own = ["-n", "1", "-x", "A=1", app, ":", "-x", "B=1", "-n", "2", app]
    lines = [
        (["mpirun.openmpi", *free, *three], {}),
        (["/usr/bin/mpiexec.openmpi", *free, *own], {}),
        (["orterun", *free, "--app", "programs.txt"], {}),
        (["./link", *free, *three], {}),
        (["bin/mpirun", *free, *three], {}),
        # here the launcher refuses -x
        (["orterun", *free, *three], {ENV_LIST: "A=1"}),
    ]
    for number, (words, more) in enumerate(lines):
        evidence = tmp_path / f"evidence{number}"
        done = start(words, mpi.environment | more, tmp_path, "interposer", evidence)
        assert "ranks=3 sum=3" in done.stdout, f"{words}\n{done.stderr}"
        assert read_evidence(evidence).active == 3, words


@pytest.mark.mpi
@pytest.mark.parametrize("name", MPIS)
@pytest.mark.parametrize("kind", ["interposer", "record"])
def test_init_where_a_rank_lacks_the_library_ends_with_a_sentence(
    name: str, kind: Part, tmp_path: Path, programs: dict[str, Path]
) -> None:
    mpi = MPIS[name].require()
    app = str(programs[name])
    launch = mpi.launcher(1)[:-2]
    scripts = {
        "execs": 'unset LD_PRELOAD\nexec "$@"\n',
        "waits": 'unset LD_PRELOAD\n"$@"\n',
        # not seen by looking, as on another node
        "hides": 'unset LD_PRELOAD OMPI_COMM_WORLD_LOCAL_RANK MPI_LOCALRANKID\nexec "$@"\n',
    }
    for script, text in scripts.items():
        path = executable(tmp_path / script, f"#!/bin/sh\n{text}")
        other = [*launch, "-n", "1", app, ":", "-n", "1", str(path), app]
        more = {"STRETTO_INIT_SECONDS": "2"} if script == "hides" else {}
        evidence = tmp_path / f"evidence-{script}"
        done = start(other, mpi.environment, tmp_path, kind, evidence, **more)
        assert done.status not in (0, 124) and not done.timed_out, done.stderr
        assert "without Stretto's library" in done.stderr, done.stderr
        assert "TRUNCATE" not in done.stderr
        assert ("did not arrive within 2 s" in done.stderr) == (script == "hides")


@pytest.mark.mpi
@pytest.mark.parametrize("name", ["openmpi4", "mpich"])
def test_recorder_without_its_directory_on_one_rank_says_so(
    name: str, tmp_path: Path, programs: dict[str, Path]
) -> None:
    mpi, app = MPIS[name].require(), str(programs[name])
    launch = mpi.launcher(1)[:-2]
    words = [*launch, "-n", "1", app, ":", "-n", "1", "env", "-u", "STRETTO_PROFILE_DIR", app]
    done = start(words, mpi.environment, tmp_path, "record", tmp_path / "raw")
    assert done.status == 0 and "ranks=2 sum=1" in done.stdout, done.stderr
    assert "this rank was started without the variable (1 of 2 ranks, this is rank 1)" in (
        done.stderr
    )
