"""What ``stretto export --time`` says of what was timed; no MPI is run."""

from __future__ import annotations

from dataclasses import replace

from stretto.export import gained
from stretto.export.gain import CANDIDATES, TimedCall
from stretto.export.gained import CallGain, ExportGain, OfRow
from stretto.files.layout import RankLayout
from stretto.measure import settings as s
from stretto.measure.compare import Cell, Comparison
from stretto.measure.stats import Interval
from stretto.measure.verdict import judge

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
    worse = [words for _, words, _ in ExportGain(tuple(rows), beside).worse]
    assert worse[:2] == ["slower", "failed"] and len(worse) == 4, "which ends in an error"
