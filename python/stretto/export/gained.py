"""What is said of an export's rows, and of what is beside them, when both were timed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from stretto.counted import counted
from stretto.export.gain import LayoutTiming, TimedCall, TimingPlan, layout_of
from stretto.files.bench import Bench, Excluded, standing_exclusions
from stretto.files.layout import RankLayout
from stretto.measure.compare import (
    BARE,
    Cell,
    Comparison,
    compare,
    decisive,
    shape_of_cell,
    timings,
)
from stretto.measure.compare import Timing as Times
from stretto.measure.show import size_words
from stretto.measure.stats import benjamini_hochberg, geometric_mean
from stretto.measure.verdict import judge
from stretto.mpi.algorithms.base import FILES

#: the worst first
Status = Literal[
    "failed", "slower", "not timed", "inconclusive", "not faster", "not slower", "faster"
]


@dataclass(frozen=True)
class CallGain:
    """What was seen of one call.

    `us`: median time without the files and with them, in the mode that decides. `comparison`: with
    the files against without; None where either has no time.
    """

    call: TimedCall
    layout: RankLayout
    us: tuple[float, float] | None = None
    comparison: Comparison | None = None
    failed: str | None = None

    @property
    def less_than_promised(self) -> bool:
        """The whole interval lies above what the measurements had promised."""
        low = None if self.comparison is None else self.comparison.ratio.low
        return None not in (low, self.call.promised) and low > self.call.promised  # type: ignore[operator]

    @property
    def slower(self) -> bool:
        return self.comparison is not None and self.comparison.outcome == "slower"

    @property
    def words(self) -> str:
        case = self.call.case
        unit = "byte" if case.bytes == 1 else "bytes"
        size = "" if case.collective == "barrier" else f" of {size_words(case.bytes)} {unit}"
        nodes = f" ({self.layout.nodes} x {self.layout.ppn})" if self.layout.nodes > 1 else ""
        return f"{case.collective}{size} on {counted(self.layout.nranks, 'rank')}{nodes}"


@dataclass(frozen=True)
class OfRow:
    index: int
    words: str
    status: Status
    why: str
    calls: tuple[CallGain, ...] = ()


@dataclass(frozen=True)
class ExportGain:
    rows: tuple[OfRow, ...]
    beside: tuple[CallGain, ...]
    notes: tuple[str, ...] = field(default=())

    @property
    def worse(self) -> list[tuple[str, str, str]]:
        """Collective, words and reason of each row and call that is slower, or fails."""
        out = [
            (r.calls[0].call.case.collective, r.words, r.why)
            for r in self.rows
            if r.status in ("failed", "slower")
        ]
        for f in self.beside:
            if f.failed or f.slower:
                why = f.failed or (f.comparison.why if f.comparison else "")
                out.append((f.call.case.collective, f"{f.words}, which has no row", why))
        return out

    def ratios(self) -> tuple[float, float, int] | None:
        """Return the mean ratio, the promised one, and the number of calls that have both."""
        both = [
            (f.comparison.ratio.median, f.call.promised)
            for r in self.rows
            for f in r.calls
            if f.comparison is not None
            and f.comparison.verdict.tested
            and f.call.promised is not None
        ]
        if not both:
            return None
        return geometric_mean([m for m, _ in both]), geometric_mean([p for _, p in both]), len(both)


def gained(plan: TimingPlan, benches: Sequence[Bench], notes: Sequence[str] = ()) -> ExportGain:
    """Return what is said of all rows."""
    found = _found(plan.timings, benches)
    rows = []
    for index, row in enumerate(plan.manifest.rows):
        mine = tuple(f for f in found if f.call.row == index)
        reason = plan.left.get(layout_of(row))
        said: tuple[Status, str] = ("not timed", reason) if reason else _of_row(mine)
        rows.append(OfRow(index, row.words, *said, mine))
    beside = tuple(f for f in found if f.call.row is None)
    return ExportGain(tuple(rows), beside, tuple(notes))


def _found(plans: Sequence[LayoutTiming], benches: Sequence[Bench]) -> list[CallGain]:
    """Judge all calls; the tests of all layouts form one family."""
    times = [timings(b) for b in benches]
    compared = _one_family([compare(t, BARE) for t in times])
    out = []
    for plan, bench, measured, comparisons in zip(plans, benches, times, compared, strict=True):
        chosen = {shape_of_cell(c.cell): c for c in decisive(comparisons, measured)}
        gone = standing_exclusions(bench.records)
        for call in plan.calls:
            case = call.case
            key = Cell(case.collective, case.bytes, case.datatype, case.operation, case.root, "")
            c = chosen.get(key)
            failed = _failure(gone.get((case.collective, FILES)), case.bytes)
            us = None if c is None else _us(measured[c.cell])
            out.append(CallGain(call, plan.layout, us, c, failed))
    return out


def _us(measured: Mapping[str, Times]) -> tuple[float, float]:
    return measured[BARE].interval.median, measured[FILES].interval.median


def _failure(excluded: Excluded | None, size: int) -> str | None:
    if excluded is None or excluded.bytes != size:
        return None
    how = "gave wrong results" if excluded.reason == "wrong" else excluded.reason
    return f"with the files it {how}: {excluded.detail}"


def _one_family(by_layout: Sequence[Sequence[Comparison]]) -> list[list[Comparison]]:
    adjusted = iter(benjamini_hochberg([c.p for found in by_layout for c in found]))
    out = []
    for found in by_layout:
        again = []
        for c in found:
            q = next(adjusted)
            again.append(replace(c, q=q, verdict=judge(c.ratio, q, c.ratio.n, p=c.p, busy=c.busy)))
        out.append(again)
    return out


def _of_row(mine: Sequence[CallGain]) -> tuple[Status, str]:
    """Judge a row by its calls: the worst of them counts."""
    failed = [f for f in mine if f.failed]
    if failed:
        return "failed", f"{failed[0].words}: {failed[0].failed}"
    timed = [(f, f.comparison) for f in mine if f.comparison is not None]
    slower = [(f, c) for f, c in timed if c.outcome == "slower"]
    if slower:
        f, c = max(slower, key=lambda x: x[1].ratio.median)
        more = f" ({len(slower)} of {len(mine)} calls)" if len(mine) > 1 else ""
        return "slower", f"{f.words}: {c.why}{more}"
    if len(timed) < len(mine) or not mine:
        return "not timed", "calls of it have no time, with the files or without (see above)"
    gaining = [c for f, c in timed if not f.call.stands_in]
    if not gaining:
        few = next((c for _, c in timed if not c.verdict.tested), None)
        if few is not None:
            return "inconclusive", few.why
        return "not slower", "it stands in for the native decision, and was to gain nothing"
    faster = [c for c in gaining if c.outcome == "faster"]
    share = f"{len(faster)} of {counted(len(gaining), 'call')}"
    if len(faster) == len(gaining):
        return "faster", f"at {share}"
    open_ = next((c for c in gaining if c.outcome == "inconclusive"), None)
    if open_ is not None:
        return "inconclusive", f"faster at {share}; elsewhere {open_.why}"
    first = next(c for c in gaining if c.outcome != "faster")
    return "not faster", f"at {share}; elsewhere {first.why}"
