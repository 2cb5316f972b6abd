"""Pictures of fits and simulations, in files of their own."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import altair as alt

from stretto.files.layout import RankLayout
from stretto.model.fit import Fit
from stretto.model.sweep import NATIVE, Answer, SimulatedCell
from stretto.report import format as fmt
from stretto.report import theme
from stretto.report.figures import axes
from stretto.report.figures.data import Chart, keyed, stacked
from stretto.report.figures.lines import Line, chart, time_y
from stretto.report.points import CandidatePoint, MedianInterval
from stretto.report.render import Figure, write_to

#: lines beside native in one chart, and charts in a row
MOST_LINES, COLUMNS = 5, 2

_SIZE = alt.X(
    "bytes:Q", title="bytes", scale=alt.Scale(type="log", base=2), axis=alt.Axis(format="~s")
)


def fit_picture(fit: Fit, path: Path) -> None:
    panels = []
    colours = {"measured": theme.colour("native"), "fitted": theme.colour("blue")}
    for kind in dict.fromkeys(r.kind for r in fit.residuals):
        unit = next(r.unit for r in fit.residuals if r.kind == kind)
        rows = [
            {"bytes": max(r.bytes, 1), "value": v, "what": what}
            for r in fit.residuals if r.kind == kind
            for what, v in (("measured", r.measured), ("fitted", r.fitted))
        ]  # fmt: skip
        base = alt.Chart(alt.InlineData(values=rows)).encode(
            x=_SIZE,
            y=alt.Y("value:Q", title=f"{kind} ({unit})", scale=alt.Scale(type="log")),
            color=keyed("what", colours),
        )  # fmt: skip
        points = base.transform_filter("datum.what == 'measured'").mark_square(size=30)
        line = base.transform_filter("datum.what == 'fitted'").mark_line()
        panels.append((line + points).properties(width=260, height=200))
    chart: Any = alt.vconcat(*(alt.hconcat(*panels[i : i + 3]) for i in range(0, len(panels), 3)))
    note = f"median factor {fit.median_factor:.2f}"
    write_to(Figure("fit", f"Fit of {fit.platform.name}", chart, note), path)


def _point(cell: SimulatedCell, choice: str, seconds: float) -> CandidatePoint:
    us = 1e6 * seconds
    layout = RankLayout(cell.nodes, cell.ppn, cell.nodes * cell.ppn)
    estimate = MedianInterval(us, us, us, "none", 1, 1)
    return CandidatePoint(choice, layout, cell.bytes, estimate, "simulated")


def _family(choice: str) -> str:
    """Return an algorithm without its parameter: over scales and sizes the best one differs."""
    return re.sub(r"\([^()]*\)", "", choice)


def _lines(answers: Sequence[Answer], by_size: bool) -> list[Line]:
    """Return native, and the algorithms that are fastest most often, each with its best radix."""
    wins: Counter[str] = Counter(_family(a.taken) for a in answers)
    least: dict[str, float] = defaultdict(float)
    for a in answers:
        for choice, seconds in a.seconds.items():
            family = _family(choice)
            ratio = a.seconds[NATIVE] / seconds if seconds > 0 else 0.0
            least[family] = max(least[family], ratio)
    names = sorted(least, key=lambda f: (-wins[f], -least[f], f))
    last = {_family(c) for c in answers[-1].seconds}
    shown = [f for f in names if f in last and f != NATIVE][:MOST_LINES]
    out = []
    for i, family in enumerate([*shown, NATIVE]):
        points = []
        for a in answers:
            mine = [(s, c) for c, s in a.seconds.items() if _family(c) == family]
            if mine:
                seconds, choice = min(mine)
                points.append(_point(a.cell, choice, seconds))
        xs = [float(max(p.bytes, 1) if by_size else p.layout.nranks) for p in points]
        native = family == NATIVE
        colour = theme.colour("native") if native else theme.chosen_colour(i)
        emphasis = 2 if native else 1
        out.append(Line(family, fmt.choice(family, 30), colour, emphasis, xs, points))
    return out


def _panel(answers: Sequence[Answer], by_size: bool) -> tuple[str, Chart]:
    """Return what a chart is of, and the chart."""
    lines = _lines(answers, by_size)
    cell = answers[0].cell
    if by_size:
        sizes = sorted({max(a.cell.bytes, 1) for a in answers})
        x = axes.size_x("x", sizes)
        layout = RankLayout(cell.nodes, cell.ppn, cell.nodes * cell.ppn)
        title = f"{cell.collective} on {fmt.layout(layout)}"
    else:
        ranks = sorted({a.cell.nodes * a.cell.ppn for a in answers})
        x = axes.log_cores_x("x", ranks, "Ranks", axes.size_ticks(ranks, 8))
        title = f"{cell.collective} of {fmt.size(cell.bytes)}" if cell.bytes else cell.collective
        title += f", {fmt.plural(cell.ppn, 'rank')} on each node"
    y = time_y([p for line in lines for p in line.points])
    return title, chart(lines, x, y)


def sweep_picture(answers: Sequence[Answer], platform: str, path: Path) -> None:
    """Draw simulated times against ranks, or against sizes where there are more sizes."""
    cells = [a.cell for a in answers]
    by_size = len({c.bytes for c in cells}) >= len({c.nodes for c in cells})
    groups: dict[tuple[object, ...], list[Answer]] = defaultdict(list)
    for a in answers:
        c = a.cell
        groups[(c.collective, c.ppn, c.nodes if by_size else c.bytes)].append(a)
    panels = [_panel(found, by_size) for found in groups.values()]
    charts = [c.properties(title=alt.TitleParams(words)) for words, c in panels]
    title = panels[0][0] if len(panels) == 1 else "time per call"
    note = f"native: {answers[0].native_is}" if len({a.native_is for a in answers}) == 1 else ""
    title = f"Simulated on {platform}: {title}"
    write_to(Figure("simulated", title, stacked(charts, COLUMNS), note, True), path)
