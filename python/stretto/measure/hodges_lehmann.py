"""How many times longer one candidate takes than another that shares no launches with it.

Any launch of the one may stand beside any of the other: Hodges and Lehmann's estimate takes the
median over all such pairs, and the quantiles of Mann and Whitney's statistic bound it. Neither
depends on how launches are numbered, nor on how times are distributed.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from statistics import NormalDist

import numpy as np

from stretto.measure.stats import EXACT_TO, FEWEST, Interval


def ratio_apart(a: Sequence[float], b: Sequence[float], level: float = 0.95) -> Interval:
    """Return the ratio of two candidates' times, with its interval; n is that of the shorter.

    The median is taken of the logarithms: exchanging the two gives one over the ratio.

    `a`, `b`: times of the two, one a launch, at least one of each; above zero.
    """
    ratios = np.sort(np.divide.outer(np.asarray(a, dtype=float), np.asarray(b, dtype=float)), None)
    middle = math.sqrt(ratios[(ratios.size - 1) // 2] * ratios[ratios.size // 2])
    n = min(len(a), len(b))
    if n < FEWEST:
        return Interval(middle, None, None, n)
    k = pair_rank(len(a), len(b), level)
    return Interval(middle, float(ratios[k - 1]), float(ratios[-k]), n)


@functools.cache
def pair_rank(n: int, m: int, level: float = 0.95) -> int:
    """Return k: the ratio lies between the k-th smallest and the k-th largest of all pairs.

    Of so many launches that rank tests are not exact (`EXACT_TO`) by the normal distribution.
    """
    if n + m > 2 * EXACT_TO:
        spread = math.sqrt(n * m * (n + m + 1) / 12)
        return int(n * m / 2 + 0.5 + spread * NormalDist().inv_cdf((1 - level) / 2))
    # ways[i, u]: partitions of u into at most i parts, none above j (after the j-th step), which
    # is how often i observations and j others give u pairs in which one of the i is the greater
    ways = np.zeros((n + 1, n * m + 1))
    ways[:, 0] = 1.0
    for j in range(1, m + 1):
        for i in range(1, n + 1):
            ways[i, j:] += ways[i - 1, : n * m + 1 - j]
    below = np.cumsum(ways[n]) / ways[n].sum()
    return int(np.searchsorted(below, (1 - level) / 2, side="right"))
