"""Elimination by what all sizes and layouts say together: who may still be the best at a point.

As in `elimination`, a pure function of complete rounds. Where a fit is possible (`pooled`), a
candidate is measured at a size as long as it may be the best there by more than what counts: also
one that was not begun with, once the launches since then give it a chance.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from stretto.campaign.compare import BARE, NATIVE, THRESHOLD
from stretto.campaign.settings import STARTUP_S, Case, Settings
from stretto.campaign.stats import FEWEST
from stretto.sweep.elimination import (
    Dropped,
    Medians,
    Policy,
    Shape,
    State,
    chains,
    decided,
    not_begun,
    proven,
    shape_of,
    state,
)
from stretto.sweep.layout import Layout
from stretto.sweep.pooled import FEWEST_POINTS, Estimate, Point, estimates, location

#: a size that takes more than this share of a layout's time begins in the second round, with the
#: candidates that the smaller sizes leave; at most so many times the largest size of the first
COSTLY, BEYOND = 0.1, 16
#: s: and if one candidate takes longer there in a launch
COSTLY_S = 2.5
#: what a gain over the MPI's own choice must be at least, in logarithms
GAIN = -math.log(1 - THRESHOLD)
#: and this many smaller sizes must be left to learn from
LEAST_SIZES = 4

#: a candidate's launches at a point: round and time; and those on other layouts, complete
Known = dict[str, list[tuple[Point, tuple[tuple[int, float], ...]]]]


@dataclass
class _Field:
    """A chain of sizes: who is measured at each, and who is not, with the reason."""

    layout: Layout
    chain: list[Shape]
    times: Medians
    alive: dict[Shape, list[str]]
    waiting: dict[Shape, dict[str, Dropped]]
    never: list[Dropped]
    own: Known
    elsewhere: dict[str, list[tuple[Point, tuple[float, ...]]]]
    since: dict[tuple[Shape, str], int] = field(default_factory=dict)
    kept: dict[str, tuple[int, Mapping[Point, Estimate]]] = field(default_factory=dict)

    def at(self, shape: Shape) -> Point:
        """Return the point of a shape."""
        return Point(self.layout.nodes, self.layout.ppn, shape[1])

    def launches(self, shape: Shape, done: int) -> int:
        """Return in how many of the rounds done a size was measured."""
        return len({r for t in self.times.get(shape, {}).values() for r in t if r < done})

    def fails(self, shape: Shape, name: str, done: int) -> bool:
        """Return whether a candidate was to be measured at a size and has brought no time."""
        if name in self.waiting[shape] or self.launches(shape, done) == 0:
            return False
        seen = self.times.get(shape, {}).get(name, {})
        return self.since.get((shape, name), 0) < done and not any(r < done for r in seen)


def contest(
    settings: Settings,
    layout: Layout,
    times: Medians,
    others: Mapping[Layout, Medians],
    nearest: Sequence[Medians],
    turn: int,
    policy: Policy,
    unlikely: Mapping[Shape, Mapping[str, str]] | None = None,
) -> State:
    """Return what is measured in a round of a layout.

    Parameters
    ----------
    settings, times, turn, policy
        As for `elimination.state`.
    layout
        The one that is measured.
    others
        What was measured on those that it learns from, all complete.
    nearest
        Of these, the two that enclose it: for sizes that cannot be fitted.
    unlikely
        By shape, candidates that are not begun with whatever is measured (prices), and why.
    """
    unlikely = unlikely or {}
    cases = {shape_of(c): c for c in settings.cases}
    fitted: set[Shape] = set()
    for chain in chains(cases):
        elsewhere = {(x, s[1]) for x, t in others.items() for s in t if _same(s, chain[0])}
        if len(chain) + len(elsewhere) >= FEWEST_POINTS and len(chain) > 1:
            fitted |= set(chain)
    plain = replace(settings, cases=tuple(c for s, c in cases.items() if s not in fitted))
    begun = {s: dict(n) for s, n in unlikely.items()}
    for shape, names in not_begun(plain.cases, nearest, policy).items():
        begun[shape] = {**begun.get(shape, {}), **names}
    left = {}
    dropped: list[Dropped] = []
    if plain.cases:
        found = state(plain, times, turn, policy, begun)
        left = {shape_of(c): c for c in found.cases}
        dropped += found.dropped
    for chain in chains([s for s in cases if s in fitted]):
        one = _run(settings, [cases[s] for s in chain], layout, times, others, turn, policy,
                   unlikely)  # fmt: skip
        left |= {shape_of(c): c for c in one.cases}
        dropped += one.dropped
    return State(tuple(left[s] for s in cases if s in left), tuple(dropped))


def _run(
    settings: Settings,
    cases: Sequence[Case],
    layout: Layout,
    times: Medians,
    others: Mapping[Layout, Medians],
    turn: int,
    policy: Policy,
    unlikely: Mapping[Shape, Mapping[str, str]],
) -> State:
    """Return what is measured of a chain of sizes."""
    chain = [shape_of(c) for c in cases]
    f = _Field(
        layout, chain, times, {}, {s: {} for s in chain}, [], defaultdict(list), defaultdict(list)
    )
    for shape, case in zip(chain, cases, strict=True):
        out = {n: w for n, w in unlikely.get(shape, {}).items() if n not in (NATIVE, BARE)}
        f.alive[shape] = [n for n in case.candidates if n not in out]
        f.never += [
            Dropped(shape[0], shape[1], n, 0, w) for n, w in out.items() if n in case.candidates
        ]
        for name, seen in times.get(shape, {}).items():
            f.own[name].append((f.at(shape), tuple(sorted(seen.items()))))
    for where, found in sorted(others.items()):
        for shape, candidates in found.items():
            if _same(shape, chain[0]):
                for name, seen in candidates.items():
                    at = Point(where.nodes, where.ppn, shape[1])
                    f.elsewhere[name].append((at, tuple(t for _, t in sorted(seen.items()))))
    late = _costly(settings, cases) if not f.elsewhere else set()
    over: set[Shape] = set()
    for done in range(turn + 1):
        if done == 0 and not f.elsewhere:
            continue
        late = set()
        _rejudge(f, done, policy, settings.launches)
        for shape in chain:
            if done >= FEWEST and _over(f, shape, done, policy):
                over.add(shape)
    left = [
        replace(case, candidates=tuple(n for n in case.candidates if n in f.alive[shape]))
        for shape, case in zip(chain, cases, strict=True)
        if shape not in over and shape not in late
    ]
    dropped = [*f.never, *(d for s in chain for d in f.waiting[s].values())]
    return State(tuple(c for c in left if c.candidates), tuple(dropped))


def _costly(settings: Settings, cases: Sequence[Case]) -> set[Shape]:
    """Return the sizes that are worth a look at the smaller ones first."""
    cost = {
        shape_of(c): replace(settings, cases=(c,), launches=1, variants=()).estimate_s()
        for c in cases
    }
    whole = sum(cost.values()) + STARTUP_S * len(settings.variants)
    kept = [s for s in cost if cost[s] <= COSTLY * whole]
    if len(kept) < LEAST_SIZES:
        return set()
    limit = BEYOND * max(s[1] for s in kept)
    each = {shape_of(c): cost[shape_of(c)] / len(c.candidates) for c in cases}
    return {s for s in cost if s not in kept and s[1] <= limit and each[s] > COSTLY_S}


def _fit(f: _Field, done: int) -> dict[str, Mapping[Point, Estimate]]:
    """Return the estimates for all candidates at the chain's sizes, after so many rounds."""
    names = {n for s in f.chain for n in (*f.alive[s], *f.waiting[s])} - {NATIVE, BARE}
    wanted = list(dict.fromkeys(f.at(s) for s in f.chain))
    out: dict[str, Mapping[Point, Estimate]] = {}
    for name in sorted(names):
        count = sum(r < done for _, seen in f.own[name] for r, _ in seen)
        if name not in f.kept or f.kept[name][0] != count:
            points: dict[Point, tuple[float, ...]] = {}
            mine = [(p, tuple(t for r, t in seen if r < done)) for p, seen in f.own[name]]
            for at, seen in [*f.elsewhere[name], *mine]:
                if seen:
                    points[at] = (*points.get(at, ()), *seen)
            f.kept[name] = count, estimates({name: points}, wanted).get(name, {})
        if f.kept[name][1]:
            out[name] = f.kept[name][1]
    return out


