"""What is told of a campaign's table as a whole, and of its launches before there is one."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from stretto.campaign.decide import Decided
from stretto.campaign.plan import LayoutPlan
from stretto.counted import counted
from stretto.measure.compare import Comparison
from stretto.measure.stats import FEWEST
from stretto.tune.decide import one_shape_each


def regret_words(found: Sequence[Decided]) -> str | None:
    """Return the regret of a table in a sentence, None where nothing can be said."""
    every = [r for d in found for sizes in d.regrets.values() for r in sizes.values()]
    if not every:
        return None
    # the worst of all points would be the most luck
    most = np.percentile(every, 95, method="higher")
    return (
        f"slower than the best of those still measured: median {100 * np.median(every):.1f}%, at "
        f"95% of {counted(len(every), 'point')} at most {100 * most:.1f}%; the best is that of "
        "either half of the launches, its luck there included, so rather less"
    )


def few_words(base: Path, plans: Sequence[LayoutPlan]) -> str:
    """Return what comes of fewer launches than a test needs."""
    asked = plans[0].settings.launches
    out = (
        f"{asked} launch{'es' if asked > 1 else ''} of each candidate: no test can be made with "
        f"fewer than {FEWEST}, "
    )
    if any(_rounds(base / p.layout.name / "claims", p.nvariants) >= FEWEST for p in plans):
        return out + (
            f"so that native stays wherever there are no {FEWEST} yet; points that have them are "
            f"judged as before (--launches {FEWEST} or more)"
        )
    return out + f"so that native stays everywhere (--launches {FEWEST} or more)"


def _rounds(claims: Path, nvariants: int) -> int:
    found = [re.match(r"\d+", x.name) for x in claims.glob("[0-9]*.end")]
    return max((int(m[0]) // nvariants + 1 for m in found if m), default=0)


def untested(found: Decided) -> int:
    """Return at how many collectives and sizes nothing could be tested: too few launches."""
    worst: dict[tuple[str, int], list[Comparison]] = defaultdict(list)
    for c in found.comparisons:
        worst[c.cell.collective, c.cell.bytes].append(c)
    return sum(all(not c.verdict.tested for c in one_shape_each(cs)) for cs in worst.values())
