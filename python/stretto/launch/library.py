"""The built part that serves an MPI."""

from __future__ import annotations

from stretto.built import library
from stretto.light import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from stretto.kinds import Part
    from stretto.mpi.base import MPIInstallation


def library_for(kind: Part, mpi: MPIInstallation) -> Path:
    """Return the built part that serves an MPI installation."""
    return library(kind, mpi.abi, mpi.major)
