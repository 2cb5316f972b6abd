"""Axes of time and size that every chart shares: units at the ticks, round ticks, no clutter."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import altair as alt
import numpy as np

# Ticks carry the unit, so that 1000 is never read as microseconds where seconds are meant.
SIZE_EXPR = (
    "datum.value < 1024 ? format(datum.value, 'd') + ' B'"
    " : datum.value < 1048576 ? format(datum.value / 1024, '.4~g') + ' KiB'"
    " : datum.value < 1073741824 ? format(datum.value / 1048576, '.4~g') + ' MiB'"
    " : format(datum.value / 1073741824, '.4~g') + ' GiB'"
)
TIME_EXPR = (
    "datum.value == 0 ? '0' : datum.value < 0.9999e-6 ? format(datum.value * 1e9, '~g') + ' ns'"
    " : datum.value < 0.9999e-3 ? format(datum.value * 1e6, '~g') + ' \u00b5s'"
    " : datum.value < 0.9999 ? format(datum.value * 1e3, '~g') + ' ms'"
    " : format(datum.value, '~g') + ' s'"
)


# Thin spaces between thousands, as everywhere else in the report.
THOUSANDS = "replace(datum.label, regexp(',', 'g'), '\u202f')"


def log_ticks(low: float, high: float) -> list[float]:
    """Return ticks for a logarithmic axis: decades where there are enough, else 1-2-5."""
    at_most = 7
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    for steps in ((1.0, 2.0, 5.0), (1.0, 3.0), (1.0,)):
        ticks = [s * 10.0**e for e in range(first, last + 1) for s in steps]
        inside = [t for t in ticks if low * 0.999 <= t <= high * 1.001]
        if len(inside) <= at_most:
            return inside
    decades = [10.0**e for e in range(first, last + 1) if low * 0.999 <= 10.0**e <= high * 1.001]
    return decades[:: math.ceil(len(decades) / at_most)]


def linear_ticks(high: float, at_most: int = 5) -> list[float]:
    if high <= 0:
        return [0.0]
    raw = high / at_most
    decade = 10.0 ** math.floor(math.log10(raw))
    step = next(s * decade for s in (1, 2, 2.5, 5, 10) if s * decade >= raw * 0.999)
    return [i * step for i in range(math.floor(high / step * 1.0001) + 1)]


def size_ticks(sizes: Sequence[int], at_most: int = 6) -> list[int]:
    """Return powers of two spread evenly over the sizes; all sizes when they are few."""
    if len(sizes) <= at_most:
        return list(sizes)
    low, high = math.ceil(math.log2(min(sizes))), math.floor(math.log2(max(sizes)))
    step = max(1, math.ceil((high - low) / (at_most - 1)))
    return [2**e for e in range(low, high + 1, step)]


def quantity(
    kind: type[alt.X] | type[alt.Y],
    field: str,
    title: str,
    domain: Sequence[float],
    log: int | None = None,
    **axis: Any,
) -> Any:
    """Return an axis of numbers that ends where `domain` does; `log`: the base of its logarithm."""
    base: dict[str, Any] = {"type": "log", "base": log} if log else {}
    scale = alt.Scale(domain=list(domain), nice=False, **base)
    return kind(f"{field}:Q", title=title, scale=scale, axis=alt.Axis(**axis))


def size_x(field: str, sizes: Sequence[int]) -> Any:
    return quantity(
        alt.X, field, "Message size", [min(sizes) / 1.25, max(sizes) * 1.25], 2,
        values=size_ticks(sizes), labelExpr=SIZE_EXPR, labelOverlap=False, grid=False,
    )  # fmt: skip


def log_time(
    kind: type[alt.X] | type[alt.Y], field: str, low: float, high: float, title: str
) -> Any:
    """Return a logarithmic axis of times in seconds."""
    low, high = low / 1.15, high * 1.15
    if high / low < 4:  # never blow up what is nearly flat
        middle = math.sqrt(low * high)
        low, high = middle / 2, middle * 2
    ticks = log_ticks(low, high)
    if len(ticks) < 2:
        ticks = [t for t in linear_ticks(high) if t >= low]
    words: dict[str, Any] = {"labelExpr": TIME_EXPR, "labelOverlap": False}
    return quantity(kind, field, title, [low, high], 10, values=ticks, **words)


def log_y(field: str, low: float, high: float, title: str, **axis: Any) -> Any:
    """Return a logarithmic axis of numbers."""
    low, high = low / 1.2, high * 1.2
    axis = axis or {"format": "~g"}
    return quantity(alt.Y, field, title, [low, high], 10, values=log_ticks(low, high), **axis)


RATIO_LIMIT = 4.0


def ratio_y(field: str, low: float, high: float, native: str = "native") -> Any:
    """Return a logarithmic axis of time relative to native, with 1 in it and 4 as its end.

    Slower than four times native is of no interest, and would flatten everything that is.
    """
    bottom = min(low / 1.12, 1 / 1.5)
    top = min(max(high * 1.12, 1.5), RATIO_LIMIT)
    ticks = [0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8, 1, 1.25, 1.5, 2, 3, 4]
    if top / bottom > 12:
        ticks = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 4]
    ticks = [t for t in ticks if bottom <= t <= top]
    words: dict[str, Any] = {"format": "~g", "labelOverlap": False}
    return quantity(alt.Y, field, f"Time / {native}", [bottom, top], 10, values=ticks, **words)


def names_y(field: str, order: Sequence[str], **axis: Any) -> alt.Y:
    plain = alt.Axis(ticks=False, domain=False, **axis)
    return alt.Y(f"{field}:N", sort=list(order), title=None, axis=plain)


def value_x(title: str, values: Sequence[float], pad: float, **axis: Any) -> Any:
    """Return a linear axis of the field ``v``; `pad` is a share of the range, left and right."""
    low, high = min(values), max(values)
    room = pad * (high - low) or abs(high) * 0.05 or 1.0
    return quantity(alt.X, "v", title, [low - room, high + room], **axis)


def log_cores_x(field: str, values: Sequence[int], title: str, ticks: Sequence[int]) -> Any:
    domain = [values[0] / 1.15, values[-1] * 1.15]
    return quantity(alt.X, field, title, domain, 2, values=list(ticks), format="d", grid=False)


def from_zero(
    kind: type[alt.X] | type[alt.Y], field: str, high: float, title: str, words: str = TIME_EXPR
) -> Any:
    """Return a linear axis that starts at zero; `words`: the expression of its labels."""
    more: dict[str, Any] = {"labelExpr": words, "labelOverlap": False}
    return quantity(kind, field, title, [0, high], values=linear_ticks(high), **more)


def spread(positions: Sequence[float], gap: float, low: float, high: float) -> list[float]:
    """Move labels apart so that none overlaps, each as little as possible (least squares).

    `positions`: where the labels want to be, in pixels, any order.
    """
    n = len(positions)
    gap = min(gap, (high - low) / max(n - 1, 1))
    order = np.argsort(positions, kind="stable")
    # Without the gaps, places that may not fall: an isotonic regression, by its max-min formula.
    free = np.asarray(positions, dtype=float)[order] - gap * np.arange(n)
    sums = np.concatenate([[0.0], np.cumsum(free)])
    placed = np.empty(n)
    for i in range(n):
        ends = np.arange(i + 1, n + 1)
        least = [((sums[ends] - sums[start]) / (ends - start)).min() for start in range(i + 1)]
        placed[order[i]] = min(max(max(least), low), high - gap * (n - 1)) + gap * i
    return [float(place) for place in placed]
