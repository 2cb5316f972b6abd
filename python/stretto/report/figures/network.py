"""Networks: latency and bandwidth against size, bandwidth against streams, pairs as a heat map."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence

import altair as alt

from stretto.measure.stats import Interval
from stretto.report import format as fmt
from stretto.report import theme
from stretto.report.figures import axes
from stretto.report.figures.data import DESCRIBED, keyed, layer
from stretto.report.figures.data import chart as chart_of
from stretto.report.figures.lines import LARGE, MICRO
from stretto.report.render import Figure

#: values of a line by what stands on the x axis
Curve = Mapping[int, Interval]
SHAPES = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down")
#: more hosts than these have no names at the matrix, and no figures in it
NAMED, FIGURES = 32, 8
_RATE_EXPR = (
    "datum.value < 1000 ? format(datum.value, '~g') + ' MB/s'"
    " : format(datum.value / 1000, '~g') + ' GB/s'"
)


def over_sizes(name: str, title: str, curves: Mapping[str, Curve], unit: str) -> Figure | None:
    """Draw latency (us) or bandwidth (MB/s) against the message size; None with one size."""
    scale = MICRO if unit == "us" else 1.0
    rows = _rows(curves, unit, scale)
    sizes = sorted({int(str(r["x"])) for r in rows})
    if len(sizes) < 2:
        return None
    low, high = (f(float(str(r[k])) for r in rows) for f, k in ((min, "a"), (max, "b")))
    if unit == "us":
        y = axes.log_time_y("y", low, high, "Time")
    else:
        bottom, top = low / 1.15, high * 1.15
        y = alt.Y(
            "y:Q", title="Bandwidth",
            scale=alt.Scale(type="log", domain=[bottom, top], nice=False),
            axis=alt.Axis(values=axes.log_ticks(bottom, top), labelExpr=_RATE_EXPR),
        )  # fmt: skip
    return _lines(name, title, curves, rows, axes.size_x("x", _apart(sizes)), y)


def _apart(sizes: Sequence[int]) -> list[int]:
    """Return the least, the largest, and sizes between them whose names have room at the axis."""
    room = math.log2(sizes[-1] / sizes[0]) / 6
    out = [sizes[0]]
    for size in sizes[1:-1]:
        if math.log2(size / out[-1]) >= room <= math.log2(sizes[-1] / size):
            out.append(size)
    return [*out, sizes[-1]]


def over_streams(name: str, title: str, curves: Mapping[str, Curve]) -> Figure | None:
    """Draw Gb/s against the number of streams; None with one number."""
    rows = _rows(curves, "Gb/s", 1.0)
    numbers = sorted({int(str(r["x"])) for r in rows})
    if len(numbers) < 2:
        return None
    high = 1.08 * max(float(str(r["b"])) for r in rows)
    y = alt.Y(
        "y:Q", title="Gb/s", scale=alt.Scale(domain=[0, high], nice=False),
        axis=alt.Axis(values=axes.linear_ticks(high), labelExpr="format(datum.value, '~r')"),
    )  # fmt: skip
    x = axes.log_cores_x("x", numbers, "TCP streams of a pair", numbers)
    return _lines(name, title, curves, rows, x, y)


def _rows(curves: Mapping[str, Curve], unit: str, scale: float) -> list[dict[str, object]]:
    rows: list[dict[str, object]] = []
    for series, curve in curves.items():
        for x, value in sorted(curve.items()):
            if x <= 0 or value.median <= 0:
                continue  # no place on a logarithmic axis
            low, high = value.low or value.median, value.high or value.median
            where = fmt.size(x) if unit != "Gb/s" else fmt.plural(x, "stream")
            words = f"{series}, {where} | {fmt.significant(value.median)} {unit}"
            if value.low is not None:
                words += f" ({fmt.significant(low)} to {fmt.significant(high)})"
            words += f", {fmt.plural(value.n, 'launch', 'launches')}"
            rows.append({"s": series, "x": x, "y": value.median * scale, "a": low * scale,
                         "b": high * scale, "d": words})  # fmt: skip
    return rows


def _lines(
    name: str,
    title: str,
    curves: Mapping[str, Curve],
    rows: Sequence[Mapping[str, object]],
    x: alt.X,
    y: alt.Y,
) -> Figure:
    names = [series for series in curves if any(r["s"] == series for r in rows)]
    hues = {series: theme.chosen_colour(i) for i, series in enumerate(names)}
    colour = keyed("s", hues, columns=1, labelLimit=300)
    shape = alt.Shape(
        "s:N", sort=names,
        scale=alt.Scale(domain=names, range=[SHAPES[i % len(SHAPES)] for i in range(len(names))]),
        legend=alt.Legend(title=None, orient="top", columns=1, labelLimit=300),
    )  # fmt: skip
    base = chart_of(rows)
    picture = layer(
        base.mark_line(aria=False, strokeWidth=2).encode(x=x, y=y, color=colour),
        base.mark_rule(aria=False).encode(x=x, y=_at(y, "a"), y2=alt.Y2("b:Q"), color=colour),
        base.mark_point(filled=True, size=40, opacity=1).encode(
            x=x, y=y, color=colour, shape=shape, description=DESCRIBED
        ),
    )
    width, height = LARGE
    # browsers' fonts may be wider than the one that was measured with
    room = {"left": 4, "top": 4, "bottom": 4, "right": 50}
    return Figure(name, title, picture.properties(width=width, height=height, padding=room))


def rails_bars(
    name: str, title: str, bars: Mapping[str, tuple[float, Mapping[str, float]]]
) -> Figure:
    """Draw MB/s by setting, a bar parted by the rails' shares of its bytes ("": not known)."""
    rails = sorted({rail for _, shares in bars.values() for rail in shares}, key=_natural)
    rows: list[dict[str, object]] = []
    for setting, (rate, shares) in bars.items():
        at = 0.0
        for rail, share in sorted(shares.items(), key=lambda i: _natural(i[0])) or [("", 1.0)]:
            words = f"{setting}, {rail or 'rails not known'} | {fmt.significant(rate * share)} MB/s"
            rows.append({"s": setting, "r": rail, "a": at, "b": at + rate * share,
                         "d": f"{words}, {100 * share:.0f} % of the bytes"})  # fmt: skip
            at += rate * share
    high = 1.08 * max(rate for rate, _ in bars.values())
    hues = {rail: theme.chosen_colour(i) for i, rail in enumerate(rails or [""])}
    x = alt.X(
        "a:Q", title="Bandwidth of all pairs", scale=alt.Scale(domain=[0, high], nice=False),
        axis=alt.Axis(values=axes.linear_ticks(high), labelExpr=_RATE_EXPR),
    )  # fmt: skip
    y = alt.Y("s:N", sort=list(bars), title=None, axis=alt.Axis(labelLimit=260, ticks=False))
    colour = keyed("r", hues, columns=3, labelLimit=160)
    picture = chart_of(rows).mark_bar(height=18).encode(
        x=x, x2=alt.X2("b:Q"), y=y, color=colour, description=DESCRIBED
    )  # fmt: skip
    room = {"left": 4, "top": 4, "bottom": 4, "right": 50}
    sized = picture.properties(width=LARGE[0], height=30 * len(bars), padding=room)
    return Figure(name, title, sized)


