"""What ``stretto export`` makes of what launches show, checked and timed; no MPI is run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from exports import FOUR, preset, tuned
from stretto.export import gained, intel, probe
from stretto.export.cases import CheckCase
from stretto.export.check import CheckPlan, read, run
from stretto.export.gain import CANDIDATES, TimedCall
from stretto.export.gained import CallGain, ExportGain, OfRow
from stretto.export.output import write
from stretto.export.probe import TIMED, Print
from stretto.export.rules import Rule
from stretto.export.verdicts import UNSEEN, RowCheck, verdicts_of
from stretto.files.export import ExportManifest, ExportRow
from stretto.files.identity import MPIIdentity
from stretto.files.layout import RankLayout
from stretto.measure import settings as s
from stretto.measure.compare import Cell, Comparison
from stretto.measure.stats import Interval
from stretto.measure.verdict import judge


def test_what_differs_from_launch_to_launch_tells_nothing() -> None:
    one, other = Print({"sums": ("a", "a"), TIMED: ("x", "x")}), Print({"sums": ("b", "b")})
    assert one.same(other) is False and not one.by_time_only(other)
    assert one.seen_again(other, longer=True).same(other) is None
    assert one.seen_again(Print({TIMED: ("y", "y")}), longer=False).same(Print(one.kinds)) is True
    held = Print({"sums": ("a", "a"), TIMED: ("y", "y")})
    assert one.by_time_only(held) and one.same(held) is False
    again = Print({"sums": ("a", "a"), TIMED: ("z", "z")})
    assert one.seen_again(again, longer=True).by_time_only(held)
    assert one.seen_again(again, longer=False).same(held) is True, "only the sums are left"
    late = Print({"sums": ("a", "a"), TIMED: ("0", "y")})
    assert late.same(held) is True and Print({TIMED: ("0", "y")}).same(held) is None


#: what a call shows: of the MPI by itself, with the files, forced; sums are always seen, the other
#: only where ranks are held
Shown = dict[str, tuple[tuple[str, str], tuple[str, str]]]
STEADY, OTHER = ("s", "s"), ("o", "o")
BY_ARRIVALS: dict[str, tuple[Shown, str, str]] = {
    # Intel MPI's own reduce of 4 bytes adds in another order than presets 2 and 5, which are alike
    # in that: what it does says nothing of whether the files do what forcing does
    "another one with these sums": (
        {"own": (OTHER, OTHER), "files": (STEADY, OTHER), "forced": (STEADY, STEADY)},
        "wrong", "another algorithm",
    ),
    "the row's": (
        {"own": (OTHER, OTHER), "files": (STEADY, STEADY), "forced": (STEADY, STEADY)},
        "proven", "it applies at 4, 65536 bytes",
    ),
    "the row's, where only held ranks tell it from the MPI's own": (
        {"own": (STEADY, OTHER), "files": (STEADY, STEADY), "forced": (STEADY, STEADY)},
        "proven", "it applies at 4, 65536 bytes",
    ),
    "a busy machine": (
        {"own": (OTHER, OTHER), "files": (STEADY, ("x", "y")), "forced": (STEADY, STEADY)},
        "unproven", UNSEEN,
    ),
    "a busy machine, at first": (
        {"own": (STEADY, ("x", "y")), "files": (STEADY, STEADY), "forced": (STEADY, STEADY)},
        "unproven", UNSEEN,
    ),
    "the MPI's own": (
        {"own": (STEADY, STEADY), "files": (STEADY, STEADY), "forced": (STEADY, STEADY)},
        "unproven", "native does the same",
    ),
}  # fmt: skip


def verdicts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, show: Callable[[str, int, bool], Print]
) -> dict[int | None, RowCheck]:
    """The verdicts on a row where launches show this, by settings, size, and ranks held or not."""
    export = intel.adjust([Rule("reduce", FOUR, 0, None, preset("reduce", 2))])
    write(export, tmp_path, "test", "intel", MPIIdentity("intel", "mpich", "2021.18", ""))
    manifest, environment = read(tmp_path)
    environment = environment | {"FILES": "1"}

    def take(
        _place: object,
        cases: Sequence[CheckCase],
        _ranks: int,
        settings: Mapping[str, str],
        _unset: object,
        held: Mapping[tuple[str, int, int], int],
    ) -> probe.Prints:
        which = "own" if not settings else "files" if "FILES" in settings else "forced"
        return probe.Prints({c.call: show(which, c.bytes, c.call in held) for c in cases})

    monkeypatch.setattr(probe, "take", take)
    mpi: Any = SimpleNamespace(family="intel", libmpi=None)
    return run(manifest, environment, CheckPlan(mpi), quiet=True)


def test_calls_without_a_row_are_looked_at_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A busy machine shows nothing of them at first, and they were left "nothing tells"."""
    looks = 0

    def show(_which: str, _size: int, held: bool) -> Print:
        nonlocal looks
        looks += held
        return Print({TIMED: STEADY if looks > 20 else ("x", "y")})

    found = verdicts(tmp_path, monkeypatch, show)[None]
    assert found.status == "proven" and looks > 20
    monkeypatch.setattr("stretto.export.check.MORE_LOOKS", 0)
    looks = -1000
    found = verdicts(tmp_path, monkeypatch, show)[None]
    assert found.status == "unproven" and found.why.endswith(UNSEEN), found


