"""A tuning that is gone on with: of the same program, each run its own, and said where none was."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import stretto.tune.verify as verify_module
from mpis import MPIS, one_job_at_a_time
from stretto.files.identity import Host, MPIIdentity
from stretto.files.profile import Node, Profile, read_profile
from stretto.files.table import Row, Table, write_table
from stretto.files.verdict import Metric, read_verdict
from stretto.launch.evidence import Evidence
from stretto.launch.execute import Result
from stretto.tune.place import COPIES, Place
from stretto.tune.profiled import Profiled
from stretto.tune.stage import Options
from stretto.tune.trials import Trial
from stretto.tune.verify import Verifying

OLD = "2026-01-02T03:04:05Z"


class Runs:
    """Stands for runs of CMD; `after` is called at the end of each."""

    def __init__(self, after: Callable[[], None] = lambda: None) -> None:
        self.commands: list[list[str]] = []
        self.after = after

    def __call__(self, words: list[str], cwd: Path, libraries: list[Path], *_: object) -> Trial:
        self.commands.append(words)
        self.after()
        found = Evidence(2, 2, 2, {"allreduce": 9}) if libraries else Evidence()
        return Trial(Result(0, 1.0 + len(self.commands) / 100, "done\n"), found)


@pytest.fixture
def case(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    MPIS["openmpi4"].require()
    where = tmp_path.resolve() / "case"
    where.mkdir()
    (where.parent / "mesh").write_text("m")
    script(where, "1")
    monkeypatch.chdir(where)
    monkeypatch.setattr(verify_module, "library_for", lambda kind, mpi: Path("x.so"))
    return where


def script(case: Path, text: str) -> None:
    (case / "job.sh").write_text(f'#!/bin/sh\necho {text} "$@"\n')
    (case / "job.sh").chmod(0o755)


def stage(case: Path, monkeypatch: pytest.MonkeyPatch, runs: Runs) -> tuple[Verifying, list[str]]:
    """The last stage with a table that says shm, as of a start now, and what it says."""
    out, said = case / "out", list[str]()
    out.mkdir(exist_ok=True)
    options = Options(
        ["./job.sh", "../mesh"], out, Metric(), Place(case, out / COPIES), pairs=1, mpi="/usr"
    )
    made = Verifying(options, said.append)
    mpi = made.job.mpi
    row = Row("allreduce", 1, 2, 0, None, "shm")
    write_table(Table(mpi.family, mpi.version, 1, 2, OLD, "0", "h", "c", [row]), made.path("table"))
    made.run_s = 1.0
    monkeypatch.setattr(verify_module, "once", runs)
    return made, said


def table() -> Table:
    return Table("openmpi", "4", 1, 2, OLD, "0", "h", "c", [])


def profile() -> Profile:
    return Profile(
        "0", OLD, Host("h", "c", 2, "k", 1), MPIIdentity("openmpi", "openmpi", "4.1.4"),
        ["./job.sh", "../mesh"], 2, [Node("a", [0, 1])], True, [], [1.0, 1.0], [0.5, 0.5],
        [0.0, 0.0], [0.0, 0.0], [], [],
    )  # fmt: skip


def test_copies_of_another_host_stay_and_words_are_as_typed(
    case: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = Runs()
    made, _ = stage(case, monkeypatch, runs)
    theirs = made.o.place.work / "run.elsewhere.1.x"
    theirs.mkdir(parents=True)
    made.verify(profile(), table(), None, [])
    assert runs.commands == [["./job.sh", str(case.parent / "mesh")]] * 2
    assert theirs.exists(), "another process may be at work in it, where locks are not to be had"
    assert read_verdict(made.path("verdict.json")).command == ["./job.sh", "../mesh"]


@pytest.mark.mpi
def test_a_profile_of_a_program_outside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mpi = MPIS["openmpi4"].require()
    case = tmp_path / "case"
    (tmp_path / "build").mkdir()
    case.mkdir()
    (tmp_path / "app.c").write_text(
        "#include <mpi.h>\n"
        "int main(int argc, char **argv) {\n"
        "    MPI_Init(&argc, &argv);\n"
        "    MPI_Barrier(MPI_COMM_WORLD);\n"
        "    return MPI_Finalize();\n"
        "}\n"
    )
    mpi.compile(tmp_path / "app.c", tmp_path / "build" / "app")
    monkeypatch.chdir(case)
    words = [*mpi.launcher(2), "../build/app"]
    options = Options(words, case / "out", Metric(), Place(Path.cwd(), case / "out" / COPIES))
    stage = Profiled(options, lambda text: None)
    with one_job_at_a_time():
        found = stage.profile()
    assert found.command == words and found == read_profile(stage.path("profile.json"))
