"""When the search is over at a size, where it has doubts before, and when bare tells anything."""

from __future__ import annotations

import math
from collections.abc import Mapping

from stretto.campaign.compare import BARE, NATIVE
from stretto.campaign.stats import FEWEST
from stretto.campaign.verdict import THRESHOLD
from stretto.mpi.algorithms.base import PREFIX
from stretto.sweep.elimination import Policy, beside
from stretto.sweep.field import Field
from stretto.sweep.times import Shape

#: what a gain over the MPI's own choice must be at least, in logarithms
GAIN = -math.log(1 - THRESHOLD)


def settle(f: Field, done: int) -> None:
    """End with the sizes at which a test can be made: what it leaves in doubt is for `closing`.

    Parameters
    ----------
    f
        The chain; its `over` is changed.
    done
        The rounds that count.
    """
    ready = {s for s in f.chain if f.launches(s, done) >= FEWEST}
    if done >= f.rounds:
        f.over |= set(f.chain)
    elif not f.whole or len(ready) == len(f.chain):  # one choice for all sizes: all end at once
        f.over |= ready


def in_common(
    mine: Mapping[int, float], base: Mapping[int, float]
) -> tuple[dict[int, float], dict[int, float]]:
    """Return two candidates' times in the rounds that both have: what a test looks at."""
    both = sorted(set(mine) & set(base))
    return {r: mine[r] for r in both}, {r: base[r] for r in both}


def share_of_wins(
    mine: Mapping[int, float], base: Mapping[int, float], paired: bool = False
) -> float:
    """Return the share of all pairs of launches in which the first is faster; 0 without any.

    Parameters
    ----------
    mine, base
        By round.
    paired
        Whether they share their launches: then the share of the means of two launches' differences
        (of the logarithm) that are below zero, which is what the signed-rank test adds up.
    """
    if not mine or not base:
        return 0.0
    both = sorted(set(mine) & set(base))
    if paired and both:
        off = [math.log(mine[r] / base[r]) for r in both]
        means = [a + b for i, a in enumerate(off) for b in off[i:]]
        return sum(m < 0 for m in means) / len(means)
    wins = sum(a < b for a in mine.values() for b in base.values())
    return wins / (len(mine) * len(base))


def doubtful(f: Field, shape: Shape, done: int, policy: Policy) -> bool:
    """Return whether launches spread so widely that the best may never be proven faster.

    Parameters
    ----------
    f, shape, done, policy
        One size, before a test can be made; when a candidate is hopeless.
    """
    if f.launches(shape, done) < policy.worried:
        return False
    seen = f.times.get(shape, {})
    names = [n for n in f.alive[shape] if n in f.fitted and n in seen]
    if not names:
        return False
    best = min(names, key=lambda n: (f.fitted[n][f.at(shape)].mean, n))
    base, paired = beside(best, [n for n in f.alive[shape] if n in seen], f.variants)
    if base is None:
        return False
    wins = share_of_wins(*in_common(f.until(shape, best, done), f.until(shape, base, done)), paired)
    return wins < policy.clear


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
