"""What an export's files are to do (``stretto-native.json``), for ``stretto export --check``."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path

from stretto.counted import counted, placed
from stretto.files.document import Document
from stretto.files.identity import MPIIdentity
from stretto.files.table import TUNABLE
from stretto.kinds import Family

#: target -> family of the results that it is made from
TARGETS: dict[str, Family] = {
    "openmpi-4": "openmpi",
    "openmpi-5": "openmpi",
    "openmpi-6": "openmpi",
    "mpich": "mpich",
    "mvapich": "mpich",
    "intel": "intel",
}
#: the table of Stretto's own algorithms
OWN = "stretto"
NAME = "stretto-native.json"


@dataclass
class ExportPoint:
    """A call at which a row was measured.

    `ratio`: the algorithm's time / that of the native selection there; None where no gain is
    promised: a row that stands in for that decision, which the files have no words for.
    """

    bytes: int
    datatype: str
    operation: str
    root: int = 0
    ratio: float | None = None


@dataclass
class ExportRow:
    """One row of the native files.

    `low`, `high`: bytes as Stretto counts them, both included; high None: without end. `settings`:
    names and values that have the same effect, set by themselves.
    """

    collective: str
    nranks: int
    nodes: int
    ppn: int
    low: int
    high: int | None
    settings: list[tuple[str, str]]
    measured: list[ExportPoint] = field(default_factory=list)

    @property
    def words(self) -> str:
        if self.low == 0 and self.high is None:
            span = "any size"
        elif self.high is None:
            span = f"{counted(self.low, 'byte')} and more"
        else:
            span = f"{self.low} to {self.high} bytes"
        where = placed(self.nranks, self.nodes, self.ppn)
        layout = "" if self.nodes == 1 else f" ({where})"
        return f"{self.collective} on {counted(self.nranks, 'rank')}{layout}, {span}"

    def covers(self, collective: str, nranks: int, size: int) -> bool:
        return (
            (collective, nranks) == (self.collective, self.nranks)
            and size >= self.low
            and (self.high is None or size <= self.high)
        )


@dataclass
class ExportManifest:
    """An export.

    `bounded`: other communicators are left as they are. `whole`: stands in the script and in the
    module file, too: they belong to these files. `digests`: SHA-256 of each file as it was written,
    beside this one.
    """

    target: str
    created: str
    mpi: MPIIdentity
    environment: dict[str, str]
    files: list[str]
    rows: list[ExportRow]
    bounded: bool = True
    lost: list[str] = field(default_factory=list)
    whole: str = ""
    digests: dict[str, str] = field(default_factory=dict)

    def strangers(self, directory: Path) -> list[str]:
        """Return the names of files that are not those that were written with this list."""
        out = []
        for name, digest in self.digests.items():
            try:
                data = (directory / name).read_bytes()
            except OSError:
                continue
            if sha256(data).hexdigest() != digest:
                out.append(name)
        return out

    @property
    def knows_nodes(self) -> bool:
        """The files tell communicators apart by their nodes, too."""
        return self.target in ("mpich", "mvapich")


def _problems(value: ExportManifest) -> Iterator[str]:
    if value.target not in TARGETS:
        yield f"there is no export to {value.target!r}"
    for row in value.rows:
        if row.collective not in TUNABLE:
            yield f"there is no rule for {row.collective!r}"
        high = row.low if row.high is None else row.high
        if min(row.nranks, row.nodes, row.ppn) < 1 or not 0 <= row.low <= high:
            yield f"a row makes no sense: {row.words}"
        for point in row.measured:
            inside = row.covers(row.collective, row.nranks, point.bytes)
            if not inside or point.root < 0 or (point.ratio is not None and point.ratio <= 0):
                yield f"a measurement does not belong to the row: {row.words}"


_COMMAND = "stretto export --to TARGET --out DIR RESULTS"
REMEDY = f"write the export again: {_COMMAND}"


def filled(remedy: str, target: str, directory: Path) -> str:
    """Return `REMEDY`, or another one with its words, as it would be typed."""
    return remedy.replace("TARGET", target).replace("DIR", shlex.quote(str(directory)))


EXPORT = Document(
    "stretto-export", ExportManifest, "the row list of an export", _COMMAND, _problems
)
