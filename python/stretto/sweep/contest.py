"""Elimination by what all sizes and layouts say together: who may still be the best at a point.

As in `elimination`, a pure function of complete rounds. Where a fit is possible (`pooled`), a
candidate is measured at a size as long as it may be the best there by more than what counts: also
one that was not begun with, once the launches since then give it a chance. This ends as soon as a
test can be made: what is in doubt then is for the closing rounds (`closing`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

from stretto.campaign.settings import STARTUP_S, Case, Settings
from stretto.campaign.stats import FEWEST
from stretto.sweep.contenders import GAIN, bare_where_it_tells, doubtful, settle
from stretto.sweep.elimination import Dropped, Policy, State, chains, not_begun, shape_of, state
from stretto.sweep.field import Field, make_field, same
from stretto.sweep.kriged import FEWEST_POINTS, Estimate
from stretto.sweep.layout import Layout
from stretto.sweep.times import Medians, Shape

#: a size that takes more than this share of a layout's time is dear: where no other layout tells
#: who is hopeless there, it begins after so many rounds, with the candidates that the smaller sizes
#: leave; at most so many times the largest of these
COSTLY, AFTER, BEYOND = 0.1, 2, 16
#: s: and if one candidate takes longer there in a launch
COSTLY_S = 2.5
#: and this many smaller sizes must be left to learn from
LEAST_SIZES = 4

#: by chain: the round that was asked for, the times that it rests on (of this layout, of others),
#: and what came of it
Memory = dict[tuple[Shape, ...], tuple[int, Medians, Mapping[Layout, Medians], Field]]


def contest(
    settings: Settings,
    layout: Layout,
    times: Medians,
    others: Mapping[Layout, Medians],
    nearest: Sequence[Medians],
    turn: int,
    policy: Policy,
    unlikely: Mapping[Shape, Mapping[str, str]] | None = None,
    memory: Memory | None = None,
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
    memory
        What earlier calls for this layout have worked out; it changes the time that this takes, and
        nothing else.
    """
    unlikely = unlikely or {}
    cases = {shape_of(c): c for c in settings.cases}
    fitted: set[Shape] = set()
    for chain in chains(cases):
        elsewhere = {(x, s[1]) for x, t in others.items() for s in t if same(s, chain[0])}
        if len(chain) + len(elsewhere) >= FEWEST_POINTS and len(chain) > 1:
            fitted |= set(chain)
    plain = replace(settings, cases=tuple(c for s, c in cases.items() if s not in fitted))
    begun = {s: dict(n) for s, n in unlikely.items()}
    for shape, names in not_begun(plain.cases, nearest, policy).items():
        begun[shape] = {**begun.get(shape, {}), **names}
    left = {}
    dropped: list[Dropped] = []
    if plain.cases and turn < settings.launches:
        found = state(plain, times, turn, policy, begun)
        left = {shape_of(c): c for c in found.cases}
        dropped += found.dropped
    for chain in chains([s for s in cases if s in fitted]):
        one = _run(settings, [cases[s] for s in chain], layout, times, others, turn, policy,
                   unlikely, memory)  # fmt: skip
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
    memory: Memory | None,
) -> State:
    """Return what is measured of a chain of sizes."""
    key = tuple(shape_of(c) for c in cases)
    f, first = None, 0
    if memory is not None and key in memory:
        seen, before, around, kept = memory[key]
        if seen <= turn and around == others:
            kept.learn(times)
            if kept.past(seen) == before:
                f, first = kept, seen + 1
    if f is None:
        f = make_field(
            layout, cases, times, others, unlikely, settings.variants, settings.launches,
            dear_sizes(settings, cases, COSTLY),
        )  # fmt: skip
    begins = {} if f.elsewhere else begins_with(settings, cases)
    for done in range(first, turn + 1):
        if len(f.over) == len(f.chain):
            break
        if done == 0 and not f.elsewhere:
            continue
        _rejudge(f, done, policy)
        settle(f, done)
        for shape in f.chain:
            bare_where_it_tells(f, shape, done, policy)
    if memory is not None:
        memory[key] = turn, f.past(turn), dict(others), f
    left = [
        replace(case, candidates=tuple(n for n in case.candidates if n in f.alive[shape]))
        for shape, case in zip(f.chain, cases, strict=True)
        if shape not in f.over and turn >= begins.get(shape, 0)
    ]
    dropped = [*f.never, *(d for s in f.chain for d in f.waiting[s].values())]
    return State(tuple(c for c in left if c.candidates), tuple(dropped))


