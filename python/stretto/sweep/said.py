"""What is told of a campaign's table as a whole."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from stretto.campaign.compare import Comparison
from stretto.sweep.decide import Decided
from stretto.tune.decide import one_shape_each


def regret_words(found: Sequence[Decided]) -> str | None:
    """Return the regret of a table in a sentence, None where nothing can be said.

    Parameters
    ----------
    found
        Of all layouts.
    """
    every = [r for d in found for sizes in d.regrets.values() for r in sizes.values()]
    if not every:
        return None
    return (
        "against the best of those still measured, in launches held out: median "
        f"{100 * np.median(every):.1f}%, worst {100 * max(every):.1f}% slower, over "
        f"{len(every)} points"
    )


def untested(found: Decided) -> int:
    """Return at how many collectives and sizes nothing could be tested: too few launches."""
    worst: dict[tuple[str, int], list[Comparison]] = defaultdict(list)
    for c in found.comparisons:
        worst[c.cell.collective, c.cell.bytes].append(c)
    return sum(all(c.outcome == "untested" for c in one_shape_each(cs)) for cs in worst.values())
