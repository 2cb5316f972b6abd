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
from stretto.report.figures.axes import _SIZE_EXPR
from stretto.report.figures.data import DESCRIBED, Composed, layer
from stretto.report.figures.data import chart as chart_of
from stretto.report.points import NATIVE
from stretto.report.render import Figure

SIDE = 330
MOST_CELLS = 64  # beyond this a picture of pixels; cells with tooltips would be megabytes
MOST_PIXELS = 512

Entry = tuple[int, int, int, int]


def _dense(entries: Sequence[Entry], size: int, step: int) -> np.ndarray:
    side = math.ceil(size / step)
    out = np.zeros((side, side))
    if entries:
        a = np.asarray(entries, dtype=float)
        index = a[:, :2].astype(np.int64) // step
        np.add.at(out, (index[:, 0], index[:, 1]), a[:, 3])
    return out


def _ramp() -> np.ndarray:
    return np.array([[int(c[i : i + 2], 16) for i in (1, 3, 5)] for c in theme.RAMP], dtype=float)


def _png(values: np.ndarray, low: float, high: float) -> str:
    """Return a data URI of a picture, one pixel a cell; cells without traffic are transparent."""
    ramp = _ramp()
    scaled = np.zeros(values.shape)
    some = values > 0
    span = math.log(high / low) or 1.0
    scaled[some] = np.log(values[some] / low) / span * (len(ramp) - 1)
    floor = np.clip(scaled.astype(int), 0, len(ramp) - 2)
    part = np.clip(scaled - floor, 0, 1)[..., None]
    rgba = np.empty((*values.shape, 4), dtype=np.uint8)
    rgba[..., :3] = (ramp[floor] * (1 - part) + ramp[floor + 1] * part).round()
    rgba[..., 3] = np.where(some, 255, 0)
    height, width = values.shape
    raw = b"".join(b"\0" + row.tobytes() for row in rgba)

    def chunk(kind: bytes, data: bytes) -> bytes:
        crc = zlib.crc32(kind + data)
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", crc)

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

    `entries`: source, target, messages, bytes.
    `what`: ``"rank"`` or ``"node"``.
    None when nothing was sent.
    """
    kept = [e for e in entries if e[3] > 0]
    if not kept or size < 2:
        return None
    pixels = size > MOST_CELLS
    step = math.ceil(size / MOST_PIXELS) if pixels else 1
    values = _dense(kept, size, step)
    positive = values[values > 0]
    low, high = float(positive.min()), float(positive.max())
    if high / low < 2:
        low = high / 2  # one shade for what is nearly equal, and not a scale of noise
    ticks = _ticks(size)
    noun = what.capitalize()
    scale = alt.Scale(domain=[-0.5, size - 0.5], nice=False)
    axis = alt.Axis(values=ticks, format="d", grid=False, domain=True)
    x = alt.X("x:Q", title=f"Receiving {what}", scale=scale, axis=axis)
    y = alt.Y(
        "y:Q",
        title=f"Sending {what}",
        scale=alt.Scale(domain=[size - 0.5, -0.5], nice=False),
        axis=axis,
    )
    legend = alt.Color(
        "v:Q",
        title="Bytes sent",
        scale=alt.Scale(type="log", domain=[low, high], range=list(theme.RAMP), clamp=True),
        legend=alt.Legend(
            labelExpr=_SIZE_EXPR, values=_decades(low, high), gradientLength=SIDE * 0.6
        ),
    )
    chart = (
        _pixels(values, size, step, low, high, x, y, legend)
        if pixels
        else _cells(kept, size, what, names, x, y, legend)
    )
    total = sum(e[3] for e in kept)
    note = f"{fmt.size(total)} in {fmt.plural(sum(e[2] for e in kept), 'message')}"
    if step > 1:
        note += f"; one pixel is {step} \u00d7 {step} {what}s"
    return Figure(
        f"matrix-{what}s",
        f"Communication matrix by {noun.lower()}: point-to-point bytes",
        chart.properties(width=SIDE, height=SIDE),
        note,
        light_only=True,
    )


def _ticks(size: int) -> list[int]:
    if size <= 16:
        return list(range(size))
    step = 2 ** math.ceil(math.log2(size / 8))
    return list(range(0, size, step))


def _decades(low: float, high: float) -> list[float]:
    first, last = math.ceil(math.log2(low)), math.floor(math.log2(high))
    if last - first < 1:
        return [low, high]
    step = max(1, math.ceil((last - first) / 5))
    return [2.0**e for e in range(first, last + 1, step)]


def _cells(
    kept: Sequence[Entry],
    size: int,
    what: str,
    names: Sequence[str] | None,
    x: alt.X,
    y: alt.Y,
    colour: alt.Color,
) -> alt.Chart:
    def label(i: int) -> str:
        return f"{what} {i}" if names is None else f"{names[i]}"

    sums: dict[tuple[int, int], tuple[int, int]] = {}
    for a, b, messages, volume in kept:
        m, v = sums.get((a, b), (0, 0))
        sums[(a, b)] = (m + messages, v + volume)
    gap = 0.46 if size <= 32 else 0.5
    rows = [
        {
            "x": b - gap,
            "x2": b + gap,
            "y": a - gap,
            "y2": a + gap,
            "v": volume,
            "d": f"{label(a)} to {label(b)}: {fmt.size(volume)}"
            f" in {fmt.plural(messages, 'message')}",
        }
        for (a, b), (messages, volume) in sums.items()
    ]
    cells: alt.Chart = chart_of(rows).mark_rect()
    out: alt.Chart = cells.encode(
        x=x,
        x2=alt.X2("x2:Q"),
        y=y,
        y2=alt.Y2("y2:Q"),
        color=colour,
        description=DESCRIBED,
    )
    return out


def _pixels(
    values: np.ndarray,
    size: int,
    step: int,
    low: float,
    high: float,
    x: alt.X,
    y: alt.Y,
    colour: alt.Color,
) -> Composed:
    picture = {"x": -0.5, "y": -0.5, "url": _png(values, low, high)}
    # the picture covers whole groups, the last of which may reach beyond the last rank
    reach = values.shape[0] * step / size * SIDE
    image = (
        chart_of([picture])
        .mark_image(
            width=reach, height=reach, align="left", baseline="top", smooth=False, clip=True
        )
        .encode(x=x, y=y, url=alt.Url("url:N"))
    )
    # marks without extent, so that Vega draws the legend of the picture's colours
    scale = (
        chart_of([{"x": 0, "y": 0, "v": low}, {"x": 0, "y": 0, "v": high}])
        .mark_point(aria=False, size=0, opacity=0)
        .encode(x=x, y=y, color=colour)
    )
    return layer(image, scale)


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
        source = row.evidence.get("source", "not measured")
        known = row.choice != NATIVE and row.ratio and source != "interpolated"
        gain = 1 / row.ratio if known and row.ratio else 1.0
        words = fmt.factor(gain) if known else "" if row.choice == NATIVE else source
        cells.append(
            {"x": f"{ppn}", "y": f"{nodes}", "v": gain, "name": fmt.choice(row.choice, 17),
             "gain": words, "d": f"{nodes} x {ppn} | {row.choice} | "
             + (f"{words} faster than native, {source}" if known else source)}
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
        "times as fast as native; without a number: native stays, or nothing was measured there",
        any(r.simulated for r in rows.values()),
        light_only=True,
    )
