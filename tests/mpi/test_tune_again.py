"""A tuning that is gone on with: of the same program, each run its own, and said where none was."""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

import stretto.tune.verify as verify_module
from mpis import MPIS
from processes import executable
from stretto.cli import main
from stretto.errors import CommandFailedError, StrettoError
from stretto.files.identity import Host, MPIIdentity
from stretto.files.profile import (
    Call,
    Communicator,
    Node,
    Profile,
    read_profile,
    write_profile,
)
from stretto.files.program import take
from stretto.files.settings import write_settings
from stretto.files.table import Row, Table, write_table
from stretto.files.verdict import Metric, read_verdict, write_verdict
from stretto.launch.evidence import Evidence
from stretto.launch.execute import Result
from stretto.launch.layout import JobLayout
from stretto.progress import Progress
from stretto.tune import settings
from stretto.tune.place import COPIES, Place
from stretto.tune.profiled import _asked_layout, profile_of
from stretto.tune.session import Options, Tuning
from stretto.tune.settings_runs import SettingRuns
from stretto.tune.trials import Trial
from stretto.tune.unchanged import newer, program_files
from stretto.tune.verify import verify

OLD = "2026-01-02T03:04:05Z"


class Runs:
    """Stands for runs of CMD; `after` is called at the end of each."""

    def __init__(self, after: Callable[[], None] = lambda: None) -> None:
        self.commands: list[list[str]] = []
        self.after = after

    def __call__(
        self, words: list[str], cwd: Path, libraries: list[Path], *_: object, **__: object
    ) -> Trial:
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
    executable(case / "job.sh", f'#!/bin/sh\necho {text} "$@"\n')


def session(case: Path, monkeypatch: pytest.MonkeyPatch, runs: Runs) -> tuple[Tuning, list[str]]:
    """A session with a table that says shm, as of a start now, and what it says."""
    out, said = case / "out", list[str]()
    out.mkdir(exist_ok=True)
    options = Options(
        ["./job.sh", "../mesh"], out, Metric(), Place(case, out / COPIES), pairs=1, mpi="/usr"
    )
    made = Tuning(options, said.append)
    mpi = made.job.mpi
    row = Row("allreduce", 1, 2, 0, None, "shm")
    write_table(Table(mpi.family, mpi.version, 1, 2, OLD, "0", "h", "c", [row]), made.path("table"))
    made.run_s = 1.0
    monkeypatch.setattr("stretto.tune.session.once", runs)
    return made, said


def table() -> Table:
    return Table("openmpi", "4", 1, 2, OLD, "0", "h", "c", [])


def profile() -> Profile:
    return Profile(
        "0", OLD, Host("h", "c", 2, "k", 1), MPIIdentity("openmpi", "openmpi", "4.1.4"),
        ["./job.sh", "../mesh"], 2, [Node("a", [0, 1])], True, [], [1.0, 1.0], [0.5, 0.5],
        [0.0, 0.0], [0.0, 0.0], [], [],
    )  # fmt: skip


def profiled(made: Tuning, programs: bool) -> None:
    """Leave a finished profile, of what the program is now (or of an earlier version)."""
    found = profile()
    if programs:
        found.programs = [take(p) for p in program_files(made.job)]
    found.command_s, found.asked = 1.0, _asked_layout(made)
    write_profile(found, made.path("profile.json"))