def _rejudge(f: _Field, done: int, policy: Policy, rounds: int) -> None:
    """Drop who has no chance any more, and begin with whom it has grown."""
    found = _fit(f, done)
    here: dict[Shape, dict[str, Estimate]] = {}
    for shape in f.chain:
        names = (*f.alive[shape], *f.waiting[shape])
        here[shape] = {
            n: found[n][f.at(shape)]
            for n in names
            if n in found and not f.fails(shape, n, done)  # no yardstick: it crashes, say
        }
    best = {s: min(e, key=lambda n: (e[n].mean, n)) for s, e in here.items() if e}
    for i, shape in enumerate(f.chain):
        if shape not in best:
            continue
        near = f.chain[max(0, i - 1) : i] + f.chain[i + 1 : i + 2]
        friends = {best[s] for s in near if s in best}
        rivals, top = here[shape], best[shape]
        launches = f.launches(shape, done)
        order = sorted(rivals, key=lambda n: (rivals[n].mean - 0.5 * rivals[n].sd, n))
        most = policy.with_chances(launches)
        unproven = _unproven(f, shape, done, policy)
        own = _native(f, shape, done)
        late = rounds - done < FEWEST or launches > policy.latest
        spare = 3  # of those that come second, while the best cannot be told from native
        for place, name in enumerate(order):
            lag = rivals[name].mean - rivals[top].mean
            doubt = math.hypot(rivals[name].sd, rivals[top].sd)
            chance = name == top or (lag + policy.gain < policy.doubts * doubt and place < most)
            chance = chance or (name in friends and lag < policy.gain)
            gains = own is not None and rivals[name].mean < own - GAIN
            if unproven and spare and name != top and gains:
                chance, spare = True, spare - 1
            waits = f.waiting[shape].get(name)
            if (
                waits is not None
                and chance
                and (not late or (unproven and rounds - done >= FEWEST))
            ):
                del f.waiting[shape][name]
                f.alive[shape].append(name)
                f.since[shape, name] = done
            elif waits is None and not chance:
                f.alive[shape].remove(name)
                mine = sum(r < done for r in f.times.get(shape, {}).get(name, {}))
                why = f"{math.exp(lag):.2f} times as slow as {top} (+- {100 * doubt:.0f}%)"
                why += "" if mine else " by other sizes and layouts"
                f.waiting[shape][name] = Dropped(shape[0], shape[1], name, mine, why)


