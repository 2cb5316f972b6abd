"""What one candidate takes at any size and layout, by what it took where it was measured.

Its time changes smoothly with nodes, ranks per node and size: it is fitted by terms of latency and
bandwidth, and what they leave by a stationary covariance (kriging; Rasmussen and Williams, Gaussian
Processes for Machine Learning, 2006, 2.7).
"""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
#: doublings of nodes, ranks per node and bytes over which what the terms leave stays alike
REACH = (2.0, 3.0, 4.0)
#: sizes of what the terms leave that are tried (of a time's logarithm); the likeliest is taken
DEPARTURES = (0.03, 0.06, 0.12, 0.25)
#: a term may be wrong by so much of the whole time, where it counts most
FREE = 0.5
#: weight of a residual falls off from so many spreads on (Student's t)
FREEDOM = 0.7
#: fewer points than this are not fitted
FEWEST_POINTS = 4
#: nor more than this: the time would be felt
MOST_POINTS = 600
#: the usual spread of a launch (of a time's logarithm): what one launch is believed to be worth
SPREAD = 0.12
#: and so many launches is that belief worth against those of the point itself
BELIEF = 2.0
#: what no number of launches removes: launches of a point share whatever was odd about it
FLOOR = 0.012


@dataclass(frozen=True, order=True)
class FitPoint:
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
Seen = Mapping[FitPoint, Sequence[float]]


class Curve:
    """One candidate's times over points.

    `seen`: what was measured: `FEWEST_POINTS` or more with times above zero (see `points_of`).
    `points`: where it was measured, ascending.
    `left`: what the terms leave at each of the points, of the logarithm.
    """

    def __init__(self, seen: Seen) -> None:
        self.points = points_of(seen)
        located = [location(tuple(seen[p])) for p in self.points]
        self._at = np.array([mean for mean, _ in located])
        self._sd2 = np.array([sd for _, sd in located]) ** 2
        self._noise = self._sd2
        self._basis = _terms(self.points)
        self._places = _coordinates(self.points)
        self._near = _alike(self._places, self._places)
        self._departures: Sequence[float] = DEPARTURES

    def fit(self, level: Array) -> Array:
        """Fit what was measured, without what is common to all candidates; return what is left.

        What lies far off will count less in the next fit.

        Raises numpy.linalg.LinAlgError, RuntimeError: it did not converge.
        """
        at = self._at - level
        self._share = _share(at, self._basis, self._noise)
        trend = np.log(np.maximum(self._basis @ self._share, np.exp(at.min()) * 1e-3))
        shares = self._basis / np.exp(trend)[:, None]
        self._most = shares.max(axis=0)
        self._most[self._most == 0] = 1.0
        self.left, self._shares = at - trend, shares / self._most
        self._krige()
        gap = self._noise * self._solved
        self._noise = self._sd2 + gap**2 / FREEDOM
        return np.asarray(gap, dtype=np.float64)

    def _krige(self) -> None:
        best: tuple[float, float, Array, Array] | None = None
        terms = FREE**2 * self._shares @ self._shares.T
        for departure in self._departures:
            full = departure**2 * self._near + terms + np.diag(self._noise)
            lower = np.asarray(np.linalg.cholesky(full), dtype=np.float64)
            solved = np.asarray(_cholesky_solve(lower, self.left), dtype=np.float64)
            # A departure is likely to be moderate: one point more or less must not decide.
            loss = 0.5 * float(self.left @ solved) + float(np.log(np.diag(lower)).sum())
            loss += 0.5 * math.log(departure / DEPARTURES[1]) ** 2
            if best is None or loss < best[0]:
                best = (loss, departure, solved, lower)
        assert best is not None
        _, departure, self._solved, self._lower = best
        self._departures = (departure,)

    def estimates(self, wanted: Sequence[FitPoint]) -> list[Estimate]:
        """Return what the latest fit says of points, and how sure it is.

        Each term may be more or less than was found: far from what was measured, where a term
        counts that counted for little there, the estimate is as uncertain as that.
        """
        basis = _terms(wanted)
        trend = np.log(np.maximum(basis @ self._share, np.exp(self._at.min()) * 1e-3))
        shares = basis / np.exp(trend)[:, None] / self._most
        tau = self._departures[0] ** 2
        cross = tau * _alike(_coordinates(wanted), self._places)
        cross += FREE**2 * shares @ self._shares.T
        own = tau + FREE**2 * (shares**2).sum(axis=1)
        explained = np.einsum("ij,ji->i", cross, _cholesky_solve(self._lower, cross.T))
        mean, variance = trend + cross @ self._solved, np.maximum(own - explained, 1e-8)
        if not (np.all(np.isfinite(mean)) and np.all(np.isfinite(variance))):
            raise RuntimeError("a fit is not finite")
        return [
            Estimate(float(m), math.sqrt(float(v))) for m, v in zip(mean, variance, strict=True)
        ]


