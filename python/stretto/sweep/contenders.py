"""Who may still change the choice at a point, once it was launched often enough for a test.

Launches of some points spread so widely that a dozen of them prove nothing. Such a point goes on
with nobody but the MPI's own choice and the one or two candidates that would replace what the table
would have now: that takes few cells a launch, so that many launches are cheap.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from statistics import median

from stretto.campaign.compare import BARE, NATIVE, THRESHOLD, compare_times
from stretto.campaign.stats import FEWEST, rank_sum_test
from stretto.campaign.variants import launch_for
from stretto.mpi.algorithms.base import PREFIX
from stretto.sweep.elimination import Policy, Shape
from stretto.sweep.field import Field
from stretto.sweep.pooled import Estimate

#: what a gain over the MPI's own choice must be at least, in logarithms
GAIN = -math.log(1 - THRESHOLD)


def settle(f: Field, done: int, policy: Policy) -> None:
    """Measure on, where a test can be made, only who may still change the choice.

    Parameters
    ----------
    f
        The chain; its `alive` and `over` are changed.
    done
        The rounds that count.
    policy
        When a candidate is hopeless.
    """
    ready = [s for s in f.chain if s not in f.over and f.launches(s, done) >= FEWEST]
    if done >= f.rounds:  # nothing begins so late that no test can be made any more
        f.over |= {s for s in f.chain if s not in ready}
    left = {s: contenders(f, s, done, policy) for s in ready}
    if f.whole:
        names = list(dict.fromkeys(n for s in ready for n in left[s]))
        left = {s: list(names) for s in ready}
    for shape in ready:
        for name in [n for n in f.alive[shape] if n not in (NATIVE, BARE)]:
            if name not in left[shape]:
                f.drop(shape, name, done, "more launches of it would not change the choice")
        for name in left[shape]:
            if name in f.waiting[shape]:
                f.measure(shape, name, done)
        if not left[shape]:
            f.over.add(shape)


def contenders(f: Field, shape: Shape, done: int, policy: Policy) -> list[str]:
    """Return the candidates that would replace the choice if they were proven, the likeliest first.

    The choice is the fastest of those that are surely faster than the MPI's own, or that one. In
    the rounds that were asked for, whoever seems faster than it by what counts contends; later,
    who may be faster by `Policy.worth`.

    Parameters
    ----------
    f, shape, done, policy
        As for `settle`; one size.
    """
    base, own = f.base(shape), f.native(shape, done)
    spare = policy.most_rounds(f.rounds, shape in f.heavy) - done
    if base is None or own is None or spare <= 0:
        return []
    guess = {
        n: f.kept[n][1][f.at(shape)]
        for n in (*f.alive[shape], *f.waiting[shape])
        if n in f.kept and f.kept[n][1] and not f.fails(shape, n, done)
    }
    native = f.until(shape, base, done)
    good = [
        n
        for n, e in guess.items()
        if e.mean < own.mean - GAIN
        and surely_faster(f.until(shape, n, done), native, paired(f, n, base), policy.sure)
    ]
    best = min(good, key=lambda n: (guess[n].mean, n), default=None)
    now = min([own, *(guess[n] for n in good)], key=lambda e: e.mean)
    early, dear = done < f.rounds, shape in f.dear
    rest = [
        n
        for n, e in guess.items()
        if n not in good
        and len(f.until(shape, n, done)) + spare >= FEWEST
        and _worth_it(e, now, early, not good, policy, dear)
    ]
    if not rest:  # of several that are proven, the one that is taken for the fastest may not be it
        return [] if dear or not early or best is None else _unsure(guess, good, best, policy)
    first = min(rest, key=lambda n: (guess[n].mean, n))  # and who is nearest to a proof
    rest.sort(key=lambda n: (-share_of_wins(f.until(shape, n, done), native), n))
    few = 1 if shape in f.heavy and not early else policy.contenders
    return list(dict.fromkeys([first, *rest]))[:few]


def _worth_it(
    mine: Estimate, now: Estimate, early: bool, unproven: bool, policy: Policy, dear: bool
) -> bool:
    gap = now.mean - mine.mean
    if early and unproven and gap > GAIN:
        return True
    worth, doubts = policy.worth[dear]
    doubts = doubts if early else 1.0
    return (
        gap > (policy.gain if dear else 0.0) and gap + doubts * math.hypot(mine.sd, now.sd) > worth
    )


def _unsure(guess: Mapping[str, Estimate], good: list[str], best: str, policy: Policy) -> list[str]:
    """Return the best of those that are proven and who may be faster than it by what is worth."""
    worth, doubts = policy.worth[False]
    rest = [n for n in good if n != best]
    rest.sort(key=lambda n: (guess[n].mean, n))
    for name in rest[:1]:
        lead = guess[name].mean - guess[best].mean
        if doubts * math.hypot(guess[name].sd, guess[best].sd) - lead > worth:
            return [best, name]
    return []


def paired(f: Field, name: str, base: str) -> bool:
    """Return whether two candidates run in one launch, so that the decision compares pairs."""
    return launch_for(name, f.variants) == launch_for(base, f.variants)


def surely_faster(
    mine: Mapping[int, float], base: Mapping[int, float], pairs: bool, sure: float
) -> bool:
    """Return whether a candidate is faster by what counts, and by the rank test with such a p.

    Parameters
    ----------
    mine, base
        Round to time.
    pairs
        Whether they ran in one launch.
    sure
        See `Policy.sure`.
    """
    if not mine or not base:
        return False
    if pairs:
        ratio, _, p, _ = compare_times(mine, base)
        return p is not None and p < sure and ratio.median < 1 - THRESHOLD
    a, b = list(mine.values()), list(base.values())
    p = rank_sum_test(a, b)
    return p is not None and p < sure and median(a) < (1 - THRESHOLD) * median(b)


def share_of_wins(mine: Mapping[int, float], base: Mapping[int, float]) -> float:
    """Return the share of all pairs of launches in which the first is faster; 0 without any."""
    if not mine or not base:
        return 0.0
    wins = sum(a < b for a in mine.values() for b in base.values())
    return wins / (len(mine) * len(base))


def doubtful(f: Field, shape: Shape, done: int, policy: Policy) -> bool:
    """Return whether launches spread so widely that the best may never be proven faster.

    Parameters
    ----------
    f, shape, done, policy
        As for `contenders`, before a test can be made.
    """
    if f.launches(shape, done) < policy.worried:
        return False
    base = f.base(shape)
    seen = f.times.get(shape, {})
    names = [n for n in f.alive[shape] if n in f.kept and f.kept[n][1] and n in seen]
    if base is None or not names:
        return False
    best = min(names, key=lambda n: (f.kept[n][1][f.at(shape)].mean, n))
    return share_of_wins(f.until(shape, best, done), f.until(shape, base, done)) < policy.clear


def bare_where_it_tells(f: Field, shape: Shape, done: int, policy: Policy) -> None:
    """Measure the bare MPI beside its own settings and where calls are short; else native will do.

    Parameters
    ----------
    f, shape, done, policy
        As for `settle`; one size.
    """
    names = f.alive[shape]
    if shape not in f.bare or NATIVE not in names:
        return
    own = f.native(shape, done)
    wanted = own is None or math.exp(own.mean) < policy.short_us or done < policy.screening
    wanted = wanted or any(n.startswith(PREFIX) for n in names)
    if wanted and BARE not in names:
        names.append(BARE)
    elif not wanted and BARE in names:
        names.remove(BARE)
