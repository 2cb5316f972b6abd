"""Ranks in collectives that have nothing to send or receive there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from stretto.diagnose.numbers import FEW_BARRIERS
from stretto.files.profile import Call

#: collectives of which a rank needs nothing if its own block is empty, but as their root; of the
#: others it receives what all ranks sent, or is not known to receive nothing
_ONE_SIDED = ("MPI_Gatherv", "MPI_Scatterv", "MPI_Alltoallv", "MPI_Alltoallw")


def split(calls: Sequence[Call]) -> tuple[list[Call], list[Call]]:
    """Return what ranks spend in collectives in which they have nothing to do, and all the rest.

    A rank has nothing to do if all its calls of a function on communicators of one shape move
    nothing; of other functions than v- and w-forms, if no rank's call does.
    """
    groups: dict[tuple[str, int | None], list[Call]] = {}
    for call in calls:
        groups.setdefault((call.function, call.communicator), []).append(call)
    silent: list[Call] = []
    rest: list[Call] = []
    for (function, _), rows in groups.items():
        ranks = _silent_ranks(function, rows)
        for row in rows:
            mine = [r in ranks and _empty(row) for r in range(len(row.calls))]
            parts = (silent, _of(row, mine)), (rest, _of(row, [not m for m in mine]))
            for kept, part in parts if any(mine) else ((rest, row),):
                if any(part.calls):
                    kept.append(part)
    return silent, rest


def _empty(row: Call) -> bool:
    return row.kind == "collective" and row.bytes_max == 0 and row.detail is None


def _silent_ranks(function: str, rows: Sequence[Call]) -> set[int]:
    if "arrier" in function:
        return set()
    n = len(rows[0].calls)
    every = [sum(row.calls[r] for row in rows) for r in range(n)]
    empty = [sum(row.calls[r] for row in rows if _empty(row)) for r in range(n)]
    roots = {r for row in rows for r in row.roots}
    found = {r for r in range(n) if every[r] == empty[r] >= FEW_BARRIERS}
    if function in _ONE_SIDED:
        rooted = function in ("MPI_Gatherv", "MPI_Scatterv")
        return set() if rooted and not roots else found - roots
    # of an operation of equal counts all ranks' calls are empty, or the sizes are of other calls
    return found if all(r in found for r in range(n) if every[r]) else set()


def _of(call: Call, chosen: Sequence[bool]) -> Call:
    """Return what the chosen ranks have of a row."""

    def part(values: list[float]) -> list[float]:
        return [v if c else 0.0 for v, c in zip(values, chosen, strict=True)]

    return replace(
        call,
        calls=[n if c else 0 for n, c in zip(call.calls, chosen, strict=True)],
        time_s=part(call.time_s),
        wait_s=None if call.wait_s is None else part(call.wait_s),
        transfer_s=None if call.transfer_s is None else part(call.transfer_s),
    )
