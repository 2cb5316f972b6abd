"""Rounds side by side: a candidate's times as if each round had had the same luck.

What all candidates of a launch have in common in a round is taken out of it: not by the MPI's own
time alone, which has a luck of its own there that would be put into all the others, but by all of
them (a median polish by candidates and rounds; Tukey, Exploratory Data Analysis, 1977, 11). A
candidate that has only a round or two, among many others, is known by that far better. Where they
share a launch with the MPI's own choice, neighbouring sizes tell its luck, too (`launches`).
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping
from statistics import median

import numpy as np

from stretto.campaign.launches import POLISH, of_launches
from stretto.campaign.times import Medians, Seen, Shape
from stretto.measure.compare import BARE, NATIVE
from stretto.mpi.algorithms.base import PREFIX

#: of the logarithm: what moves the median of some rounds by more is no luck of single launches
BESIDE = 0.4
#: nor what moves a single one by more: launches as a whole were seen to lie up to 2.3 times off
LUCK = 0.92


def levelled(times: Medians, shape: Shape) -> dict[str, dict[int, float]]:
    """Return a shape's times by candidate and round as if all rounds had had the same luck."""
    here = {name: dict(sorted(seen.items())) for name, seen in times.get(shape, {}).items()}
    together = times.together.get(shape, {}) if isinstance(times, Seen) else {}
    base = {**here.get(BARE, {}), **here.get(NATIVE, {})}
    base = {r: t for r, t in base.items() if t > 0}
    if not together or len(base) < 2:
        return here
    level = float(np.exp(np.median(np.log(list(base.values())))))
    beside = _beside(base, level)
    out = {
        name: {r: t / beside.get(r, 1.0) for r, t in seen.items()} for name, seen in here.items()
    }
    if isinstance(times, Seen):
        by_launch = of_launches(times, shape)
        if by_launch is not None:
            return {n: {**seen, **by_launch.get(n, {})} for n, seen in out.items()}
    for group in _groups(here):
        ahead = {
            name: {
                r: math.log(t / base[r])
                for r, t in here[name].items()
                if t > 0 and r in base and r in together.get(name, ())
            }
            for name in group
        }
        for name, seen in _polished(ahead).items():
            out[name] |= {r: level * math.exp(a) for r, a in seen.items()}
    return out


def _groups(names: Mapping[str, object]) -> list[list[str]]:
    """Return the candidates that have one another's luck: the MPI's own with bare, others."""
    natives = [n for n in names if n == BARE or n.startswith(PREFIX)]
    others = [n for n in names if n not in natives]
    if BARE not in names:
        natives, others = [], [*natives, *others]
    return [sorted(g) for g in (natives, others) if g]


def _polished(ahead: Mapping[str, Mapping[int, float]]) -> dict[str, dict[int, float]]:
    """Return the logarithm of candidates' times over the MPI's own, without the rounds' luck.

    `ahead`: by round: the same with it. Of the MPI's own (`NATIVE` or `BARE`) it is 0 in each.
    """
    own = NATIVE if ahead.get(NATIVE) else BARE
    if not ahead.get(own):
        return {n: dict(seen) for n, seen in ahead.items()}
    told = {n: seen for n, seen in ahead.items() if len(seen) > 1}  # one alone says nothing of it
    middle = {n: median(seen.values()) for n, seen in told.items()}
    luck: dict[int, float] = {}
    rounds = sorted({r for seen in told.values() for r in seen})
    for _ in range(POLISH):
        luck = {r: median(s[r] - middle[n] for n, s in told.items() if r in s) for r in rounds}
        middle = {n: median(a - luck[r] for r, a in s.items()) for n, s in told.items()}
    many: dict[int, int] = defaultdict(int)
    for seen in told.values():
        for r in seen:
            many[r] += 1
    out: dict[str, dict[int, float]] = {}
    zero = middle.get(own, 0.0)
    for name, seen in ahead.items():
        out[name] = {}
        for r, a in seen.items():
            off = a - luck.get(r, 0.0)
            if name in middle:  # of k that make up the luck each shows less of its own
                grown = math.sqrt(many[r] / (many[r] - 1)) if many[r] > 1 else 1.0
                off = middle[name] + grown * (off - middle[name])
            out[name][r] = off - zero
    return out


def _beside(base: Mapping[int, float], level: float) -> dict[int, float]:
    """Return by how much all was slower in rounds than is usual: something ran beside the campaign.

    `base`, `level`: times of the MPI's own choice by round, and what is usual. What counts is the
    median of a round and as many before as after it, two at most (at either end: of three rounds),
    which the luck of single launches does not move beyond `BESIDE`; or the round alone, where it
    lies further off that median than luck does.
    """
    rounds = sorted(base)
    last, out = len(rounds) - 1, {}
    if last < 2:
        return {}
    for i, r in enumerate(rounds):
        side = max(1, min(2, i, last - i))
        first = min(max(i - side, 0), last - 2 * side)
        near = median(base[x] for x in rounds[first : first + 2 * side + 1])
        by = (base[r] if abs(math.log(base[r] / near)) > LUCK else near) / level
        if abs(math.log(by)) > BESIDE:
            out[r] = by
    return out