def _costs(settings: Settings, cases: Sequence[Case]) -> tuple[dict[Shape, float], float]:
    """Return what each size takes in a round of all candidates, and the round, in seconds."""
    cost = {
        shape_of(c): replace(settings, cases=(c,), launches=1, variants=()).estimate_s()
        for c in cases
    }
    return cost, sum(cost.values()) + STARTUP_S * len(settings.variants)


def dear_sizes(settings: Settings, cases: Sequence[Case], share: float) -> set[Shape]:
    """Return the sizes that take more than a share of the layout's time."""
    cost, whole = _costs(settings, cases)
    return {s for s in cost if cost[s] > share * whole}


def costly_sizes(settings: Settings, cases: Sequence[Case]) -> set[Shape]:
    """Return the sizes that are worth a look at the smaller ones first."""
    cost, whole = _costs(settings, cases)
    kept = [s for s in cost if cost[s] <= COSTLY * whole]
    if len(kept) < LEAST_SIZES:
        return set()
    limit = BEYOND * max(s[1] for s in kept)
    each = {shape_of(c): cost[shape_of(c)] / len(c.candidates) for c in cases}
    return {s for s in cost if s not in kept and s[1] <= limit and each[s] > COSTLY_S}


def begins_with(settings: Settings, cases: Sequence[Case]) -> dict[Shape, int]:
    """Return the round in which each size begins where no other layout tells who is hopeless.

    All candidates are measured at every other size first, the largest not among them: it takes the
    most time, and most of it with candidates that smaller sizes rule out. What lies between begins
    a round later, with whoever has a chance there by then.
    """
    costly = costly_sizes(settings, cases)
    out = {shape_of(c): AFTER if shape_of(c) in costly else 0 for c in cases}
    kept = [s for s in out if s not in costly]
    first = kept[: len(kept) - 1 : 2]
    if len(first) >= LEAST_SIZES:
        out |= {s: 1 for s in kept if s not in first}
    return out


def _rejudge(f: Field, done: int, policy: Policy) -> None:
    """Drop who has no chance any more, and begin with whom it has grown, before tests are made."""
    found = f.fit(done)
    here: dict[Shape, dict[str, Estimate]] = {}
    for shape in f.chain:
        names = (*f.alive[shape], *f.waiting[shape])
        here[shape] = {
            n: found[n][f.at(shape)]
            for n in names
            if n in found and not f.fails(shape, n, done)  # no yardstick: it crashes, say
        }
    if f.whole:
        here = _together(here)
    best = {s: min(e, key=lambda n: (e[n].mean, n)) for s, e in here.items() if e}
    for i, shape in enumerate(f.chain):
        launches = f.launches(shape, done)
        if shape not in best or shape in f.over or launches >= FEWEST:
            continue
        near = f.chain[max(0, i - 1) : i] + f.chain[i + 1 : i + 2]
        friends = {best[s] for s in near if s in best}
        rivals, top = here[shape], best[shape]
        order = sorted(rivals, key=lambda n: (rivals[n].mean - 0.5 * rivals[n].sd, n))
        most = policy.with_chances(launches, shape in f.dear)
        unproven = doubtful(f, shape, done, policy)
        own = f.native(shape, done)
        late = f.rounds - done < FEWEST or launches > policy.latest
        spare = (
            1 if shape in f.dear else 3
        )  # of those that come second, while the best cannot be told from native
        for place, name in enumerate(order):
            lag = rivals[name].mean - rivals[top].mean
            doubt = math.hypot(rivals[name].sd, rivals[top].sd)
            chance = name == top or (lag + policy.gain < policy.doubts * doubt and place < most)
            chance = chance or (name in friends and lag < policy.gain)
            gains = own is not None and rivals[name].mean < own.mean - GAIN
            if unproven and spare and name != top and gains:
                chance, spare = True, spare - 1
            waits = name in f.waiting[shape]
            if waits and chance and (not late or (unproven and f.rounds - done >= FEWEST)):
                f.measure(shape, name, done)
            elif not waits and not chance:
                why = f"{math.exp(lag):.2f} times as slow as {top} (+- {100 * doubt:.0f}%)"
                why += "" if f.until(shape, name, done) else " by other sizes and layouts"
                f.drop(shape, name, done, why)


def _together(here: Mapping[Shape, Mapping[str, Estimate]]) -> dict[Shape, dict[str, Estimate]]:
    """Return the mean over all sizes at each of them: one choice has to do for all."""
    names = set.intersection(*(set(e) for e in here.values())) if here else set()
    k = len(here)
    means = {
        n: Estimate(
            sum(e[n].mean for e in here.values()) / k,
            math.sqrt(sum(e[n].sd ** 2 for e in here.values())) / k,
        )
        for n in sorted(names)
    }
    return {s: dict(means) for s in here}
