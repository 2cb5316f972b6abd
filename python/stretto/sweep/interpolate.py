"""Rows for layouts that nobody measured: from the measured ones around them, and marked as such."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from stretto.campaign.compare import NATIVE
from stretto.files.rows import Row
from stretto.sweep.decide import Chosen, Decided, smooth
from stretto.sweep.layout import Layout
from stretto.tune.decide import segments_of


def around(layout: Layout, measured: Sequence[Layout]) -> list[Layout]:
    """Return the measured layouts between which another one lies: two, or none.

    Beyond the measured ones nothing is concluded: what is best changes with scale.

    Parameters
    ----------
    layout
        One that was not measured.
    measured
        Those that were.
    """
    best: list[Layout] = []
    best_key: tuple[float, Layout, Layout] | None = None
    for a in measured:
        for b in measured:
            inside = a.nodes <= layout.nodes <= b.nodes and a.ppn <= layout.ppn <= b.ppn
            crossed = a.nodes <= layout.nodes <= b.nodes and b.ppn <= layout.ppn <= a.ppn
            if a == b or not (inside or crossed):
                continue
            key = (a.distance(layout) + b.distance(layout), a, b)
            if best_key is None or key < best_key:
                best, best_key = [a, b], key
    return best


def interpolated(layout: Layout, decided: Mapping[Layout, Decided]) -> list[Row]:
    """Return rows for a layout that was not measured; empty when it lies outside.

    A choice must be significantly faster than native on both layouts around, at that size; its
    ratio is the mean of theirs in logarithms, weighed by nearness. Everything else is native.

    Parameters
    ----------
    layout
        It.
    decided
        What was decided where it was measured.
    """
    pair = around(layout, sorted(decided))
    if not pair:
        return []
    a, b = (decided[x] for x in pair)
    far = a.layout.distance(layout) + b.layout.distance(layout)
    weight = 0.5 if far == 0 else b.layout.distance(layout) / far  # of the first
    rows: list[Row] = []
    chosen: Chosen = {}
    for collective in [c for c in a.ratios if c in b.ratios]:
        options: dict[int, dict[str, float]] = {}
        for size in sorted(set(a.ratios[collective]) & set(b.ratios[collective])):
            one, two = a.ratios[collective][size], b.ratios[collective][size]
            options[size] = {
                n: math.exp(weight * math.log(one[n]) + (1 - weight) * math.log(two[n]))
                for n in one
                if n in two
            }
        near = a if weight >= 0.5 else b
        chosen[collective] = smooth(options, near.chosen.get(collective))
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
