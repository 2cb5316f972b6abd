"""What candidates take at a size and layout, by all sizes, layouts and candidates together.

A single launch may lie tens of per cent above what is usual, so that the few launches of one point
say little. But a candidate's time changes smoothly (`kriged`), and what was odd about a point is in
all its candidates' times alike: what they lie off their fits in the median is common to them. It is
taken out before they are fitted, and put back; else it would be smoothed away from a candidate of
which little is known and left to one that is known well, and the first would seem the faster one.

The fit guides what is measured, and picks among candidates that no test tells apart.
"""

from __future__ import annotations

import functools
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from statistics import median

import numpy as np
from threadpoolctl import threadpool_limits

from stretto.campaign.kriged import (
    FEWEST_POINTS,
    MOST_POINTS,
    Curve,
    Estimate,
    FitPoint,
    Seen,
    location,
    points_of,
)
from stretto.campaign.layout import Layout
from stretto.campaign.levelled import levelled
from stretto.campaign.times import Medians, Shape
from stretto.measure.compare import BARE, NATIVE

#: so often what candidates have in common at a point is found anew
PASSES = 3
#: by fewer candidates nothing is known of it
FEWEST_ALIKE = 3


@functools.cache
def _alone() -> None:
    """Have this process's linear algebra on one thread from now on.

    The matrices are small, and idle threads of a BLAS poll: beside ranks that are measured, and on
    a machine that is busy with others, where a fit took ten times as long with two.
    """
    threadpool_limits(limits=1, user_api="blas")


def estimates(
    seen: Mapping[str, Seen], wanted: Sequence[FitPoint]
) -> dict[str, dict[FitPoint, Estimate]]:
    """Return what candidates take at points; without those whose measurements are too few."""
    _alone()
    asked = list(dict.fromkeys(wanted))
    curves = {
        name: Curve(points)
        for name, points in sorted(seen.items())
        if FEWEST_POINTS <= len(points_of(points)) <= MOST_POINTS
    }
    if not asked or not curves:
        return {}
    level: dict[FitPoint, float] = defaultdict(float)
    for turn in range(PASSES + 1):
        off: dict[FitPoint, list[float]] = defaultdict(list)
        for name, curve in list(curves.items()):
            try:
                gap = curve.fit(np.array([level[p] for p in curve.points]))
            except (RuntimeError, np.linalg.LinAlgError):  # as if it had too few measurements
                del curves[name]
                continue
            for at, by in zip(curve.points, gap, strict=True):
                off[at].append(float(by))
        for at, found in off.items():
            if turn < PASSES and len(found) >= FEWEST_ALIKE:
                level[at] = round(level[at] + median(found), 6)
    out: dict[str, dict[FitPoint, Estimate]] = {}
    for name, curve in curves.items():
        try:
            estimated = curve.estimates(asked)
        except RuntimeError:
            continue
        # Rounded: jobs on nodes of several kinds must come to the same answer.
        out[name] = {
            at: Estimate(round(e.mean + level[at], 6), round(e.sd, 6))
            for at, e in zip(asked, estimated, strict=True)
        }
    return out


def estimate(
    times: Mapping[Layout, Medians], wanted: Mapping[Layout, Iterable[Shape]]
) -> dict[Layout, dict[Shape, dict[str, Estimate]]]:
    """Return what candidates take at shapes, by all sizes and layouts or, too few, their launches.

    The native choice changes its algorithm where it likes: nothing smooth, it is taken as
    measured.
    """
    seen: dict[tuple[str, str, int], dict[str, dict[FitPoint, tuple[float, ...]]]]
    seen = defaultdict(lambda: defaultdict(dict))
    chains = {(s[0], s[3], s[4]) for shapes in wanted.values() for s in shapes}
    for layout, shapes in times.items():
        for shape in shapes:
            chain = (shape[0], shape[3], shape[4])
            if chain not in chains:
                continue
            at = FitPoint(layout.nodes, layout.ppn, shape[1])
            for name, launches in levelled(shapes, shape).items():
                more = tuple(t for _, t in sorted(launches.items()) if t > 0)
                if more:
                    seen[chain][name][at] = (*seen[chain][name].get(at, ()), *more)
    out: dict[Layout, dict[Shape, dict[str, Estimate]]] = {x: {} for x in wanted}
    for chain, names in seen.items():
        asked = {
            (x, s): FitPoint(x.nodes, x.ppn, s[1])
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
