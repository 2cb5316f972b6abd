"""Statistics for timings: order statistics and exact rank tests, no assumption on distributions.

The observation is the launch: calls within one launch share their memory placement and their
neighbours, so that a thousand calls of one launch say less than six launches of ten calls.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

#: below this many launches (or pairs) no two-sided rank test can reach 5% with certainty of design
FEWEST = 6
#: from this many pairs on, the signed-rank test can tell what the rank-sum test cannot
PAIRED_FROM = 8
#: from this many pairs on, signs alone can tell as well, where differences are lopsided
SIGNS_FROM = 20
#: up to this many launches of each of two candidates rank tests are exact, beyond it normal
EXACT_TO = 100
#: probability beyond either bound of an interval
TAIL = 0.025


@dataclass(frozen=True)
class Interval:
    """A median with its 95% interval; the bounds are None where there are fewer than six values."""

    median: float
    low: float | None
    high: float | None
    n: int


@functools.cache
def order_rank(n: int) -> int | None:
    """Return k: the median lies between the k-th smallest and k-th largest of n with 95%.

    None when even the extremes do not reach that (n below 6).
    """
    k, ways, below = 0, 1, 1  # of the 2^n ways to lie on two sides of the median, those with k
    while k < n and below / (1 << n) <= TAIL:
        k += 1
        ways = ways * (n - k + 1) // k
        below += ways
    return k or None


def sign_test(wins: int, losses: int) -> float:
    """Return the two-sided p of the sign test; no win and no loss: 1."""
    number, few = wins + losses, min(wins, losses)
    ways = sum(math.comb(number, i) for i in range(few + 1))
    return min(1.0, 2 * ways / (1 << number))


def median_interval(values: Sequence[float]) -> Interval:
    """Return the median of at least one value, and its interval from order statistics."""
    ordered = np.sort(np.asarray(values, dtype=float))
    if ordered.size == 0:
        raise ValueError("the median of nothing")
    k = order_rank(int(ordered.size))
    low, high = (None, None) if k is None else (float(ordered[k - 1]), float(ordered[-k]))
    return Interval(float(np.median(ordered)), low, high, int(ordered.size))


def rank_sum_test(a: Sequence[float], b: Sequence[float]) -> float | None:
    """Return the two-sided p of Mann and Whitney's test; None when either has fewer than six.

    The null distribution is that of the observed midranks under all divisions, so that ties need no
    approximation; of more than `EXACT_TO` launches of each a normal one, which claims less.
    """
    n, m = len(a), len(b)
    if min(n, m) < FEWEST:
        return None
    ranks = _midranks([*a, *b])
    observed = int(sum(ranks[:n]))
    far = abs(observed - n * (n + m + 1))  # from twice the expected rank sum: ranks are doubled
    if n + m > 2 * EXACT_TO:
        squares = sum((r - (n + m + 1)) ** 2 for r in ranks)
        step = math.gcd(*ranks)
        return _normal(far - step / 2, n * m * squares / ((n + m) * (n + m - 1)))
    return _as_extreme(tuple(sorted(ranks)), n, far)


def signed_rank_test(differences: Sequence[float]) -> float | None:
    """Return the two-sided p of Wilcoxon's signed-rank test, ties by midranks.

    Exact up to `EXACT_TO` pairs, beyond that normal as in `rank_sum_test`.
    None with fewer than six pairs; with fewer than six that differ at all: 1.
    """
    if len(differences) < FEWEST:
        return None
    kept = [d for d in differences if d != 0]
    if len(kept) < FEWEST:
        return 1.0
    ranks = _midranks([abs(d) for d in kept])
    observed = sum(r for r, d in zip(ranks, kept, strict=True) if d > 0)
    total, step = sum(ranks), math.gcd(*ranks)
    far = abs(2 * observed - total)
    if far == 0:
        return 1.0
    if len(kept) > EXACT_TO:
        return _normal(far - step, sum(r * r for r in ranks))
    # the sums that are so far below the middle; as many are so far above it
    below = _small_sums([r // step for r in ranks], (total - far) // 2 // step)
    return float(2 * below / 2 ** len(kept))


def paired_test(a: Sequence[float], b: Sequence[float]) -> float | None:
    """Return the two-sided p of two candidates that share launches and their effects.

    The rank-sum test takes the two as independent, which errs on the safe side where launches
    disturb both alike, tells great differences from six launches, and sees little where launches
    differ by more. The signed-rank test of the pairs' differences does not depend on them, but
    takes more pairs; and the sign test tells whether the median ratio is off one where a few great
    differences outweigh many small ones.

    Which of them are made must not depend on whose time is whose. With the slower times of all
    pairs on one side the rank sums show the most that they could; where even that is no less than
    the least p of signed ranks, they are not asked. Below `PAIRED_FROM` pairs the rank-sum test is
    made alone, from `SIGNS_FROM` on signs are asked as well. The least p counts as often as tests
    are made (Bonferroni).

    Pairs that differ more within than between them (what slows one candidate speeds the other up)
    are not foreseen: there the rank-sum test takes for significant what is not, at its 5% in 14% of
    cases with six or seven pairs and in 8 to 10% with eight to twenty.

    `a`, `b`: times of the two, one a launch; above zero.
    None with fewer than six pairs.
    """
    n = len(a)
    if n < FEWEST:
        return None
    if n < PAIRED_FROM or min(*a, *b) <= 0:
        return rank_sum_test(a, b)
    differences = [math.log(x / y) for x, y in zip(a, b, strict=True)]
    found = [signed_rank_test(differences)]
    most = rank_sum_test(list(map(max, a, b)), list(map(min, a, b)))
    if most is not None and most < _least_signed(n):
        found.append(rank_sum_test(a, b))
    if n >= SIGNS_FROM:
        wins, losses = sum(d < 0 for d in differences), sum(d > 0 for d in differences)
        found.append(sign_test(wins, losses))
    made = [float(p) for p in found if p is not None]
    return min(1.0, len(made) * min(made))


@functools.cache
def _least_signed(n: int) -> float:
    return signed_rank_test([float(i) for i in range(1, n + 1)]) or 0.0


def _midranks(values: Sequence[float]) -> list[int]:
    """Return twice the ranks (1 is the smallest), equal values sharing the mean: whole numbers."""
    ordered = np.sort(np.asarray(values, dtype=float))
    below, upto = (np.searchsorted(ordered, values, side) for side in ("left", "right"))
    return [int(r) for r in below + upto + 1]


def _normal(far: float, variance: float) -> float:
    return math.erfc(max(far, 0.0) / math.sqrt(2 * variance)) if variance > 0 else 1.0


def _small_sums(ranks: Sequence[int], most: int) -> int:
    """Return how many of all subsets of ranks have a sum of at most `most`.

    One whole number holds how many have each sum, in as many bits as all subsets together need.
    """
    bits = len(ranks) + 1
    within = (1 << (most + 1) * bits) - 1
    counts = 1
    for rank in ranks:
        if rank <= most:
            counts += (counts << rank * bits) & within
    return counts % ((1 << bits) - 1)  # the sum of its digits, as that of decimal ones by 9


@functools.lru_cache(maxsize=1024)
def _as_extreme(ranks: tuple[int, ...], size: int, far: int) -> float:
    """Share of subsets of `size` members whose sum is as far from its mean, or further."""
    counts = _subset_sums(ranks, size)
    away = np.abs(np.arange(counts.size) - size * (len(ranks) + 1))
    return float(counts[away >= far].sum() / counts.sum())


@functools.lru_cache(maxsize=64)
def _subset_sums(ranks: tuple[int, ...], size: int) -> NDArray[np.float64]:
    """Return how many subsets of `size` members have each sum (exact up to 2^53, then rounded)."""
    step = math.gcd(*ranks)  # no sum lies between its multiples: without ties every second one
    most = sum(ranks[-size:]) // step
    table = np.zeros((size + 1, most + 1))
    table[0, 0] = 1.0
    top = 0  # the largest sum so far
    for i, rank in enumerate(r // step for r in ranks):
        top = min(top + rank, most)
        # from the last row upwards, as each needs the row before it as it was; what cannot come to
        # `size` members any more is left out
        for members in range(min(i + 1, size), max(size - len(ranks) + i, 0), -1):
            table[members, rank : top + 1] += table[members - 1, : top + 1 - rank]
    out = np.zeros(most * step + 1)
    out[::step] = table[size]
    return out


def benjamini_hochberg(ps: Sequence[float | None]) -> list[float | None]:
    """Return p adjusted for the number of comparisons (false discovery rate), None where none was.

    `ps`: all comparisons that were made; None for those where no test could be made.
    """
    tested = sorted((p, i) for i, p in enumerate(ps) if p is not None)
    out: list[float | None] = [None] * len(ps)
    least = 1.0
    for place in range(len(tested), 0, -1):
        p, i = tested[place - 1]
        least = min(least, max(p, p * len(tested) / place))  # max: rounding
        out[i] = least
    return out


def bootstrap_medians(
    values: Sequence[float], draws: int, random: np.random.Generator
) -> NDArray[np.float64]:
    """Return medians of samples drawn with replacement.

    `values`: one an independent unit (a launch, a run).
    """
    array = np.asarray(values, dtype=float)
    picks = random.integers(0, array.size, size=(draws, array.size))
    return np.asarray(np.median(array[picks], axis=1), dtype=np.float64)


def geometric_mean(values: Sequence[float]) -> float:
    return math.exp(sum(math.log(v) for v in values) / len(values))


def ratio_apart(a: Sequence[float], b: Sequence[float]) -> Interval:
    """Return the ratio of two candidates' times that share no launches; n is that of the shorter.

    Any launch of the one may stand beside any of the other: Hodges and Lehmann's estimate takes the
    median over all such pairs (of the logarithms: exchanging the two gives one over the ratio), and
    the quantiles of Mann and Whitney's statistic bound it.

    `a`, `b`: times of the two, one a launch, at least one of each; above zero.
    """
    ratios = np.sort(np.divide.outer(np.asarray(a, dtype=float), np.asarray(b, dtype=float)), None)
    middle = math.sqrt(ratios[(ratios.size - 1) // 2] * ratios[ratios.size // 2])
    n = min(len(a), len(b))
    if n < FEWEST:
        return Interval(middle, None, None, n)
    k = pair_rank(len(a), len(b))
    return Interval(middle, float(ratios[k - 1]), float(ratios[-k]), n)


@functools.cache
def pair_rank(n: int, m: int) -> int:
    """Return k: the ratio lies between the k-th smallest and the k-th largest of all pairs.

    Of so many launches that rank tests are not exact (`EXACT_TO`) by the normal distribution.
    """
    if n + m > 2 * EXACT_TO:
        spread = math.sqrt(n * m * (n + m + 1) / 12)
        return int(n * m / 2 + 0.5 + spread * NormalDist().inv_cdf(TAIL))
    # ways[i, u]: partitions of u into at most i parts, none above j (after the j-th step), which
    # is how often i observations and j others give u pairs in which one of the i is the greater
    ways = np.zeros((n + 1, n * m + 1))
    ways[:, 0] = 1.0
    for j in range(1, m + 1):
        for i in range(1, n + 1):
            ways[i, j:] += ways[i - 1, : n * m + 1 - j]
    below = np.cumsum(ways[n]) / ways[n].sum()
    return int(np.searchsorted(below, TAIL, side="right"))
