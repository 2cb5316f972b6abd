"""Lines of a chart: their intervals, points, styles and names; what all curves are drawn with."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import altair as alt

from stretto.report import format as fmt
from stretto.report import theme
from stretto.report.figures import axes
from stretto.report.figures.data import DESCRIBED, HUE, SHAPE, Composed, layer
from stretto.report.figures.data import chart as chart_of
from stretto.report.points import NATIVE, CandidatePoint, Panel

LABEL_GAP = 13
MICRO = 1e-6


class Room(NamedTuple):
    """The size of a plot, without axes and labels."""

    width: int
    height: int


LARGE, SMALL = Room(330, 250), Room(210, 180)

Colours = Mapping[str, str]
Row = dict[str, object]
Values = tuple[float, float, float]
Scale = Callable[[CandidatePoint], Values | None]


def in_seconds(point: CandidatePoint) -> Values | None:
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
    points: list[CandidatePoint]
    who: str = ""


def time_y(points: Sequence[CandidatePoint], title: str = "Time per call") -> alt.Y:
    low = min(p.estimate.low for p in points) * MICRO
    high = max(p.estimate.high for p in points) * MICRO
    axis: alt.Y = axes.log_time(alt.Y, "t", low, high, title)
    return axis


def _domain(axis: alt.Y) -> tuple[float, float]:
    low, high = axis["scale"]["domain"]
    return low, high


def _describe(point: CandidatePoint, chosen: bool) -> str:
    e = point.estimate
    interval = f" ({fmt.microseconds(e.low)} to {fmt.microseconds(e.high)})"
    words = [
        f"{point.name}, {fmt.size(point.bytes)}, {fmt.layout(point.layout)}",
        f"median {fmt.microseconds(e.median)}" + ("" if e.kind == "none" else interval),
        "" if point.simulated else fmt.plural(e.launches, "launch", "launches"),
        "chosen by the table" if chosen else "",
        "source: simulated" if point.simulated else "",
        "" if point.correct else "WRONG RESULTS",
    ]
    return " | ".join(filter(None, words))


def _line_layers(
    lines: Sequence[Line], x: alt.X, y: alt.Y, chosen: Mapping[int, str], scale: Scale
) -> list[alt.Chart]:
    low, high = _domain(y)
    rows: list[Row] = []
    for line in lines:
        simulated = any(p.simulated for p in line.points)
        who = f"{line.who} | " if line.who else ""
        style: Row = {
            "c": line.who or line.name,
            "hue": line.colour,
            "fill": theme.colour("paper") if simulated else line.colour,
            "dash": [3, 3] if simulated else [1, 0],
            "wide": (1.0, 1.8, 2.2)[line.emphasis],
            "size": (14, 34, 38)[line.emphasis],
            "shape": "square" if line.name == NATIVE else "circle",
        }
        for place, point in zip(line.xs, line.points, strict=True):
            values = scale(point)
            # intervals end at the frame; what lies wholly outside is not drawn
            if values is not None and low <= values[0] <= high:
                drawn = {"x": place, "t": values[0], "lo": max(values[1], low),
                         "hi": min(values[2], high)}  # fmt: skip
                words = who + _describe(point, chosen.get(point.bytes) == line.name)
                rows.append({**drawn, "d": words, **style})
    base = chart_of(rows)
    bars = base.mark_rule(strokeWidth=1.2, opacity=0.75).encode(
        x=x, y=alt.Y("lo:Q"), y2=alt.Y2("hi:Q"), color=HUE
    )
    path = base.mark_line().encode(
        x=x,
        y=y,
        detail=alt.Detail("c:N"),
        color=HUE,
        strokeDash=alt.StrokeDash("dash:N", scale=None, legend=None),
        strokeWidth=alt.StrokeWidth("wide:Q", scale=None, legend=None),
    )
    dots = base.mark_point(strokeWidth=1.2, opacity=1).encode(
        x=x,
        y=y,
        stroke=alt.Stroke("hue:N", scale=None, legend=None),
        fill=alt.Fill("fill:N", scale=None, legend=None),
        size=alt.Size("size:Q", scale=None, legend=None),
        shape=SHAPE,
        description=DESCRIBED,
    )
    return [bars, path, dots]


def _labels(lines: Sequence[Line], y: alt.Y, scale: Scale, room: Room) -> list[alt.Chart]:
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
    place = alt.Y("at:Q", scale=None, axis=None)
    leaders = (
        base.transform_filter("abs(datum.at - datum.own) > 3")
        .mark_rule(strokeWidth=0.7, opacity=0.7)
        .encode(
            x=alt.XValue(room.width + 1),  # type: ignore[no-untyped-call]
            x2=alt.X2Value(room.width + 9),  # type: ignore[no-untyped-call]
            y=alt.Y("own:Q", scale=None, axis=None),
            y2=alt.Y2("at:Q"),
            color=HUE,
        )
    )
    texts = [
        base.transform_filter("datum.bold" if bold else "!datum.bold")
        .mark_text(
            align="left", baseline="middle", fontSize=11, fontWeight="bold" if bold else "normal"
        )
        .encode(x=alt.XValue(room.width + 12), y=place, text=alt.Text("label:N"), color=HUE)  # type: ignore[no-untyped-call]
        for bold in (False, True)
    ]
    return [leaders, *texts]


def _halo(panel: Panel, x: alt.X, y: alt.Y, scale: Scale) -> list[alt.Chart]:
    low, high = _domain(y)
    rows = []
    for n in panel.sizes:
        p = panel.choice_at(n)
        values = None if p is None else scale(p)
        if values is not None and low <= values[0] <= high:
            rows.append({"x": n, "t": values[0]})
    if not rows:
        return []
    band = chart_of(rows).mark_line(
        color=theme.colour("blue-band"), strokeWidth=9, strokeCap="round"
    )
    return [band.encode(x=x, y=y)]


def chart(
    lines: Sequence[Line],
    x: alt.X,
    y: alt.Y,
    scale: Scale = in_seconds,
    panel: Panel | None = None,
    room: Room = LARGE,
    head: str = "",
) -> Composed:
    """Draw lines with their names.

    `head`: a title of its own, which is as far above the plot as that of any other chart.
    """
    chosen = panel.chosen if panel is not None else {}
    halo = _halo(panel, x, y, scale) if panel is not None else []
    layers = [*halo, *_line_layers(lines, x, y, chosen, scale)]
    # labels, whose places are pixels, over layers whose places are data
    parts = [layer(*layers), layer(*_labels(lines, y, scale, room))]
    if head:
        place: dict[str, Any] = {"x": alt.value(0), "y": alt.value(-12)}
        style: dict[str, Any] = {"baseline": "bottom", "fontSize": 13, "fontWeight": "bold"}
        text = chart_of([{"label": head}]).mark_text(align="left", **style)
        parts.append(layer(text.encode(text=alt.Text("label:N"), **place)))
    both = layer(*parts)
    return both.properties(width=room.width, height=room.height).resolve_scale(y="independent")