def _native(f: _Field, shape: Shape, done: int) -> float | None:
    """Return where the MPI's own choice lies at a size, in logarithms; None: not measured."""
    seen = f.times.get(shape, {})
    name = next((n for n in (NATIVE, BARE) if n in f.alive[shape] and n in seen), None)
    mine = tuple(t for r, t in sorted(seen[name].items()) if r < done) if name else ()
    return location(mine)[0] if mine else None


def _over(f: _Field, shape: Shape, done: int, policy: Policy) -> bool:
    """Return whether more launches of a size would not change the choice.

    That none is faster by what counts must be the fit's word, too: medians of few launches err.
    """
    seen, alive = f.times.get(shape, {}), f.alive[shape]
    if not decided(seen, alive, done, policy.sure):
        return False
    own, found = _native(f, shape, done), f.kept
    means = [found[n][1][f.at(shape)].mean for n in alive if n in found and found[n][1]]
    if own is None or not means or min(means) > own - GAIN:
        return True
    return proven(seen, alive, done, policy.sure)


def _unproven(f: _Field, shape: Shape, done: int, policy: Policy) -> bool:
    """Return whether launches spread so widely that the best may never be proven faster."""
    launches = f.launches(shape, done)
    if launches >= FEWEST:
        return not _over(f, shape, done, policy)
    if launches < policy.worried:
        return False
    seen, alive = f.times.get(shape, {}), f.alive[shape]
    base = next((n for n in (NATIVE, BARE) if n in alive and n in seen), None)
    names = [n for n in alive if n in f.kept and f.kept[n][1] and n in seen]
    if base is None or not names:
        return False
    best = min(names, key=lambda n: (f.kept[n][1][f.at(shape)].mean, n))
    mine = [t for r, t in seen[best].items() if r < done]
    others = [t for r, t in seen[base].items() if r < done]
    wins = sum(a < b for a in mine for b in others)
    return wins < policy.clear * len(mine) * len(others)


def _same(a: Shape, b: Shape) -> bool:
    """Return whether two shapes differ in size only (and in the datatype that fits it)."""
    return (a[0], a[3], a[4]) == (b[0], b[3], b[4])
