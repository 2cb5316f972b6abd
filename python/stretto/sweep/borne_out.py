"""Gains that the neighbours of a point have proven and that its own launches bear out.

Some points are restless: there the launches of one candidate (or of the MPI itself) differ by 30 to
45%, and a rank test would need hundreds of them for a gain of 10%. Around such a point the same
candidate is often proven. What it gains changes little from one size or layout to the next, unless
the MPI changes its algorithm between them; and that its own launches would show. So both are put
together: the gain that the neighbours lead one to expect, with the chance that this point is
another case altogether, and what was measured here. Where no gain at all is left with 5% or less,
the candidate may be chosen here as if it were proven; the table says so (``borne_out=SIZES``).

A candidate needs a test at the point itself (six launches or more) and a proof near it, and no test
may say that it is slower, in any mode or shape.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from stretto.campaign.compare import BARE, NATIVE, Comparison
from stretto.campaign.verdict import ALPHA, THRESHOLD
from stretto.files.table import WITHOUT_SIZE
from stretto.sweep.layout import Layout
from stretto.sweep.location import middle
from stretto.tune.complete import CallShape, complete
from stretto.tune.decide import GAP

#: how much a gain usually changes with each doubling of nodes, ranks per node and bytes (of a
#: time's logarithm)
CHANGES = (0.15, 0.075, 0.05)
#: layouts that lie further apart, as factor of nodes or ranks per node, are not near
APART = 4
#: how often a point has nothing to do with its neighbours, and where its gain lies then (of the
#: logarithm, about none): the MPI may do something else there
ELSE, ANYWHERE = 0.1, 0.4
#: how far off the others one neighbour may lie before it counts for less (Student's t)
FREEDOM = 3.0


@dataclass(frozen=True)
class Gain:
    """What a candidate gains over the MPI at a point, of the logarithm, by its launches.

    Attributes
    ----------
    mean, sd
        Median of the launches, and its uncertainty; of several shapes (datatypes, roots) of that
        which surely gains least.
    outcome
        Of the test: ``faster``, ``slower`` (in any mode or shape) or ``same``.
    unproven
        Mean and sd of each shape that is not proven.
    """

    mean: float
    sd: float
    outcome: str
    unproven: tuple[tuple[float, float], ...] = ()


#: by collective, size and candidate
Gains = Mapping[str, Mapping[int, Mapping[str, Gain]]]


@dataclass(frozen=True)
class Expected:
    """The gain that neighbours lead one to expect at a point (of the logarithm)."""

    mean: float
    variance: float

    def with_own(self, mean: float, sd: float) -> tuple[float, float]:
        """Return the chance that nothing is gained, and the gain, once launches are looked at.

        Parameters
        ----------
        mean, sd
            What the point's own launches say.
        """
        weights, chances, means = [], [], []
        for share, at, variance in (
            (1 - ELSE, self.mean, self.variance),
            (ELSE, 0.0, ANYWHERE**2),
        ):
            total = variance + sd**2
            weights.append(share * math.exp(-0.5 * (mean - at) ** 2 / total) / math.sqrt(total))
            where = (at * sd**2 + mean * variance) / total
            means.append(where)
            chances.append(0.5 * math.erfc(where / math.sqrt(2 * variance * sd**2 / total)))
        whole = sum(weights)
        if whole <= 0.0:  # so far from either that nothing can be said
            return 1.0, 0.0
        none = sum(w * c for w, c in zip(weights, chances, strict=True)) / whole
        return none, sum(w * m for w, m in zip(weights, means, strict=True)) / whole

    def bears(self, mean: float, sd: float) -> float | None:
        """Return the gain where launches bear out what neighbours say, else None.

        Half of them at least have to be faster, however little they say.

        Parameters
        ----------
        mean, sd
            As for `with_own`.
        """
        if mean <= 0.0:
            return None
        none, gain = self.with_own(mean, sd)
        return gain if none <= ALPHA and gain > -math.log(1 - THRESHOLD) else None

    def launches(self, mean: float, sd: float, seen: int, most: int) -> int:
        """Return how many launches bear the gain out in all, if they go on as is expected.

        Parameters
        ----------
        mean, sd, seen
            As for `with_own`, and the number of launches that say so (above zero).
        most
            More are not looked at.
        """
        _, gain = self.with_own(mean, sd)
        for n in range(seen + 1, most + 1):
            # the further ones lie about the gain that is expected now
            if self.bears((seen * mean + (n - seen) * gain) / n, sd * math.sqrt(seen / n)):
                return n
        return most + 1


def gains_of(comparisons: Iterable[Comparison], calls: Iterable[CallShape]) -> Gains:
    """Return what candidates gain on a layout, where a test was made of all shapes.

    Parameters
    ----------
    comparisons, calls
        As for `stretto.tune.decide.decide`.
    """
    out: dict[str, dict[int, dict[str, Gain]]] = {}
    for collective, sizes in complete(comparisons, calls).items():
        if collective in WITHOUT_SIZE:  # one choice for all sizes has a rule of its own
            continue
        here = out[collective] = {}
        for size, found in sizes.items():
            shapes: dict[str, list[Comparison]] = defaultdict(list)
            for c in found:
                if c.candidate not in (NATIVE, BARE):
                    shapes[c.candidate].append(c)
            here[size] = {
                name: _gain(of_it)
                for name, of_it in shapes.items()
                if all(c.q is not None and c.ratios for c in of_it)
            }
    return out


def _gain(shapes: Sequence[Comparison]) -> Gain:
    """Return what a candidate gains at a size.

    Parameters
    ----------
    shapes
        Its comparison in each: at least one.
    """
    told = [(c, middle([-math.log(r) for r in c.ratios])) for c in shapes]
    slower = any(c.outcome == "slower" or c.slower_elsewhere for c in shapes)
    unproven = tuple(gain for c, gain in told if c.outcome != "faster")
    mean, sd = min((gain for _, gain in told), key=lambda g: (g[0] - g[1], g))
    return Gain(mean, sd, "slower" if slower else "same" if unproven else "faster", unproven)


def expected(
    layout: Layout, gains: Mapping[Layout, Gains]
) -> dict[str, dict[int, dict[str, Expected]]]:
    """Return the gains that neighbours lead one to expect, by collective, size and candidate.

    Parameters
    ----------
    layout
        Where.
    gains
        Of all layouts.
    """
    out: dict[str, dict[int, dict[str, Expected]]] = {}
    for collective, sizes in gains[layout].items():
        out[collective] = {}
        for size in sizes:
            around = list(_around(layout, collective, size, gains))
            names = _proven_near(layout, collective, size, gains)
            here = {n: [(v, f[n]) for v, f in around if n in f] for n in sorted(names)}
            out[collective][size] = {n: _together(found) for n, found in here.items() if found}
    return out


def borne_out(
    gains: Gains, told: Mapping[str, Mapping[int, Mapping[str, Expected]]]
) -> dict[str, dict[int, dict[str, float]]]:
    """Return time / native's of what may be chosen without a proof, by collective and size.

    Parameters
    ----------
    gains
        Of a layout.
    told
        From `expected`, for it.
    """
    out: dict[str, dict[int, dict[str, float]]] = {}
    for collective, sizes in gains.items():
        out[collective] = {}
        for size, found in sizes.items():
            out[collective][size] = {}
            for name, gain in found.items():
                around = told.get(collective, {}).get(size, {}).get(name)
                if around is None or gain.outcome != "same":
                    continue
                means = [around.bears(*own) for own in gain.unproven]
                borne = [m for m in means if m is not None]
                if len(borne) == len(means) > 0:  # in each of its shapes
                    out[collective][size][name] = math.exp(-min(borne))
    return out


def _proven_near(
    layout: Layout, collective: str, size: int, gains: Mapping[Layout, Gains]
) -> set[str]:
    """Return the candidates that are proven near a point, or at it.

    Its neighbours may be as restless as it is itself; what they say of a gain counts all the same,
    if somewhere near them it is proven that there is one.
    """
    return {
        name
        for x, found in gains.items()
        if _near(x.nodes, layout.nodes, APART) and _near(x.ppn, layout.ppn, APART)
        for other, here in found.get(collective, {}).items()
        if _near(other, size, GAP)
        for name, gain in here.items()
        if gain.outcome == "faster"
    }


def _around(
    layout: Layout, collective: str, size: int, gains: Mapping[Layout, Gains]
) -> Iterator[tuple[float, Mapping[str, Gain]]]:
    """Yield the variance of the way to each neighbour, and what is gained there."""
    sizes = gains[layout][collective]
    for near in _next(size, sizes):
        if _near(near, size, GAP):
            yield _variance(CHANGES[2], near, size), sizes[near]
    for axis in (0, 1):
        mine = (layout.nodes, layout.ppn)
        line = {
            (x.nodes, x.ppn)[axis]: x for x in gains if (x.nodes, x.ppn)[1 - axis] == mine[1 - axis]
        }
        for near in _next(mine[axis], line):
            found = gains[line[near]].get(collective, {}).get(size)
            if found is not None and _near(near, mine[axis], APART):
                yield _variance(CHANGES[axis], near, mine[axis]), found


def _next(here: int, all_of_them: Iterable[int]) -> list[int]:
    """Return the next smaller and the next larger one, if there are any."""
    others = list(all_of_them)
    below, above = [x for x in others if x < here], [x for x in others if x > here]
    return [*([max(below)] if below else []), *([min(above)] if above else [])]


def _near(one: int, other: int, times: int) -> bool:
    """Return whether two sizes, or numbers of nodes or ranks, are at most so many times apart."""
    return max(one, other) <= times * max(min(one, other), 1)


def _variance(change: float, one: int, other: int) -> float:
    doublings = abs(math.log2(max(one, 1) / max(other, 1)))
    return (change * max(doublings, 1.0)) ** 2


def _together(around: list[tuple[float, Gain]]) -> Expected:
    """Return what neighbours (one at least) say together: each by how near and how sure it is.

    Where they disagree, the point may be like any of them; but one that is alone with what it says
    counts less, the further it is off (Student's t).
    """
    doubts = [variance + g.sd**2 for variance, g in around]
    means = [g.mean for _, g in around]
    mean = _middle_of(means, doubts)
    weights: list[float] = []
    for _ in range(5):
        weights = [1 / (v + (g - mean) ** 2 / FREEDOM) for g, v in zip(means, doubts, strict=True)]
        mean = sum(w * g for w, g in zip(weights, means, strict=True)) / sum(weights)
    spread = sum(w * (g - mean) ** 2 for w, g in zip(weights, means, strict=True))
    return Expected(mean, (1 + spread) / sum(weights))


def _middle_of(means: list[float], doubts: list[float]) -> float:
    """Return the median of values, each counted by how sure it is."""
    left = 0.5 * sum(1 / v for v in doubts)
    for mean, v in sorted(zip(means, doubts, strict=True)):
        left -= 1 / v
        if left <= 0:
            return mean
    return max(means)
