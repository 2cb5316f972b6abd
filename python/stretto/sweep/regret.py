"""How much slower a table's choices are than the best, in launches that did not help to choose."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from stretto.campaign.compare import BARE, NATIVE
from stretto.files.bench import Bench
from stretto.sweep.times import medians

if TYPE_CHECKING:
    from stretto.sweep.decide import Chosen


def regrets_of(bench: Bench, nvariants: int, chosen: Chosen) -> dict[str, dict[int, float]]:
    """Return the regret of the choices: best picked in one half of the rounds, timed in the other.

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
        found = []
        for half in (0, 1):
            told, held = (
                {c: _against(t, candidates.get(mine, {}), h) for c, t in candidates.items()}
                for h in (half, 1 - half)
            )
            known = [c for c in told if told[c] is not None and held[c] is not None]
            if mine not in known or len(known) < 2:
                continue
            best = min(known, key=lambda c: (told[c] or 0.0, c))
            found.append(1 / (held[best] or 1.0) - 1)
        if len(found) == 2:
            regret = max(0.0, float(np.mean(found)))
            out[collective][size] = max(regret, out[collective].get(size, 0.0))
    return dict(out)


def _against(times: Mapping[int, float], mine: Mapping[int, float], half: int) -> float | None:
    """Return the median ratio of two candidates in the rounds of a half that both have."""
    both = [times[r] / mine[r] for r in times if mine.get(r, 0.0) > 0 and r % 2 == half]
    return float(np.median(both)) if len(both) >= 2 else None
