"""Strong scaling: elapsed time and speed-up against cores, and cost against time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt

from stretto.files.forecast import ForecastFile
from stretto.files.verdict import Metric
from stretto.report import format as fmt
from stretto.report import theme
from stretto.report.figures import axes
from stretto.report.figures.data import KINDS, Composed, by_kind, layer, lined
from stretto.report.figures.data import chart as chart_of
from stretto.report.render import Figure
from stretto.scaling.analyse import Findings, MeasuredPoint, Turn

WIDTH, HEIGHT = 560, 340
SHAPES = alt.Shape(
    "kind:N", scale=alt.Scale(domain=list(KINDS), range=["square", "circle"]), legend=None
)
Rows = Sequence[Mapping[str, object]]


def over_cores(
    rows: Rows,
    y: alt.Y,
    turns: Rows = (),
    ideal: Rows = (),
    band: bool = False,
    above: bool = False,
    simulated: bool = False,
    rising: bool = False,
) -> Composed:
    """Draw native and tuned against cores, a line through the best of each number of cores.

    `rows`: `cores`, `v`, `kind`, `label`, `d`, and with `band` `lo` and `hi`; the first of several
    with equally many cores is the best one.
    `turns`: `cores`, `v`, `kind` and `words` of the points at which more cores become slower.
    `ideal`: two points of the ideal. `above`: labels stand above their points.
    `simulated`: lines are dashed, and points hollow. `rising`: more is better.
    """
    cores = sorted({int(str(r["cores"])) for r in rows})
    x = axes.log_cores_x("cores", cores, "Cores", axes.size_ticks(cores, 10))
    best: dict[tuple[object, object], Mapping[str, object]] = {}
    for r in rows:
        best.setdefault((r["kind"], r["cores"]), r)
    colour = by_kind("kind", {str(r["kind"]) for r in rows})
    line, points = list(best.values()), chart_of(rows)
    dashed: dict[str, Any] = {"strokeDash": [4, 3], "color": theme.colour("faint")}
    layers: list[alt.Chart] = []
    if ideal:
        layers.append(chart_of(ideal).mark_line(**dashed).encode(x=x, y=y))
    if band:
        area = chart_of(line).mark_area(opacity=0.18)
        layers.append(area.encode(x=x, y=alt.Y("lo:Q"), y2=alt.Y2("hi:Q"), color=colour))
    layers.append(lined(line, x, y, colour, SHAPES, 60, simulated)[0])
    layers.append(lined(rows, x, y, colour, SHAPES, 60, simulated)[1])
    if any(r.get("label") for r in rows):
        names = points.mark_text(dy=-14 if above else 16, fontSize=10, color=theme.colour("muted"))
        layers.append(names.encode(x=x, y=y, text=alt.Text("label:N")))
    # the words stand in the corner from which the curves lead away: below the first point of times
    for kind, line_at in (("native", 12), ("tuned", 30)):
        mine = [t for t in turns if t["kind"] == kind]
        if mine:
            ring = chart_of(mine).mark_point(size=220, strokeWidth=2, filled=False, opacity=1)
            words = chart_of(mine).mark_text(align="left", baseline="middle", fontWeight="bold")
            at = alt.value(line_at if rising else HEIGHT - line_at)
            layers.append(ring.encode(x=x, y=y, color=colour))
            layers.append(
                words.encode(x=alt.value(10), y=at, text=alt.Text("words:N"), color=colour)
            )
    return layer(*layers).properties(width=WIDTH, height=HEIGHT)


def _sorted(found: Findings) -> list[MeasuredPoint]:
    return sorted(found.points, key=lambda m: (m.kind, m.point.cores, -m.speedup))


def _label(m: MeasuredPoint) -> str:
    return m.point.words if m.kind == "native" else ""


def _turned(turn: Turn) -> str:
    cores = fmt.plural(turn.best.point.cores, "core")
    if turn.certain:
        return f"{turn.kind}: slower beyond {cores}"
    return f"{turn.kind}: fastest on {cores}, inconclusive"


def elapsed(found: Findings, metric: Metric) -> Figure | None:
    """Draw what was measured against the cores, with the points where it stops scaling.

    None for a single number of cores.
    """
    if len({m.point.cores for m in found.points}) < 2:
        return None
    rows: list[dict[str, object]] = []
    for m in _sorted(found):
        v = m.value
        low, high = v.low or v.median, v.high or v.median
        rows.append({"cores": m.point.cores, "v": v.median, "lo": low, "hi": high, "kind": m.kind,
                     "label": _label(m), "d": f"{m.kind}, {m.point.words} | "
                     f"{fmt.significant(v.median, 4)} {metric.unit} "
                     f"({fmt.significant(low, 4)} to {fmt.significant(high, 4)}), "
                     f"{fmt.plural(v.n, 'run')}"})  # fmt: skip
    turns = [
        {"cores": t.best.point.cores, "v": t.best.value.median, "kind": t.kind, "words": _turned(t)}
        for t in found.turns if t.slower
    ]  # fmt: skip
    cores = [m.point.cores for m in found.points]
    base = next(m for m in found.points
                if (m.point, m.kind) == (found.reference, found.reference_kind))  # fmt: skip
    faster = 1 if metric.better == "higher" else -1
    ideal = [
        {"cores": c, "v": base.value.median * (c / base.point.cores) ** faster}
        for c in (min(cores), max(cores))
    ]
    ends = [float(str(v)) for v in (*(r[k] for r in rows for k in ("lo", "hi")),
                                    *(i["v"] for i in ideal))]  # fmt: skip
    low, high = min(ends), max(ends)
    name = fmt.metric_name(metric)
    wall = metric.pattern is None
    title = "Elapsed time" if wall else name[:1].upper() + name[1:]
    if metric.unit == "s":
        y = axes.log_time(alt.Y, "v", low / 1.1, high * 1.1, title)
    else:
        y = axes.log_y("v", low, high, f"{title} ({metric.unit})" if metric.unit else title)
    return Figure(
        "scaling-elapsed",
        f"{title} against cores",
        over_cores(rows, y, turns, ideal, band=True, above=True, rising=metric.better == "higher"),
        "bands: 95 % intervals; dashed: ideal; labels: nodes x ranks; rings: the fastest point, "
        "where more cores are slower",
    )


def speedup(found: Findings) -> Figure | None:
    """Draw the speed-up against the cores, with the ideal; None for a single number of cores."""
    cores = sorted({m.point.cores for m in found.points})
    if len(cores) < 2:
        return None
    rows = [
        {"cores": m.point.cores, "v": m.speedup, "kind": m.kind, "label": _label(m),
         "d": f"{m.kind}, {m.point.words} | speed-up {m.speedup:.2f}, efficiency "
         f"{fmt.percent(m.efficiency)}, {fmt.plural(m.value.n, 'run')}"}
        for m in _sorted(found)
    ]  # fmt: skip
    first = found.reference.cores
    ideal = [{"cores": c, "v": c / first} for c in (cores[0], cores[-1])]
    values = [m.speedup for m in found.points] + [cores[0] / first, cores[-1] / first]
    return Figure(
        "scaling-speedup",
        "Speed-up with more cores",
        over_cores(rows, axes.log_y("v", min(values), max(values), "Speed-up"), ideal=ideal),
        f"against {found.reference.words}; dashed: ideal; labels: nodes x ranks",
    )


def cost(found: Findings, price: float | None) -> Figure | None:
    priced = [m for m in found.points if m.cost]
    if price is None or len(priced) < 2:
        return None
    rows = [
        {"x": m.wall_s, "y": m.cost, "kind": m.kind, "label": m.point.words,
         "d": f"{m.kind}, {m.point.words} | {fmt.seconds(m.wall_s)}, {m.cost:.4g} a run"}
        for m in priced
    ]  # fmt: skip
    times = [m.wall_s for m in priced]
    costs = [m.cost or 0.0 for m in priced]
    x = axes.log_time(alt.X, "x", min(times), max(times), "Wall time of a run")
    y = axes.log_y("y", min(costs), max(costs), "Cost of a run")
    names = [  # of tuned runs below: both may lie on one spot
        chart_of([r for r in rows if r["kind"] == kind])
        .mark_text(dy=dy, fontSize=10, color=theme.colour("muted"))
        .encode(x=x, y=y, text=alt.Text("label:N"))
        for kind, dy in (("native", -12), ("tuned", 14))
        if any(m.kind == kind for m in priced)
    ]
    picture = layer(
        lined(rows, x, y, by_kind("kind", {m.kind for m in priced}), SHAPES, 60)[1], *names
    )
    return Figure(
        "scaling-cost",
        "What a run costs, and how long it takes",
        picture.properties(width=WIDTH, height=300),
        f"at {price:g} per node-hour; left and low is better; labels: nodes x ranks",
    )


def forecast_elapsed(forecast: ForecastFile) -> Figure:
    """Draw a recorded application at other scales: elapsed time against cores."""
    rows: list[dict[str, Any]] = []
    turns: list[dict[str, Any]] = []
    for kind in KINDS:
        tuned = kind == "tuned"
        turn = forecast.turning_point(tuned)
        for s in forecast.scales:
            low, high = s.tuned_interval_s if tuned else s.native_interval_s
            time = (s.tuned if tuned else s.native).total_s
            words = f"{fmt.seconds(time)} ({fmt.seconds(low)} to {fmt.seconds(high)}), simulated"
            rows.append({"cores": s.ranks, "v": time, "lo": low, "hi": high, "kind": kind,
                         "d": f"{kind}, {s.nodes} x {s.ppn} | {words}"})  # fmt: skip
            if turn is s:
                words = f"{kind}: slower beyond {fmt.count(s.ranks)} cores"
                turns.append({"cores": s.ranks, "v": time, "kind": kind, "words": words})
    low, high = min(row["lo"] for row in rows), max(row["hi"] for row in rows)
    y = axes.log_time(alt.Y, "v", low, high, "Elapsed time")
    picture = over_cores(rows, y, turns, band=True, simulated=True)
    name = fmt.identifier(f"forecast-{forecast.program}-{forecast.platform}-{forecast.scaling}")
    return Figure(name, f"{forecast.program}: forecast", picture, forecast.note, True)
