"""The gain that measurements and profile together promise, with an interval by bootstrap."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from stretto.files.table import Table
from stretto.files.verdict import GainInterval
from stretto.measure.compare import NATIVE, Comparison
from stretto.measure.stats import bootstrap_medians
from stretto.tune.needs import Need, Needs

DRAWS = 4000


def predict(
    needs: Needs,
    table: Table,
    comparisons: Sequence[Comparison],
    seed: int = 1,
    wall_s: float | None = None,
) -> GainInterval | None:
    """Return the predicted gain in wall time: time in the collective x (1 - ratio) / wall time.

    The profile's transfer time is an upper bound of the time in the collective (it also holds cold
    caches and ranks off the processor), the time of the same call in the measurement a lower one.
    It is drawn between the two, evenly in the logarithm, and the ratio from its launches.

    `wall_s`: wall time of the whole command; by default from MPI_Init to Finalize.
    """
    random = np.random.default_rng(seed)
    saved = np.zeros(DRAWS)
    middle = 0.0
    used = False
    place = random.random(DRAWS)  # the same for all: what disturbs one call disturbs others
    for need in needs.chosen:
        found = applied(need, table, comparisons)
        if found is None:
            continue
        used = True
        draws = bootstrap_medians(found.ratios, DRAWS, random)
        # where launches are no pairs the single ratios show the scatter, and not the middle
        draws *= found.ratio.median / float(np.median(found.ratios))
        high = need.transfer_s
        if need.typical_s is not None:
            high = min(high, need.typical_s)
        low = high
        if found.baseline_us is not None and found.baseline_us > 0:
            low = min(high, 1e-6 * found.baseline_us * need.calls)
        saved += low ** (1 - place) * high**place * (1 - draws)
        middle += (low * high) ** 0.5 * (1 - found.ratio.median)
    wall = needs.wall_s if wall_s is None else max(wall_s, needs.wall_s)
    if not used or wall <= 0:
        return None
    gains = saved / wall
    low, high = np.percentile(gains, [2.5, 97.5])
    median = middle / wall
    return GainInterval(float(min(low, median)), float(median), float(max(high, median)))


def applied(need: Need, table: Table, comparisons: Sequence[Comparison]) -> Comparison | None:
    """Return the comparison behind the table's choice for a need; None where it stays native."""
    row = table.find(need.collective, need.nodes, need.ppn, need.bytes)
    if row is None or row.choice == NATIVE:
        return None
    wanted = (need.collective, need.bytes, row.choice)
    found = [
        c
        for c in comparisons
        if c.ratios
        and c.layout in (None, (need.nranks, need.nodes, need.ppn))
        and (c.cell.collective, c.cell.bytes, c.candidate) == wanted
    ]
    # Of several shapes and roots the one that gains least: a promise, not a hope.
    return max(found, key=lambda c: c.ratio.median, default=None)
