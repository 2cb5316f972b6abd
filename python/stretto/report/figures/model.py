"""Pictures of fits and simulations, in files of their own."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import altair as alt

from stretto.model.fit import Fit
from stretto.model.sweep import NATIVE, Answer
from stretto.report import theme
from stretto.report.figures.data import keyed
from stretto.report.render import Figure, write_to

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


def _panel(answer: Answer, by_size: bool) -> str:
    c = answer.cell
    return f"{c.collective} " + (f"{c.nodes} x {c.ppn}" if by_size else f"{c.bytes} B, ppn {c.ppn}")


def sweep_picture(answers: Sequence[Answer], platform: str, path: Path, top: int = 6) -> None:
    cells = [a.cell for a in answers]
    by_size = len({c.bytes for c in cells}) >= len({c.nodes for c in cells})
    wins: dict[str, int] = {}
    for a in answers:
        wins[a.taken] = wins.get(a.taken, 0) + 1
    chosen = [c for c, _ in sorted(wins.items(), key=lambda i: (-i[1], i[0])) if c != NATIVE][:top]
    rows = [
        {"bytes": max(a.cell.bytes, 1), "nodes": a.cell.nodes, "us": a.seconds[c] * 1e6, "what": c,
         "panel": _panel(a, by_size)}
        for a in answers for c in [NATIVE, *chosen] if c in a.seconds
    ]  # fmt: skip
    colours = {NATIVE: theme.colour("native")}
    colours |= {name: theme.chosen_colour(i) for i, name in enumerate(chosen)}
    x = _SIZE if by_size else alt.X("nodes:Q", title="nodes", scale=alt.Scale(type="log", base=2))
    chart: Any = (
        alt.Chart(alt.InlineData(values=rows))
        .mark_line(point=True)
        .encode(
            x=x,
            y=alt.Y("us:Q", title="time per call (us)", scale=alt.Scale(type="log")),
            color=keyed("what", colours),
        )
        .properties(width=300, height=220)
        .facet(facet=alt.Facet("panel:N", title=None), columns=3)
    )
    write_to(Figure("simulated", f"Simulated on {platform}", chart, "", True), path)
