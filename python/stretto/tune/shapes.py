"""Datatypes and operations that an application uses, and what is measured for them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from stretto.files.profile import Call
from stretto.measure.elements import ARITHMETIC, DATATYPES, LOGIC
from stretto.measure.settings import REDUCTIONS

#: shapes (datatype and operation) of a need that are measured: so much of its time, so many at most
SHAPES_COVER, MOST_SHAPES = 0.9, 3

#: C types on which stretto-bench measures operations, with their size, and what stands for others
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
    """Datatype and operation that are measured; `stands_for` is what the application used.

    Both are None for collectives that only move bytes; `stands_for` where they are the same.
    """

    datatype: str | None
    operation: str | None
    stands_for: str | None = None


def width_of(shape: Shape) -> int:
    return _MEASURED.get(shape.datatype or "", 1)


def shape_of(call: Call) -> Shape:
    if call.collective not in REDUCTIONS:
        return Shape(None, None)
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
    out: dict[tuple[str | None, str | None], Shape] = {}
    for shape in order:
        if out and (sofar >= SHAPES_COVER * total or len(out) >= MOST_SHAPES):
            break
        sofar += cost[shape]
        out.setdefault((shape.datatype, shape.operation), shape)
    return tuple(out.values())
