"""What an application needs measured: its collectives by size class, those that cost the most."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from stretto.files.profile import Call, Profile
from stretto.files.table import NEIGHBORHOODS, ROW_OF, TUNABLE
from stretto.measure.blocks import kinds_of_calls, measured_as, pattern_of, whole_pattern
from stretto.measure.settings import ARITHMETIC, DATATYPES, LOGIC, REDUCTIONS
from stretto.tune.decide import SizeRange

#: the needs that are measured cover so much of the time in tunable collectives
COVER = 0.95
MOST_NEEDS = 14
#: a need below this share of the wall time cannot matter
LEAST_SHARE = 0.002
#: shapes (datatype and operation) of a need that are measured: so much of its time, so many at most
SHAPES_COVER, MOST_SHAPES = 0.9, 3

#: C types that stretto-bench measures, with their size; and the one to measure for another type
_MEASURED = {name: size for name, size in DATATYPES.items() if size > 1}
_SAME = {
    "MPI_INTEGER": "MPI_INT", "MPI_INTEGER4": "MPI_INT", "MPI_INT32_T": "MPI_INT",
    "MPI_UINT32_T": "MPI_UNSIGNED", "MPI_REAL": "MPI_FLOAT", "MPI_REAL4": "MPI_FLOAT",
    "MPI_DOUBLE_PRECISION": "MPI_DOUBLE", "MPI_REAL8": "MPI_DOUBLE", "MPI_INTEGER8": "MPI_LONG",
    "MPI_INT64_T": "MPI_LONG", "MPI_LONG_LONG_INT": "MPI_LONG_LONG",
    "MPI_UNSIGNED_LONG_LONG": "MPI_UNSIGNED_LONG", "MPI_UINT64_T": "MPI_UNSIGNED_LONG",
    "MPI_AINT": "MPI_LONG", "MPI_OFFSET": "MPI_LONG", "MPI_COUNT": "MPI_LONG",
}  # fmt: skip
_FLOATING = ("MPI_FLOAT", "MPI_DOUBLE")


@dataclass(frozen=True)
class Shape:
    """Datatype and operation that are measured; `stands_for`: those of CMD, where they differ."""

    datatype: str | None
    operation: str | None
    stands_for: str | None = None


@dataclass(frozen=True)
class Need:
    """One collective in one size class on communicators of one layout.

    `bytes`: the size to measure: the mean of the class. `span`: all sizes that it stands for.
    `shapes`: datatypes and operations that take most of its time. `transfer_s`: time in the
    collective itself, the median over ranks; `bound`: with waiting in it. `typical_s`: the same
    from the median call. None: not known. `pattern`: as `measure.blocks` has it.
    """

    collective: str
    nranks: int
    nodes: int
    ppn: int
    bytes: int
    span: SizeRange
    shapes: tuple[Shape, ...]
    calls: int
    transfer_s: float
    wait_s: float | None
    bound: bool = False
    typical_s: float | None = None
    pattern: str = ""


@dataclass(frozen=True)
class Needs:
    """What is worth measuring, the costliest first, and how it compares with all of the run.

    `tunable_s`: time in all collectives that Stretto can carry out, without waiting for the last
    rank (`waiting_s`). `other_s`: time in other MPI calls.
    """

    chosen: tuple[Need, ...]
    wall_s: float
    tunable_s: float
    waiting_s: float
    other_s: float

    @property
    def bound(self) -> float:
        """Gain as a fraction of the wall time if all tunable collectives cost nothing."""
        return min(1.0, self.tunable_s / self.wall_s) if self.wall_s > 0 else 0.0


def tunable(call: Call) -> str | None:
    """Return the collective as tables name it, None when Stretto leaves it to the MPI."""
    name = measured_as(call)
    if call.communicator is None or (name in NEIGHBORHOODS and call.graph is None):
        return None
    return name if name in TUNABLE + NEIGHBORHOODS else None


def transfer_of(call: Call) -> tuple[float, float | None, bool]:
    """Return transfer and waiting time of a row over its ranks, and whether it is only a bound."""
    took = [t for t, n in zip(call.time_s, call.calls, strict=True) if n]
    if not took:
        return 0.0, None, False
    if call.transfer_s is not None and call.wait_s is not None:
        there = [i for i, n in enumerate(call.calls) if n]
        return (
            float(np.median([call.transfer_s[i] for i in there])),
            float(np.median([call.wait_s[i] for i in there])),
            False,
        )
    # The rank that comes last most often waits least: no rank's transfer can exceed its time.
    return float(min(took)), None, True


def find_needs(profile: Profile, only: Sequence[str] | None = None) -> Needs:
    profile = profile.recorded_part()
    communicators = {c.id: c for c in profile.communicators}
    wall = float(np.median(profile.wall_s))
    groups: dict[tuple[str, int], list[Call]] = defaultdict(list)
    tunable_s = waiting_s = 0.0
    for call in profile.calls:
        name = tunable(call)
        if name is None or (only is not None and name not in only):
            continue
        assert call.communicator is not None
        communicator = communicators[call.communicator]
        if communicator.size > 1 and not communicator.tunable:
            continue
        transfer, wait, _ = transfer_of(call)
        tunable_s += transfer
        waiting_s += wait or 0.0
        if communicator.tunable:
            groups[name, call.communicator].append(call)
    needs = [
        _need(name, communicators[cid].size, communicators[cid].nodes, communicators[cid].ppn, rows)
        for (name, cid), calls in groups.items()
        for rows in kinds_of_calls(calls)
    ]
    needs = _joined(needs)
    needs.sort(key=lambda n: -n.transfer_s)
    total = sum(n.transfer_s for n in needs)
    chosen: list[Need] = []
    for need in needs:
        covered = sum(n.transfer_s for n in chosen)
        if len(chosen) >= MOST_NEEDS or covered >= COVER * total:
            break
        if need.transfer_s < LEAST_SHARE * wall:
            break
        chosen.append(need)
    mpi = float(np.median(profile.mpi_s))
    return Needs(tuple(chosen), wall, tunable_s, waiting_s, max(0.0, mpi - tunable_s - waiting_s))


def _need(name: str, size: int, nodes: int, ppn: int, rows: Sequence[Call]) -> Need:
    parts = [transfer_of(row) for row in rows]
    shapes = shapes_of(rows, [p[0] for p in parts])
    width = max(_MEASURED.get(shape.datatype or "", 1) for shape in shapes)
    calls = sum(max(row.calls) for row in rows)
    moved = sum(sum(row.bytes) for row in rows)
    low, high = min(r.bytes_min for r in rows), max(r.bytes_max for r in rows)
    mean = moved / max(1, sum(r.total_calls for r in rows))
    # A mean outside its class (rows that count bytes of the root only) is no size to measure.
    aim = min(max(mean, low), high)
    measured = max(width, round(aim / width) * width) if name != "barrier" else 0
    waits = [p[1] for p in parts if p[1] is not None]
    return Need(
        name,
        size,
        nodes,
        ppn,
        measured,
        SizeRange(min(low, measured), max(high, measured)),
        shapes,
        calls,
        sum(p[0] for p in parts),
        sum(waits) if waits else None,
        any(p[2] for p in parts),
        _typical(rows),
        whole_pattern(name, pattern_of(rows), rows[0].graph),
    )


def _typical(rows: Sequence[Call]) -> float | None:
    """Return the calls of all rows at their median call's time, None where one has none."""
    total = 0.0
    for row in rows:
        if row.typical_s is None:
            return None
        total += row.typical_s * max(row.calls)
    return total


