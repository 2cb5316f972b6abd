"""``stretto export --time``: what is said of rows, and of calls beside them, that were timed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from stretto.counted import counted, duration, sized
from stretto.export.gain import LayoutTiming, TimedCall, TimingPlan
from stretto.export.output import layout_of
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
from stretto.measure.idle import crowd_words, threads
from stretto.measure.ledger import time_left
from stretto.measure.show import columns, comparison_json, us
from stretto.measure.stats import FEWEST, benjamini_hochberg, geometric_mean
from stretto.measure.verdict import THRESHOLD, judge
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
        size = "" if case.collective == "barrier" else f" of {sized(case.bytes)}"
        nodes = f" ({self.layout.where})" if self.layout.nodes > 1 else ""
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
    notes: tuple[str, ...]

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


def gained(plan: TimingPlan, benches: Sequence[Bench], notes: Sequence[str]) -> ExportGain:
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
            medians = None
            if c is not None:
                times_of = measured[c.cell]
                medians = times_of[BARE].interval.median, times_of[FILES].interval.median
            out.append(CallGain(call, plan.layout, medians, c, failed))
    return out


def _failure(excluded: Excluded | None, size: int) -> str | None:
    if excluded is None or excluded.bytes != size:
        return None
    how = "gave wrong results" if excluded.reason == "wrong" else excluded.reason
    return f"with the files it {how}: {excluded.detail}"


def _one_family(by_layout: Sequence[Sequence[Comparison]]) -> list[list[Comparison]]:
    adjusted = iter(benjamini_hochberg([c.p for found in by_layout for c in found]))

    def again(c: Comparison) -> Comparison:
        q = next(adjusted)
        return replace(c, q=q, verdict=judge(c.ratio, q, c.ratio.n, p=c.p, busy=c.busy))

    return [[again(c) for c in found] for found in by_layout]


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
        return "not timed", "some calls were not timed with and without the files (see above)"
    gaining = [c for f, c in timed if not f.call.stands_in]
    if not gaining:
        few = next((c for _, c in timed if not c.verdict.tested), None)
        if few is not None:
            return "inconclusive", few.why
        return "not slower", "it replaces the native selection, with no expected gain"
    faster = [c for c in gaining if c.outcome == "faster"]
    share = f"{len(faster)} of {counted(len(gaining), 'call')}"
    if len(faster) == len(gaining):
        return "faster", f"at {share}"
    open_ = next((c for c in gaining if c.outcome == "inconclusive"), None)
    if open_ is not None:
        return "inconclusive", f"faster at {share}; elsewhere {open_.why}"
    first = next(c for c in gaining if c.outcome != "faster")
    return "not faster", f"at {share}; elsewhere {first.why}"


# -- for people and for programs: one table, a line for the rest, JSON

_HEAD = (
    "collective", "ranks", "bytes", "without us", "with us", "x", "95 %", "promised x", "result",
)  # fmt: skip


def announce(plan: TimingPlan, name: str, say: Callable[[str], None], restart: bool) -> float:
    """Say what will be timed and how long that takes; return the seconds."""
    total = 0.0
    for timing in plan.timings:
        settings = timing.settings
        seconds = time_left(settings, timing.path, restart)
        total += seconds
        inside = sum(c.row is not None for c in timing.calls)
        beside = len(timing.calls) - inside
        say(
            f"stretto: {name} with the files and without, {timing.layout.words}: "
            f"{counted(inside, 'call')} of rows, {beside} outside them; "
            f"{counted(settings.launches, 'launch')} of each, "
            f"{counted(settings.total(), 'start')}; results are appended to {timing.path}"
        )
        if settings.oversubscribed:
            here = threads() if timing.layout.nodes == 1 else None
            say(f"stretto: warning: {crowd_words(timing.layout.ppn, here)}")
    for reason in plan.left.values():
        say(f"stretto: note: not timed: {reason}")
    if plan.timings and plan.timings[0].settings.launches < FEWEST:
        say(
            f"stretto: warning: with fewer than {FEWEST} launches no test can be made, so nothing "
            "will be called faster or slower"
        )
    if total:
        kept = "Ctrl-C keeps all times; the same command continues"
        say(f"stretto: cost: about {duration(total)} ({kept})")
    elif plan.timings:
        say("stretto: all times are complete; --restart measures again")
    return total


def lines(gain: ExportGain) -> list[str]:
    """Return a table of the rows, and a line each for calls beside them and for all."""
    found = [_line(f) for row in gain.rows for f in row.calls]
    found += [_line(f) for f in gain.beside if f.slower or f.failed]
    out = []
    if found:
        table = [_HEAD, *found]
        left = columns([row[:-1] for row in table], 2)
        out += [f"{line}  {row[-1]}" for line, row in zip(left, table, strict=True)]
        out.append(
            "x = time with the files / without, each relative to a reference exchange in the same "
            "launch; a difference counts if the rank test over launches is significant and it "
            "exceeds "
            f"{100 * THRESHOLD:.0f} %"
        )
    out += [f"{r.status:17}  {r.words}: {r.why}" for r in gain.rows]
    out.append(untouched(gain.beside))
    both = gain.ratios()
    if both is not None:
        mean, promised, n = both
        out.append(
            f"gain: time x {mean:.2f} over {counted(n, 'call')} of rows (geometric mean); "
            f"predicted by the measurements of the export: x {promised:.2f}"
        )
    count = Counter(r.status for r in gain.rows)
    out.append("rows: " + ", ".join(f"{n} {status}" for status, n in sorted(count.items())))
    return out


def untouched(beside: Sequence[CallGain]) -> str:
    if not beside:
        return "untouched: no call without a row was timed"
    timed = [f.comparison.verdict.tested for f in beside if f.comparison is not None]
    worse = sum(bool(f.slower or f.failed) for f in beside)
    words = f"{worse} SLOWER with the files" if worse else "none slower"
    if timed and not worse and not any(timed):
        words = "not tested"
    missing = sum(f.comparison is None and f.failed is None for f in beside)
    more = f" ({missing} without a time)" if missing else ""
    return f"untouched: {counted(len(beside), 'call')} outside the rows, {words}{more}"


def _line(f: CallGain) -> tuple[str, ...]:
    case, layout = f.call.case, f.layout
    ranks = f"{layout.nranks}" + (f" ({layout.where})" if layout.nodes > 1 else "")
    size = "" if case.collective == "barrier" else sized(case.bytes)
    shape = "" if case.root == 0 else f" (root {case.root})"
    promised = "-" if f.call.promised is None else f"{f.call.promised:.2f}"
    if f.us is None or f.comparison is None:
        why = f.failed or "no time"
        return case.collective + shape, ranks, size, "", "", "", "", promised, why
    ratio = f.comparison.ratio
    bounds = f"{ratio.low:.2f} to {ratio.high:.2f}" if ratio.low and ratio.high else "-"
    why = f.comparison.why + ("; less than predicted" if f.less_than_promised else "")
    if f.call.row is None:
        why += "; no row"
    times = f"{ratio.median:.2f}" if f.comparison.verdict.tested else "not tested"
    return (
        case.collective + shape, ranks, size, us(f.us[0]), us(f.us[1]), times,
        bounds, promised, why,
    )  # fmt: skip


def as_json(gain: ExportGain, name: str, files: Sequence[Path]) -> dict[str, Any]:
    both = gain.ratios()
    return {
        "mpi": name,
        "files": [str(p) for p in files],
        "rows": [
            {
                "row": r.index,
                "words": r.words,
                "status": r.status,
                "why": r.why,
                "calls": [_call(f) for f in r.calls],
            }
            for r in gain.rows
        ],
        "beside": [_call(f) for f in gain.beside],
        "gain": None if both is None else {"ratio": both[0], "promised": both[1], "calls": both[2]},
        "warnings": list(gain.notes),
    }


def _call(f: CallGain) -> dict[str, Any]:
    case, layout, c = f.call.case, f.layout, f.comparison
    return {
        "collective": case.collective,
        "bytes": case.bytes,
        "datatype": case.datatype,
        "operation": case.operation,
        "root": case.root,
        "nranks": layout.nranks,
        "nodes": layout.nodes,
        "ppn": layout.ppn,
        "mode": None if c is None else c.cell.mode,
        "without_us": None if f.us is None else f.us[0],
        "with_us": None if f.us is None else f.us[1],
        "promised": f.call.promised,
        "less_than_promised": f.less_than_promised,
        "failed": f.failed,
        "comparison": None if c is None else comparison_json(c),
    }
