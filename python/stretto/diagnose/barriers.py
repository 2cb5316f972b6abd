"""Which barriers nothing in MPI needs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from stretto.files.profile import Call, Communicator


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


def split(
    calls: Sequence[Call], communicators: Sequence[Communicator]
) -> tuple[list[Call], list[Call]]:
    """Return barriers that nothing in MPI needs, and all other collectives that are judged.

    These are the blocking ones, and waits for nonblocking ones that could be joined.
    """
    parts = part_needless(calls, communicators)
    needless, others = [], []
    for call in calls:
        joined = call.kind in ("neighborhood", "wait") and call.wait_s is not None
        if call.kind != "collective" and not joined:
            continue
        part = parts.get(call.communicator or 0, 1.0) if is_bare(call) else 0.0
        if part > 0:
            needless.append(_scaled(call, part))
        if part < 1:
            others.append(_scaled(call, 1 - part))
    return needless, others


def _scaled(call: Call, part: float) -> Call:
    if part == 1:
        return call

    def times(values: list[float]) -> list[float]:
        return [v * part for v in values]

    return replace(
        call,
        calls=[round(n * part) for n in call.calls],
        time_s=times(call.time_s),
        wait_s=None if call.wait_s is None else times(call.wait_s),
        transfer_s=None if call.transfer_s is None else times(call.transfer_s),
    )