def _at(axis: alt.Y, field: str) -> alt.Y:
    """Return an axis for another field."""
    out: alt.Y = axis.copy(deep=False)
    out.shorthand = f"{field}:Q"
    return out


def _natural(name: str) -> list[tuple[int, str]]:
    return [(int(w), "") if w.isdecimal() else (-1, w) for w in re.split(r"(\d+)", name)]


def pairs_heat(
    name: str, title: str, values: Mapping[tuple[str, str], float], unit: str
) -> Figure | None:
    """Draw a figure of each pair of hosts, the sender at the left; None below three pairs."""
    if len(values) < 3:
        return None
    whole = list(dict.fromkeys(host for pair in values for host in pair))
    short = [host.partition(".")[0] for host in whole]
    called = dict(zip(whole, short if len(set(short)) == len(whole) else whole, strict=True))
    hosts = sorted(called.values(), key=_natural)
    rows = [
        {"x": called[target], "y": called[source], "v": value, "t": fmt.significant(value),
         "dark": value > 0.6 * max(values.values()),
         "d": f"{source} to {target} | {fmt.significant(value)} {unit}"}
        for (source, target), value in values.items()
    ]  # fmt: skip
    named = len(hosts) <= NAMED
    axis = alt.Axis(labels=named, ticks=False, domain=False, grid=False, labelLimit=110)
    x = alt.X("x:N", sort=hosts, title=None, scale=alt.Scale(domain=hosts), axis=axis)
    y = alt.Y("y:N", sort=hosts, title=None, scale=alt.Scale(domain=hosts), axis=axis)
    legend = alt.Legend(gradientLength=180)
    scale = alt.Scale(domain=[0, max(values.values())], range=list(theme.RAMP))
    base = chart_of(rows)
    cells = base.mark_rect().encode(
        x=x, y=y, color=alt.Color("v:Q", title=None, scale=scale, legend=legend),
        description=DESCRIBED,
    )  # fmt: skip
    parts: list[alt.Chart] = [cells]
    if len(hosts) <= FIGURES:
        ink = alt.condition(
            "datum.dark", alt.value("#ffffff"), alt.value(theme.colour("ink"))
        )  # fmt: skip
        parts.append(base.mark_text(fontSize=11).encode(x=x, y=y, text="t:N", color=ink))
    side = max(160, min(330, 44 * len(hosts)))
    room = {"left": 45, "top": 4, "bottom": 45, "right": 4}
    picture = layer(*parts).properties(width=side, height=side, padding=room)
    return Figure(name, title, picture, f"rows send to columns, {unit}", light_only=True)
