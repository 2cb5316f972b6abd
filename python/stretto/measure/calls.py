"""Nonblocking and persistent calls: where they can be measured."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from stretto.errors import UsageError
from stretto.files.bench import BLOCKING
from stretto.measure.compare import BARE
from stretto.measure.settings import Case
from stretto.mpi.algorithms.base import PREFIX
from stretto.mpi.base import MPIInstallation

PERSISTENT = "persistent"
CALLS = (BLOCKING, "nonblocking", PERSISTENT)
_LACKS = b"MPI_Allreduce_init\0"


def check_calls(
    calls: str, mpi: MPIInstallation, candidates: Sequence[str] | None, cold: bool
) -> None:
    """Refuse calls that the MPI lacks, that Stretto leaves to it, or with buffers that change."""
    if calls not in CALLS:
        raise UsageError(f"--calls {calls} is not valid", "--calls", f"use {', '.join(CALLS)}")
    if calls == BLOCKING:
        return
    if calls == PERSISTENT and cold:
        raise UsageError(
            "a persistent call always has the same buffers", "--cold", "leave out --cold"
        )
    if calls == PERSISTENT and mpi.libmpi and _LACKS not in mpi.libmpi.read_bytes():
        raise UsageError(
            f"{mpi.name} has no persistent collectives (MPI 4: MPI_Allreduce_init)",
            "--calls",
            "use Open MPI 5, MPICH 4 or later, or --calls nonblocking",
        )
    alone = candidates and all(c.startswith((BARE, PREFIX)) for c in candidates)
    if mpi.family == "intel" and not alone:
        raise UsageError(
            f"Stretto leaves {calls} collectives of Intel MPI to the MPI",
            "--candidates",
            "use --candidates bare",
        )


def beside_bare(cases: Sequence[Case]) -> list[Case]:
    """Return the cases with bare wherever native is.

    Native runs with the thread level that Stretto's nonblocking collectives need.
    """
    return [
        c if BARE in c.candidates else replace(c, candidates=(*c.candidates, BARE)) for c in cases
    ]
