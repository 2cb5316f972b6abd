"""Heat maps: who sends how much to whom, and a table's choices by layout."""

from __future__ import annotations

import base64
import math
import struct
import zlib
from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt
import numpy as np

from stretto.files.table import Row
from stretto.report import format as fmt
from stretto.report import theme
from stretto.report.figures.axes import SIZE_EXPR, quantity
from stretto.report.figures.data import DESCRIBED, Chart, Composed, layer
from stretto.report.figures.data import chart as chart_of
from stretto.report.points import NATIVE
from stretto.report.render import Figure

SIDE = 330
MOST_CELLS = 64  # beyond this a picture of pixels; cells with tooltips would be megabytes
MOST_PIXELS = 512

Entry = tuple[int, int, int, int]


def _png(values: np.ndarray, low: float, high: float) -> str:
    """Return a data URI of a picture, one pixel a cell; cells without traffic are transparent."""
    some = values > 0
    shade = np.log(np.where(some, values, low) / low) / (math.log(high / low) or 1.0)
    steps = np.linspace(0, 1, len(theme.RAMP))
    rgba = np.empty((*values.shape, 4), dtype=np.uint8)
    for i in range(3):
        ramp = [int(colour[1 + 2 * i : 3 + 2 * i], 16) for colour in theme.RAMP]
        rgba[..., i] = np.interp(shade, steps, ramp).round()
    rgba[..., 3] = np.where(some, 255, 0)

    def chunk(kind: bytes, data: bytes) -> bytes:
        crc = zlib.crc32(kind + data)
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", crc)

    height, width = values.shape
    raw = b"".join(b"\0" + row.tobytes() for row in rgba)
    data = (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 6, 0, 0, 0))
        + chunk(b"IDAT", zlib.compress(raw, 9))
        + chunk(b"IEND", b"")
    )
    return "data:image/png;base64," + base64.b64encode(data).decode()


