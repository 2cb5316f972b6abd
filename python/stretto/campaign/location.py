"""Where launches lie, and how uncertain that is: of one candidate's times, or of differences."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

#: the usual spread of a launch (of a time's logarithm): what one launch is believed to be worth
SPREAD = 0.12
#: and so many launches is that belief worth against those of the point itself
BELIEF = 2.0
#: what no number of launches removes: launches of a point share whatever was odd about it
FLOOR = 0.012

Array = NDArray[np.float64]


@functools.lru_cache(maxsize=1 << 16)
def location(times: tuple[float, ...]) -> tuple[float, float]:
    """Return where launches lie in logarithms, and how uncertain that is.

    `times`: of at least one launch, in us, above zero.
    """
    logs = np.log(np.sort(np.asarray(times, dtype=float)))
    return float(np.median(logs)), _doubt(logs, SPREAD**2)


def middle(differences: Sequence[float]) -> tuple[float, float]:
    """Return the median of differences within launches, and how uncertain it is."""
    off = np.sort(np.asarray(differences, dtype=float))
    # The median of n normal values is so much more uncertain than their mean.
    return float(np.median(off)), _doubt(off, 0.5 * math.pi * SPREAD**2)


def _doubt(ordered: Array, usual2: float) -> float:
    """Return the standard deviation of the median of ordered values.

    Half the distance between the values that lie sqrt(n) / 2 places on either side of the median,
    which holds for every distribution (Conover, Practical Nonparametric Statistics, 1999, 3.2): a
    few values far away do not move it, and where launches come in two kinds the median is as
    uncertain as the gap between them. What is usual counts as `BELIEF` values.
    """
    n = ordered.size
    places = 0.5 * (n - 1) + 0.5 * math.sqrt(n) * np.array([-1.0, 1.0])
    low, high = np.interp(places, np.arange(n), ordered)
    known = max(n - 2, 0)
    seen2 = (0.5 * float(high - low)) ** 2
    return math.sqrt((BELIEF * usual2 / n + known * seen2) / (BELIEF + known) + FLOOR**2)
