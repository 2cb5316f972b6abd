"""The tables of the page: call shapes, and the rows of the tuning table with their evidence."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from stretto.files.layout import RankLayout
from stretto.files.profile import Communicator
from stretto.files.table import TUNABLE, Row
from stretto.measure.blocks import measured_as
from stretto.report import format as fmt
from stretto.report.breakdown import COLLECTIVE, ShapeSum
from stretto.report.load import System
from stretto.report.points import NATIVE, Panel

MEASURED = "measured"
#: rows whose ratio is of that very layout; the page says beside each plot which it is
DRAWN = (MEASURED, "simulated", "learned")
#: evidence that has a column of its own, or words
_SHOWN = {
    "ratio", "low", "high", "p", "launches", "source", "sizes", "modes", "best", "best_ratio",
    "by_fit", "native_us", "us", "pairs", "calls", "saved_s", "saved_spread_s", "tried", "order",
    "roots_used",
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

    def applies(self, row: Row) -> bool:
        return row.nodes in (None, self.layout.nodes) and row.ppn in (None, self.layout.ppn)


def importance(system: System) -> Callable[[str], tuple[float, str]]:
    """Return a sort key for collectives: what the application spends most time in comes first."""
    weight: dict[str | None, float] = {}
    for call in system.profile.calls if system.profile is not None else ():
        weight[call.collective] = weight.get(call.collective, 0.0) + sum(call.time_s)
    return lambda name: (-weight.get(name, 0.0), name)


def communicator(system: System, shape: ShapeSum) -> Communicator | None:
    every = system.profile.communicators if system.profile is not None else []
    return next((c for c in every if c.id == shape.call.communicator), None)


def advice(system: System, shape: ShapeSum) -> str:
    """Return what tuning can do for a call shape."""
    call, comm = shape.call, communicator(system, shape)
    if call.kind not in COLLECTIVE:
        return ""
    if shape.wait is not None and shape.wait > 0.9:
        return "waiting: balance the work"
    name = measured_as(call)
    if name is None or name not in TUNABLE or (comm is not None and not comm.nodes):
        return "stays native"
    if not system.tables:
        return "can be tuned"
    found = [
        table.find(name, comm.nodes, comm.ppn, call.bytes_min)
        for table in system.tables
        if comm is not None
    ]
    row = next((r for r in found if r is not None), None)
    if row is None:
        return "no row: native"
    if row.choice == NATIVE:
        return "native: nothing proven faster"
    gain = f", {fmt.factor(1 / row.ratio)} faster" if row.ratio and row.ratio > 0 else ""
    return f"{row.choice}{gain}" + (f" ({row.source})" if row.source != MEASURED else "")


def sorted_rows(system: System) -> list[Row]:
    key = importance(system)
    return sorted(
        system.rows,
        key=lambda r: (key(r.collective), r.nodes is None, r.nodes or 0, r.ppn or 0, r.low),
    )


def row_layout(row: Row) -> str:
    nodes, ppn = ("any" if n is None else n for n in (row.nodes, row.ppn))
    return f"{nodes} {fmt.TIMES} {ppn}"


def more(row: Row) -> str:
    """Return the rest of a row's evidence in words: sizes measured, mode, the best other choice."""
    out = []
    evidence = row.evidence
    if sizes := _sizes(evidence.get("sizes", "")):
        shown = sizes if len(sizes) <= 4 else [sizes[0], "\u2026", sizes[-1]]
        out.append("at " + ", ".join(shown))
    if "by_fit" in evidence:
        fitted = ", ".join(_sizes(evidence["by_fit"]))
        out.append(f"by the fit over sizes and layouts at {fitted}")
    if "modes" in evidence:
        out.append(evidence["modes"].replace("+", " and "))
    if "best" in evidence:
        ratio = fmt.ratio(row.number("best_ratio"))
        out.append(f"next best {fmt.choice(evidence['best'])} at {ratio}")
    words = {"roots": "root", "types": "on", "pattern": "blocks"}
    out += [f"{words.get(k, k)} {v.replace('+', ', ')}" for k, v in evidence.items()
            if k not in _SHOWN]  # fmt: skip
    return ", ".join(out)


def _sizes(text: str) -> list[str]:
    return [fmt.size(int(s)) for s in text.split(",") if s.isdecimal()]


class Forest:
    """The scale of the interval plots: logarithmic, with an end so that the best row fits."""

    def __init__(self, rows: Iterable[Row]) -> None:
        lows = [r.number("low") or r.ratio for r in rows]
        best = min((v for v in lows if v), default=1.0)
        self.bottom = next((b for b in (0.5, 0.25, 0.1, 0.05, 0.02) if b <= best), 0.01)

    def at(self, value: float) -> float:
        """Return a position in per cent from the left."""
        first, last = math.log(self.bottom), math.log(FOREST_TOP)
        place = (math.log(value) - first) / (last - first) if value > 0 else 0.0
        return round(100 * min(1.0, max(0.0, place)), 1)

    def plot(self, row: Row) -> dict[str, float] | None:
        """Return where the plot of a row has its point and its ends; None: it has none."""
        if row.ratio is None or row.source not in DRAWN:
            return None
        low, high = row.number("low") or row.ratio, row.number("high") or row.ratio
        return {"x": self.at(row.ratio), "low": self.at(low), "high": self.at(high)}
