"""Which calls are judged as what: needless barriers, empty collectives, the others, and none."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from stretto.counted import seconds
from stretto.diagnose.numbers import ENOUGH_CALLS, FEW_BARRIERS, few, mean
from stretto.files.profile import Call, Communicator
from stretto.profile.show import group_of


def _calls_on(rows: Sequence[Call], size: int) -> float:
    # Where calls are not joined, what each rank did before one may be before different ones.
    return sum(c.total_calls / (size if c.sampled else 1) for c in rows)


def part_needless(calls: Sequence[Call], communicators: Sequence[Communicator]) -> dict[int, float]:
    """Return by communicator shape which part of the barriers without a purpose has none.

    A barrier that follows an access to a file or a window orders it. So does the one before the
    access: what is written next must not be written while others still read. And as the access is
    told to the first barrier that follows it, whatever its communicator, barriers of the other
    communicators beside it may be the ones that matter. Which they are is not known, how many at
    most is: one for each barrier with a purpose on the same communicator, two for each on others.
    """
    rows = [c for c in calls if "barrier" in c.function.lower() and c.communicator is not None]
    purposes = [c for c in rows if c.detail and "after" in c.detail]
    every = 0.0
    bare: dict[int, float] = {}
    mine: dict[int, float] = {}
    for shape in communicators:
        own = _calls_on([c for c in purposes if c.communicator == shape.id], max(shape.size, 1))
        every += own
        mine[shape.id] = own / max(shape.count, 1)
        without = [c for c in rows if c.communicator == shape.id and is_bare(c)]
        bare[shape.id] = _calls_on(without, max(shape.size, 1)) / max(shape.count, 1)
    return {
        number: min(max(n - mine[number] - 2 * (every - mine[number]), 0.0) / n, 1.0)
        for number, n in bare.items()
        if n > 0
    }


def is_bare(call: Call) -> bool:
    """Tell whether a row is of barriers before which none of their ranks did what needs one."""
    return call.function == "MPI_Barrier" and call.kind == "collective" and not call.detail


def split_barriers(
    calls: Sequence[Call], communicators: Sequence[Communicator]
) -> tuple[list[Call], list[Call]]:
    """Return barriers that no MPI call needs, and all other collectives that are judged.

    These are the blocking ones, and waits for nonblocking ones that could be joined.
    """
    parts = part_needless(calls, communicators)
    needless, others = [], []
    for call in calls:
        joined = call.kind in ("neighborhood", "wait") and call.wait_s is not None
        if call.kind != "collective" and not joined:
            continue
        part, n = parts.get(call.communicator or 0, 1.0) if is_bare(call) else 0.0, len(call.calls)
        if part > 0:
            needless.append(_part(call, [part] * n))
        if part < 1:
            others.append(_part(call, [1 - part] * n))
    return needless, others


#: collectives of which a rank needs nothing if its own block is empty, but as their root; of the
#: others it receives what all ranks sent, or is not known to receive nothing
_ONE_SIDED = ("MPI_Gatherv", "MPI_Scatterv", "MPI_Alltoallv", "MPI_Alltoallw")


def split_empty(calls: Sequence[Call]) -> tuple[list[Call], list[Call]]:
    """Return what ranks spend in collectives in which they have nothing to do, and all the rest.

    A rank has nothing to do if all its calls of a function on communicators of one shape move
    nothing; of other functions than v- and w-forms, if no rank's call does. Of MPI_Reduce, if it is
    not the root and added zeros in all sampled calls.
    """
    groups: dict[tuple[str, int | None], list[Call]] = {}
    for call in calls:
        groups.setdefault((call.function, call.communicator), []).append(call)
    silent: list[Call] = []
    rest: list[Call] = []
    for (function, _), rows in groups.items():
        ranks = _silent_ranks(function, rows)
        for row in rows:
            mine = [r in ranks and (_empty(row) or _adds_zeros(row, r))
                    for r in range(len(row.calls))]  # fmt: skip
            parts = (silent, _part(row, mine)), (rest, _part(row, [not m for m in mine]))
            for kept, part in parts if any(mine) else ((rest, row),):
                if any(part.calls):
                    kept.append(part)
    return silent, rest


def _empty(row: Call) -> bool:
    return row.kind == "collective" and row.bytes_max == 0 and row.detail is None


#: operations to which zeros are neutral
_SUMS = ("MPI_SUM", "MPI_LOR", "MPI_LXOR", "MPI_BOR", "MPI_BXOR")


def _adds_zeros(row: Call, rank: int) -> bool:
    return row.operation in _SUMS and rank in row.zero_ranks


def _silent_ranks(function: str, rows: Sequence[Call]) -> set[int]:
    if "arrier" in function:
        return set()
    n = len(rows[0].calls)
    every = [sum(row.calls[r] for row in rows) for r in range(n)]
    if any(row.zero_ranks for row in rows):
        roots = {r for row in rows for r in row.roots}
        found = {r for r in range(n) if every[r] >= FEW_BARRIERS
                 and all(_adds_zeros(row, r) for row in rows if row.calls[r])}  # fmt: skip
        return found - roots if roots else set()
    empty = [sum(row.calls[r] for row in rows if _empty(row)) for r in range(n)]
    roots = {r for row in rows for r in row.roots}
    found = {r for r in range(n) if every[r] == empty[r] >= FEW_BARRIERS}
    if function in _ONE_SIDED:
        rooted = function in ("MPI_Gatherv", "MPI_Scatterv")
        return set() if rooted and not roots else found - roots
    # of an operation of equal counts all ranks' calls are empty, or the sizes are of other calls
    return found if all(r in found for r in range(n) if every[r]) else set()


def _part(call: Call, parts: Sequence[float]) -> Call:
    """Return a row with so much of what each rank has."""

    def of(values: list[float]) -> list[float]:
        return [v * part for v, part in zip(values, parts, strict=True)]

    return replace(
        call,
        calls=[round(n) for n in of([float(n) for n in call.calls])],
        time_s=of(call.time_s),
        wait_s=None if call.wait_s is None else of(call.wait_s),
        transfer_s=None if call.transfer_s is None else of(call.transfer_s),
    )


@dataclass
class Unjudged:
    """Time in calls of one kind, in which no cause is looked for.

    `name`: the kind, in words.
    `spent_s`, `share`: seconds a rank (mean), and their share of the run.
    """

    name: str
    spent_s: float
    share: float


def _kind(call: Call) -> str | None:
    """Return what kind of unjudged calls a row is of, None where it is judged."""
    group = group_of(call)
    if call.wait_s is not None and call.transfer_s is not None:
        return f"collectives with fewer than {ENOUGH_CALLS} calls" if few(call) else None
    if call.kind == "neighborhood" or "eighbor" in (call.detail or ""):
        return "neighbourhood collectives"
    if group == "collective":
        return "collectives whose calls could not be joined"
    return {
        "nonblocking": "nonblocking and persistent collectives",
        "nonblocking wait": "nonblocking and persistent collectives",
        "rma": "one-sided communication",
        "other": "other MPI calls",
    }.get(group)


def unjudged(calls: Sequence[Call], wall_s: float) -> list[Unjudged]:
    """Return what was not judged, most time first.

    `wall_s`: what shares are of.
    """
    spent: dict[str, float] = {}
    for call in calls:
        name = _kind(call)
        if name is not None and any(call.time_s):
            spent[name] = spent.get(name, 0.0) + mean(call.time_s)
    found = [Unjudged(name, time_s, time_s / wall_s) for name, time_s in spent.items()]
    return sorted(found, key=lambda u: -u.spent_s)


def unjudged_words(found: Sequence[Unjudged]) -> str:
    # what rounds to nothing beside the rest is left out
    shown = [u for u in found if u.share >= 0.001] or list(found)
    return ", ".join(f"{u.name} {seconds(u.spent_s)} ({100 * u.share:.1f} %)" for u in shown)
