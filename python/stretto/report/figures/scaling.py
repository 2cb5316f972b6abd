"""Measured strong scaling: speed-up against cores, and cost against time."""

from __future__ import annotations

import altair as alt

from stretto.report import format as fmt
from stretto.report import theme
from stretto.report.figures import axes
from stretto.report.figures.data import DESCRIBED, KINDS, by_kind, layer
from stretto.report.figures.data import chart as chart_of
from stretto.report.render import Figure
from stretto.scaling.analyse import Findings

SHAPES = alt.Shape(
    "kind:N", scale=alt.Scale(domain=list(KINDS), range=["square", "circle"]), legend=None
)


def speedup(found: Findings) -> Figure | None:
    """Draw the speed-up against the cores, with the ideal; None for a single point."""
    cores = sorted({m.point.cores for m in found.points})
    if len(cores) < 2:
        return None
    rows: list[dict[str, object]] = [
        {
            "x": m.point.cores,
            "y": m.speedup,
            "kind": m.kind,
            "label": m.point.words if m.kind == "native" else "",
            "d": f"{m.kind}, {m.point.words} | speed-up {m.speedup:.2f}, efficiency "
            f"{fmt.percent(m.efficiency)}, {fmt.plural(m.value.n, 'run')}",
        }
        for m in found.points
    ]
    # A line through the best of each number of cores: several shapes may have equally many.
    best: dict[tuple[str, int], dict[str, object]] = {}
    for r in rows:
        key = (str(r["kind"]), int(str(r["x"])))
        if key not in best or float(str(r["y"])) > float(str(best[key]["y"])):
            best[key] = r
    first = found.reference.cores
    ideal = [{"x": c, "y": c / first} for c in (cores[0], cores[-1])]
    low = min([float(str(r["y"])) for r in rows] + [ideal[0]["y"]])
    high = max([float(str(r["y"])) for r in rows] + [ideal[1]["y"]])
    x = axes.log_cores_x("x", cores, "Cores", cores)
    ticks = axes.log_ticks(low / 1.2, high * 1.2)
    y = alt.Y(
        "y:Q", title="Speed-up",
        scale=alt.Scale(type="log", domain=[low / 1.2, high * 1.2], nice=False),
        axis=alt.Axis(values=ticks, format="~g"),
    )  # fmt: skip
    line, colour = chart_of(list(best.values())), by_kind("kind")
    picture = layer(
        chart_of(ideal).mark_line(
            aria=False, strokeDash=[4, 3], color=theme.colour("faint")
        ).encode(x=x, y=y),
        line.mark_line(aria=False, strokeWidth=2).encode(x=x, y=y, color=colour),
        chart_of(rows).mark_point(filled=True, size=60, opacity=1).encode(
            x=x, y=y, color=by_kind("kind"), shape=SHAPES, description=DESCRIBED
        ),
        chart_of(rows).mark_text(dy=16, fontSize=10, color=theme.colour("muted")).encode(
            x=x, y=y, text=alt.Text("label:N")
        ),
    )  # fmt: skip
    return Figure(
        "scaling-speedup",
        "Speed-up with more cores",
        picture.properties(width=560, height=340),
        f"against {found.reference.words}; dashed: ideal; labels: nodes x ranks",
    )


def cost(found: Findings, price: float | None) -> Figure | None:
    priced = [m for m in found.points if m.cost]
    if price is None or len(priced) < 2:
        return None
    rows = [
        {
            "x": m.wall_s,
            "y": m.cost,
            "kind": m.kind,
            "label": m.point.words,
            "d": f"{m.kind}, {m.point.words} | {fmt.seconds(m.wall_s)}, {m.cost:.4g} a run",
        }
        for m in priced
    ]
    times = [m.wall_s for m in priced]
    costs = [m.cost or 0.0 for m in priced]
    x = axes.log_time_x("x", min(times), max(times), "Wall time of a run")
    bottom, top = min(costs) / 1.3, max(costs) * 1.3
    y = alt.Y(
        "y:Q", title="Cost of a run",
        scale=alt.Scale(type="log", domain=[bottom, top], nice=False),
        axis=alt.Axis(values=axes.log_ticks(bottom, top), format="~g"),
    )  # fmt: skip
    base = chart_of(rows)
    picture = layer(
        base.mark_point(filled=True, size=60, opacity=1).encode(
            x=x, y=y, color=by_kind("kind"), shape=SHAPES, description=DESCRIBED
        ),
        base.mark_text(dy=-12, fontSize=10, color=theme.colour("muted")).encode(
            x=x, y=y, text=alt.Text("label:N")
        ),
    )  # fmt: skip
    return Figure(
        "scaling-cost",
        "What a run costs, and how long it takes",
        picture.properties(width=560, height=300),
        f"at {price:g} per node-hour; left and low is better; labels: nodes x ranks",
    )
