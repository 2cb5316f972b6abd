"""From bench samples to points with intervals.

The report measures nothing and decides nothing; it only sums up what a bench file holds. Launches
differ from one another more than calls within a launch do, so the unit is the launch: its median is
one observation, and the interval is taken over launches. Where there are too few launches for that,
the point says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from stretto.files.verdict import Run
from stretto.measure.stats import order_rank

Kind = Literal["launches", "range", "calls", "none"]

KIND_TEXT: dict[Kind, str] = {
    "launches": "95 % interval of the median over launches",
    "range": "smallest to largest (fewer than six launches: no 95 % interval exists)",
    "calls": "95 % interval of the median within one launch (variation between launches unknown)",
    "none": "no interval (one time only)",
}


@dataclass(frozen=True)
class MedianInterval:
    """A median and what is known of its uncertainty.

    `median`, `low`, `high`: in the unit of the observations; `low` and `high` equal `median` where
    `kind` is ``none``.
    `kind`: what `low` and `high` are: a key of `KIND_TEXT`.
    `launches`, `observations`: how many launches, and how many times in all.
    """

    median: float
    low: float
    high: float
    kind: Kind
    launches: int
    observations: int


def _order_interval(values: np.ndarray) -> tuple[float, float] | None:
    k = order_rank(len(values))
    if k is None:
        return None
    ordered = np.sort(values)
    return float(ordered[k - 1]), float(ordered[-k])


def estimate(launches: Sequence[Sequence[float]]) -> MedianInterval | None:
    """Return the median over launches with its interval.

    `launches`: per launch, its times (any unit). Empty launches are passed over.
    None when there is no time at all.
    """
    arrays = [np.asarray(times, dtype=float) for times in launches if len(times)]
    if not arrays:
        return None
    medians = np.array([float(np.median(a)) for a in arrays])
    middle = float(np.median(medians))
    total = sum(len(a) for a in arrays)
    found = _order_interval(medians)
    if found is not None:
        return MedianInterval(middle, *found, "launches", len(arrays), total)
    if len(arrays) > 1:
        return MedianInterval(
            middle, float(medians.min()), float(medians.max()), "range", len(arrays), total
        )
    found = _order_interval(arrays[0])
    if found is not None:
        return MedianInterval(middle, *found, "calls", 1, total)
    if total > 1:
        return MedianInterval(
            middle, float(arrays[0].min()), float(arrays[0].max()), "range", 1, total
        )
    return MedianInterval(middle, middle, middle, "none", 1, 1)


def usable(runs: Sequence[Run], kind: str) -> list[Run]:
    return [r for r in runs if r.kind == kind and r.value is not None and r.exit == 0]
