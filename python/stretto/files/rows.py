"""What a table holds: rows, and the rule by which one of them applies to a call."""

from __future__ import annotations

from stretto.light import TYPE_CHECKING, dataclass, field

if TYPE_CHECKING:
    from collections.abc import Iterable

    from stretto.files.identity import MPIIdentity
    from stretto.kinds import Family

LARGEST_SIZE = 2**64 - 1


@dataclass(frozen=True)
class Row:
    """One line of a table.

    `nodes`, `ppn`: the layout it is for; None stands for any (``*``). `low`, `high`: sizes in
    bytes, both included; `high` None is without end. `evidence`: words such as ``ratio=0.41``, in
    order.
    """

    collective: str
    nodes: int | None
    ppn: int | None
    low: int
    high: int | None
    choice: str
    evidence: dict[str, str] = field(default_factory=dict)

    def number(self, key: str) -> float | None:
        """Return a number of the evidence; None where there is none, or it is not finite."""
        try:
            value = float(self.evidence[key])
        except (KeyError, ValueError):
            return None
        return value if abs(value) < float("inf") else None  # nor NaN

    @property
    def ratio(self) -> float | None:
        """Median time of the choice divided by native's, None when not measured."""
        return self.number("ratio")

    @property
    def source(self) -> str:
        return self.evidence.get("source", "not measured")

    @property
    def simulated(self) -> bool:
        """Whether the evidence comes from a model, not from a measurement."""
        return self.source == "simulated"


@dataclass(frozen=True)
class Table:
    """A whole table and where it comes from; `nodes` and `ppn` None mean any layout."""

    family: Family
    mpi_version: str
    nodes: int | None
    ppn: int | None
    created: str
    stretto: str
    host: str
    cpu: str
    rows: list[Row] = field(default_factory=list)

    def find(self, collective: str, nodes: int, ppn: int, size: int) -> Row | None:
        """Return the row that applies to a call, as the C library finds it, or None (native).

        Exact nodes x ppn before one of the two exact before ``*`` for both; among equals the
        narrowest range of sizes, then the first in the file.
        """
        best: Row | None = None
        best_key = (-1, 0)
        for row in self.rows:
            if row.collective != collective or size < row.low:
                continue
            high = LARGEST_SIZE if row.high is None else row.high
            if size > high or row.nodes not in (None, nodes) or row.ppn not in (None, ppn):
                continue
            key = ((row.nodes is not None) + (row.ppn is not None), row.low - high)
            if key > best_key:
                best, best_key = row, key
        return best

    def mismatches(self, mpi: MPIIdentity, nodes: int | None, ppn: int | None) -> list[str]:
        """Say, in words, in what the table is of another MPI or layout than the job."""
        found = (self.other_mpi(mpi), self.other_layout(nodes, ppn))
        return [words for words in found if words is not None]

    def other_mpi(self, mpi: MPIIdentity) -> str | None:
        """Say that the table is of another MPI; None where it is not."""
        if mpi.family != self.family:
            return f"it was made on {self.family}, but the job uses {mpi.family}"
        if mpi.version != self.mpi_version:
            return (
                f"it was made on {self.family} {self.mpi_version}, but the job uses {mpi.version}"
            )
        return None

    def other_layout(self, nodes: int | None, ppn: int | None) -> str | None:
        """Say that the table is of another layout; None where it is not, or nothing is known."""
        differs = (self.nodes is not None and nodes is not None and nodes != self.nodes) or (
            self.ppn is not None and ppn is not None and ppn != self.ppn
        )
        mine = f"{star(self.nodes)} x {star(self.ppn)} (nodes x ppn)"
        return f"it was made for {mine}, but the job has {nodes} x {ppn}" if differs else None


def star(number: int | None) -> str:
    """Return a number of nodes or ranks as tables write it: ``*`` for any."""
    return "*" if number is None else str(number)


def merge_rows(rows: Iterable[Row]) -> list[Row]:
    """Join neighbouring rows of equal collective, layout, choice and evidence.

    `rows`: in ascending order of size within each collective and layout.
    """
    out: list[Row] = []
    for row in rows:
        last = out[-1] if out else None
        if (
            last is not None
            and (last.collective, last.nodes, last.ppn) == (row.collective, row.nodes, row.ppn)
            and (last.choice, last.evidence) == (row.choice, row.evidence)
            and last.high is not None
            and last.high + 1 == row.low
        ):
            out[-1] = Row(
                last.collective, last.nodes, last.ppn, last.low, row.high, row.choice, row.evidence
            )
        else:
            out.append(row)
    return out
