"""Rows for layouts that nobody measured: from the measured ones around them, and marked as such."""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping

from stretto.campaign.decide import Chosen, Decided
from stretto.campaign.layout import Layout, enclosing
from stretto.errors import StrettoError
from stretto.files.rows import Row
from stretto.files.table import WITHOUT_SIZE
from stretto.measure.compare import NATIVE
from stretto.plan import CallPlans, choices
from stretto.tune.decide import choose, segments_of

#: on each layout, the collectives and candidates that are out there: wrong results, crashes
Gone = Mapping[Layout, Collection[tuple[str, str]]]
#: ranks up to which the plans of all of them are built to see whether a choice can run
MOST_BUILT = 512


def interpolated(
    layout: Layout, decided: Mapping[Layout, Decided], gone: Gone | None = None
) -> list[Row]:
    """Return rows for a layout that was not measured; empty when it lies outside.

    A choice must be significantly faster than native on both layouts around, at that size, and able
    to run here; it must not be slower, by the test, on any measured layout next to this one, nor
    out there or here. Its ratio is the mean of the two in logarithms, weighed by nearness.
    Everything else is native.
    """
    pair = enclosing(layout, sorted(decided))
    if not pair:
        return []
    a, b = (decided[x] for x in pair)
    far = a.layout.distance(layout) + b.layout.distance(layout)
    weight = 0.5 if far == 0 else b.layout.distance(layout) / far  # of the first
    out = {who for x in gone or {} if _next_to(x, layout, decided) for who in (gone or {})[x]}
    slower = _slower([d for x, d in decided.items() if _next_to(x, layout, decided)])
    rows: list[Row] = []
    chosen: Chosen = {}
    for collective in [c for c in a.ratios if c in b.ratios]:
        one, two = a.ratios[collective], b.ratios[collective]
        names = {
            n
            for n in sorted(_names(one) & _names(two))
            if (collective, n) not in out and can_run(collective, n, layout)
        }
        slow = {(size, n) for size, n in slower[collective] if n in names}
        # At a size that one of them lacks nothing is known of the other: native stays there.
        sizes = sorted({*one, *two, *(size for size, _ in slow)})
        if collective in WITHOUT_SIZE:  # what holds at one of its sizes does so at all
            names -= {n for _, n in slow}
            one, two = (dict.fromkeys(sizes, next(iter(x.values()), {})) for x in (one, two))
        options = {
            size: {
                n: math.exp(weight * math.log(x[n]) + (1 - weight) * math.log(y[n]))
                for n in sorted(names)
                if n in x and n in y and (size, n) not in slow
            }
            for size, x, y in ((s, one.get(s, {}), two.get(s, {})) for s in sizes)
        }
        chosen[collective] = choose(options)
        for s in segments_of(collective, chosen[collective], options, {}):
            evidence: dict[str, str] = {}
            if s.measured:
                ratios = [1.0 if s.choice == NATIVE else options[x][s.choice] for x in s.measured]
                mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
                evidence = {
                    "ratio": f"{mean:.3f}",
                    "source": "interpolated",
                    "from": "+".join(x.name for x in pair),
                    "sizes": ",".join(map(str, s.measured)),
                }
            rows.append(
                Row(collective, layout.nodes, layout.ppn, s.low, s.high, s.choice, evidence)
            )
    return rows


def can_run(collective: str, choice: str, layout: Layout) -> bool:
    """Return whether a choice that runs on the layouts around one has a plan on it, too.

    Some algorithms need an even number of ranks, or a power of two, and what lies between two of
    these need not be one.
    """
    if choice.startswith(NATIVE):
        return True
    try:
        # parameters do not matter: lanes(2) has its two ranks on a node here as it has around
        listed = {_kind(c) for c in choices(collective, layout.nranks, layout.nodes)}
        if _kind(choice) in listed:
            return True
        if layout.nranks > MOST_BUILT:
            return False
        hosts = [rank // layout.ppn for rank in range(layout.nranks)]
        with CallPlans(collective, choice, layout.nranks, hosts):
            return True
    except StrettoError:
        return False


def _kind(choice: str) -> str:
    return re.sub(r"\([^)]*\)", "", choice)


def _names(ratios: Mapping[int, Mapping[str, float]]) -> set[str]:
    return {n for found in ratios.values() for n in found}


def _next_to(x: Layout, layout: Layout, measured: Iterable[Layout]) -> bool:
    return not any(
        m not in (x, layout)
        and sorted((x.nodes, m.nodes, layout.nodes))[1] == m.nodes
        and sorted((x.ppn, m.ppn, layout.ppn))[1] == m.ppn
        for m in measured
    )


def _slower(decided: Iterable[Decided]) -> Mapping[str, set[tuple[int, str]]]:
    out: dict[str, set[tuple[int, str]]] = defaultdict(set)
    for d in decided:
        for c in d.comparisons:
            if c.outcome == "slower" or c.slower_elsewhere:
                out[c.cell.collective].add((c.cell.bytes, c.candidate))
    return out
