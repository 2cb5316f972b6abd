"""The calls at which an export is looked at: inside each row, and just beside it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from stretto.counted import counted
from stretto.files.export import ExportManifest, ExportRow
from stretto.measure.settings import REDUCTIONS

#: bytes of all ranks' buffers together that a call may have
MOST_BYTES = 64 << 20
#: looked at where no row is: what an export must leave alone
OTHERS = ("allreduce", "bcast", "allgather", "alltoall", "reduce")


@dataclass(frozen=True)
class CheckCase:
    """One call.

    `collective`, `bytes`, `ranks`: the call, on the first `ranks` ranks; bytes as Stretto counts
    them. `row`: index of the row that it is about; None: of none. `inside`: the row is to hold
    here; else the native selection.
    """

    collective: str
    bytes: int
    ranks: int
    row: int | None
    inside: bool
    nodes: int = 1

    @property
    def call(self) -> tuple[str, int, int]:
        return self.collective, self.bytes, self.ranks

    @property
    def words(self) -> str:
        """``allreduce of 8 bytes on 4 ranks``."""
        size, ranks = counted(self.bytes, "byte"), counted(self.ranks, "rank")
        return f"{self.collective} of {size} on {ranks}"


def cases_of(manifest: ExportManifest) -> list[CheckCase]:
    """Return the cases of all rows, and of collectives without any."""
    found: dict[tuple[str, int, int, int], CheckCase] = {}

    def elsewhere(case: CheckCase) -> bool:
        return any(
            r.covers(case.collective, case.ranks, case.bytes)
            and (r.nodes == case.nodes or not manifest.knows_nodes)
            for r in manifest.rows
        )

    for index, row in enumerate(manifest.rows):
        for case in _of_row(manifest, index, row):
            if case.inside or not elsewhere(case):
                found.setdefault((*case.call, case.nodes), case)
    most_ranks = max(manifest.rows, key=lambda r: r.nranks, default=None)
    ranks, nodes = (most_ranks.nranks, most_ranks.nodes) if most_ranks else (0, 1)
    named = {r.collective for r in manifest.rows}
    for collective in [c for c in OTHERS if c not in named][: 2 if ranks > 1 else 0]:
        case = CheckCase(collective, 1024, ranks, None, False, nodes)
        found.setdefault((*case.call, nodes), case)
    return list(found.values())


def _of_row(manifest: ExportManifest, index: int, row: ExportRow) -> Iterator[CheckCase]:
    for size in inside(row):
        yield CheckCase(row.collective, size, row.nranks, index, True, row.nodes)
    unit = unit_of(row.collective)
    beside = [row.low - unit if row.low > unit else 0]
    beside += [] if row.high is None else [_up(row.high + 1, unit)]
    for size in beside:
        if 0 < size * row.nranks <= MOST_BYTES:
            size = size // unit * unit
            yield CheckCase(row.collective, size, row.nranks, index, False, row.nodes)
    if manifest.bounded:
        for ranks in (row.nranks - 1, row.nranks + 1):
            for size in inside(row)[:1]:
                if ranks > 1:
                    nodes = min(row.nodes, -(-ranks // row.ppn))
                    yield CheckCase(row.collective, size, ranks, index, False, nodes)


def inside(row: ExportRow) -> Sequence[int]:
    """Return the sizes at which a row is looked at: its ends."""
    if row.collective == "barrier":
        return [0]
    unit = unit_of(row.collective)
    limit = MOST_BYTES // row.nranks // unit * unit
    low = _up(max(row.low, unit), unit)
    high = max(low * 16, 1 << 16) if row.high is None else row.high // unit * unit
    high = min(max(high, min(low, limit)), limit)
    if row.high is not None and row.high < low:
        return []  # no call has such a size
    return sorted({s for s in (low, high) if low <= s <= high})


def unit_of(collective: str) -> int:
    """Return the bytes of an element: reductions are of floats."""
    return 4 if collective in REDUCTIONS else 1


def _up(size: int, unit: int) -> int:
    return -(-size // unit) * unit
