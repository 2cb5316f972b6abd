"""What candidates take at a size and layout, as all sizes, layouts and candidates together tell it.

A single launch may lie tens of per cent above what is usual, so that the few launches of one point
say little. But a candidate's time changes smoothly (`kriged`), and what was odd about a point is in
all its candidates' times alike: they are set beside those of the MPI, whose launches there had a
luck of their own, and so had those of the whole layout. Were each candidate fitted by itself, this
would be smoothed away from one of which little is known and left to one that is known well, and the
first would seem the faster one. So all are fitted together, with what they have in common at each
point as one more unknown, alike at the sizes of a layout.

The fit guides what is measured and picks among candidates that no test tells apart. It never
stands in for a test: a row of a table rests on launches of its own point.
"""

from __future__ import annotations

import functools
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from stretto.campaign.compare import BARE, NATIVE
from stretto.mpi.algorithms.base import PREFIX
from stretto.sweep.kriged import (
    FEWEST_POINTS,
    MOST_POINTS,
    Curve,
    Estimate,
    Point,
    Seen,
    matern,
    points_of,
)
from stretto.sweep.layout import Layout
from stretto.sweep.levelled import levelled
from stretto.sweep.location import Array, location
from stretto.sweep.times import Medians, Shape

#: how far off a layout's candidates, and a point's, all may lie together (of the logarithm)
LAYOUT, LEVEL = 0.2, 0.2
#: doublings of bytes over which what the candidates of a layout have in common stays alike
STEADY = 8.0
#: what the MPI's own algorithms have in common is its luck in their launches (`bare`), beside which
#: `native` has another one of about this size
ASIDE = 0.1
#: so often what is common is found anew
PASSES = 5


@functools.cache
def _alone() -> None:
    """Have this process's linear algebra on one thread from now on.

    The matrices are small, and idle threads of a BLAS poll: beside ranks that are measured, and on
    a machine that is busy with others, where a fit took ten times as long with two.
    """
    threadpool_limits(limits=1, user_api="blas")


def estimates(
    seen: Mapping[str, Seen], wanted: Sequence[Point]
) -> dict[str, dict[Point, Estimate]]:
    """Return what candidates take at points; without those whose measurements are too few.

    Parameters
    ----------
    seen
        By candidate, what was measured: side by side with the others at each point.
    wanted
        The points.
    """
    _alone()
    asked = list(dict.fromkeys(wanted))
    curves = {
        name: Curve(points)
        for name, points in sorted(seen.items())
        if FEWEST_POINTS <= len(points_of(points)) <= MOST_POINTS
    }
    if not asked or not curves:
        return {}
    common = _Common(asked, [c.points for c in curves.values()])
    rows = {n: common.rows(n.startswith(PREFIX), c.points) for n, c in curves.items()}
    for turn in range(PASSES + 1):
        common.begin()
        for name, curve in list(curves.items()):
            level = common.level(rows[name])
            try:
                curve.fit(level)
                if turn < PASSES:
                    common.add(rows[name], curve, level)
            except (RuntimeError, np.linalg.LinAlgError):  # as if it had too few measurements
                del curves[name]
        if turn < PASSES:
            common.solve()
    out: dict[str, dict[Point, Estimate]] = {}
    back = common.back(asked)
    for name, curve in curves.items():
        try:
            found = curve.estimates(asked)
        except RuntimeError:
            continue
        # Rounded: jobs on nodes of several kinds must come to the same answer.
        out[name] = {
            at: Estimate(round(e.mean + b, 6), round(e.sd, 6))
            for at, e, b in zip(asked, found, back, strict=True)
        }
    return out


