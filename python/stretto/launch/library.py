"""The built part that serves an MPI."""

from __future__ import annotations

from pathlib import Path

from stretto.built import library
from stretto.light import TYPE_CHECKING
from stretto.mpi.base import MPIInstallation

if TYPE_CHECKING:
    from stretto.kinds import Part


def library_for(kind: Part, mpi: MPIInstallation) -> Path:
    """Return the built part that serves an MPI installation."""
    return library(kind, mpi.abi, mpi.major)
