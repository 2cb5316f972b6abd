"""``stretto export --time`` for people and for programs: one table, a line for the rest, JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from stretto.counted import counted, duration
from stretto.export.gain import TimingPlan
from stretto.export.gained import CallGain, ExportGain
from stretto.measure.idle import crowd_words, threads
from stretto.measure.ledger import time_left
from stretto.measure.show import comparison_json, size_words, us
from stretto.measure.stats import FEWEST
from stretto.measure.verdict import THRESHOLD

_HEAD = (
    "collective", "ranks", "bytes", "without us", "with us", "x", "95%", "promised x", "result",
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
            f"{counted(inside, 'call')} of rows, {beside} beside them; "
            f"{counted(settings.launches, 'launch')} of each, "
            f"{counted(settings.total(), 'start')}; results go to {timing.path} as they come"
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
        say(f"stretto: cost: about {duration(total)} (Ctrl-C keeps what is there; the same command "
            "goes on)")  # fmt: skip
    elif plan.timings:
        say("stretto: all of it is in there already; --restart times it anew")
    return total


def lines(gain: ExportGain) -> list[str]:
    """Return a table of the rows, and a line each for calls beside them and for all."""
    table: list[tuple[str, ...]] = [_HEAD]
    for row in gain.rows:
        table += [_line(f) for f in row.calls]
    table += [_line(f) for f in gain.beside if f.slower or f.failed]
    widths = [max(len(r[i]) for r in table) for i in range(len(_HEAD))]
    out = []
    if len(table) > 1:
        for cells in table:
            left = (cells[0].ljust(widths[0]), cells[1].ljust(widths[1]))
            rest = [c.rjust(w) for c, w in zip(cells[2:-1], widths[2:-1], strict=True)]
            out.append("  ".join([*left, *rest, cells[-1]]).rstrip())
        out.append(
            "x = time with the files / without, both beside a fixed exchange of messages in their "
            "launches; a difference counts by the rank test over launches and above "
            f"{100 * THRESHOLD:.0f}%"
        )
    out += [f"{r.status:17}  {r.words}: {r.why}" for r in gain.rows]
    out.append(untouched(gain.beside))
    both = gain.ratios()
    if both is not None:
        mean, promised, n = both
        out.append(
            f"gain: time x {mean:.2f} over {counted(n, 'call')} of rows (geometric mean); the "
            f"measurements that the export was made of had promised x {promised:.2f}"
        )
    count = Counter(r.status for r in gain.rows)
    out.append("rows: " + ", ".join(f"{n} {status}" for status, n in sorted(count.items())))
    return out


def untouched(beside: Sequence[CallGain]) -> str:
    timed = [f for f in beside if f.comparison is not None]
    worse = [f for f in beside if f.slower or f.failed]
    missing = len(beside) - len(timed) - sum(f.failed is not None for f in beside)
    if not beside:
        return "untouched: nothing beside the rows was timed"
    words = f"{len(worse)} SLOWER with the files" if worse else "none slower"
    if timed and not worse and all(not f.comparison.verdict.tested for f in timed):  # type: ignore[union-attr]
        words = "not tested"
    more = f" ({missing} without a time)" if missing > 0 else ""
    return f"untouched: {counted(len(beside), 'call')} beside the rows, {words}{more}"


def _line(f: CallGain) -> tuple[str, ...]:
    case, layout = f.call.case, f.layout
    ranks = f"{layout.nranks}" + (f" ({layout.nodes} x {layout.ppn})" if layout.nodes > 1 else "")
    size = "" if case.collective == "barrier" else size_words(case.bytes)
    shape = "" if case.root == 0 else f" (root {case.root})"
    promised = "-" if f.call.promised is None else f"{f.call.promised:.2f}"
    if f.us is None or f.comparison is None:
        why = f.failed or "no time"
        return case.collective + shape, ranks, size, "", "", "", "", promised, why
    ratio = f.comparison.ratio
    bounds = f"{ratio.low:.2f} to {ratio.high:.2f}" if ratio.low and ratio.high else "-"
    why = f.comparison.why + ("; less than promised" if f.less_than_promised else "")
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
