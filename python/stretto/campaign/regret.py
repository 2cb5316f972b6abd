"""How much slower a table's choices are than the best of those still measured, luck included."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from stretto.campaign.times import medians
from stretto.files.bench import Bench
from stretto.measure.compare import BARE, NATIVE
from stretto.measure.stats import FEWEST

if TYPE_CHECKING:
    from stretto.campaign.decide import Chosen


def regrets_of(bench: Bench, nvariants: int, chosen: Chosen) -> dict[str, dict[int, float]]:
    """Return how far ahead of the choice the best is in half of the rounds, in the mean of both.

    What a choice loses cannot be told by the launches that have made it: a candidate that is ahead
    in all of them would have been chosen, and one half does not say what is best in the other. In a
    half of its own the best is ahead by what is lost and by its luck there, which in simulations is
    together the true regret to twice that and more, hardly ever less in the mean of many points.

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
