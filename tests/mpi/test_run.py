"""`stretto run` and `stretto env`: from a table to the ranks of a real job."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from mpis import MPIS, beside_others
from processes import executable, run_program
from stretto.cli import main
from stretto.cli.apply import applied_to
from stretto.errors import StrettoError
from stretto.files.identity import collect_host, this_cpu
from stretto.files.locate import table_path
from stretto.files.settings import SettingsFile, Tried, write_settings
from stretto.files.table import Row, Table, write_table
from stretto.files.verdict import Metric, VerdictFile, write_verdict
from stretto.launch.ask import BROKEN_PIPE
from stretto.launch.inject import Applied
from stretto.launch.job import understand
from stretto.mpi import from_launcher

pytestmark = pytest.mark.mpi

SHOW = """#!/bin/sh
echo "${LD_PRELOAD##*/} | $STRETTO_TABLE | $STRETTO_CHOICE | $STRETTO_VERBOSE | $*"
sleep 0.5  # at once, and Hydra's mpiexec may get a SIGPIPE from a proxy that has ended
[ "$1" = fail ] || exit 0
# the first exit with an error makes the launcher end the others: let them speak first, and it read
echo >> "spoken.$PPID"
until [ "$(wc -l < "spoken.$PPID")" -ge "${OMPI_COMM_WORLD_SIZE:-$PMI_SIZE}" ]; do sleep 0.1; done
sleep 2
exit 7
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    executable(tmp_path / "show.sh", SHOW)
    return tmp_path


Run = Callable[..., subprocess.CompletedProcess[str]]
Env = Callable[..., tuple[int, dict[str, str], str]]


@pytest.fixture
def stretto(folder: Path, stand_ins: Path) -> Run:
    """Return what runs a command of Stretto in the folder, with the environment of an MPI."""

    def start(
        *words: str, name: str = "openmpi4", libs: Path = stand_ins, **env: str
    ) -> subprocess.CompletedProcess[str]:
        begins = ("XDG_", "STRETTO_", "PYTHONPATH", "HOME")
        kept = {k: v for k, v in os.environ.items() if k.startswith(begins)}
        environ = MPIS[name].require().environment | kept | {"STRETTO_LIB_DIR": str(libs)} | env
        for _ in range(3):
            with beside_others():
                done = run_program(
                    [sys.executable, "-m", "stretto", *words], env=environ, cwd=folder, timeout=600
                )
            if done.returncode not in BROKEN_PIPE:
                break
        return done

    return start


def show(name: str = "openmpi4", ranks: int = 2) -> list[str]:
    """Return the words that start show.sh on so many ranks."""
    return [*MPIS[name].require().launcher(ranks), "./show.sh"]


def table(name: str, path: Path, family: str | None = None, cpu: str | None = None) -> Path:
    """Write a table for one of the MPIs here, one node, two ranks."""
    mpi = MPIS[name]
    found = from_launcher(Path(mpi.launcher(1)[0]), mpi.environment)
    value = Table(
        family or found.family, found.version, 1, 2, "2026-11-21T20:00:00Z", "0.1.0", "h",  # type: ignore[arg-type]
        cpu or this_cpu(), [Row("allreduce", 1, 2, 0, None, "shm")],
    )  # fmt: skip
    write_table(value, path)
    return path


@pytest.mark.parametrize("name", MPIS)
def test_without_a_table_nothing_changes(name: str, folder: Path, stretto: Run) -> None:
    done = stretto("run", "--", *show(name), "fail", "a b", "--table", "x", name=name)
    assert done.stdout.splitlines() == [" |  |  |  | fail a b --table x"] * 2
    assert "so nothing is changed" in done.stderr and "stretto tune" in done.stderr
    plain = MPIS[name].run(2, ["./show.sh", "fail"], cwd=folder)
    assert done.returncode == plain.returncode == 7


def test_a_check_needs_no_table(stretto: Run) -> None:
    done = stretto("run", "--", *show(), STRETTO_CHECK_CALLS="1")
    assert done.stdout.splitlines() == ["libstretto-openmpi.so |  |  |  | "] * 2
    assert "STRETTO_CHECK_CALLS=1" in done.stderr and "nothing is changed" not in done.stderr


@pytest.mark.parametrize("name", MPIS)
def test_table(name: str, folder: Path, stretto: Run) -> None:
    """Given by hand, and found in its place."""
    mpi = MPIS[name].require()
    lib = f"libstretto-{mpi.interposer}.so"
    mine = table(name, folder / "my.table")
    words = [*show(name), "-v"]
    options = ["--table", "my.table", "--verbose", "--choice", "bcast=shm"]
    done = stretto("run", *options, "--", *words, name=name)
    assert done.stdout.splitlines() == [f"{lib} | {mine} | bcast=shm | 1 | -v"] * 2
    assert "my.table" in done.stderr and done.returncode == 0
    found = from_launcher(Path(words[0]), mpi.environment)
    placed = table(name, table_path(found, this_cpu(), 1, 2))
    try:
        done = stretto("run", *words, name=name)
    finally:
        placed.unlink()
    assert done.stdout.splitlines() == [f"{lib} | {placed} |  |  | -v"] * 2


