"""The gain that measurements and profile together promise, with an interval by bootstrap."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from stretto.campaign.compare import NATIVE, Comparison
from stretto.campaign.stats import bootstrap_medians
from stretto.files.table import Table
from stretto.files.verdict import Gain
from stretto.tune.needs import Need, Needs

DRAWS = 4000


def predict(
    needs: Needs, table: Table, comparisons: Sequence[Comparison], seed: int = 1
) -> Gain | None:
    """Return the predicted gain in wall time: transfer time x (1 - ratio), over the wall time.

    Only what the table changes counts. The interval is that of the ratios over launches; how much
    an earlier return of a collective shortens the waiting elsewhere is not in it.

    Parameters
    ----------
    needs
        Of the profiled run.
    table
        What will be applied.
    comparisons
        What it was decided by.
    seed
        Of the bootstrap.

    Returns
    -------
    Gain or None
        None when the table changes nothing that the application uses.
    """
    random = np.random.default_rng(seed)
    saved = np.zeros(DRAWS)
    middle = 0.0
    used = False
    for need in needs.chosen:
        found = applied(need, table, comparisons)
        if found is None:
            continue
        used = True
        draws = bootstrap_medians(found.ratios, DRAWS, random)
        saved += need.transfer_s * (1 - draws)
        middle += need.transfer_s * (1 - found.ratio.median)
    if not used or needs.wall_s <= 0:
        return None
    gains = saved / needs.wall_s
    low, high = np.percentile(gains, [2.5, 97.5])
    median = middle / needs.wall_s
    return Gain(float(min(low, median)), float(median), float(max(high, median)))


def applied(need: Need, table: Table, comparisons: Sequence[Comparison]) -> Comparison | None:
    """Return the comparison behind the table's choice for a need; None where it stays native.

    Parameters
    ----------
    need
        A collective and size.
    table
        The table.
    comparisons
        Of all candidates.
    """
    row = table.find(need.collective, need.nodes, need.ppn, need.bytes)
    if row is None or row.choice == NATIVE:
        return None
    for c in comparisons:
        if (c.cell.collective, c.cell.bytes, c.candidate) == (
            need.collective,
            need.bytes,
            row.choice,
        ):
            return c
    return None
