"""Networks: latency and bandwidth against size, bandwidth against streams, pairs as a heat map."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt

from stretto.measure.stats import Interval
from stretto.report import format as fmt
from stretto.report import theme
from stretto.report.figures import axes
from stretto.report.figures.data import chart as chart_of
from stretto.report.figures.data import keyed, layer, lined, looked_up, spans
from stretto.report.figures.lines import LARGE, MICRO
from stretto.report.figures.matrix import grid
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
_MESSAGES_EXPR = "format(datum.value, '~s') + '/s'"


def over_sizes(name: str, title: str, curves: Mapping[str, Curve], unit: str) -> Figure | None:
    """Draw latency (us), bandwidth (MB/s) or messages/s against size; None with one size."""
    scale = MICRO if unit == "us" else 1.0
    rows = _rows(curves, unit, scale)
    sizes = sorted({int(str(r["x"])) for r in rows})
    if len(sizes) < 2:
        return None
    low, high = (f(float(str(r[k])) for r in rows) for f, k in ((min, "a"), (max, "b")))
    if unit == "us":
        y = axes.log_time(alt.Y, "y", low, high, "Time")
    elif unit == "MB/s":
        y = axes.log_y("y", low, high, "Bandwidth", labelExpr=_RATE_EXPR)
    else:
        y = axes.log_y("y", low, high, "Messages", labelExpr=_MESSAGES_EXPR)
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
    y = axes.from_zero(alt.Y, "y", high, "Bandwidth (Gb/s)", "format(datum.value, '~r')")
    x = axes.log_cores_x("x", numbers, "TCP streams of a pair", numbers)
    return _lines(name, title, curves, rows, x, y)


def over_ranks(name: str, title: str, curves: Mapping[str, Curve]) -> Figure | None:
    """Draw seconds against the number of ranks; None with one number."""
    rows = _rows(curves, "s", 1.0)
    numbers = sorted({int(str(r["x"])) for r in rows})
    if len(numbers) < 2:
        return None
    low, high = (f(float(str(r[k])) for r in rows) for f, k in ((min, "a"), (max, "b")))
    y = axes.log_time(alt.Y, "y", low, high, "Time until the last rank is done")
    x = axes.log_cores_x("x", numbers, "Ranks", _apart(numbers))
    return _lines(name, title, curves, rows, x, y)


def _rows(curves: Mapping[str, Curve], unit: str, scale: float) -> list[dict[str, object]]:
    rows: list[dict[str, object]] = []
    for series, curve in curves.items():
        for x, value in sorted(curve.items()):
            if x <= 0 or value.median <= 0:
                continue  # no place on a logarithmic axis
            low, high = value.low or value.median, value.high or value.median
            nouns = {"Gb/s": "stream", "s": "rank"}
            where = fmt.plural(x, nouns[unit]) if unit in nouns else fmt.size(x)
            words = f"{series}, {where} | {fmt.significant(value.median)} {unit}"
            if value.low is not None:
                words += f" ({fmt.significant(low)} to {fmt.significant(high)})"
            of = ("pair",) if unit == "Gb/s" else ("launch", "launches")
            words += f", {fmt.plural(value.n, *of)}"
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
    line, points = lined(rows, x, y, colour, shape, 40)
    spread = chart_of(rows).mark_rule(aria=False).encode(
        x=x, y=_at(y, "a"), y2=alt.Y2("b:Q"), color=colour
    )  # fmt: skip
    picture = layer(line, spread, points)
    return Figure(name, title, picture.properties(width=LARGE.width, height=LARGE.height))


def rails_bars(
    name: str, title: str, bars: Mapping[str, tuple[float, Mapping[str, float]]], unit: str = "MB/s"
) -> Figure:
    """Draw a rate by setting, a bar parted by the rails' shares of its bytes ("": not known).

    `unit`: MB/s, or messages/s.
    """
    rails = sorted({rail for _, shares in bars.values() for rail in shares}, key=_natural)
    labels = fmt.distinct({setting: fmt.choice(setting, 44) for setting in bars})
    rows: list[dict[str, object]] = []
    for setting, (rate, shares) in bars.items():
        at = 0.0
        for rail, share in sorted(shares.items(), key=lambda i: _natural(i[0])) or [("", 1.0)]:
            words = f"{setting}{f', {rail}' if rail else ''} | {fmt.count(rate * share)} {unit}"
            words += f", {100 * share:.0f} % of the bytes" if rail else ""
            rows.append({"s": setting, "r": rail, "a": at, "b": at + rate * share, "d": words})
            at += rate * share
    high = 1.08 * max(rate for rate, _ in bars.values())
    hues = {rail: theme.chosen_colour(i) for i, rail in enumerate(rails or [""])}
    expr = _RATE_EXPR if unit == "MB/s" else _MESSAGES_EXPR
    what = "Bandwidth" if unit == "MB/s" else "Messages"
    x = axes.from_zero(alt.X, "a", high, f"{what} of all pairs", expr)
    y = axes.names_y("s", list(bars), labelLimit=320, labelExpr=looked_up(labels))
    colour = keyed("r", hues, columns=3, labelLimit=160) if rails else alt.value(hues[""])
    picture = spans(rows, x, y, colour, 18)
    return Figure(name, title, picture.properties(width=LARGE[0], height=30 * len(bars)))


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
         "d": f"{source} to {target} | {fmt.significant(value)} {unit}"}
        for (source, target), value in values.items()
    ]  # fmt: skip
    named = len(hosts) <= NAMED
    side = max(160, min(330, 44 * len(hosts)))
    upright: dict[str, Any] = {"labelAngle": 0} if max(map(len, hosts)) < 4 else {}
    picture = grid(
        rows, (hosts, hosts), (0, max(values.values())), ("t",) if len(hosts) <= FIGURES else (),
        labels=named, labelLimit=110, **upright,
    ).properties(width=side, height=side)  # fmt: skip
    return Figure(name, title, picture, f"rows send to columns, {unit}", light_only=True)
