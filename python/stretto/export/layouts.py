"""Rules put together: one layout for each collective and number of ranks, neighbours joined."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace

from stretto.export.rules import Rule
from stretto.files.layout import RankLayout


def for_layouts(
    rules: Iterable[Rule], nodes: int | None, ppn: int | None, one_node_apart: bool = False
) -> tuple[list[Rule], list[str]]:
    """Keep one layout for each collective and number of ranks: native files know no nodes.

    Each collective has a table of its own: where it was measured on one layout alone, that one
    counts, whatever others were measured on.

    `nodes`, `ppn`: the layout that is preferred where several have as many ranks; None: the one
    with the fewest nodes. `one_node_apart`: the files tell communicators within a node from others:
    a layout for each.
    """
    by_ranks: dict[tuple[str, int, bool], set[RankLayout]] = defaultdict(set)
    rules = list(rules)
    for rule in rules:
        one_node = one_node_apart and rule.layout.nodes == 1
        by_ranks[rule.collective, rule.layout.nranks, one_node].add(rule.layout)
    kept: set[tuple[str, RankLayout]] = set()
    lost: list[str] = []
    for (collective, *_), layouts in by_ranks.items():
        wanted = [
            x
            for x in layouts
            if (nodes is None or x.nodes == nodes) and (ppn is None or x.ppn == ppn)
        ]
        chosen = min(wanted or layouts, key=lambda x: (x.nodes, x.ppn))
        kept.add((collective, chosen))
        known = " and whether they lie on one node" if one_node_apart else " only"
        taken = f"{chosen.nranks} ranks are taken to lie on {chosen.nodes} x {chosen.ppn}"
        lost += [
            f"{collective} on {x.words}: this MPI's files tell communicators apart by their number "
            f"of ranks{known}, and {taken}"
            for x in sorted(layouts - {chosen}, key=lambda x: x.nodes)
        ]
    return [r for r in rules if (r.collective, r.layout) in kept], lost


def merged(rules: Sequence[Rule]) -> list[Rule]:
    """Join neighbouring rules of one collective and layout that set the same."""
    out: list[Rule] = []
    for rule in rules:
        last = out[-1] if out else None
        if (
            last
            and (last.collective, last.layout) == (rule.collective, rule.layout)
            and last.settings == rule.settings
            and last.high is not None
            and last.high + 1 == rule.low
        ):
            out[-1] = replace(
                last,
                high=rule.high,
                measured=last.measured or rule.measured,
                points=last.points + rule.points,
            )
        else:
            out.append(rule)
    return out
