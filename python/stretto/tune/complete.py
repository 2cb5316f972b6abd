"""Whether a candidate was measured wherever the MPI was: a row holds for every shape of a size.

A comparison says nothing of a call in which the candidate has no times, and that is where it
crashed, hung or was refused. Such a call shows only in the times of the MPI by itself.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from stretto.measure.compare import BARE, NATIVE, Cell, Comparison

#: ranks, nodes and ranks per node
Layout = tuple[int, int, int]


@dataclass(frozen=True)
class CallShape:
    """A call in which something was measured, in whatever mode; `layout` as in `Comparison`."""

    collective: str
    bytes: int
    datatype: str
    operation: str
    root: int
    layout: Layout | None = None
    pattern: str = ""


def call_of(cell: Cell, layout: Layout | None = None) -> CallShape:
    own = cell.collective, cell.bytes, cell.datatype, cell.operation, cell.root
    return CallShape(*own, layout, cell.pattern)


def calls_of(
    times: Mapping[Cell, Mapping[str, object]],
    layout: Layout | None = None,
    baselines: Collection[str] = (NATIVE, BARE),
) -> list[CallShape]:
    """Return the calls in which the MPI by itself was measured, each once and in their order.

    `layout`: where several are decided on together: of these times.
    `baselines`: what counts as the MPI by itself.
    """
    measured = [cell for cell, found in times.items() if set(baselines) & set(found)]
    return list(dict.fromkeys(call_of(cell, layout) for cell in measured))


def complete(
    comparisons: Iterable[Comparison], calls: Iterable[CallShape]
) -> dict[str, dict[int, list[Comparison]]]:
    """Return the comparisons that may become rows, by collective and size.

    A candidate that lacks one of a size's calls has none there, and a size at which the MPI alone
    was measured has an empty list: rows beside it must not reach over it.

    `calls`: from `calls_of`; those of the comparisons count, too.
    """
    found: dict[tuple[str, int], list[Comparison]] = defaultdict(list)
    wanted: dict[tuple[str, int], set[CallShape]] = defaultdict(set)
    have: dict[tuple[str, int, str], set[CallShape]] = defaultdict(set)
    for call in calls:
        wanted[call.collective, call.bytes].add(call)
    for c in comparisons:
        call = call_of(c.cell, c.layout)
        place = call.collective, call.bytes
        found[place].append(c)
        wanted[place].add(call)
        have[call.collective, call.bytes, c.candidate].add(call)
    out: dict[str, dict[int, list[Comparison]]] = defaultdict(dict)
    for place, needed in wanted.items():
        collective, size = place
        out[collective][size] = [
            c for c in found[place] if have[collective, size, c.candidate] >= needed
        ]
    return dict(out)