@functools.lru_cache(maxsize=1 << 16)
def location(times: tuple[float, ...]) -> tuple[float, float]:
    """Return where launches lie in logarithms, and how uncertain that is.

    `times`: of at least one launch, in us, above zero.
    """
    logs = np.log(np.sort(np.asarray(times, dtype=float)))
    return float(np.median(logs)), _doubt(logs)


def _doubt(ordered: Array) -> float:
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
    return math.sqrt((BELIEF * SPREAD**2 / n + known * seen2) / (BELIEF + known) + FLOOR**2)


def points_of(seen: Seen) -> list[FitPoint]:
    """Return the points at which there are launches, all of them with times above zero."""
    return sorted(p for p, t in seen.items() if t and min(t) > 0)


def _terms(points: Sequence[FitPoint]) -> Array:
    """Return latency and bandwidth, each by rounds and by partners: one row a point."""
    rows = []
    for p in points:
        shape = [1.0, math.log2(p.nodes), math.log2(p.ppn), p.nodes, p.ppn, p.nodes * p.ppn]
        rows.append([*shape, *(p.bytes * x for x in shape)])
    return np.array(rows, dtype=float).reshape(len(rows), 12)


def _coordinates(points: Sequence[FitPoint]) -> Array:
    return np.array(
        [
            [math.log2(x) / r for x, r in zip((p.nodes, p.ppn, p.bytes + 8), REACH, strict=True)]
            for p in points
        ],
        dtype=float,
    ).reshape(len(points), 3)


def _alike(a: Array, b: Array) -> Array:
    """Return the correlation of points (Matern, with one derivative)."""
    d = np.sqrt(3 * ((a[:, None, :] - b[None, :, :]) ** 2).sum(axis=2))
    return np.asarray((1 + d) * np.exp(-d), dtype=np.float64)


def _share(at: Array, basis: Array, noise: Array) -> Array:
    """Return how much of each term, none of them negative, the sum of all has.

    `at`, `noise`: logarithms of times in us, and their variance.
    """
    scale = basis.max(axis=0)
    scale[scale == 0] = 1.0
    us = np.exp(at - at.max())
    weight = 1 / (us * np.sqrt(noise + DEPARTURES[1] ** 2))
    share = non_negative(basis / scale * weight[:, None], us * weight)
    return np.asarray(share * math.exp(at.max()) / scale, dtype=np.float64)


def _cholesky_solve(lower: Array, right: Array) -> Array:
    return np.asarray(np.linalg.solve(lower.T, np.linalg.solve(lower, right)), dtype=np.float64)


def non_negative(matrix: Array, right: Array) -> Array:
    """Return the x >= 0 with the least squares of ``matrix @ x - right`` (Lawson and Hanson)."""
    size = matrix.shape[1]
    x, free = np.zeros(size), np.zeros(size, dtype=bool)
    squares, target = matrix.T @ matrix, matrix.T @ right
    small = 1e-13 * float(np.abs(target).max(initial=0.0))
    for _ in range(3 * size):
        slope = np.where(free, -np.inf, target - squares @ x)
        entering = int(slope.argmax())
        if slope[entering] <= small:
            break
        free[entering] = True
        while True:
            aim = np.zeros(size)
            mine = np.flatnonzero(free)
            try:
                aim[mine] = np.linalg.solve(squares[np.ix_(mine, mine)], target[mine])
            except np.linalg.LinAlgError:  # it says nothing that the others do not
                aim[mine] = np.linalg.lstsq(matrix[:, mine], right, rcond=None)[0]
            out = mine[aim[mine] <= 0]
            if not out.size:
                x = aim
                break
            part = x[out] / np.maximum(x[out] - aim[out], 1e-300)
            x = x + float(part.min()) * (aim - x)
            x[out[int(part.argmin())]] = 0.0
            free &= x > 0
            x[~free] = 0.0
            if not free.any():
                break
    return x
