"""Regret: how much slower a table's choices are than the best of those still measured."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from stretto.campaign.times import medians
from stretto.counted import counted
from stretto.files.bench import Bench
from stretto.measure.compare import BARE, NATIVE, Comparison
from stretto.measure.stats import FEWEST
from stretto.tune.decide import one_shape_each

if TYPE_CHECKING:
    from stretto.campaign.decide import Chosen, Decided


def regrets_of(bench: Bench, nvariants: int, chosen: Chosen) -> dict[str, dict[int, float]]:
    """Return how far ahead of the choice the best is in half of the rounds, in the mean of both.

    The launches that have made a choice do not show what it loses: a candidate that is ahead in all
    of them would have been chosen. In a half of its own the best is ahead by what is lost and by
    chance, which in simulations is together the true regret to twice that and more, hardly ever
    less in the mean of many points (winner's curse).

    A candidate that was dropped early is in no half, and not among them. Where roots or datatypes
    differ at one size, the worst counts.
    """
    out: dict[str, dict[int, float]] = defaultdict(dict)
    for shape, candidates in medians(bench, nvariants).items():
        collective, size = shape[0], shape[1]
        choice = chosen.get(collective, {}).get(size)
        if choice is None:
            continue
        mine = BARE if choice == NATIVE and NATIVE not in candidates else choice
        halves = [_against(t, candidates.get(mine, {})) for t in candidates.values()]
        known = [both for both in halves if both is not None]
        if len(known) < 2:
            continue
        regret = float(np.mean([1 / min(half) - 1 for half in zip(*known, strict=True)]))
        out[collective][size] = max(regret, out[collective].get(size, 0.0))
    return dict(out)


def _against(times: Mapping[int, float], mine: Mapping[int, float]) -> tuple[float, float] | None:
    """Return the median ratio of two candidates in each half of the rounds that both have."""
    found = [
        [times[r] / mine[r] for r in times if mine.get(r, 0.0) > 0 and r % 2 == half]
        for half in (0, 1)
    ]
    if min(map(len, found)) < FEWEST // 2:
        return None
    even, odd = (float(np.median(ratios)) for ratios in found)
    return even, odd


def regret_words(found: Sequence[Decided]) -> str | None:
    """Return the regret of a table in a sentence, None where nothing is known."""
    every = [r for d in found for sizes in d.regrets.values() for r in sizes.values()]
    if not every:
        return None
    # the worst of all points would overestimate the most
    most = np.percentile(every, 95, method="higher")
    return (
        f"slower than the best of those still measured: median {100 * np.median(every):.1f} %, at "
        f"95 % of {counted(len(every), 'point')} at most {100 * most:.1f} %; this overestimates "
        "regret (winner's curse)"
    )


def untested(found: Decided) -> int:
    """Return at how many collectives and sizes nothing could be tested: too few launches."""
    worst: dict[tuple[str, int], list[Comparison]] = defaultdict(list)
    for c in found.comparisons:
        worst[c.cell.collective, c.cell.bytes].append(c)
    return sum(all(not c.verdict.tested for c in one_shape_each(cs)) for cs in worst.values())
