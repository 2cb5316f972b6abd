"""Results of `stretto io` (``NAME.io.json``): what ways to read or write one file took."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from stretto.files.document import Document
from stretto.files.identity import Host, MPIIdentity


@dataclass
class Way:
    """One way to read or write the file.

    `launches` has a list a launch: seconds of each sample, until the last rank was done. `cached`,
    in the same form: which part of the file the page cache of a node held before (the largest of
    the nodes); -1: not known, or nothing was read.
    """

    name: str
    launches: list[list[float]] = field(default_factory=list)
    cached: list[list[float]] = field(default_factory=list)


@dataclass
class IoFile:
    """One call of `stretto io`. `host` is where it was given.

    `path`: the file that was read, or the directory of a file that was `made`. `own`: it belongs to
    the user, and was dropped from page caches. `system`: of the file system (ext4, nfs, lustre,
    ...). `environment`: variables of MPI-IO that were set. `notes`: that the machine was busy.
    """

    stretto: str
    created: str
    host: Host
    command: list[str]
    mpi: MPIIdentity
    hosts: list[str]
    path: str
    made: bool
    own: bool
    bytes: int
    system: str
    environment: dict[str, str]
    ways: list[Way]
    notes: list[str] = field(default_factory=list)


def _problems(found: IoFile) -> Iterator[str]:
    for way in found.ways:
        counts = [len(samples) for samples in way.launches]
        if not counts or 0 in counts or counts != [len(samples) for samples in way.cached]:
            yield f"the values of {way.name} do not fit together"


DOCUMENT = Document(
    "stretto-io", IoFile, "a result of stretto io", "stretto io -o NAME.io.json", _problems
)
read_io, write_io = DOCUMENT.read, DOCUMENT.write
