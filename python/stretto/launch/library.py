"""The built part that serves an MPI."""

from __future__ import annotations

from pathlib import Path

from stretto.built import Kind, library
from stretto.mpi.base import MPIInstallation


def library_for(kind: Kind, mpi: MPIInstallation) -> Path:
    """Return the built part that serves an MPI installation."""
    return library(kind, mpi.abi, mpi.major)