def heat(
    entries: Sequence[Entry], size: int, what: str, names: Sequence[str] | None = None
) -> Figure | None:
    """Draw bytes sent by source and target.

    `entries`: source, target, messages, bytes; no pair twice.
    `what`: ``"rank"`` or ``"node"``.
    None when nothing was sent.
    """
    kept = [e for e in entries if e[3] > 0]
    if not kept or size < 2:
        return None
    pixels = size > MOST_CELLS
    step = math.ceil(size / MOST_PIXELS) if pixels else 1
    side = math.ceil(size / step)
    values = np.zeros((side, side))
    for source, target, _, volume in kept:
        values[source // step, target // step] += volume
    high = float(values.max())
    # one shade for what is nearly equal, and not a scale of noise
    least = float(values[values > 0].min())
    low = min(least, high / 2)
    tick = 2 ** math.ceil(math.log2(max(size / 8, 1))) if size > 16 else 1
    ends, ticks = [-0.5, size - 0.5], list(range(0, size, tick))
    words: dict[str, Any] = {"values": ticks, "format": "d", "grid": False}
    x = quantity(alt.X, "x", f"Receiving {what}", ends, **words)
    y = quantity(alt.Y, "y", f"Sending {what}", ends[::-1], **words)
    legend = alt.Color(
        "v:Q",
        title="Bytes sent",
        scale=alt.Scale(type="log", domain=[low, high], range=list(theme.RAMP), clamp=True),
        legend=alt.Legend(
            labelExpr=SIZE_EXPR, values=_decades(least, high), gradientLength=SIDE * 0.6
        ),
    )
    if pixels:
        # the picture covers whole groups, the last of which may reach beyond the last rank
        reach = side * step / size * SIDE
        picture = {"x": -0.5, "y": -0.5, "url": _png(values, low, high)}
        image = chart_of([picture]).mark_image(
            width=reach, height=reach, align="left", baseline="top", smooth=False, clip=True
        )
        # marks without extent, so that Vega draws the legend of the picture's colours
        shades = chart_of([{"x": 0, "y": 0, "v": v} for v in (low, high)])
        chart: Chart = layer(
            image.encode(x=x, y=y, url=alt.Url("url:N")),
            shades.mark_point(aria=False, size=0, opacity=0).encode(x=x, y=y, color=legend),
        )
    else:
        rows = [_cell(entry, size, what, names) for entry in kept]
        chart = chart_of(rows).mark_rect().encode(
            x=x, x2=alt.X2("x2:Q"), y=y, y2=alt.Y2("y2:Q"), color=legend, description=DESCRIBED
        )  # fmt: skip
    total = sum(e[3] for e in kept)
    note = f"{fmt.size(total)} in {fmt.plural(sum(e[2] for e in kept), 'message')}"
    if step > 1:
        note += f"; one pixel is {step} \u00d7 {step} {what}s"
    return Figure(
        f"matrix-{what}s",
        f"Communication matrix by {what}: point-to-point bytes",
        chart.properties(width=SIDE, height=SIDE),
        note,
        light_only=True,
    )


def _cell(entry: Entry, size: int, what: str, names: Sequence[str] | None) -> dict[str, object]:
    a, b, messages, volume = entry
    source, target = (f"{what} {i}" if names is None else names[i] for i in (a, b))
    gap = 0.46 if size <= 32 else 0.5
    words = f"{source} to {target}: {fmt.size(volume)} in {fmt.plural(messages, 'message')}"
    return {"x": b - gap, "x2": b + gap, "y": a - gap, "y2": a + gap, "v": volume, "d": words}


def _decades(low: float, high: float) -> list[float]:
    first, last = math.ceil(math.log2(low)), math.floor(math.log2(high))
    if last - first < 1:
        return [low, high] if low < high else [high]
    step = max(1, math.ceil((last - first) / 5))
    return [2.0**e for e in range(first, last + 1, step)]


def grid(
    rows: Sequence[Mapping[str, object]],
    names: tuple[Sequence[str], Sequence[str]],
    domain: tuple[float, float],
    texts: Sequence[str] = (),
    titles: tuple[str | None, str | None] = (None, None),
    **axis: Any,
) -> Composed:
    """Draw named cells: `x`, `y`, `v` (the shade), `d`, and a line of text for each of `texts`.

    `names`: of the columns and of the rows, in order.
    `domain`: of the shade.
    """
    x, y = (
        kind(f"{field}:N", sort=list(order), title=title, scale=alt.Scale(domain=list(order)),
             axis=alt.Axis(ticks=False, domain=False, grid=False, **axis))
        for kind, field, order, title in (
            (alt.X, "x", names[0], titles[0]), (alt.Y, "y", names[1], titles[1])
        )
    )  # fmt: skip
    low, high = domain
    dark = low + 0.6 * (high - low)
    base = chart_of([{**r, "dark": float(str(r["v"])) > dark} for r in rows])
    scale = alt.Scale(domain=[low, high], range=list(theme.RAMP), clamp=True)
    shade = alt.Color("v:Q", title=None, scale=scale, legend=alt.Legend(gradientLength=150))
    ink = alt.condition("datum.dark", alt.value("#ffffff"), alt.value(theme.colour("ink")))
    parts = [
        base.mark_rect(stroke=theme.colour("paper")).encode(
            x=x, y=y, color=shade, description=DESCRIBED
        )
    ]
    for i, field in enumerate(texts):
        dy = 15 * (i - (len(texts) - 1) / 2)
        parts.append(base.mark_text(fontSize=11, dy=dy).encode(x=x, y=y, text=f"{field}:N",
                                                               color=ink))  # fmt: skip
    return layer(*parts)


def best_choice(collective: str, number: int, rows: Mapping[tuple[int, int], Row]) -> Figure | None:
    """Draw what a table chooses on each layout, nodes x ranks per node, and what that gains.

    `rows`: by nodes and ppn, the row for messages of `number` bytes.
    None below three layouts.
    """
    if len(rows) < 3:
        return None
    cells = []
    for (nodes, ppn), row in rows.items():
        ratio = row.ratio if row.choice != NATIVE and row.source != "interpolated" else None
        gain = 1 / ratio if ratio else 1.0
        words = fmt.factor(gain) if ratio else "" if row.choice == NATIVE else row.source
        told = f"{words} faster than native, {row.source}" if ratio else row.source
        cells.append(
            {"x": f"{ppn}", "y": f"{nodes}", "v": gain, "name": fmt.choice(row.choice, 17),
             "gain": words, "d": f"{nodes} x {ppn} | {row.choice} | {told}"}
        )  # fmt: skip
    columns, lines = ([f"{n}" for n in sorted({k[i] for k in rows})] for i in (1, 0))
    most = max(2.0, max(float(str(c["v"])) for c in cells))
    picture = grid(
        cells, (columns, lines), (1.0, most), ("name", "gain"), ("Ranks per node", "Nodes"),
        labelAngle=0,
    ).properties(width=alt.Step(118), height=alt.Step(42))  # fmt: skip
    size = f" of {fmt.size(number)}" if number else ""
    return Figure(
        fmt.identifier(f"layouts-{collective}-{number}B"),
        f"MPI_{collective.capitalize()}{size}: best choice by layout",
        picture,
        "times as fast as native; without a number: native, or not measured",
        any(r.simulated for r in rows.values()),
        light_only=True,
    )
