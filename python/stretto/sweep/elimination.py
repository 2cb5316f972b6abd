"""Successive elimination: which candidates are worth another launch, at which sizes.

A pure function of what was measured in complete rounds, so that every job that works on a campaign
comes to the same answer, and so does a start after a kill.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median, median_low

from stretto.campaign.compare import BARE, NATIVE, compare_times
from stretto.campaign.settings import Case, Settings
from stretto.campaign.stats import FEWEST
from stretto.campaign.variants import launch_for
from stretto.campaign.verdict import THRESHOLD
from stretto.counted import counted
from stretto.files.table import WITHOUT_SIZE
from stretto.sweep.times import Medians, Shape


@dataclass(frozen=True)
class Policy:
    """When a candidate is hopeless.

    Attributes
    ----------
    factors
        After so many launches: how many times slower than the best, in every launch. At most that
        much, at the size itself and its neighbours, and the candidate stays.
    finalists
        After so many launches: how many of the best stay at each size (those that are best at a
        neighbouring size stay as well, so that rows can be merged).
    screening
        In the first so many launches a cell gets few batches: enough to see what is hopeless.
    batches
        Least and most batches of a cell while screening, and later.
    sure
        After enough launches for a rank test: a size at which the best is faster than the MPI's own
        choice with such a p, or no candidate is faster by what counts, is measured no longer.
    guided
        On a layout between two that were measured: candidates more than so many times slower than
        the best on both, at a size and its neighbours, are not begun with.
    priced
        Candidates that the model prices at more than so many times the best are not begun with.
    gain, doubts
        Where a fit is possible (`stretto.sweep.contest`): a candidate is measured while, within so
        many standard deviations, it may be faster than the best by so much (of the logarithm).
    chances
        After so many launches at a size: how many candidates may have that chance.
    latest
        After more launches than this no candidate is begun with, but in place of one in doubt.
    worried, clear
        From so many launches on: where the best is faster than the MPI's own choice in a smaller
        share of all pairs of launches, those that come next are measured as well.
    dear_chances
        As `chances`, at sizes that take more than a tenth of a layout's time.
    worth, open_doubts
        In the closing rounds (`stretto.sweep.closing`): a candidate is measured on where, within so
        many standard deviations, it may be faster than the choice by `worth` of the logarithm. What
        is unlikely bids little, and is taken where it costs little: in launches that are due.
    matters
        And gains up to this are worth nothing there.
    few, most_at_once
        Least and most rounds that it gets in a wave.
    hopeless
        Who needs more launches for a proof gets none.
    portion
        Part of the time left that a wave takes.
    extended
        So many times the launches that were asked for a layout may have.
    share
        Of the time in which everything could be measured: what the campaign may take.
    short_us
        Where calls take longer, the bare MPI is measured beside its own settings only.
    """

    factors: tuple[tuple[int, float], ...] = ((1, 2.5), (2, 1.4), (3, 1.2), (5, 1.1))
    finalists: tuple[tuple[int, int], ...] = ((1, 8), (2, 4), (3, 2))
    screening: int = 2
    batches: tuple[tuple[int, int], tuple[int, int]] = ((5, 9), (9, 40))
    sure: float = 0.004
    guided: float = 1.25
    priced: float = 3.0
    gain: float = 0.02
    doubts: float = 2.0
    chances: tuple[tuple[int, int], ...] = ((0, 12), (1, 6), (2, 4), (3, 3), (4, 2))
    latest: int = 3
    worried: int = 4
    clear: float = 0.85
    dear_chances: tuple[tuple[int, int], ...] = ((0, 9), (1, 4), (2, 2), (4, 1))
    worth: float = 0.06
    open_doubts: float = 4.0
    matters: float = 0.05
    few: int = 3
    most_at_once: int = 24
    hopeless: int = 200
    portion: float = 0.35
    extended: int = 16
    share: float = 0.095
    short_us: float = 10.0

    def most_rounds(self, launches: int) -> int:
        """Return how many rounds a layout may have, where so many were asked for."""
        return launches if launches < FEWEST else self.extended * launches

    def factor(self, launches: int) -> float:
        """Return the factor after so many launches; infinite before the first."""
        known = [f for n, f in self.factors if launches >= n]
        return known[-1] if known else math.inf

    def most(self, launches: int) -> int:
        """Return how many candidates stay at a size after so many launches (at least one)."""
        return [m for n, m in self.finalists if launches >= n][-1]

    def with_chances(self, launches: int, dear: bool = False) -> int:
        """Return how many may have a chance at a size after so many launches, where fitted."""
        ladder = self.dear_chances if dear else self.chances
        return [m for n, m in ladder if launches >= n][-1]


@dataclass(frozen=True)
class Dropped:
    """A candidate that is measured no longer at a size, and why (in words)."""

    collective: str
    bytes: int
    candidate: str
    launches: int
    why: str


@dataclass(frozen=True)
class State:
    """What is to be measured in a round, and what was dropped before it."""

    cases: tuple[Case, ...]
    dropped: tuple[Dropped, ...]


def shape_of(case: Case) -> Shape:
    """Return the call shape of a case."""
    return case.collective, case.bytes, case.datatype, case.operation, case.root


def state(
    settings: Settings,
    times: Medians,
    turn: int,
    policy: Policy,
    begun: Mapping[Shape, Mapping[str, str]] | None = None,
) -> State:
    """Return what is measured in a round.

    Parameters
    ----------
    settings
        Of the layout, with all candidates.
    times
        From `medians`; rounds from `turn` on are not looked at.
    turn
        The round, from 0.
    policy
        When a candidate is hopeless.
    begun
        By shape, candidates that are not begun with, and why (guides, prices).
    """
    alive = {shape_of(c): list(c.candidates) for c in settings.cases}
    dropped: list[Dropped] = []

    def drop(shape: Shape, names: Mapping[str, str], launches: int) -> None:
        for name in [n for n in alive[shape] if n in names and n not in (NATIVE, BARE)]:
            alive[shape].remove(name)
            dropped.append(Dropped(shape[0], shape[1], name, launches, names[name]))

    for shape in alive:
        drop(shape, (begun or {}).get(shape, {}), 0)
    groups = chains(alive)
    over: set[Shape] = set()
    for done in range(1, turn + 1):
        slow = {
            shape: _slow(times.get(shape, {}), names, done, policy.factor(done))
            for shape, names in alive.items()
        }
        best = {s: _best(times.get(s, {}), names, done) for s, names in alive.items()}
        hopeless: dict[Shape, dict[str, str]] = {}
        for chain in groups:
            for i, shape in enumerate(chain):
                near = chain[max(0, i - 1) : i] + chain[i + 1 : i + 2]
                names = {
                    n: why
                    for n, why in slow[shape].items()
                    if all(n in slow[s] or n not in alive[s] for s in near)
                }
                keep = {n for s in (shape, *near) for n in best[s][:1]}
                keep |= set(best[shape][: policy.most(done)])
                names |= {
                    n: f"not among the best {policy.most(done)} after {counted(done, 'launch')}"
                    for n in best[shape]
                    if n not in keep and n not in names
                }
                hopeless[shape] = names
        for chain in groups:
            stop = done >= FEWEST
            for shape in chain:
                drop(shape, _everywhere(chain, hopeless, shape), done)
                stop_here = done >= FEWEST and decided(
                    times.get(shape, {}), alive[shape], done, policy.sure, settings.variants
                )
                stop = stop and stop_here
                if stop_here and chain[0][0] not in WITHOUT_SIZE:
                    over.add(shape)
            if stop:  # one choice for all sizes: none is done before the others
                over |= set(chain)
    cases = []
    for case in settings.cases:
        names_left = tuple(alive[shape_of(case)])
        if names_left and shape_of(case) not in over:
            cases.append(replace(case, candidates=names_left))
    return State(tuple(cases), tuple(dropped))


def _everywhere(
    chain: Sequence[Shape], hopeless: Mapping[Shape, Mapping[str, str]], shape: Shape
) -> Mapping[str, str]:
    """Return who is hopeless at a size: at all of them, where one choice has to do for all."""
    if chain[0][0] not in WITHOUT_SIZE:
        return hopeless[shape]
    return {n: w for n, w in hopeless[shape].items() if all(n in hopeless[s] for s in chain)}


def chains(shapes: Iterable[Shape]) -> list[list[Shape]]:
    """Return the shapes by everything but the size, sizes ascending."""
    groups: dict[tuple[str, str, int], list[Shape]] = defaultdict(list)
    for shape in shapes:
        groups[shape[0], shape[3], shape[4]].append(shape)
    return [sorted(g, key=lambda s: (s[1], s)) for g in groups.values()]


def _until(times: Mapping[int, float], done: int) -> list[float]:
    return [t for r, t in sorted(times.items()) if r < done]


def _best(times: Mapping[str, Mapping[int, float]], names: Sequence[str], done: int) -> list[str]:
    """Return the candidates in the order of their medians, the fastest first.

    Of an even number of launches the lower one of the two in the middle: launches are disturbed
    upwards, and one of two must not put the fastest behind the others.
    """
    known = {n: _until(times[n], done) for n in names if n in times and n not in (NATIVE, BARE)}
    return sorted((n for n in known if known[n]), key=lambda n: (median_low(known[n]), n))


def decided(
    times: Mapping[str, Mapping[int, float]],
    names: Sequence[str],
    done: int,
    sure: float,
    variants: tuple[str, ...],
) -> bool:
    """Return whether more launches would not change the choice: see `proven`."""
    own = next((n for n in (NATIVE, BARE) if n in names and n in times), None)
    best = _best(times, names, done)
    if own is None or not best:
        return False
    base, mine = ({r: t for r, t in times[n].items() if r < done} for n in (own, best[0]))
    if not base or not mine or compare_times(mine, base, 1)[0].median > 1 - THRESHOLD:
        return True
    return proven(times, names, done, sure, variants)


def proven(
    times: Mapping[str, Mapping[int, float]],
    names: Sequence[str],
    done: int,
    sure: float,
    variants: tuple[str, ...],
) -> bool:
    """Return whether the best candidate is surely faster than the MPI's own choice.

    Parameters
    ----------
    times, names
        Of a shape, by candidate and round; the candidates that are measured still.
    done
        The rounds that count.
    sure
        See `Policy.sure`.
    variants
        Kinds of launches of the campaign.
    """
    best = _best(times, names, done)
    if not best:
        return False
    own, _ = beside(best[0], [n for n in names if n in times], variants)
    if own is None:
        return False
    first, second = ({r: t for r, t in times[n].items() if r < done} for n in (best[0], own))
    if not first or not second:
        return False
    ratio, _, p, _ = compare_times(first, second, 1)  # as in the decision: by rounds
    return p is not None and p < sure and ratio.median < 1


def beside(name: str, names: Collection[str], variants: tuple[str, ...]) -> tuple[str | None, bool]:
    """Return what a candidate is compared with (native or bare, if any), and whether in pairs.

    Who of the two shares its launches comes first.

    Parameters
    ----------
    name, names
        The candidate, and all that were measured.
    variants
        Kinds of launches of the campaign.
    """
    bases = [n for n in (NATIVE, BARE) if n in names]
    for base in bases:
        if launch_for(base, variants) == launch_for(name, variants):
            return base, True
    return next(iter(bases), None), False


def _slow(
    times: Mapping[str, Mapping[int, float]], names: Sequence[str], done: int, factor: float
) -> dict[str, str]:
    """Return the candidates that were too slow in every launch so far, with the reason."""
    known = {n: _until(times[n], done) for n in names if n in times}
    known = {n: t for n, t in known.items() if t}
    if not known or math.isinf(factor):
        return {}
    best = min(known, key=lambda n: (median(known[n]), n))
    limit = factor * median(known[best])
    return {
        n: f"{min(t) / limit * factor:.2f} times as slow as {best} or more in "
        f"{counted(len(t), 'launch')}"
        for n, t in known.items()
        if min(t) > limit and min(t) > max(known[best]) and n != best
    }


def not_begun(
    mine: Iterable[Case], guides: Sequence[Medians], policy: Policy
) -> dict[Shape, dict[str, str]]:
    """Return the candidates that two enclosing layouts say are hopeless, by shape.

    Only what was measured on both counts: a candidate that one of them does not have, or that was
    not begun with there, is begun with here unless it was slow on the other.

    Parameters
    ----------
    mine
        Cases of the layout.
    guides
        Times on the layouts that enclose it.
    policy
        Its `guided`.
    """
    if len(guides) < 2:
        return {}
    cases = {shape_of(c): c for c in mine}
    ratios = [{s: _ratios(t) for s, t in g.items()} for g in guides]
    out: dict[Shape, dict[str, str]] = defaultdict(dict)
    for chain in chains(cases):
        for i, shape in enumerate(chain):
            near = chain[max(0, i - 1) : i + 2]
            for name in cases[shape].candidates:
                seen = [r[s][name] for r in ratios for s in near if name in r.get(s, {})]
                if seen and min(seen) > policy.guided:
                    out[shape][name] = (
                        f"{min(seen):.2f} times as slow as the best or more on the layouts around"
                    )
                elif not seen and all(s in r for r in ratios for s in near):
                    out[shape][name] = "dropped before it was measured on the layouts around"
    return dict(out)


def _ratios(times: Mapping[str, Mapping[int, float]]) -> dict[str, float]:
    """Return how slow each candidate is, as a multiple of the best."""
    found = {n: median(t.values()) for n, t in times.items() if t}
    least = min(found.values(), default=1.0)
    return {n: t / least for n, t in found.items()}
