"""Time per call against message size, and against ranks: native, all candidates, the chosen."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, cast

import altair as alt

from stretto.report import format as fmt
from stretto.report import theme
from stretto.report.figures import axes
from stretto.report.figures.data import chart as chart_of
from stretto.report.figures.data import layer
from stretto.report.points import NATIVE, Panel, Point
from stretto.report.render import Figure

LABEL_GAP = 13
MOST_LINES = 18  # as many names as fit beside a chart
MICRO = 1e-6


class Room(NamedTuple):
    """The size of a plot, without axes and labels."""

    width: int
    height: int


LARGE, SMALL = Room(330, 250), Room(210, 180)

Colours = Mapping[str, str]
Row = dict[str, object]
Values = tuple[float, float, float]
Scale = Callable[[Point], Values | None]


def in_seconds(point: Point) -> Values | None:
    """Return what is drawn of a point: median, low, high; here, its times in seconds."""
    e = point.estimate
    return e.median * MICRO, e.low * MICRO, e.high * MICRO


@dataclass(frozen=True)
class Line:
    """One line of a chart with its style.

    `who` stands before the tooltips, where two systems are compared.
    """

    name: str
    label: str
    colour: str
    emphasis: int  # 0 context, 1 chosen somewhere, 2 native
    xs: list[float]
    points: list[Point]
    who: str = ""


def _domain(axis: alt.Y) -> tuple[float, float]:
    """Return the ends of an axis that was made with a domain."""
    described = cast("dict[str, Any]", axis.to_dict())
    low, high = described["scale"]["domain"]
    return float(low), float(high)


def _describe(point: Point, chosen: bool) -> str:
    e = point.estimate
    words = [
        f"{point.candidate}, {fmt.size(point.bytes)}, {point.layout}",
        f"median {fmt.microseconds(e.median)}"
        + (
            f" ({fmt.microseconds(e.low)} to {fmt.microseconds(e.high)})"
            if e.kind != "none"
            else ""
        ),
        fmt.plural(e.launches, "launch", "launches"),
    ]
    if chosen:
        words.append("chosen by the table")
    if point.simulated:
        words.append("source: simulated")
    if not point.correct:
        words.append("WRONG RESULTS")
    return " | ".join(words)


def _rows(line: Line, chosen: Mapping[int, str], scale: Scale) -> list[Row]:
    out: list[Row] = []
    for x, p in zip(line.xs, line.points, strict=True):
        values = scale(p)
        if values is None:
            continue
        out.append(
            {
                "x": x,
                "t": values[0],
                "lo": values[1],
                "hi": values[2],
                "d": (f"{line.who} | " if line.who else "")
                + _describe(p, chosen.get(p.bytes) == line.name),
            }
        )
    return out


def _line_layers(
    lines: Sequence[Line], x: alt.X, y: alt.Y, chosen: Mapping[int, str], scale: Scale = in_seconds
) -> list[alt.Chart]:
    """Return intervals, lines and points of all lines, in three layers; later lines lie on top."""
    low, high = _domain(y)
    rows: list[Row] = []
    for line in lines:
        simulated = any(p.simulated for p in line.points)
        style: Row = {
            "c": line.who or line.name,
            "hue": line.colour,
            "fill": theme.colour("paper") if simulated else line.colour,
            "dash": [3, 3] if simulated else [1, 0],
            "wide": (1.0, 1.8, 2.2)[line.emphasis],
            "size": (14, 34, 38)[line.emphasis],
            "shape": "square" if line.name == NATIVE else "circle",
        }
        for row in _rows(line, chosen, scale):
            # intervals end at the frame; what lies wholly outside is not drawn
            row["lo"] = max(float(str(row["lo"])), low)
            row["hi"] = min(float(str(row["hi"])), high)
            if low <= float(str(row["t"])) <= high:
                rows.append(row | style)
    base = chart_of(rows)
    hue = alt.Color("hue:N", scale=None, legend=None)
    bars = base.mark_rule(strokeWidth=1.2, opacity=0.75).encode(
        x=x, y=alt.Y("lo:Q"), y2="hi:Q", color=hue
    )
    path = base.mark_line().encode(
        x=x,
        y=y,
        detail="c:N",
        color=hue,
        strokeDash=alt.StrokeDash("dash:N", scale=None, legend=None),
        strokeWidth=alt.StrokeWidth("wide:Q", scale=None, legend=None),
    )
    dots = base.mark_point(strokeWidth=1.2, opacity=1).encode(
        x=x,
        y=y,
        stroke=alt.Stroke("hue:N", scale=None, legend=None),
        fill=alt.Fill("fill:N", scale=None, legend=None),
        size=alt.Size("size:Q", scale=None, legend=None),
        shape=alt.Shape("shape:N", scale=None, legend=None),
        description="d:N",
    )
    return [bars, path, dots]


def _labels(
    lines: Sequence[Line], y: alt.Y, scale: Scale = in_seconds, room: Room = LARGE
) -> list[alt.Chart]:
    """Name every line at its end, in its colour; this needs no legend and no guessing."""
    bottom, top = map(math.log, _domain(y))

    def pixel(value: float) -> float:
        place = room.height * (top - math.log(value)) / (top - bottom)
        return min(max(place, 0.0), float(room.height))

    ends, wanted = [], []
    for line in lines:
        values = scale(line.points[-1]) if line.points else None
        if values is not None:
            ends.append(line)
            wanted.append(pixel(values[0]))
    placed = axes.spread(wanted, LABEL_GAP, 0, room.height)
    rows = [
        {"label": q.label, "hue": q.colour, "own": own, "at": at, "bold": bool(q.emphasis)}
        for q, at, own in zip(ends, placed, wanted, strict=True)
    ]
    base = chart_of(rows)
    hue = alt.Color("hue:N", scale=None, legend=None)
    place = alt.Y("at:Q", scale=None, axis=None)
    leaders = (
        base.transform_filter("abs(datum.at - datum.own) > 3")
        .mark_rule(strokeWidth=0.7, opacity=0.7)
        .encode(
            x=alt.value(room.width + 1),
            x2=alt.value(room.width + 9),
            y=alt.Y("own:Q", scale=None, axis=None),
            y2="at:Q",
            color=hue,
        )
    )
    texts = [
        base.transform_filter("datum.bold" if bold else "!datum.bold")
        .mark_text(
            align="left", baseline="middle", fontSize=11, fontWeight="bold" if bold else "normal"
        )
        .encode(x=alt.value(room.width + 12), y=place, text="label:N", color=hue)
        for bold in (False, True)
    ]
    return [leaders, *texts]


def _style(panel: Panel, colours: Colours) -> list[Line]:
    ever = panel.ever_chosen()
    lines = []
    for name in panel.candidates:
        points = panel.of(name)
        if name == NATIVE:
            colour, emphasis = theme.colour("native"), 2
        elif name in ever:
            colour, emphasis = colours.get(name, theme.colour("slate")), 1
        else:
            colour, emphasis = theme.colour("other-mpi"), 0
        xs = [float(p.bytes) for p in points]
        lines.append(Line(name, fmt.choice(name, 20), colour, emphasis, xs, points))
    return sorted(lines, key=lambda line: line.emphasis)


def _halo(panel: Panel, x: alt.X, y: alt.Y, scale: Scale) -> list[alt.Chart]:
    """Return a pale band under the points that the table chose."""
    low, high = _domain(y)
    rows = []
    for n in panel.sizes:
        name = panel.chosen.get(n)
        p = None if name is None else panel.point(name, n)
        values = None if p is None else scale(p)
        if values is not None and low <= values[0] <= high:
            rows.append({"x": n, "t": values[0]})
    if not rows:
        return []
    band = chart_of(rows).mark_line(
        color=theme.colour("blue-band"), strokeWidth=9, strokeCap="round"
    )
    return [band.encode(x=x, y=y)]


def _kept(panel: Panel) -> set[str]:
    """Return the candidates to draw: native, what is chosen, and the best of the others."""

    def best(name: str) -> float:
        ratios = [p.relative.median for p in panel.of(name) if p.relative is not None]
        if ratios:
            return min(ratios)
        native = {p.bytes: p.estimate.median for p in panel.of(NATIVE)}
        return min(
            (p.estimate.median / native[p.bytes] for p in panel.of(name) if native.get(p.bytes)),
            default=math.inf,
        )

    always = {NATIVE, *panel.ever_chosen()}
    others = sorted((n for n in panel.candidates if n not in always), key=best)
    return (always & set(panel.candidates)) | set(others[: max(0, MOST_LINES - len(always))])


def latency(panel: Panel, colours: Colours) -> list[Figure]:
    """Draw time per call against message size for one panel, absolute and relative to native.

    Over several decades lines that differ by half lie on one another; the second figure, in which
    native is the line at 1, is where a choice is seen.

    Parameters
    ----------
    panel
        The points.
    colours
        Colour of each chosen candidate, the same in the whole report.

    Returns
    -------
    list of Figure
        Empty when there is only one size (or none above zero bytes): the bars show that. One figure
        when native was not measured.
    """
    points = [p for p in panel.points if p.bytes > 0 and p.estimate.low > 0]
    sizes = sorted({p.bytes for p in points})
    if len(sizes) < 2:
        return []
    kept = _kept(panel)
    points = [p for p in points if p.candidate in kept]
    drawn = replace(panel, points=points)
    lines = _style(drawn, colours)
    x = axes.size_x("x", sizes)
    low = min(p.estimate.low for p in points) * MICRO
    high = max(p.estimate.high for p in points) * MICRO
    name = f"MPI_{panel.collective.capitalize()}"
    note = panel.setting
    dropped = len(panel.candidates) - len(kept)
    if dropped:
        note += f"; the {dropped} slowest of {len(panel.candidates)} candidates are left out"
    out = [
        Figure(
            f"latency-{panel.name}",
            f"{name}: time per call",
            chart(lines, x, axes.log_time_y("t", low, high, "Time per call"), in_seconds, drawn),
            note,
            panel.simulated,
        )
    ]
    native = {p.bytes: p.estimate.median * MICRO for p in drawn.of(NATIVE)}

    def relative(point: Point) -> Values | None:
        r = point.relative
        if r is not None and point.candidate != NATIVE:
            return r.median, r.low, r.high
        base, e = native.get(point.bytes), point.estimate
        if base is None:
            return None
        # native's own interval, and what no launch measured together with native
        return e.median * MICRO / base, e.low * MICRO / base, e.high * MICRO / base

    ratios = [v[0] for p in points if (v := relative(p)) is not None]
    if len(native) > 1 and len(lines) > 1:
        y = axes.ratio_y("t", min(ratios), max(ratios))
        out.append(
            Figure(
                f"relative-{panel.name}",
                f"{name}: time relative to native",
                chart(lines, x, y, relative, drawn),
                f"{note}; below 1 is faster",
                panel.simulated,
            )
        )
    return out


def chart(
    lines: Sequence[Line],
    x: alt.X,
    y: alt.Y,
    scale: Scale = in_seconds,
    panel: Panel | None = None,
    room: Room = LARGE,
) -> alt.LayerChart:
    """Draw lines with their intervals, points and names.

    Parameters
    ----------
    lines
        The last one lies on top.
    x, y
        The axes.
    scale
        What times are multiplied with.
    panel
        Where given, a pale band shows what its table chose.
    room
        The size of the plot.
    """
    chosen = panel.chosen if panel is not None else {}
    halo = _halo(panel, x, y, scale) if panel is not None else []
    layers = [*halo, *_line_layers(lines, x, y, chosen, scale)]
    return _with_labels(layers, _labels(lines, y, scale, room), room)


def _with_labels(
    layers: Sequence[alt.Chart], labels: Sequence[alt.Chart], room: Room = LARGE
) -> alt.LayerChart:
    """Put labels, whose places are pixels, over layers whose places are data."""
    both = layer(layer(*layers), layer(*labels)).properties(width=room.width, height=room.height)
    return cast(alt.LayerChart, both.resolve_scale(y="independent"))


def scaling(panels: Sequence[Panel], number: int) -> Figure | None:
    """Draw time per call against ranks at one size: native, and the table's choice.

    Parameters
    ----------
    panels
        Panels of one collective and mode, one for each layout.
    number
        The message size.

    Returns
    -------
    Figure or None
        None when fewer than two rank counts have that size.
    """
    native = [p for q in panels if (p := q.point(NATIVE, number))]
    chosen = [
        p for q in panels if (c := q.chosen.get(number)) is not None and (p := q.point(c, number))
    ]
    points = [p for p in native + chosen if p.estimate.low > 0]
    ranks = sorted({p.layout.nranks for p in points})
    if len(ranks) < 2:
        return None
    collective = panels[0].collective
    low = min(p.estimate.low for p in points) * MICRO
    high = max(p.estimate.high for p in points) * MICRO
    y = axes.log_time_y("t", low, high, "Time per call")
    x = alt.X(
        "x:Q",
        title="Ranks",
        scale=alt.Scale(type="log", base=2, domain=[ranks[0] / 1.15, ranks[-1] * 1.15], nice=False),
        axis=alt.Axis(values=axes.size_ticks(ranks, 7), grid=False, format="d"),
    )
    lines = [
        Line(name, label, theme.colour(hue), emphasis, [float(p.layout.nranks) for p in ps], ps)
        for name, label, hue, emphasis, ps in (
            ("tuned", "chosen", "blue", 1, sorted(chosen, key=lambda p: p.layout)),
            (NATIVE, NATIVE, "native", 2, sorted(native, key=lambda p: p.layout)),
        )
    ]
    return Figure(
        f"scaling-{panels[0].kind}-{number}B",
        f"MPI_{collective.capitalize()}" + (f" of {fmt.size(number)}" if number else ""),
        chart(lines, x, y, room=SMALL),
        f"time per call against ranks, {panels[0].mode}",
        any(p.simulated for p in points),
    )
