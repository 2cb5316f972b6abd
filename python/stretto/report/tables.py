"""The tables of the page: call shapes, and the rows of the tuning table with their evidence."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from stretto.files.layout import RankLayout
from stretto.files.table import TUNABLE, Row
from stretto.report import format as fmt
from stretto.report.breakdown import COLLECTIVE, Breakdown, ShapeSum
from stretto.report.load import System
from stretto.report.points import NATIVE, Panel

MOST_SHAPES = 15
MEASURED = "measured"
#: rows whose ratio is of that very layout; the page says beside each plot which it is
DRAWN = (MEASURED, "simulated", "learned")
#: evidence that has a column of its own, or words
_SHOWN = {
    "ratio", "low", "high", "p", "launches", "source", "sizes", "modes", "best", "best_ratio",
    "by_fit", "native_us", "us", "pairs", "calls", "saved_s", "saved_spread_s", "tried", "order",
}  # fmt: skip
FOREST_TOP = 2.0  # right end of the small interval plots: twice as slow as native


@dataclass
class View:
    """One layout and mode that the reader can pick."""

    key: str
    label: str
    layout: RankLayout
    mode: str
    panels: list[Panel]

    @property
    def where(self) -> str:
        return fmt.layout(self.layout)


def importance(system: System) -> Callable[[str], tuple[float, str]]:
    """Return a sort key for collectives: what the application spends most time in comes first."""
    weight: dict[str, float] = {}
    if system.profile is not None:
        for call in system.profile.calls:
            if call.collective is not None:
                name = call.collective
                weight[name] = weight.get(name, 0.0) + sum(call.time_s)
    return lambda name: (-weight.get(name, 0.0), name)


def shapes(system: System, parts: Breakdown | None) -> list[dict[str, Any]]:
    if parts is None or system.profile is None:
        return []
    names = {c.id: c for c in system.profile.communicators}
    top, rest = parts.shapes[:MOST_SHAPES], parts.shapes[MOST_SHAPES:]
    out = []
    for s in top:
        call = s.call
        c = names.get(call.communicator) if call.communicator is not None else None
        what = ", ".join(
            w.removeprefix("MPI_").lower() for w in (call.datatype, call.operation) if w
        )
        out.append(
            {
                "function": call.function,
                "communicator": "" if c is None else fmt.plural(c.size, "rank"),
                "communicator_name": "" if c is None else c.name,
                "bytes": fmt.size_range(call.bytes_min, call.bytes_max)
                if call.bytes_max or call.kind == "collective"
                else "",
                "what": what,
                "calls": fmt.count(s.calls / max(system.profile.nranks, 1)),
                "time": fmt.seconds(s.time_s),
                "mean": fmt.microseconds(s.mean_us),
                "share": s.share,
                "share_text": fmt.percent(s.share),
                "wait": s.wait,
                "wait_text": fmt.NONE if s.wait is None else fmt.percent(s.wait),
                "advice": _advice(system, s, c.nodes if c else None, c.ppn if c else None),
                "rest": False,
            }
        )
    if rest:
        out.append(
            {
                "function": f"{fmt.plural(len(rest), 'more shape')}",
                "time": fmt.seconds(sum(s.time_s for s in rest)),
                "share": sum(s.share for s in rest),
                "share_text": fmt.percent(sum(s.share for s in rest)),
                "rest": True,
            }
        )
    return out


def _advice(system: System, s: ShapeSum, nodes: int | None, ppn: int | None) -> str:
    call = s.call
    if call.kind not in COLLECTIVE:
        return ""
    if s.wait is not None and s.wait > 0.9:
        return "waiting: balance the work"
    if call.kind != "collective" or call.collective not in TUNABLE:
        return "stays native"
    if not system.tables:
        return "can be tuned"
    row = None
    if call.collective and nodes and ppn:
        for table in system.tables:
            row = row or table.find(call.collective, nodes, ppn, call.bytes_min)
    if row is None:
        return "no row: native"
    if row.choice == NATIVE:
        return "native: nothing proven faster"
    gain = f", {fmt.factor(1 / row.ratio)} faster" if row.ratio and row.ratio > 0 else ""
    source = _source(row)
    return f"{row.choice}{gain}" + (f" ({source})" if source != MEASURED else "")


def rows(system: System, views: Sequence[View]) -> list[dict[str, Any]]:
    key = importance(system)
    all_rows = [r for t in system.tables for r in t.rows]
    all_rows.sort(
        key=lambda r: (key(r.collective), r.nodes is None, r.nodes or 0, r.ppn or 0, r.low)
    )
    bottom = forest_bottom(all_rows)
    out = []
    for r in all_rows:
        shown = [
            v.key
            for v in views
            if r.nodes in (None, v.layout.nodes) and r.ppn in (None, v.layout.ppn)
        ]
        out.append({"views": " ".join(shown), **_row(r, bottom)})
    return out


def _source(row: Row) -> str:
    return row.evidence.get("source", "not measured")


def _number(row: Row, key: str) -> float | None:
    try:
        value = float(row.evidence[key])
    except (KeyError, ValueError):
        return None
    return value if math.isfinite(value) else None


def _row(r: Row, bottom: float) -> dict[str, Any]:
    ratio, low, high = _number(r, "ratio"), _number(r, "low"), _number(r, "high")
    layout = (
        f"{'any' if r.nodes is None else r.nodes} {fmt.TIMES} {'any' if r.ppn is None else r.ppn}"
    )
    interval = ""
    if low is not None and high is not None:
        interval = f"{fmt.ratio(low)}{fmt.DASH}{fmt.ratio(high)}"
    return {
        "collective": r.collective,
        "layout": layout,
        "bytes": fmt.size_range(r.low, r.high),
        "choice": r.choice,
        "native": r.choice == NATIVE,
        "ratio": fmt.ratio(ratio),
        "interval": interval,
        "p": fmt.pvalue(_number(r, "p")),
        "launches": r.evidence.get("launches", fmt.NONE),
        "simulated": r.simulated,
        "source": _source(r),
        "plot": _forest(ratio, low or ratio, high or ratio, bottom)
        if ratio is not None and _source(r) in DRAWN
        else None,
        "more": ", ".join(
            [*_more(r), *(f"{k} {v}" for k, v in r.evidence.items() if k not in _SHOWN)]
        ),
    }


def _more(r: Row) -> list[str]:
    """Return the rest of a row's evidence in words: sizes measured, mode, the best other choice."""
    out = []
    sizes = [int(s) for s in r.evidence.get("sizes", "").split(",") if s.isdecimal()]
    if sizes:
        shown = [fmt.size(s) for s in sizes]
        out.append("at " + ", ".join(shown if len(shown) <= 4 else [shown[0], "\u2026", shown[-1]]))
    if "by_fit" in r.evidence:
        less = [fmt.size(int(s)) for s in r.evidence["by_fit"].split(",") if s.isdecimal()]
        out.append("by the fit over sizes and layouts at " + ", ".join(less))
    if "modes" in r.evidence:
        out.append(r.evidence["modes"].replace("+", " and "))
    if "best" in r.evidence:
        best = fmt.ratio(_number(r, "best_ratio"))
        out.append(f"next best {fmt.choice(r.evidence['best'])} at {best}")
    return out


def forest_bottom(rows: Iterable[Row]) -> float:
    """Return the left end of the interval plots, so that the best row fits: 1/2, 1/4, 1/10, ..."""
    best = min((v for r in rows if (v := _number(r, "low") or _number(r, "ratio"))), default=1.0)
    return next((b for b in (0.5, 0.25, 0.1, 0.05, 0.02) if b <= best), 0.01)


def _forest(ratio: float, low: float, high: float, bottom: float) -> dict[str, float]:
    """Return positions in per cent for a small interval plot on a logarithmic scale."""
    first, last = math.log(bottom), math.log(FOREST_TOP)

    def at(value: float) -> float:
        if value <= 0:
            return 0.0
        return round(100 * min(1.0, max(0.0, (math.log(value) - first) / (last - first))), 1)

    return {"x": at(ratio), "low": at(low), "high": at(high), "one": at(1.0)}
