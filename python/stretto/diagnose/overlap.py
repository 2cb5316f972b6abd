"""What nonblocking and persistent collectives hide of the time that blocking ones would take."""

from __future__ import annotations

from dataclasses import dataclass

from stretto.counted import counted, seconds, sized
from stretto.diagnose.numbers import ENOUGH_CALLS, Numbers, collective_of, mean, volume_of
from stretto.files.profile import Call

#: of the time of blocking calls: when so little is hidden, what helps is named
LITTLE = 0.25


@dataclass
class Overlap:
    """One nonblocking or persistent collective of one size; seconds a rank (mean).

    `visible_s`: in its starts and waits.
    `under_way_s`: from the starts to the waits: what could hide it.
    `blocking_s`: what blocking calls in place of the starts would have taken: waiting for other
    ranks, which is known from the time stamps, and the operation.
    `measured`: whether the operation is that of blocking calls in this run; else it is assumed.
    `reached`: the part of `blocking_s` that is not visible.
    """

    function: str
    calls: int
    bytes: float
    visible_s: float
    under_way_s: float
    blocking_s: float
    measured: bool
    reached: float

    @property
    def words(self) -> str:
        known = "measured in this run" if self.measured else "assumed"
        little = "" if self.reached > LITTLE else (
            ": almost nothing is hidden; call MPI_Test meanwhile, or let the MPI progress in a "
            "thread"
        )  # fmt: skip
        return (
            f"{self.function} of {sized(self.bytes)}, {counted(self.calls, 'call')} a rank: "
            f"{seconds(self.visible_s)} in starts and waits; blocking calls would take "
            f"{seconds(self.blocking_s)} (waiting for late ranks, and the operation as {known}): "
            f"{100 * self.reached:.0f} % overlap{little}"
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
    """Return those of which enough calls were joined, and which cost something when blocking."""
    groups: dict[tuple[object, ...], list[Call]] = {}
    for call in numbers.p.calls:
        if call.kind == "wait" and call.blocking_wait_s and call.sampled >= ENOUGH_CALLS:
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
    visible = sum(mean(c.time_s) for c in [*starts, *waits])
    if not calls or blocking <= 0:
        return None
    return Overlap(
        function, calls, volume_of(first) / max(first.total_calls, 1), visible,
        sum(mean(c.under_way_s or []) for c in waits), blocking, bool(like),
        min(max(1 - visible / blocking, 0.0), 1.0),
    )  # fmt: skip
