"""What a candidate takes at a size and layout, as all its sizes and layouts together tell it.

A single launch may lie tens of per cent above what is usual, so that the few launches of one point
say little. But a candidate's time changes smoothly with nodes, ranks per node and size. Here it is
fitted by terms of latency and bandwidth, and what they leave by a stationary covariance (kriging):
the fit gives an estimate with its uncertainty wherever it was measured, and between.

The fit guides what is measured and picks among candidates that no test tells apart. It never
stands in for a test: a row of a table rests on launches of its own point.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_solve
from scipy.optimize import nnls
from threadpoolctl import threadpool_limits

from stretto.mpi.algorithms.base import PREFIX

#: the usual spread of a launch (of a time's logarithm): what one launch is believed to be worth
SPREAD = 0.12
#: and so many launches is that belief worth against those of the point itself
BELIEF = 2.0
#: what no number of launches removes: launches of a point share whatever was odd about it
FLOOR = 0.012
#: doublings of nodes, ranks per node and bytes over which what the terms leave stays alike
REACH = (2.0, 3.0, 4.0)
#: sizes of what the terms leave that are tried (of a time's logarithm); the likeliest is taken
DEPARTURES = (0.03, 0.06, 0.12, 0.25)
#: a term may be wrong by so much of the whole time, where it counts most
FREE = 0.3
#: weight of a residual falls off from so many spreads on (Student's t)
FREEDOM = 1.5
#: how far off a point's candidates all may lie together: the luck of the MPI's launches there
LEVEL = 0.3
#: what the MPI's own algorithms have in common is its luck in their launches (`bare`), beside which
#: `native` has another one of about this size
ASIDE = 0.1
#: so often what is common is taken out and all are fitted anew
PASSES = 3
#: fewer points than this are not fitted
FEWEST_POINTS = 4
#: nor more than this: the time would be felt
MOST_POINTS = 600


@dataclass(frozen=True, order=True)
class Point:
    """A layout and a size in bytes."""

    nodes: int
    ppn: int
    bytes: int


@dataclass(frozen=True)
class Estimate:
    """The logarithm of a time in us, and how uncertain it is (standard deviation)."""

    mean: float
    sd: float


#: launches' times in us at each point
Seen = Mapping[Point, Sequence[float]]
Array = NDArray[np.float64]


@functools.lru_cache(maxsize=1 << 16)
def location(times: tuple[float, ...]) -> tuple[float, float]:
    """Return where launches lie in logarithms, and how uncertain that is.

    Parameters
    ----------
    times
        Of at least one launch, in us, above zero.
    """
    logs = np.log(np.sort(np.asarray(times, dtype=float)))
    return float(np.median(logs)), _doubt(logs, SPREAD**2)


def middle(differences: Sequence[float]) -> tuple[float, float]:
    """Return the median of differences within launches, and how uncertain it is.

    Parameters
    ----------
    differences
        Of logarithms, one a launch: disturbed in either direction.
    """
    off = np.sort(np.asarray(differences, dtype=float))
    # The median of n normal values is so much more uncertain than their mean.
    return float(np.median(off)), _doubt(off, 0.5 * math.pi * SPREAD**2)


def _doubt(ordered: Array, usual2: float) -> float:
    """Return the standard deviation of the median of ordered values.

    Half the distance between the values that lie sqrt(n) / 2 places on either side of the median,
    which holds for every distribution (Conover, Practical Nonparametric Statistics, 1999, 3.2): a
    few values far away do not move it, and where launches come in two kinds the median is as
    uncertain as the gap between them. What is usual counts as `BELIEF` values.

    Parameters
    ----------
    ordered
        Logarithms.
    usual2
        The square of a single one's, as it usually is.
    """
    n = ordered.size
    places = 0.5 * (n - 1) + 0.5 * math.sqrt(n) * np.array([-1.0, 1.0])
    low, high = np.interp(places, np.arange(n), ordered)
    known = max(n - 2, 0)
    seen2 = (0.5 * float(high - low)) ** 2
    return math.sqrt((BELIEF * usual2 / n + known * seen2) / (BELIEF + known) + FLOOR**2)


def estimates(
    seen: Mapping[str, Seen], wanted: Sequence[Point]
) -> dict[str, dict[Point, Estimate]]:
    """Return what candidates take at points; without those whose measurements are too few.

    Parameters
    ----------
    seen
        By candidate, what was measured.
    wanted
        The points.
    """
    _alone()
    out: dict[str, dict[Point, Estimate]] = {}
    asked = tuple(wanted)
    for name, points in seen.items():
        found = _fitted(_shifted(_data(points), False, {}), asked) if asked else None
        if found is not None:
            out[name] = dict(zip(asked, found[0], strict=True))
    return out


@functools.cache
def _alone() -> None:
    """Have this process's linear algebra on one thread from now on.

    The matrices are small, and idle threads of a BLAS poll: beside ranks that are measured, and on
    a machine that is busy with others, where a fit took ten times as long with two.
    """
    threadpool_limits(limits=1, user_api="blas")


def jointly(seen: Mapping[str, Seen], wanted: Sequence[Point]) -> dict[str, dict[Point, Estimate]]:
    """Return the same of candidates that were measured side by side, each with the others in mind.

    What was odd about a point is in all its candidates' times alike: they are set beside those of
    the MPI, whose launches there had a luck of their own. Were each fitted by itself, this would
    be smoothed away from a candidate of which little is known and left to one that is known well,
    and the first would seem the faster one. So what all of a point lie off their fits (each
    predicted without that point) is taken out before they are fitted, and put back on all of them.

    Parameters
    ----------
    seen, wanted
        As for `estimates`.
    """
    _alone()
    level: dict[tuple[bool, Point], float] = {}
    sure: dict[tuple[bool, Point], float] = {}  # 1 / variance
    for _ in range(PASSES):
        off: dict[tuple[bool, Point], list[tuple[float, float]]] = {}
        for name, points in seen.items():
            mine = name.startswith(PREFIX)
            data = _data(points)
            found = _fitted(_shifted(data, mine, level), ())
            if found is not None:
                for (at, _), e, v in zip(data, found[1], found[2], strict=True):
                    off.setdefault((mine, at), []).append((e + level.get((mine, at), 0.0), v))
        told = {at: _common(o) for at, o in off.items()}
        level, sure = {at: x[0] for at, x in told.items()}, {at: x[1] for at, x in told.items()}
    asked = tuple(wanted)
    back = {}
    for at in asked:
        doubt = {
            k: 1 / sure[k] + (ASIDE**2 if k[0] else 0.0)
            for k in ((True, at), (False, at))
            if k in level
        }
        weight = {k: 1 / d for k, d in doubt.items()}
        back[at] = sum(level[k] * w for k, w in weight.items()) / (sum(weight.values()) or 1.0)
    out: dict[str, dict[Point, Estimate]] = {}
    for name, points in seen.items():
        off_level = _shifted(_data(points), name.startswith(PREFIX), level)
        found = _fitted(off_level, asked) if asked else None
        if found is not None:
            out[name] = {
                at: Estimate(round(e.mean + back[at], 6), e.sd)
                for at, e in zip(asked, found[0], strict=True)
            }
    return out


def _data(points: Seen) -> tuple[tuple[Point, tuple[float, ...]], ...]:
    return tuple(sorted((p, tuple(t)) for p, t in points.items() if t and min(t) > 0))


def _shifted(
    data: tuple[tuple[Point, tuple[float, ...]], ...],
    native: bool,
    level: Mapping[tuple[bool, Point], float],
) -> tuple[tuple[Point, float, float], ...]:
    """Return where launches lie at each point without what is common there, and the doubt."""
    out = []
    for at, times in data:
        mean, sd = location(times)
        out.append((at, mean - level.get((native, at), 0.0), sd))
    return tuple(out)


def _common(off: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """Return how far candidates of a point lie off together, and how sure that is (1 / variance).

    Parameters
    ----------
    off
        Of each candidate, how far it lies off, and the variance.
    """
    e, v = (np.array(x, dtype=float) for x in zip(*off, strict=True))
    common = 0.0
    for _ in range(3):
        weight = 1 / (v * (1 + (e - common) ** 2 / (FREEDOM * v)))
        common = float((weight * e).sum() / (weight.sum() + 1 / LEVEL**2))
    return round(common, 6), float(weight.sum())


@functools.lru_cache(maxsize=2048)
def _fitted(
    data: tuple[tuple[Point, float, float], ...], wanted: tuple[Point, ...]
) -> tuple[tuple[Estimate, ...], Array, Array] | None:
    """Return the estimates where asked, how far each point lies off, and the variance of that.

    None where nothing can be fitted.
    """
    try:
        return _fit(data, wanted)
    except (RuntimeError, np.linalg.LinAlgError):  # no convergence: as if it were not fitted
        return None


def _fit(
    data: tuple[tuple[Point, float, float], ...], wanted: tuple[Point, ...]
) -> tuple[tuple[Estimate, ...], Array, Array] | None:
    """Return what `_fitted` does."""
    if not FEWEST_POINTS <= len(data) <= MOST_POINTS:
        return None
    points = [p for p, _, _ in data]
    at, sd = np.array([m for _, m, _ in data]), np.array([s for _, _, s in data])
    basis, asked = _terms(points), _terms(wanted)
    scale = basis.max(axis=0)
    scale[scale == 0] = 1.0
    places, targets = _coordinates(points), _coordinates(wanted)
    near, far = _alike(places, places), _alike(targets, places)
    noise = sd**2
    fitted: tuple[Array, Array] | None = None
    departures: Sequence[float] = DEPARTURES
    for _ in range(3):
        trend, there = _trend(basis / scale, asked / scale, at, noise)
        left = at - trend
        share, other = basis / np.exp(trend)[:, None], asked / np.exp(there)[:, None]
        most = share.max(axis=0)
        most[most == 0] = 1.0
        gap, without, mean, variance, departure = _krige(
            near, far, share / most, other / most, left, noise, departures
        )
        fitted, departures = (there + mean, variance), (departure,)
        noise = sd**2 * (1 + gap**2 / (FREEDOM * sd**2))
    assert fitted is not None
    if not (np.all(np.isfinite(fitted[0])) and np.all(np.isfinite(fitted[1]))):
        return None
    # Rounded: jobs on nodes of several kinds must come to the same answer.
    found = tuple(
        Estimate(round(float(m), 6), round(math.sqrt(float(v)), 6))
        for m, v in zip(*fitted, strict=True)
    )
    return found, *without


def _terms(points: Sequence[Point]) -> Array:
    """Return latency and bandwidth, each by rounds and by partners: one row a point."""
    rows = []
    for p in points:
        shape = [1.0, math.log2(p.nodes), math.log2(p.ppn), p.nodes, p.ppn, p.nodes * p.ppn]
        rows.append([*shape, *(p.bytes * x for x in shape)])
    return np.array(rows, dtype=float).reshape(len(rows), 12)


def _coordinates(points: Sequence[Point]) -> Array:
    return np.array(
        [
            [math.log2(x) / r for x, r in zip((p.nodes, p.ppn, p.bytes + 8), REACH, strict=True)]
            for p in points
        ],
        dtype=float,
    ).reshape(len(points), 3)


def _alike(a: Array, b: Array) -> Array:
    """Return the correlation of points (Matern's, with one derivative)."""
    d = math.sqrt(3) * np.sqrt(((a[:, None, :] - b[None, :, :]) ** 2).sum(axis=2))
    return np.asarray((1 + d) * np.exp(-d), dtype=np.float64)


def _trend(basis: Array, asked: Array, at: Array, noise: Array) -> tuple[Array, Array]:
    """Return the logarithm of the sum of terms, none negative, at the points and where asked."""
    us = np.exp(at - at.max())
    weight = 1 / (us * np.sqrt(noise + DEPARTURES[1] ** 2))
    share, _ = nnls(basis * weight[:, None], us * weight)
    least = us.min() * 1e-3
    here, there = np.maximum(basis @ share, least), np.maximum(asked @ share, least)
    return np.log(here) + at.max(), np.log(there) + at.max()


def _krige(
    near: Array,
    far: Array,
    share: Array,
    other: Array,
    left: Array,
    noise: Array,
    departures: Sequence[float],
) -> tuple[Array, tuple[Array, Array], Array, Array, float]:
    """Return what the fit leaves at the points, mean and variance where asked, and the departure.

    Second: how far each point lies off what the others say of it, and the variance of that.

    Each term may be more or less than the trend has it: far from what was measured, where a term
    counts that counted for little there, the estimate is as uncertain as that.
    """
    best: tuple[float, float, Array, Array] | None = None
    terms = FREE**2 * share @ share.T
    for departure in departures:
        full = departure**2 * near + terms + np.diag(noise)
        lower = np.asarray(np.linalg.cholesky(full), dtype=np.float64)
        solved = np.asarray(cho_solve((lower, True), left), dtype=np.float64)
        # A departure is likely to be moderate: one point more or less must not decide.
        loss = 0.5 * float(left @ solved) + float(np.log(np.diag(lower)).sum())
        loss += 0.5 * math.log(departure / DEPARTURES[1]) ** 2
        if best is None or loss < best[0]:
            best = (loss, departure**2, solved, lower)
    assert best is not None
    _, tau, solved, lower = best
    cross = tau * far + FREE**2 * other @ share.T
    own = tau + FREE**2 * (other**2).sum(axis=1)
    variance = own - np.einsum("ij,ji->i", cross, cho_solve((lower, True), cross.T))
    sure = np.diag(cho_solve((lower, True), np.eye(len(left))))
    without = (solved / sure, 1 / sure)
    return noise * solved, without, cross @ solved, np.maximum(variance, 1e-8), math.sqrt(tau)