@pytest.mark.parametrize("what", list(BY_ARRIVALS))
def test_equal_sums_prove_nothing(
    what: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown, status, why = BY_ARRIVALS[what]

    def show(which: str, _size: int, held: bool) -> Print:
        sums, arrivals = shown[which]
        return Print({"sums": sums} | ({TIMED: arrivals} if held else {}))

    found = verdicts(tmp_path, monkeypatch, show)[0]
    assert found.status == status and why in found.why, found


def test_files_with_which_a_call_ends_the_job_are_wrong() -> None:
    """Where the MPI by itself gets through, inside a row or beside it."""
    rows = [ExportRow("allreduce", 4, 1, 4, 1024, None, list(tuned("allreduce", 3)))]
    mpi = MPIIdentity("openmpi", "openmpi", "4.1.4", "")
    manifest = ExportManifest("openmpi-4", "", mpi, {}, [], rows)
    cases = [CheckCase("allreduce", n, 4, 0, inside) for n, inside in ((1024, True), (1020, False))]
    own = probe.Prints({c.call: Print({probe.COUNTED: STEADY}) for c in cases})
    for case in cases:
        files = probe.Prints({call: seen for call, seen in own.seen.items() if call != case.call})
        files.failed[case.call] = "the job ended"
        seen = [(cases, own), (cases, files), (cases[:1], own)]
        found = verdicts_of(manifest, cases, seen, probe.COUNTED)[0]
        assert found.status == "wrong" and "with the files the job ended" in found.why, found


def test_one_end_of_a_row_does_not_prove_the_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With four bytes the row's algorithm and the one that runs may well do the same."""

    def show(which: str, size: int, held: bool) -> Print:
        busy = size > 4 and which == "files"
        arrivals = ("x", "y") if busy else OTHER if which == "own" else STEADY
        return Print({"sums": STEADY} | ({TIMED: arrivals} if held else {}))

    found = verdicts(tmp_path, monkeypatch, show)[0]
    assert found.status == "unproven" and found.why.startswith("reduce of 65536 bytes"), found


def test_a_row_that_runs_otherwise_at_one_end_is_not_proven() -> None:
    """Its algorithm calls a collective with a row of its own there; or it fails when forced."""
    rows = [
        ExportRow(
            "reduce_scatter_block", 4, 1, 4, 1024, 4096, list(tuned("reduce_scatter_block", 1))
        ),
        ExportRow("reduce", 4, 1, 4, 16384, None, list(tuned("reduce", 1))),
    ]
    mpi = MPIIdentity("openmpi", "openmpi", "4.1.4", "")
    manifest = ExportManifest("openmpi-4", "", mpi, {}, [], rows)
    cases = [CheckCase("reduce_scatter_block", size, 4, 0, True) for size in (1024, 4096)]

    def prints(small: str, large: str) -> probe.Prints:
        kinds = ({probe.COUNTED: (x, x)} for x in (small, large))
        return probe.Prints({c.call: Print(k) for c, k in zip(cases, kinds, strict=True)})

    def verdict(files: str, forced: probe.Prints) -> RowCheck:
        seen = [(cases, prints("own", "own")), (cases, prints("row", files)), (cases, forced)]
        return verdicts_of(manifest, cases, seen, probe.COUNTED)[0]

    found = verdict("other", prints("row", "row"))
    assert found.status == "unproven" and "of 4096 bytes" in found.why, found
    assert "calls other collectives, which also have rows" in found.why
    assert verdict("row", prints("row", "row")).status == "proven"
    failed = prints("row", "row")
    del failed.seen[cases[1].call]
    failed.failed[cases[1].call] = "the job ended"
    found = verdict("row", failed)
    assert found.status == "unproven" and "the forced algorithm fails here" in found.why, found


Arrivals = Callable[[str, int], tuple[str, str]]


def unseen_of_files(looks: int) -> Arrivals:
    return lambda which, look: ("x", "y") if which == "files" and look <= looks else STEADY


def own_at_first(which: str, look: int) -> tuple[str, str]:
    if which != "own":
        return STEADY
    return ("x", "x") if look == 1 else OTHER


@pytest.mark.parametrize(
    ("own_sums", "arrivals", "status"),
    [
        # what a busy machine does not show is looked at again, three times at most
        (OTHER, unseen_of_files(1), "proven"),
        (OTHER, unseen_of_files(3), "proven"),
        (OTHER, unseen_of_files(4), "unproven"),
        # the native selection, which was not the same twice
        (STEADY, own_at_first, "proven"),
        # once may be chance, whatever the sums of the native selection are
        (OTHER, lambda which, look: OTHER if (which, look) == ("files", 1) else STEADY, "proven"),
    ],
)  # fmt: skip
def test_calls_with_doubtful_arrivals_are_looked_at_again(
    own_sums: tuple[str, str],
    arrivals: Arrivals,
    status: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    looks: Counter[tuple[str, int]] = Counter()

    def show(which: str, size: int, held: bool) -> Print:
        sums = {"sums": own_sums if which == "own" else STEADY}
        if not held:
            return Print(sums)
        looks[which, size] += 1
        return Print({**sums, TIMED: arrivals(which, looks[which, size])})

    assert verdicts(tmp_path, monkeypatch, show)[0].status == status


CALLS = [CheckCase("bcast", size, 4, 0, True) for size in range(1, 8)]


def ending(monkeypatch: pytest.MonkeyPatch, *at: int | None) -> list[int]:
    """Have launches end at the call of so many bytes (None: at the start), in this order.

    Returned are how many calls each launch was asked for.
    """
    asked, ends = [], list(at)

    def launch(
        _place: object, calls: Sequence[tuple[str, int, int]], *rest: Any
    ) -> tuple[tuple[str, int, int] | None, str | None]:
        asked.append(len(calls))
        end = ends.pop(0) if ends else 0
        for call in calls:
            if end is None or call[1] == end:
                return (None if end is None else call), f"the job ended: {end}"
            rest[-1].seen[call] = Print({"sums": ("a", "a")})
        return None, None

    monkeypatch.setattr(probe, "_launch", launch)
    return asked


@pytest.mark.parametrize(
    ("ends", "once", "failed", "asked"),
    [
        ((), [], [], [7]),
        ((3,), [3], [], [7, 5]),
        ((3, 5), [3, 5], [], [7, 5, 3]),
        ((3, 3), [], [3], [7, 5, 4]),
        ((None,), [1, 2, 3, 4, 5, 6, 7], [], [7, 7]),
        ((None, None), [], [1, 2, 3, 4, 5, 6, 7], [7, 7]),
        ((2, None, 2), [3, 4, 5, 6, 7], [2], [7, 6, 6, 5]),
        ((1, 1, 2, 2, 3, 3, 4, 4), [], [1, 2, 3, 4, 5, 6, 7], [7, 7, 6, 6, 5, 5, 4, 4]),
    ],
)
def test_a_call_has_failed_when_two_launches_ended_at_it(
    monkeypatch: pytest.MonkeyPatch,
    ends: tuple[int | None, ...],
    once: list[int],
    failed: list[int],
    asked: list[int],
) -> None:
    seen = ending(monkeypatch, *ends)
    prints = probe.take(None, CALLS, 4, {}, [], {})  # type: ignore[arg-type]
    assert [c[1] for c in prints.once] == once and [c[1] for c in prints.failed] == failed
    assert seen == asked and {*prints.seen, *prints.failed} == {c.call for c in CALLS}


# -- of timed rows

TWO = RankLayout(1, 2, 2)


def compared(p: float | None, ratio: float = 0.5) -> Comparison:
    """A call with the files against the same without, before anything is adjusted."""
    cell = Cell("bcast", 8, "MPI_BYTE", "", 0, "latency")
    interval = Interval(ratio, ratio, ratio, 8)
    return Comparison(cell, "native:files", "bare", interval, (), p, p, judge(interval, p, 8))


def test_calls_of_all_layouts_are_one_family_of_tests() -> None:
    one, *others = ([compared(p)] for p in (0.03, 0.9, None))
    assert one[0].outcome == "faster"
    adjusted = [c for found in gained._one_family([one, *others]) for c in found]
    assert [(c.q, c.outcome) for c in adjusted] == [
        (0.06, "inconclusive"), (0.9, "inconclusive"), (None, "inconclusive")
    ]  # fmt: skip


def test_a_row_is_as_good_as_the_worst_of_its_calls() -> None:
    call = TimedCall(s.make_case("bcast", 8, CANDIDATES), 0)
    good, bad = (CallGain(call, TWO, None, compared(0.001, r)) for r in (0.5, 2.0))
    none, ended = CallGain(call, TWO), CallGain(call, TWO, failed="with the files it failed: 11")
    stands_in = replace(good, call=replace(call, stands_in=True), comparison=compared(0.9, 1.0))
    of = {
        "faster": (good, good), "slower": (good, bad), "not timed": (good, none),
        "failed": (bad, ended), "not slower": (stands_in,),
        "inconclusive": (good, replace(good, comparison=compared(0.9))),
        "not faster": (good, replace(good, comparison=compared(0.9, 1.0))),
    }  # fmt: skip
    rows = [OfRow(0, want, *gained._of_row(found), found) for want, found in of.items()]
    assert [r.status for r in rows] == list(of)
    beside = tuple(replace(f, call=replace(call, row=None)) for f in (good, none, ended, bad))
    worse = [words for _, words, _ in ExportGain(tuple(rows), beside, ()).worse]
    assert worse[:2] == ["slower", "failed"] and len(worse) == 4, "which ends in an error"