def _joined(needs: Sequence[Need]) -> list[Need]:
    """Join needs of equal collective, layout and measured size (other communicators)."""
    out: dict[tuple[object, ...], Need] = {}
    for n in needs:
        key = (n.collective, n.nranks, n.nodes, n.ppn, n.bytes)
        place = (*key, n.pattern)
        old = out.get(place)
        if old is None:
            out[place] = n
            continue
        waits = [w for w in (old.wait_s, n.wait_s) if w is not None]
        out[place] = Need(
            *key,
            old.span.joined(n.span),
            _distinct([*old.shapes, *n.shapes])[:MOST_SHAPES],
            old.calls + n.calls,
            old.transfer_s + n.transfer_s,
            sum(waits) if waits else None,
            old.bound or n.bound,
            None if old.typical_s is None or n.typical_s is None else old.typical_s + n.typical_s,
            n.pattern,
        )
    return list(out.values())


def shape_of(call: Call) -> Shape:
    if call.collective not in REDUCTIONS:
        other = call.collective in ROW_OF
        return Shape(None, None, call.function if other else None)
    operation = call.operation if call.operation in ARITHMETIC + LOGIC else "MPI_SUM"
    used = call.datatype or ""
    datatype = _SAME.get(used, used)
    if datatype not in _MEASURED:
        datatype = "MPI_DOUBLE" if call.bytes_max >= 8 else "MPI_INT"
    if operation in LOGIC and datatype in _FLOATING:
        operation = "MPI_SUM"
    same = operation == call.operation and (used in _MEASURED or used in _SAME)
    used_words = f"{call.datatype or 'unknown'}/{call.operation or 'unknown'}"
    return Shape(datatype, operation, None if same else used_words)


def shapes_of(rows: Sequence[Call], parts: Sequence[float]) -> tuple[Shape, ...]:
    """Return the shapes that most of the rows' time goes into, the costliest first."""
    cost: dict[Shape, float] = defaultdict(float)
    for row, part in zip(rows, parts, strict=True):
        cost[shape_of(row)] += part
    order = sorted(cost, key=lambda s: -cost[s])
    total, sofar = sum(cost.values()), 0.0
    out: list[Shape] = []
    for shape in order:
        if out and (sofar >= SHAPES_COVER * total or len(out) >= MOST_SHAPES):
            break
        sofar += cost[shape]
        out = list(_distinct([*out, shape]))
    return tuple(out)


def _distinct(shapes: Sequence[Shape]) -> tuple[Shape, ...]:
    """Return shapes without those that are measured as an earlier one is."""
    out: dict[tuple[str | None, str | None], Shape] = {}
    for shape in shapes:
        out.setdefault((shape.datatype, shape.operation), shape)
    return tuple(out.values())
