"""The one rule of a campaign's statistics: what is worth another launch, and when a size is over.

A candidate is measured at a size as long as it may be the best there by more than what counts, as
its own launches and those of all sizes and layouts together tell (`pooled`). A size is over when
the choice is proven and nothing may be better, or when nothing may be better than the MPI itself.
It is a pure function of complete rounds, so that every job that works on a campaign comes to the
same answer, and so does a start after a kill.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace

from stretto.campaign.kriged import FEWEST_POINTS, Estimate
from stretto.campaign.layout import Layout
from stretto.campaign.pooled import estimate
from stretto.campaign.times import Medians, Shape
from stretto.counted import counted
from stretto.files.table import WITHOUT_SIZE
from stretto.measure.compare import BARE, NATIVE, compare_times
from stretto.measure.settings import Case, Settings
from stretto.measure.stats import FEWEST
from stretto.measure.variants import launch_for
from stretto.mpi.algorithms.base import PREFIX

#: after so many launches at a size: how many candidates are measured there at most
CHANCES = ((0, 12), (1, 6), (2, 4), (3, 3), (4, 2))
#: a candidate may be faster by what it is, and so many standard deviations; where a size is to be
#: over because none is faster than the MPI itself, so many
DOUBTS, CERTAIN = 2.0, 3.0
#: of the logarithm: by how much it must perhaps be faster than the best before a test can be made,
#: and afterwards
GAIN, WORTH = 0.02, 0.06
#: a size ends when the best is faster than native with a p below this. It is lower than the table's
#: own threshold, since the table corrects for the number of tests.
SURE = 0.004
#: in the first so many launches a cell gets fewer batches (least and most)
SCREENING, FEW_BATCHES = 2, (5, 9)
#: us: where calls take longer, the bare MPI is measured beside its own settings only
SHORT_US = 10.0


def most_candidates(launches: int) -> int:
    """Return how many candidates are measured at a size after so many launches."""
    return [m for n, m in CHANCES if launches >= n][-1]


@dataclass(frozen=True)
class Dropped:
    """A candidate that is not measured at a size, and why (in words)."""

    collective: str
    bytes: int
    candidate: str
    launches: int
    why: str


@dataclass(frozen=True)
class State:
    """What is to be measured in a round, and what is not any more."""

    cases: tuple[Case, ...]
    dropped: tuple[Dropped, ...]


def shape_of(case: Case) -> Shape:
    return case.collective, case.bytes, case.datatype, case.operation, case.root


def chains(shapes: Iterable[Shape]) -> list[list[Shape]]:
    """Return the shapes by everything but the size, sizes ascending."""
    groups: dict[tuple[str, str, int], list[Shape]] = defaultdict(list)
    for shape in shapes:
        groups[shape[0], shape[3], shape[4]].append(shape)
    return [sorted(g, key=lambda s: (s[1], s)) for g in groups.values()]


def remaining(
    settings: Settings,
    layout: Layout,
    times: Medians,
    others: Mapping[Layout, Medians],
    unlikely: Mapping[Shape, Mapping[str, str]] | None = None,
    gone: Collection[tuple[str, str]] = (),
) -> State:
    cases = {shape_of(c): c for c in settings.cases}
    judged: dict[Shape, tuple[Case | None, list[Dropped]]] = {}
    for chain in chains(cases):
        mine = {s: cases[s] for s in chain}
        judged |= _judge(mine, settings.variants, layout, times, others, unlikely, gone)
    kept = [judged[s] for s in cases]
    return State(
        tuple(c for c, _ in kept if c is not None), tuple(d for _, found in kept for d in found)
    )


def _judge(
    cases: Mapping[Shape, Case],
    variants: tuple[str, ...],
    layout: Layout,
    times: Medians,
    others: Mapping[Layout, Medians],
    unlikely: Mapping[Shape, Mapping[str, str]] | None,
    gone: Collection[tuple[str, str]],
) -> dict[Shape, tuple[Case | None, list[Dropped]]]:
    """Return what is measured of a chain of sizes; None: nothing of a size."""
    found = estimate({**others, layout: times}, {layout: list(cases)})[layout]
    expected: Mapping[Shape, Mapping[str, Estimate]] = {s: found.get(s, {}) for s in cases}
    whole = next(iter(cases))[0] in WITHOUT_SIZE
    if whole:
        expected = _together(expected)
    first = _first(list(cases)) if not others and not any(times.get(s) for s in cases) else None
    out: dict[Shape, tuple[Case | None, list[Dropped]]] = {}
    over = []
    for shape, case in cases.items():
        never = (unlikely or {}).get(shape, {})
        names = [n for n in case.candidates if n not in (NATIVE, BARE) and n not in never]
        known = {n: expected[shape][n] for n in names if n in expected[shape]}
        known = {n: e for n, e in known.items() if (shape[0], n) not in gone}
        seen = times.get(shape, {})
        done = len({r for t in seen.values() for r in t})
        keep, dropped = _alive(shape, known, done, seen)
        dropped += [
            Dropped(shape[0], shape[1], n, 0, w) for n, w in never.items() if n in case.candidates
        ]
        own = expected[shape].get(NATIVE) or expected[shape].get(BARE)
        over.append(done >= FEWEST and _over(keep, known, own, seen, variants))
        alive = [n for n in names if n in keep or n not in known]
        wanted = {NATIVE, *alive}
        short = own is None or math.exp(own.mean) < SHORT_US or done < SCREENING
        if short or NATIVE not in case.candidates or any(n.startswith(PREFIX) for n in alive):
            wanted.add(BARE)
        left = replace(case, candidates=tuple(n for n in case.candidates if n in wanted))
        out[shape] = (left if first is None or shape in first else None), dropped
    if whole:  # one choice for all sizes: none is done before the others
        over = [all(over)] * len(over)
    return {
        s: (None if ends else case, dropped)
        for ends, (s, (case, dropped)) in zip(over, out.items(), strict=True)
    }


def _first(chain: list[Shape]) -> list[Shape]:
    """Return the sizes that begin with all candidates where no other layout is known.

    Every other one, and not the largest, which takes the most time, and most of it with candidates
    that smaller sizes rule out: what lies between begins a round later.
    """
    some = chain[: len(chain) - 1 : 2]
    return some if len(some) >= FEWEST_POINTS else chain


def _alive(
    shape: Shape,
    known: Mapping[str, Estimate],
    done: int,
    seen: Mapping[str, Mapping[int, float]],
) -> tuple[list[str], list[Dropped]]:
    if not known:
        return [], []
    top = min(known, key=lambda n: (known[n].mean, n))
    gain = WORTH if done >= FEWEST else GAIN
    keep, dropped = [top], []
    for name in sorted(known, key=lambda n: (known[n].mean - 0.5 * known[n].sd, n)):
        lag = known[name].mean - known[top].mean
        doubt = math.hypot(known[name].sd, known[top].sd)
        if name == top:
            continue
        if len(keep) < most_candidates(done) and lag + gain < DOUBTS * doubt:
            keep.append(name)
            continue
        why = f"takes {math.exp(lag):.2f} times as long as {top} (+- {100 * doubt:.0f} %)"
        if name in seen:
            why += f" after {counted(len(seen[name]), 'launch')}"
        else:
            why += ", estimated from other sizes and layouts"
        dropped.append(Dropped(shape[0], shape[1], name, len(seen.get(name, {})), why))
    return keep, dropped


def _over(
    keep: list[str],
    known: Mapping[str, Estimate],
    own: Estimate | None,
    seen: Mapping[str, Mapping[int, float]],
    variants: tuple[str, ...],
) -> bool:
    """Return whether further launches would not change the choice at a size."""
    if not keep or own is None:
        return True
    gains = [own.mean - known[n].mean for n in keep]
    doubts = [CERTAIN * math.hypot(known[n].sd, own.sd) for n in keep]
    if max(g + d for g, d in zip(gains, doubts, strict=True)) < WORTH:
        return True
    return len(keep) == 1 and proven(keep[0], seen, SURE, variants)


def proven(
    name: str, seen: Mapping[str, Mapping[int, float]], sure: float, variants: tuple[str, ...]
) -> bool:
    """Return whether a candidate is surely faster than the MPI itself.

    `variants`: kinds of launches of the campaign: who of native and bare shares its launches is
    compared.
    """
    bases = [n for n in (NATIVE, BARE) if seen.get(n)]
    bases.sort(key=lambda n: launch_for(n, variants) != launch_for(name, variants))
    if not bases or not seen.get(name):
        return False
    ratio, _, p, _ = compare_times(dict(seen[name]), dict(seen[bases[0]]), 1)
    return p is not None and p < sure and ratio.median < 1


def _together(
    expected: Mapping[Shape, Mapping[str, Estimate]],
) -> dict[Shape, dict[str, Estimate]]:
    """Return the mean over all sizes at each of them: one choice has to do for all."""
    names = set.intersection(*(set(e) for e in expected.values())) if expected else set()
    k = len(expected)
    means = {
        n: Estimate(
            sum(e[n].mean for e in expected.values()) / k,
            math.sqrt(sum(e[n].sd ** 2 for e in expected.values())) / k,
        )
        for n in sorted(names)
    }
    return {s: dict(means) for s in expected}
