"""Rules put together: one layout for each collective and number of ranks, neighbours joined."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from stretto.export.rules import Rule
from stretto.files.layout import RankLayout

#: what an MPI's files know of a layout beside its number of ranks, with words for it
Known = tuple[Callable[[RankLayout], object], str]
RANKS: Known = (lambda layout: None, "only")
ONE_NODE: Known = (lambda layout: layout.nodes == 1, "and whether they lie on one node")
#: the ranks a node on average, rounded up
AVERAGE: Known = (
    lambda layout: 0 if layout.nodes == 1 else -(-layout.nranks // layout.nodes),
    "and how many each node has",
)


def for_layouts(
    rules: Iterable[Rule], nodes: int | None, ppn: int | None, known: Known = RANKS
) -> tuple[list[Rule], list[str]]:
    """Keep one layout of those that the files cannot distinguish, for each collective by itself.

    `nodes`, `ppn`: the layout that is preferred; None: the one with the fewest nodes.
    """
    by_ranks: dict[tuple[str, int, object], set[RankLayout]] = defaultdict(set)
    rules = list(rules)
    for rule in rules:
        by_ranks[rule.collective, rule.layout.nranks, known[0](rule.layout)].add(rule.layout)
    kept: set[tuple[str, RankLayout]] = set()
    lost: list[str] = []
    for (collective, *_), layouts in by_ranks.items():
        wanted = [x for x in layouts if nodes in (None, x.nodes) and ppn in (None, x.ppn)]
        chosen = min(wanted or layouts, key=lambda x: (x.nodes, x.ppn))
        kept.add((collective, chosen))
        taken = f"{chosen.nranks} ranks are taken to lie on {chosen.nodes} x {chosen.ppn}"
        lost += [
            f"{collective} on {x.words}: this MPI's files tell communicators apart by their number "
            f"of ranks {known[1]}, and {taken}"
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
