"""Strong scaling: elapsed time and speed-up against cores, layouts at equal cores, and cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt

from stretto.counted import three
from stretto.files.forecast import ForecastFile
from stretto.files.verdict import Metric
from stretto.report import format as fmt
from stretto.report import theme
from stretto.report.figures import axes
from stretto.report.figures.data import DESCRIBED, KINDS, Composed, by_kind, keyed, layer, lined
from stretto.report.figures.data import chart as chart_of
from stretto.report.render import Figure
from stretto.scaling.analyse import Findings, MeasuredPoint, Turn
from stretto.scaling.show import name_of, number

WIDTH, HEIGHT = 560, 340
SHAPES = alt.Shape(
    "series:N", scale=alt.Scale(domain=list(KINDS), range=["square", "circle"]), legend=None
)
#: bars of a chart that have room for a number each
MOST_LABELS = 16
Rows = Sequence[Mapping[str, object]]
#: of lines that are not native and tuned; a line has both from its place
HUES = ("blue", "green", "purple", "wait", "sky", "brown", "slate", "native")
FORMS = ("square", "circle", "triangle-up", "diamond", "cross", "triangle-down", "triangle-right",
         "triangle-left")  # fmt: skip


@dataclass(frozen=True)
class ScaleLine:
    """The points of one line, the fewest cores first, of equally many the best first."""

    name: str
    points: Sequence[MeasuredPoint]


def series_of(found: Findings, system: str = "", by_nodes: bool = False) -> list[ScaleLine]:
    """Return a line for native and for tuned points, and one for each number of threads per rank.

    `system`: begins the names, where several are drawn. `by_nodes`: a line for each number of nodes
    instead of threads.
    """
    threads = len({m.point.threads for m in found.points}) > 1 and not by_nodes
    nodes = len({m.point.nodes for m in found.points}) > 1 and by_nodes
    groups: dict[str, list[MeasuredPoint]] = {}
    for m in sorted(
        found.points,
        key=lambda m: (m.kind, threads and (m.point.threads or 0), nodes and m.point.nodes,
                       m.point.cores, -m.speedup),
    ):  # fmt: skip
        words = [system] if system else []
        if threads:
            count = m.point.threads
            words.append("default threads" if count is None else
                         f"{fmt.plural(count, 'thread')} per rank")  # fmt: skip
        if nodes:
            words.append(fmt.plural(m.point.nodes, "node"))
        if m.kind == "tuned" or not words:
            words.append(m.kind)
        groups.setdefault(", ".join(words), []).append(m)
    return [ScaleLine(name, points) for name, points in groups.items()]


def styles(names: Sequence[str]) -> tuple[alt.Color, alt.Shape]:
    """Return the colours and shapes of lines, with one legend for both."""
    if set(names) <= set(KINDS):
        return by_kind("series", set(names)), SHAPES
    longest = max(map(len, names))
    columns = 4 if longest <= 12 else 3 if longest <= 20 else 2
    room: dict[str, Any] = {"labelLimit": 0, "columns": columns}
    forms = [FORMS[i % len(FORMS)] for i in range(len(names))]
    hues = {n: theme.colour(HUES[i % len(HUES)]) for i, n in enumerate(names)}
    shape = alt.Shape(
        "series:N",
        sort=list(names),
        scale=alt.Scale(domain=list(names), range=forms),
        legend=alt.Legend(title=None, orient="top", symbolOpacity=1, **room),
    )
    return keyed("series", hues, **room), shape


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
    """Draw series against cores, a line through the best of each number of cores.

    `rows`: `cores`, `v`, `series`, `label`, `d`, and with `band` `lo` and `hi`; the first of
    several with equally many cores is the best one.
    `turns`: `cores`, `v`, `kind`, `series` and `words` of the points at which more cores become
    slower.
    `ideal`: two points of the ideal. `above`: labels stand above their points.
    `simulated`: lines are dashed, and points hollow. `rising`: more is better.
    """
    cores = sorted({int(str(r["cores"])) for r in rows})
    x = axes.log_cores_x("cores", cores, "Cores", axes.size_ticks(cores, 10))
    best: dict[tuple[object, object], Mapping[str, object]] = {}
    for r in rows:
        best.setdefault((r["series"], r["cores"]), r)
    colour, shapes = styles(list(dict.fromkeys(str(r["series"]) for r in rows)))
    line, points = list(best.values()), chart_of(rows)
    dashed: dict[str, Any] = {"strokeDash": [4, 3], "color": theme.colour("faint")}
    layers: list[alt.Chart] = []
    if ideal:
        layers.append(chart_of(ideal).mark_line(**dashed).encode(x=x, y=y))
    if band:
        area = chart_of(line).mark_area(opacity=0.18)
        layers.append(area.encode(x=x, y=alt.Y("lo:Q"), y2=alt.Y2("hi:Q"), color=colour))
    layers.append(lined(line, x, y, colour, shapes, 60, simulated)[0])
    layers.append(lined(rows, x, y, colour, shapes, 60, simulated)[1])
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


def _turned(turn: Turn) -> str:
    cores = fmt.plural(turn.best.point.cores, "core")
    if turn.certain:
        return f"{turn.kind}: slower beyond {cores}"
    return f"{turn.kind}: fastest on {cores}, inconclusive"


def _title(metric: Metric) -> str:
    return "Elapsed time" if metric.pattern is None else fmt.capital(name_of(metric))


def _with_unit(title: str, metric: Metric) -> str:
    named = metric.unit.lower() in ("", title.lower())
    return title if named else f"{title} ({metric.unit})"


def _rows(series: Sequence[ScaleLine], metric: Metric, labels: bool) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    for one in series:
        for m in one.points:
            v = m.value
            low, high = v.low or v.median, v.high or v.median
            words = f"{number(v.median)} {metric.unit}".rstrip()
            words += f" ({number(low)} to {number(high)})" if v.low is not None else ""
            label = f"{m.point.nodes} x {m.point.ppn}" if labels and m.kind == "native" else ""
            rows.append({"cores": m.point.cores, "v": v.median, "lo": low, "hi": high,
                         "series": one.name, "label": label, "d": f"{one.name}, {m.point.words} | "
                         f"{words}, {fmt.plural(v.n, 'run')}"})  # fmt: skip
    return rows


def elapsed(
    series: Sequence[ScaleLine], metric: Metric, base: MeasuredPoint, turns: Sequence[Turn] = ()
) -> Figure | None:
    """Draw what was measured against the cores; None for a single number of cores.

    `base`: where the ideal begins. `turns`: of native and tuned points, where these are alone.
    """
    every = [m.point.cores for one in series for m in one.points]
    if len(set(every)) < 2:
        return None
    alone = {one.name for one in series} <= set(KINDS)
    rows = _rows(series, metric, labels=alone)
    named = {id(m): one.name for one in series for m in one.points}
    rings = [
        {"cores": t.best.point.cores, "v": t.best.value.median, "kind": t.kind,
         "series": named[id(t.best)], "words": _turned(t)}
        for t in turns if t.slower
    ]  # fmt: skip
    faster = 1 if metric.better == "higher" else -1
    ideal = [
        {"cores": c, "v": base.value.median * (c / base.point.cores) ** faster}
        for c in (min(every), max(every))
    ]
    ends = [*(r[k] for r in rows for k in ("lo", "hi")), *(i["v"] for i in ideal)]
    low, high = min(ends), max(ends)
    title = _title(metric)
    if metric.unit == "s":
        y = axes.log_time(alt.Y, "v", low / 1.1, high * 1.1, title)
    else:
        y = axes.log_y("v", low, high, _with_unit(title, metric))
    notes = ["bands: 95 % intervals", "dashed: ideal"]
    notes += ["labels: nodes x ranks"] if alone else []
    notes += ["rings: the fastest point, where more cores are slower"] if rings else []
    return Figure(
        "scaling-elapsed",
        f"{title} against cores",
        # labels of native stand away from the tuned points
        over_cores(rows, y, rings, ideal, band=True, above=faster < 0, rising=faster > 0),
        "; ".join(notes),
    )


def speedup(found: Findings) -> Figure | None:
    """Draw the speed-up against the cores, with the ideal; None for a single number of cores."""
    cores = sorted({m.point.cores for m in found.points})
    if len(cores) < 2:
        return None
    series = series_of(found)
    alone = {one.name for one in series} <= set(KINDS)
    rows = [
        {"cores": m.point.cores, "v": m.speedup, "series": one.name,
         "label": f"{m.point.nodes} x {m.point.ppn}" if alone and m.kind == "native" else "",
         "d": f"{one.name}, {m.point.words} | speed-up {m.speedup:.2f}, efficiency "
         f"{fmt.percent(m.efficiency)}, {fmt.plural(m.value.n, 'run')}"}
        for one in series for m in one.points
    ]  # fmt: skip
    first = found.reference.cores
    ideal = [{"cores": c, "v": c / first} for c in (cores[0], cores[-1])]
    values = [m.speedup for m in found.points] + [cores[0] / first, cores[-1] / first]
    labels = "; labels: nodes x ranks" if alone else ""
    return Figure(
        "scaling-speedup",
        "Speed-up with more cores",
        over_cores(rows, axes.log_y("v", min(values), max(values), "Speed-up"), ideal=ideal),
        f"against {found.reference.words}; dashed: ideal{labels}",
    )


def energy(series: Sequence[ScaleLine]) -> Figure | None:
    """Draw the energy of a run against the cores; None for a single number of cores."""
    rows = [
        {"cores": m.point.cores, "v": m.energy_j, "series": one.name,
         "d": f"{one.name}, {m.point.words} | {three(m.energy_j)} J"}
        for one in series
        for m in sorted(one.points, key=lambda m: (m.point.cores, m.energy_j or 0.0))
        if m.energy_j
    ]  # fmt: skip
    if len({row["cores"] for row in rows}) < 2:
        return None
    joules = [float(str(row["v"])) for row in rows]
    y = axes.log_y("v", min(joules), max(joules), "Energy (J)")
    words = "medians over runs, without a test; lower is better"
    return Figure("scaling-energy", "Energy of a run against cores", over_cores(rows, y), words)


def layouts(series: Sequence[ScaleLine], metric: Metric) -> list[Figure]:
    """Draw ranks x threads at equal cores as bars: the metric and, where measured, the energy."""
    every = [m for one in series for m in one.points]
    *first, last = [str(c) for c in sorted({m.point.cores for m in every})]
    cores = f"{', '.join(first)} and {last}" if first else last
    title = f"{_title(metric)} of layouts on {cores} cores"
    values = [
        {"m": m, "v": m.value.median, "lo": m.value.low, "hi": m.value.high, "series": one.name,
         "text": number(m.value.median), "unit": metric.unit}
        for one in series for m in one.points
    ]  # fmt: skip
    out = [
        Figure(
            "scaling-layouts",
            title,
            _bars(values, _with_unit(_title(metric), metric)),
            f"bars: medians; lines: 95 % intervals; {metric.better} is better",
        )
    ]
    joules = [
        {"m": m, "v": m.energy_j, "lo": None, "hi": None, "series": one.name,
         "text": three(m.energy_j), "unit": "J"}
        for one in series for m in one.points if m.energy_j is not None
    ]  # fmt: skip
    if joules:
        words = "bars: medians over runs, without a test; lower is better"
        name = f"Energy of a run on {cores} cores"
        out.append(Figure("scaling-layouts-energy", name, _bars(joules, "Energy (J)"), words))
    return out


def _bars(values: Sequence[dict[str, Any]], title: str) -> Composed:
    names = list(dict.fromkeys(v["series"] for v in values))
    shapes = sorted({(v["m"].point.threads or 1, v["m"].point.ppn) for v in values})
    order = [f"{ppn} x {threads}" for threads, ppn in shapes]
    rows = [
        {**{k: v[k] for k in ("v", "lo", "hi", "series", "text")},
         "layout": f"{v['m'].point.ppn} x {v['m'].point.threads or 1}", "zero": 0,
         "top": v["hi"] or v["v"],
         "d": f"{v['series']}, {v['m'].point.words} | {v['text']} {v['unit']}".rstrip()}
        for v in values
    ]  # fmt: skip
    several = len({v["m"].point.nodes for v in values}) > 1
    ranks = "Ranks per node" if several else "Ranks"
    x = alt.X("layout:N", sort=order, title=f"{ranks} x threads per rank",
              axis=alt.Axis(labelAngle=0, grid=False))  # fmt: skip
    high = max(r["top"] for r in rows) * 1.1
    y = axes.from_zero(alt.Y, "v", high, title, "format(datum.value, '~g')")
    place = alt.XOffset("series:N", sort=names)
    base, colour = chart_of(rows), styles(names)[0]
    bars = base.mark_bar().encode(x=x, y=y, xOffset=place, color=colour, description=DESCRIBED)
    lines = base.transform_filter("datum.lo !== null").mark_rule(color=theme.colour("ink")).encode(
        x=x, y=alt.Y("lo:Q"), y2=alt.Y2("hi:Q"), xOffset=place
    )  # fmt: skip
    texts = base.mark_text(dy=-7, fontSize=10, color=theme.colour("muted")).encode(
        x=x, y=alt.Y("top:Q"), xOffset=place, text=alt.Text("text:N")
    )
    drawn = [bars, lines, texts] if len(order) * len(names) <= MOST_LABELS else [bars, lines]
    return layer(*drawn).properties(width=WIDTH, height=HEIGHT)


def cost(found: Findings, price: float | None) -> Figure | None:
    priced = [m for m in found.points if m.cost]
    if price is None or len(priced) < 2:
        return None
    rows = [
        {"x": m.wall_s, "y": m.cost, "series": m.kind, "label": m.point.words,
         "d": f"{m.kind}, {m.point.words} | {fmt.seconds(m.wall_s)}, {m.cost:.4g} a run"}
        for m in priced
    ]  # fmt: skip
    times = [m.wall_s for m in priced]
    costs = [m.cost or 0.0 for m in priced]
    x = axes.log_time(alt.X, "x", min(times), max(times), "Wall time of a run")
    y = axes.log_y("y", min(costs), max(costs), "Cost of a run")
    names = [  # of tuned runs below: both may lie on one spot
        chart_of([r for r in rows if r["series"] == kind])
        .mark_text(dy=dy, fontSize=10, color=theme.colour("muted"))
        .encode(x=x, y=y, text=alt.Text("label:N"))
        for kind, dy in (("native", -12), ("tuned", 14))
        if any(m.kind == kind for m in priced)
    ]
    picture = layer(
        lined(rows, x, y, by_kind("series", {m.kind for m in priced}), SHAPES, 60)[1], *names
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
            rows.append({"cores": s.ranks, "v": time, "lo": low, "hi": high, "series": kind,
                         "d": f"{kind}, {s.nodes} x {s.ppn} | {words}"})  # fmt: skip
            if turn is s:
                words = f"{kind}: slower beyond {fmt.count(s.ranks)} cores"
                turns.append({"cores": s.ranks, "v": time, "kind": kind, "series": kind,
                              "words": words})  # fmt: skip
    low, high = min(row["lo"] for row in rows), max(row["hi"] for row in rows)
    y = axes.log_time(alt.Y, "v", low, high, "Elapsed time")
    picture = over_cores(rows, y, turns, band=True, simulated=True)
    name = fmt.identifier(f"forecast-{forecast.program}-{forecast.platform}-{forecast.scaling}")
    return Figure(name, f"{forecast.program}: forecast", picture, forecast.note, True)
