"""What nonblocking and persistent collectives hide of the time that blocking ones would take."""

from __future__ import annotations

from dataclasses import dataclass

from stretto.counted import counted, seconds, sized
from stretto.diagnose.numbers import ENOUGH_CALLS, Numbers, collective_of, mean, volume_of
from stretto.files.profile import Call

#: of the time of blocking calls: when so little is hidden, what helps is named
LITTLE = 0.25
#: part of the starts whose waits must be known, where MPI_Test* completes requests, too
KNOWN = 0.9


@dataclass
class Overlap:
    """One nonblocking or persistent collective of one size; seconds a rank (mean).

    `visible_s`: in its starts, waits and tests.
    `under_way_s`: from the starts to the waits: what could hide it.
    `blocking_s`: what blocking calls in place of the starts would have taken: waiting for other
    ranks, which is known from the time stamps, and the operation.
    `measured`: whether the operation is that of blocking calls in this run; else it is assumed.
    `reached`: the part of `blocking_s` that is not visible; None: not known, as the operation is
    assumed, or as MPI_Test* completed requests, of which there are no time stamps.
    """

    function: str
    calls: int
    bytes: float
    visible_s: float
    under_way_s: float
    blocking_s: float
    measured: bool
    reached: float | None

    @property
    def words(self) -> str:
        times = (
            f"{self.function} of {sized(self.bytes)}, {counted(self.calls, 'call')} per rank: "
            f"{seconds(self.visible_s)} in starts, waits and tests"
        )
        if self.reached is None:
            why = (
                "unknown (requests completed in other calls, such as MPI_Test)"
                if self.measured
                else "not tested (no such blocking calls in this run)"
            )
            return f"{times}. Overlap: {why}"
        little = (
            ". There is little overlap: call MPI_Test during the computation, or use a progress "
            "thread of the MPI"
            if self.reached <= LITTLE
            else ""
        )
        return (
            f"{times}. Blocking calls would take {seconds(self.blocking_s)}, with waiting for late "
            f"ranks: {100 * self.reached:.0f} % overlap{little}"
        )


def _plain(function: str) -> str:
    """Return the blocking function: MPI_Reduce of MPI_Ireduce and of MPI_Reduce_init."""
    name = function.removeprefix("MPI_").removesuffix("_init")
    if function.endswith("_init") or not name.startswith("I"):
        return f"MPI_{name}"
    return f"MPI_{name[1:].capitalize()}"


def _alike(a: Call, b: Call) -> bool:
    def of(call: Call) -> tuple[object, ...]:
        return call.communicator, call.datatype, call.operation, call.bytes_max

    return of(a) == of(b)


def overlaps(numbers: Numbers) -> list[Overlap]:
    """Return those of which enough calls were joined, and which cost something when blocking.

    Of neighbours it is not known who waits for whom, so not how long blocking calls would.
    """
    groups: dict[tuple[object, ...], list[Call]] = {}
    for call in numbers.p.calls:
        known = call.blocking_wait_s and call.sampled >= ENOUGH_CALLS
        if call.kind == "wait" and known and "eighbor" not in collective_of(call):
            key = collective_of(call), call.communicator, call.datatype, call.operation
            groups.setdefault((*key, call.bytes_max), []).append(call)
    found = [_overlap(numbers, rows) for rows in groups.values()]
    return sorted((o for o in found if o is not None), key=lambda o: -o.blocking_s)


def _overlap(numbers: Numbers, waits: list[Call]) -> Overlap | None:
    first, n = waits[0], numbers.n
    function = collective_of(first)
    starts = [c for c in numbers.p.calls if c.function == function and not c.detail
              and _alike(c, first)]  # fmt: skip
    calls = round(sum(sum(c.calls) for c in starts or waits) / n)
    like = [c for c in numbers.blocking if c.function == _plain(function) and _alike(c, first)
            and c.typical_s is not None and c.sampled >= ENOUGH_CALLS]  # fmt: skip
    if like:
        operation = calls * (like[0].typical_s or 0.0)
    else:
        operation = sum(sum(numbers.least(c)) for c in waits)
    blocking = sum(mean(c.blocking_wait_s or []) for c in waits) + operation
    ends = [c for c in numbers.p.calls if c.kind == "wait" and collective_of(c) == function
            and _alike(c, first)]  # fmt: skip
    visible = sum(mean(c.time_s) for c in [*starts, *ends])
    if not calls or blocking <= 0:
        return None
    of = (starts or waits)[0]
    # a call may wait for several requests, and of many requests some are sampled
    shape = numbers.sizes.get(-1 if first.communicator is None else first.communicator)
    joined = sum(max(c.total_calls, c.sampled * (shape.size if shape else n)) for c in waits)
    tested = len(ends) > len(waits) and joined < KNOWN * sum(c.total_calls for c in starts)
    return Overlap(
        function, calls, volume_of(of) / max(of.total_calls, 1), visible,
        sum(mean(c.under_way_s or []) for c in waits), blocking, bool(like),
        min(max(1 - visible / blocking, 0.0), 1.0) if like and not tested else None,
    )  # fmt: skip