def test_where_nothing_is_left_to_run_that_is_said(
    case: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = Runs()
    made, said = session(case, monkeypatch, runs)
    verify(made, profile(), table(), None, [])
    assert not [s for s in said if "already made" in s]
    path = made.path("verdict.json")
    write_verdict(dataclasses.replace(read_verdict(path), created=OLD), path)
    for _ in range(2):
        made, said = session(case, monkeypatch, runs)
        verify(made, profile(), table(), None, [])
        (sentence,) = [s for s in said if "already made" in s]
        assert f"all runs were already made ({OLD}); --restart measures again" in sentence
        assert read_verdict(path).created == OLD, "it is no verdict of today"
    assert len(runs.commands) == 2
    made, said = session(case, monkeypatch, runs)
    made.o.pairs = 2
    verify(made, profile(), table(), None, [])
    assert len(runs.commands) == 4 and read_verdict(path).created > OLD
    assert not [s for s in said if "already made" in s]


def test_another_program_is_not_added_to_the_old_one(
    case: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made, said = session(case, monkeypatch, Runs())
    profiled(made, programs=True)
    assert profile_of(made).programs and f"of {OLD} (--restart" in said[0]
    script(case, "1")
    os.utime(case / "job.sh", ns=(1, 1))
    profile_of(made)  # built again, and the same
    script(case, "2")
    with pytest.raises(StrettoError, match=f"job.sh has changed since {OLD}") as caught:
        profile_of(made)
    assert caught.value.remedy == "--restart measures again" and caught.value.exit_code != 0


def test_a_program_that_a_reset_command_builds_may_differ(
    case: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made, said = session(case, monkeypatch, Runs())
    profiled(made, programs=True)
    script(case, "2")
    made.o.place = dataclasses.replace(made.o.place, reset="make")
    profile_of(made)
    assert "job.sh has changed since" in said[-1] and "note" in said[-1]


def test_a_program_that_changes_meanwhile_ends_the_runs(
    case: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = Runs(lambda: script(case, "2"))
    made, _ = session(case, monkeypatch, runs)
    profiled(made, programs=True)
    with pytest.raises(StrettoError, match="has changed since"):
        verify(made, profile_of(made), table(), None, [])
    assert len(runs.commands) == 1


def test_files_of_the_case_that_changed_are_named(
    case: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made, said = session(case, monkeypatch, Runs())
    profiled(made, programs=True)
    (case / "input").write_text("new")
    profile_of(made)
    (note,) = [s for s in said if "note" in s]
    assert f"earlier runs of {OLD}: input; if ./job.sh reads them, --restart" in note
    made.o.place = dataclasses.replace(made.o.place, in_place=True)
    said.clear()
    profile_of(made)
    assert len(said) == 1, "runs themselves write there"
    assert newer([case / "input", case / "none"], "t") == []
    assert newer([case / "input", case / "none"], "2999-01-01T00:00:00Z") == []


def on(made: Tuning, nodes: int, ppn: int) -> None:
    """Let CMD's line show another layout, as the same line does in another job."""
    made.job = dataclasses.replace(made.job, layout=JobLayout(nodes * ppn, nodes, ppn))


def test_a_profile_of_another_layout_is_refused(
    case: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`mpirun ./app` in a job of four nodes went on with the profile of two."""
    made, _ = session(case, monkeypatch, Runs())
    profiled(made, programs=True)
    on(made, 2, 4)
    with pytest.raises(StrettoError, match=r"another layout: .*, not 2 x 4 \(nodes x ranks\), 8"):
        profile_of(made)
    other = dataclasses.replace(
        read_profile(made.path("profile.json")), asked=_asked_layout(made), command_s=1.5
    )
    write_profile(other, made.path("profile.json"))
    profile_of(made)  # what was asked for, whatever came of it
    assert made.run_s == 1.5
    on(made, 4, 4)
    with pytest.raises(StrettoError, match=r"layout: 2 x 4 .*, not 4 x 4 .*, 16") as caught:
        profile_of(made)
    assert "--restart" in str(caught.value.remedy)


def test_runs_of_another_layout_are_no_part_of_a_verdict(
    case: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = Runs()
    made, _ = session(case, monkeypatch, runs)
    verify(made, profile(), table(), None, [])
    assert read_verdict(made.path("verdict.json")).applied.startswith("layout 1 2 2\n")
    verify(made, profile(), table(), None, [])
    assert len(runs.commands) == 2
    for number in (4, 4):
        other = profile()
        other.nodes = [Node("a", [0]), Node("b", [1])]
        verify(made, other, table(), None, [])
        assert len(runs.commands) == number
    assert len(read_verdict(made.path("verdict.json")).runs) == 2


def searching(case: Path) -> SettingRuns:
    out = case / "out"
    out.mkdir(exist_ok=True)
    options = Options(["./job.sh"], out, Metric(), Place(case, out / COPIES), mpi="/usr", yes=True)
    made = SettingRuns(options, lambda text: None)
    on(made, 2, 4)
    return made


def test_settings_tried_on_another_layout_are_refused(case: Path) -> None:
    """`mpirun ./app` in a job of four nodes: gains of two nodes were told as theirs."""
    made = searching(case)
    write_settings(settings._begin(made, []), made.path("settings.json"))
    settings._begin(made, [])
    on(made, 4, 4)
    with pytest.raises(StrettoError, match=r"another layout: 2 x 4 \(nodes x ranks\), not 4 x 4"):
        settings._begin(made, [])


def test_settings_tried_in_another_environment_are_refused(
    case: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    made = searching(case)
    first = settings._begin(made, [])
    write_settings(first, made.path("settings.json"))
    monkeypatch.setenv("OMP_NUM_THREADS", "4")
    made = searching(case)
    with pytest.raises(StrettoError, match="made with OMP_NUM_THREADS=1 and not 4") as caught:
        settings._begin(made, [])
    assert "--restart" in str(caught.value.remedy)


def test_where_nothing_is_to_be_tried_nothing_runs(
    case: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It ran the native series, and said that no setting was faster."""
    monkeypatch.setattr(settings, "candidates_of", lambda runs: [])
    with pytest.raises(StrettoError, match=r"nothing to try: .* on 2 x 4") as caught:
        settings.tune_settings(searching(case))
    assert "--candidates" in str(caught.value.remedy)


@pytest.mark.parametrize("failures", [1, 2])
def test_a_native_run_has_two_tries_as_a_setting_has(
    case: Path, monkeypatch: pytest.MonkeyPatch, failures: int
) -> None:
    made, left = searching(case), [1] * failures

    def once(*_: object, **named: object) -> Trial:
        return Trial(Result(left.pop() if left else 0, 1.0, "a hiccup\n"), Evidence())

    monkeypatch.setattr("stretto.tune.session.once", once)
    made.file = settings._begin(made, [])
    with Progress("runs", 1) as progress:
        if failures == 1:
            made.turns({"native": None}, 1, progress)
            assert [r.status for r in made.file.runs] == [1, 0]
            return
        with pytest.raises(CommandFailedError, match=r"the native run failed twice: .*a hiccup"):
            made.turns({"native": None}, 1, progress)


def test_programs_of_a_command(case: Path) -> None:
    from stretto.launch.job import understand

    (case / "x.py").write_text("import mpi4py\n")
    job = understand(["sh", "-e", "job.sh", "../mesh"], mpi="/usr")
    assert [p.name for p in program_files(job)] == ["sh", "job.sh"]
    assert program_files(job)[1] == case / "job.sh"
    text = understand(["sh", "-c", "echo " + "x" * 5000], mpi="/usr")
    assert [p.name for p in program_files(text)] == ["sh"]


@pytest.mark.parametrize(
    ("recorded", "transfer_s", "options", "told", "expected"),
    [
        (None, 1.0, [], "there is no profile: stretto", {"profile": None, "launches": 0}),
        ("job.sh.profile.json", 0.0, [], "no algorithm can help", {"calls": [], "launches": 0}),
        ("job.sh.profile.json", 1.0, [], "allreduce of 8 B (3 candidates)",
         {"launches": 20, "runs": 12}),
        ("job.sh.profile.json", 1.0, ["--pairs", "7", "--launches", "8"],
         "8 launches of each of 2 kinds",
         {"launches": 16, "runs": 14}),
        ("stretto-job.sh/job.sh.profile.json", 1.0, [], "continuing with the profile in",
         {"launches": 20, "runs": 12}),
    ],
)  # fmt: skip
def test_a_dry_run_uses_the_profile_that_is_there(
    recorded: str | None, transfer_s: float, options: list[str], told: str,
    expected: dict[str, object], case: Path, capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    """Calls, sizes, launches and times are known from it; nothing is run or written."""
    words = [*MPIS["openmpi4"].require().launcher(2), "./job.sh"]
    call = Call("MPI_Allreduce", "collective", 0, "MPI_SUM", "MPI_DOUBLE", 8, 15, [100, 100],
                [800, 800], [1.0, 3.0], [0.0, 2.0], [transfer_s] * 2, 100)  # fmt: skip
    found = dataclasses.replace(
        profile(), command=words, wall_s=[10.0, 10.0], calls=[call], command_s=10.5,
        communicators=[Communicator(0, "MPI_COMM_WORLD", 2, 1, 2)],
    )  # fmt: skip
    if recorded is not None:
        (case / recorded).parent.mkdir(exist_ok=True)
        write_profile(found, case / recorded)
    there = sorted(case.rglob("*"))
    narrow = ["--collective", "allreduce", "--candidates", "native,shm", *options]
    assert main(["tune", "--dry-run", "--json", *narrow, "--", *words]) == 0
    seen, said = capsys.readouterr()
    assert told in said
    read = json.loads(seen)
    assert read | expected | {"dry_run": True} == read
    assert all(c["collective"] == "allreduce" and c["span"]["low"] == 8 for c in read["calls"])
    assert (read["measuring_s"] > 0) == (read["launches"] > 0) == bool(read["calls"])
    assert sorted(case.rglob("*")) == there