def test_what_tune_left_for_this_job(folder: Path, stretto: Run) -> None:
    """The table in stretto-APP/ applies to that program, unless it made it slower."""
    (folder / "stretto-show.sh").mkdir()
    mine = table("openmpi4", folder / "stretto-show.sh" / "show.sh.table")
    assert f"| {mine} |" in stretto("run", "--", *show()).stdout
    table("openmpi4", mine, family="mpich")
    done = stretto("run", "--", *show())
    assert "is not used: it was made on mpich" in done.stderr
    assert done.stdout.splitlines() == [" |  |  |  | "] * 2


def test_a_table_of_another_text_of_the_shell(folder: Path, stretto: Run) -> None:
    """`bash -c A` and `bash -c B` have the same name, and are two jobs."""
    mpi = MPIS["openmpi4"].require()
    (folder / "stretto-bash").mkdir()
    mine = table("openmpi4", folder / "stretto-bash" / "bash.table")
    words = [*mpi.launcher(2), "bash", "-c"]
    found = from_launcher(Path(words[0]), mpi.environment)
    made = VerdictFile(
        "0.1.0", "2026-11-21T20:00:00Z", collect_host(), found.identity,
        [*words, "./show.sh"], Metric(), [], None, None, None, ["nothing was measured"],
    )  # fmt: skip
    write_verdict(made, mine.with_name("bash.verdict.json"))
    done = stretto("run", "--", *words, "./show.sh")
    assert done.stdout.splitlines()[0].split(" | ")[1] == str(mine)
    done = stretto("run", "--", *words, "./show.sh other")
    assert "is not used: it was made with another program" in done.stderr
    assert done.stdout.splitlines() == [" |  |  |  | other"] * 2


def settings_file(path: Path, words: list[str], chosen: dict[str, str]) -> None:
    """Write what `settings` would have left for a command of one node, two ranks."""
    found = from_launcher(Path(words[0]), MPIS["openmpi4"].environment)
    tried = [Tried("it", "", chosen, "faster")]
    write_settings(
        SettingsFile(
            "0.1.0", "2026-11-21T20:00:00Z", collect_host(), found.identity, words, Metric(), 1, 2,
            tried, chosen=chosen, setting="it",
        ),
        path,
    )  # fmt: skip