def estimate(
    times: Mapping[Layout, Medians], wanted: Mapping[Layout, Iterable[Shape]]
) -> dict[Layout, dict[Shape, dict[str, Estimate]]]:
    """Return what candidates take at shapes, by all sizes and layouts or, too few, their launches.

    The MPI's own choice changes its algorithm where it likes: nothing smooth, it is taken as
    measured.
    """
    seen: dict[tuple[str, str, int], dict[str, dict[Point, tuple[float, ...]]]]
    seen = defaultdict(lambda: defaultdict(dict))
    chains = {(s[0], s[3], s[4]) for shapes in wanted.values() for s in shapes}
    for layout, shapes in times.items():
        for shape in shapes:
            chain = (shape[0], shape[3], shape[4])
            if chain not in chains:
                continue
            at = Point(layout.nodes, layout.ppn, shape[1])
            for name, launches in levelled(shapes, shape).items():
                more = tuple(t for _, t in sorted(launches.items()) if t > 0)
                if more:
                    seen[chain][name][at] = (*seen[chain][name].get(at, ()), *more)
    out: dict[Layout, dict[Shape, dict[str, Estimate]]] = {x: {} for x in wanted}
    for chain, names in seen.items():
        asked = {
            (x, s): Point(x.nodes, x.ppn, s[1])
            for x, shapes in wanted.items()
            for s in shapes
            if (s[0], s[3], s[4]) == chain
        }
        smooth = {n: p for n, p in names.items() if n not in (NATIVE, BARE)}
        fitted = estimates(smooth, sorted(set(asked.values())))
        for (layout, shape), point in asked.items():
            out[layout][shape] = {
                n: fitted[n][point] if n in fitted else Estimate(*location(points[point]))
                for n, points in names.items()
                if n in fitted or point in points
            }
    return out


class _Common:
    """What all candidates have in common at each point: one unknown more than each one's curve.

    Curves are independent of one another, so that what a curve's launches tell of it adds up: with
    the covariance C of what is common, and the precision P and what is left y of each curve, it is
    (1/C + sum of P)^-1 (sum of P y).
    """

    def __init__(self, asked: Sequence[Point], measured: Sequence[Sequence[Point]]) -> None:
        count = Counter(p for points in measured for p in points)
        every = sorted({*asked, *count})
        self._k = len(every)
        self._index = {p: i for i, p in enumerate(every)}
        where = np.array([(p.nodes, p.ppn) for p in every])
        same = (where[:, None, :] == where[None, :, :]).all(axis=2)
        size = np.log2(np.array([p.bytes + 8.0 for p in every]))
        alike = matern(np.abs(size[:, None] - size[None, :]) / STEADY)
        # What one candidate alone has is its own: there is nobody to have it in common with.
        many = np.array([count[p] > 1 for p in every])
        point, layout = np.diag(1.0 * many), same * (same @ many > 0)
        self._base = LAYOUT**2 * layout * alike + LEVEL**2 * point
        aside = self._base + ASIDE**2 * point
        self._covariance = np.block([[aside, self._base], [self._base, aside]])
        self._told = np.zeros(2 * self._k)
        self.begin()

    def begin(self) -> None:
        """Forget what curves told."""
        self._precision = np.zeros((2 * self._k, 2 * self._k))
        self._sum = np.zeros(2 * self._k)

    def rows(self, native: bool, points: Sequence[Point]) -> NDArray[np.intp]:
        """Return where points stand: those of the MPI's own algorithms, or of all others."""
        return np.array([self._index[p] + native * self._k for p in points])

    def level(self, rows: NDArray[np.intp]) -> Array:
        """Return what is common at points."""
        return np.asarray(np.round(self._covariance[rows] @ self._told, 6), dtype=np.float64)

    def back(self, points: Sequence[Point]) -> Array:
        """Return what is common at points to all candidates."""
        rows = self.rows(False, points)
        return np.asarray(np.hstack([self._base[rows]] * 2) @ self._told, dtype=np.float64)

    def add(self, rows: NDArray[np.intp], curve: Curve, level: Array) -> None:
        """Take what a curve tells of its points that was fitted without a level."""
        precision = curve.precision()
        self._precision[np.ix_(rows, rows)] += precision
        self._sum[rows] += precision @ (curve.left + level)

    def solve(self) -> None:
        """Find what is common from what all curves told."""
        told = np.flatnonzero(self._precision.any(axis=1))
        pairs = np.ix_(told, told)
        whole = np.eye(told.size) + self._precision[pairs] @ self._covariance[pairs]
        self._told = np.zeros(2 * self._k)
        self._told[told] = np.linalg.solve(whole, self._sum[told])
