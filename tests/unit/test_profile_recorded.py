"""Profiles of runs of which not every rank was recorded: what is said is true of the others."""

from __future__ import annotations

import dataclasses
import json
import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from profiles import N, many, of_four
from stretto.diagnose import diagnose
from stretto.errors import CommandFailedError, StrettoError
from stretto.files.profile import Event, Matrix, Node, Profile, format_profile, parse_profile
from stretto.launch.command import Application, Command
from stretto.launch.execute import Result
from stretto.profile.record import _explain_nothing, default_path
from stretto.profile.show import parts
from stretto.report.breakdown import breakdown
from stretto.report.figures.profile import ranks as ranks_figure
from stretto.tune.needs import find_needs


def partial(missing: list[int], **values: Any) -> Profile:
    """Make a profile of four ranks that all do the same, of which some were not recorded."""

    def each(value: float) -> list[float]:
        return [0.0 if r in missing else value for r in range(N)]

    kept = [r for r in range(N) if r not in missing]
    reduce = of_four(
        "MPI_Allreduce", "collective", each(1.0), communicator=None, operation="MPI_SUM",
        calls=[int(v) for v in each(100)], bytes=[int(v) for v in each(800)],
    )  # fmt: skip
    base: dict[str, Any] = {
        "nodes": [Node("a", kept), Node("unknown", missing)], "complete": False,
        "incomplete_ranks": missing, "unrecorded_ranks": missing, "wall_s": each(10.0),
        "file_s": each(0.0), "file_bytes": [0] * N, "communicators": [],
        "messages": [(kept[0], kept[1], 5, 50), (kept[0], missing[0], 7, 70)],
        "node_matrix": Matrix([(0, 0, 5, 50), (0, 1, 7, 70)]),
        "timeline": [Event(kept[1], "MPI_Allreduce", None, 8, 0.0, 1.0)],
    }  # fmt: skip
    return many([reduce], **(base | values))


def test_the_recorded_part() -> None:
    whole = partial([0, 2])
    part = whole.recorded_part()
    assert (part.nranks, part.complete, part.incomplete_ranks) == (2, True, [])
    assert part.wall_s == [10.0, 10.0] and part.file_bytes == [0, 0]
    assert part.calls[0].calls == [100, 100] and part.calls[0].wait_s is None
    assert [part.number(i) for i in range(2)] == [1, 3] and whole.number(3) == 3
    assert [(n.name, n.ranks) for n in part.nodes] == [("a", [0, 1])]
    assert part.matrix.messages == [(0, 1, 5, 50)]
    assert part.node_matrix.messages == [(0, 0, 5, 50)]
    assert part.timeline is not None and part.timeline[0].rank == 1
    assert whole.nranks == 4 and whole.calls[0].calls == [0, 100, 0, 100]
    all_there = partial([3], incomplete_ranks=[], unrecorded_ranks=[])
    assert all_there.recorded_part() is all_there
    old = dataclasses.replace(whole, unrecorded_ranks=None)  # of a Stretto that did not tell
    assert old.recorded_part() is old and old.cut_short == [0, 2]
    whole = partial([0], incomplete_ranks=[0, 2])
    assert whole.cut_short == [2]
    part = whole.recorded_part()
    assert (part.nranks, part.complete, part.incomplete_ranks) == (3, False, [1])


def test_no_imbalance_is_told_of_ranks_without_a_recording() -> None:
    found = diagnose(partial([1]))
    assert found.compute_share == pytest.approx(0.9)
    assert found.mpi_share == pytest.approx(0.1)
    assert "imbalance" not in {c.name for c in found.causes}
    assert any("nothing was recorded on ranks 1:" in w for w in found.warnings)
    assert not any("cut short" in w for w in found.warnings)
    slow = partial([0], wall_s=[0.0, 10.0, 10.0, 20.0])
    waiting = dataclasses.replace(slow.calls[0], wait_s=[0.0, 9.0, 9.0, 0.0], sampled=100)
    waiting.transfer_s, waiting.time_s = [0.0, 1.0, 1.0, 1.0], [0.0, 10.0, 10.0, 1.0]
    told = diagnose(dataclasses.replace(slow, wall_s=[0.0, 20.0, 20.0, 20.0], calls=[waiting],
                                        mpi_s=[0.0, 10.0, 10.0, 1.0]))  # fmt: skip
    cause = next(c for c in told.causes if c.name == "imbalance")
    assert "rank 3 computes 19 s" in cause.evidence[0]
    compute = next(p for p in parts(partial([1]).recorded_part()) if p.name.startswith("computing"))
    assert compute.mean == pytest.approx(9.0)


def test_the_report_draws_the_recorded_ranks() -> None:
    whole = partial([1], wall_s=[10.0, 0.0, 10.0, 12.0])
    found = breakdown(whole)
    assert found.slowest == 3
    assert found.share("compute") == pytest.approx((29.0 / 3) / (32.0 / 3))
    rows = json.dumps(ranks_figure(whole, found).chart.to_dict())
    assert "rank 3 on a" in rows and "rank 0 on a" in rows and "rank 1 on" not in rows


def test_tuning_takes_the_median_of_the_recorded_ranks() -> None:
    assert find_needs(partial([0, 1])).wall_s == 10.0


def test_files_tell_it() -> None:
    whole = partial([1])
    assert parse_profile(format_profile(whole), "x") == whole
    wrong = dataclasses.replace(whole, incomplete_ranks=[])
    with pytest.raises(StrettoError, match="unrecorded_ranks"):
        parse_profile(format_profile(wrong), "x")


def test_command_that_failed_without_a_profile_has_its_reason_and_a_remedy(tmp_path: Path) -> None:
    rule = 74 * "-"
    box = f"{rule}\nmpirun was unable to launch the specified application:\n\nExecutable: ./no\n"
    result = Result(132, 0.1, "", f"{box}Node: vm\n\nwhile attempting to start it.\n{rule}\n")
    for program, remedy in (
        ("./no", "check its name and PATH: there is no program ./no here"),
        ("sh", "first make the command succeed without Stretto"),
    ):
        command = Command(("mpirun", program), applications=(Application(1, 1, 2),))
        job = SimpleNamespace(command=command, environ={"PATH": os.defpath}, cwd=tmp_path)
        with pytest.raises(CommandFailedError) as caught:
            _explain_nothing(job, result)  # type: ignore[arg-type]
        assert caught.value.remedy == remedy
        assert caught.value.message == (
            "the command ended with 132; last output: mpirun was unable to launch the specified "
            "application, Executable: ./no, Node: vm"
        )


@pytest.mark.parametrize(
    ("words", "name"),
    [(["python3", "-u", "cg.py", "x"], "cg"), (["./cg"], "cg"), (["bash", "job.sh"], "job")],
)
def test_profile_has_the_name_of_the_program_or_script(
    tmp_path: Path, words: list[str], name: str
) -> None:
    command = Command(tuple(words), applications=(Application(0, 0, len(words)),))
    job = SimpleNamespace(command=command, cwd=tmp_path)
    assert default_path(job) == tmp_path / f"{name}.profile.json"  # type: ignore[arg-type]