@pytest.fixture
def env_of(
    folder: Path, stand_ins: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Env:  # fmt: skip
    """Return what `stretto env` would set: code, variables, and what it says."""
    monkeypatch.chdir(folder)
    monkeypatch.setenv("STRETTO_LIB_DIR", str(stand_ins))
    words = show()

    def ask(*options: str) -> tuple[int, dict[str, str], str]:
        code = main(["env", "--json", *options, "--", *words])
        out = capsys.readouterr()
        return code, json.loads(out.out)["variables"] if code == 0 else {}, out.err

    return ask


def test_a_settings_file_sets_names_of_the_catalogue_only(folder: Path, env_of: Env) -> None:
    """It lies in the working directory, and may be anybody's."""
    words = show()
    path = folder / "stretto-show.sh" / "show.sh.settings.json"
    path.parent.mkdir(mode=0o755)
    good = {"OMPI_MCA_btl_tcp_links": "4"}
    settings_file(path, words, good)
    assert env_of()[1] == good
    for name in (
        "LD_PRELOAD", "LD_LIBRARY_PATH", "PATH", "BASH_ENV", "OMPI_MCA_plm_rsh_agent",
        "OMPI_MCA_mca_base_component_path", "OMPI_MCA_mca_base_env_list", "PRTE_MCA_plm_rsh_agent",
        "I_MPI_HYDRA_BOOTSTRAP_EXEC", "HYDRA_LAUNCHER_EXEC", "PYTHONPATH", "A;touch x", "",
    ):  # fmt: skip
        settings_file(path, words, {**good, name: "x"})
        code, variables, said = env_of()
        assert code == 0 and not variables, name
        (note,) = [line for line in said.splitlines() if "is not used" in line]
        assert f"it sets {name}, which" in note
        code, variables, said = env_of("--settings", str(path))
        assert code == 1 and f"error: a settings file may not set {name}:" in said, name
        assert len(said.partition("stretto: error")[2].strip().splitlines()) == 3


@pytest.mark.parametrize("kind", ["table", "settings.json"])
def test_found_files_that_others_may_write_are_not_used(
    kind: str, folder: Path, env_of: Env
) -> None:
    path = folder / "stretto-show.sh" / f"show.sh.{kind}"
    path.parent.mkdir(mode=0o755)
    if kind == "table":
        table("openmpi4", path)
        option, variable = "--table", "STRETTO_TABLE"
    else:
        words = show()
        settings_file(path, words, {"OMPI_MCA_btl_tcp_links": "4"})
        option, variable = "--settings", "OMPI_MCA_btl_tcp_links"
    assert variable in " ".join(env_of()[1])
    for place, mode, owner in (
        (path.parent, 0o757, 0), (path, 0o646, 0), (path, 0o644, 4321), (path.parent, 0o755, 4321)
    ):  # fmt: skip
        if owner and os.geteuid() != 0:
            continue
        path.parent.chmod(0o755)
        path.chmod(0o644)
        place.chmod(mode)
        if owner:
            os.chown(place, owner, -1)
        code, variables, said = env_of()
        assert code == 0 and variable not in " ".join(variables), (place, mode)
        (note,) = [line for line in said.splitlines() if "is not used" in line]
        assert str(place.name) in note and option in note
        assert variable in " ".join(env_of(option, str(path))[1]), "named, it is the user's choice"
        if owner:
            os.chown(place, os.geteuid(), -1)


def test_table_of_another_layout_is_said(folder: Path, stretto: Run) -> None:
    table("openmpi4", folder / "my.table")
    done = stretto("run", "--table", "my.table", "--", *show(ranks=3))
    told = "made for 1 x 2 (nodes x ppn), but the job has 1 x 3; no row fits, so the table changes"
    assert told in done.stderr
    assert len(done.stdout.splitlines()) == 3


def test_a_table_of_another_cpu_is_applied_with_a_note(folder: Path, stretto: Run) -> None:
    """One given by hand, and the job's own: a login node may have other processors."""
    (folder / "stretto-show.sh").mkdir()
    mine = table("openmpi4", folder / "stretto-show.sh" / "show.sh.table", cpu="Fast CPU 9")
    for options in ([], ["--table", str(mine)]):
        done = stretto("run", *options, "--", *show())
        assert done.stdout.count(f"| {mine} |") == 2 and done.returncode == 0
        (note,) = [x for x in done.stderr.splitlines() if "Fast CPU 9" in x]
        assert "note:" in note and f"made on Fast CPU 9, and this machine has {this_cpu()}" in note
        assert note.endswith("tune again on them: stretto tune -- CMD")
    table("openmpi4", mine)
    done = stretto("run", "--", *show())
    assert f"| {mine} |" in done.stdout and "it was made on" not in done.stderr


@pytest.mark.parametrize(
    ("options", "code", "words"),
    [
        ("--choice allreduce=Nosuch", 2, "is not a choice"),
        ("--choice ibcast=shm", 2, "did you mean bcast?"),
        ("--table none.table", 1, "no such file"),
        ("--table show.sh", 1, "does not begin with 'stretto-table'"),
        ("--table mpich.table", 1, "for mpich, but the job uses Open MPI"),
    ],
)
def test_bad_input(folder: Path, stretto: Run, options: str, code: int, words: str) -> None:
    table("openmpi4", folder / "mpich.table", family="mpich")
    done = stretto("run", *options.split(), "--", *show())
    assert (done.returncode, done.stdout) == (code, "")
    assert words in done.stderr and "try:" in done.stderr


def test_what_is_not_there(tmp_path: Path, stretto: Run) -> None:
    done = stretto("run", "--choice", "bcast=shm", "--", *show(), libs=tmp_path / "none")
    assert done.returncode == 1 and "libstretto-openmpi.so is not built" in done.stderr
    done = stretto("run", "--", "./none")
    assert done.returncode != 0 and "no such program" in done.stderr


@pytest.mark.parametrize("name", MPIS)
def test_env_lines_need_no_python(name: str, folder: Path, stretto: Run) -> None:
    """The printed lines, put into a job script, do what `stretto run` does."""
    mpi = MPIS[name].require()
    lines = stretto("env", "--choice", "bcast=shm;reduce=shm", "--", *show(name), name=name)
    assert lines.returncode == 0, lines.stderr
    assert lines.stdout.startswith("# stretto: ")
    assert all(x.startswith("export ") for x in lines.stdout.splitlines()[1:])
    script = folder / "job.sh"
    script.write_text(f"{lines.stdout}exec {shlex.join(show(name))}\n")
    with beside_others():
        done = run_program(["sh", "job.sh"], env=mpi.environment, cwd=folder, timeout=600)
    expected = f"libstretto-{mpi.interposer}.so |  | bcast=shm reduce=shm |  | "
    assert done.stdout.splitlines() == [expected] * 2


def test_env_json_and_layout(stretto: Run) -> None:
    mpi = MPIS["openmpi4"].require()
    found = from_launcher(Path(mpi.launcher(1)[0]), mpi.environment)
    options = ["env", "--json", "--mpi", mpi.launcher(1)[0], "--nodes", "1", "--ppn", "2"]
    assert json.loads(stretto(*options).stdout)["variables"] == {}
    placed = table("openmpi4", table_path(found, this_cpu(), 1, 2))
    try:
        done = stretto(*options)
    finally:
        placed.unlink()
    assert json.loads(done.stdout)["variables"]["STRETTO_TABLE"] == str(placed)


BAD = "bcast=native:rubbish"


def applied(name: str, cwd: Path, choice: str | None, **environ: str) -> Applied:
    mpi = MPIS[name].require()
    job = understand(show(name), environ=mpi.environment | environ, cwd=cwd)
    return applied_to(job, None, choice, False, None)


def test_choice_of_a_native_algorithm_sets_the_variables_of_the_mpi(folder: Path) -> None:
    dynamic = {"OMPI_MCA_coll_tuned_use_dynamic_rules": "1"}
    cases = [
        ("openmpi4", "knomial", {"OMPI_MCA_coll_tuned_bcast_algorithm": "7", **dynamic}),
        ("openmpi4", "coll_tuned_bcast_algorithm=6",
         {"OMPI_MCA_coll_tuned_bcast_algorithm": "6", **dynamic}),
        ("mpich", "binomial", {"MPIR_CVAR_BCAST_INTRA_ALGORITHM": "binomial"}),
        ("intel", "3", {"I_MPI_ADJUST_BCAST": "3"}),
    ]  # fmt: skip
    for name, algorithm, settings in cases:
        choice = f"bcast=native:{algorithm};allreduce=shm"
        for found in (
            applied(name, folder, choice),
            applied(name, folder, None, STRETTO_CHOICE=choice),
        ):
            assert settings.items() <= found.settings.items(), name
            assert found.variables["STRETTO_CHOICE"] == "bcast=native;allreduce=shm"
            assert choice in found.words and "nothing is changed" not in found.words
        for place, more in (("--choice", {}), ("STRETTO_CHOICE", {"STRETTO_CHOICE": BAD})):
            with pytest.raises(StrettoError, match="has no 'rubbish' for bcast") as caught:
                applied(name, folder, None if more else BAD, **more)
            assert caught.value.place == place


def test_run_through_a_container_does_not_say_that_the_choice_applies(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    mpi = MPIS["openmpi4"].require()
    monkeypatch.setattr("stretto.cli.start.execute", lambda *_: None)
    monkeypatch.chdir(folder)
    for wrapper, may_fail in (("apptainer", True), ("numactl", False)):
        (folder / wrapper).symlink_to("show.sh")
        words = ["--choice", "bcast=shm", "--", *mpi.launcher(2), f"./{wrapper}", "./show.sh"]
        assert main(["run", *words]) == 0
        said = capsys.readouterr().err
        assert ("requested: Open MPI 4" in said) == may_fail, said
        assert ("apptainer may prevent it from reaching the ranks (--verbose" in said) == may_fail


def test_learn_names_where_its_report_goes_before_the_program_can_redirect_it(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["--", *MPIS["openmpi4"].require().launcher(2), "./show.sh"]
    monkeypatch.setattr("stretto.cli.start.execute", lambda *_: None)
    monkeypatch.chdir(folder)
    cases = {
        "learn": "stretto-show.sh/show.sh.learned.table",
        "learn -o t.table": "t.table",
        "run": None,
    }
    for command, written in cases.items():
        assert main([*command.split(), *words]) == 0
        line = "rank 0 prints to its standard error what was learned, and writes {}\n"
        said = capsys.readouterr().err
        assert (line.format(written) in said) if written else "learned" not in said, said


def test_variables_of_the_user_are_handed_on_without_a_table(folder: Path) -> None:
    path = table("openmpi4", folder / "my.table")
    cases = {
        "STRETTO_CHOICE": "allreduce=shm",
        "STRETTO_TABLE": str(path),
        "STRETTO_API": "1",
        "STRETTO_CHECK_CALLS": "1",
        "STRETTO_REPRODUCIBLE": "1",
        "STRETTO_REORDER": "1",
    }
    for variable, value in cases.items():
        found = applied("openmpi4", folder, None, **{variable: value})
        assert found.libraries and found.variables == {variable: value}, variable
        assert value in found.words and "nothing is changed" not in found.words
    with pytest.raises(StrettoError) as caught:
        applied("openmpi4", folder, None, STRETTO_CHOICE="rubbish")
    assert caught.value.place == "STRETTO_CHOICE"
