"""The product that a file's MPI is, where it is made of another one: MVAPICH, of MPICH's family."""

from __future__ import annotations

import re

from stretto.files.identity import MPIIdentity

#: how MVAPICH's MPI_Get_library_version begins
_MVAPICH = re.compile(r"\s*MVAPICH", re.IGNORECASE)
TITLES = {"openmpi": "Open MPI", "mpich": "MPICH", "intel": "Intel MPI", "mvapich": "MVAPICH"}


def product_of(family: str, library: str) -> str:
    """Return ``mvapich`` where the library says that it is this, else the family."""
    return "mvapich" if family == "mpich" and _MVAPICH.match(library) else family


def product(mpi: MPIIdentity) -> str:
    """Return which MPI a file is of: its family's name, or ``mvapich``."""
    return product_of(mpi.family, mpi.library)


def titled(mpi: MPIIdentity) -> str:
    """Return an MPI in words: ``Open MPI 4.1.4``."""
    return f"{TITLES[product(mpi)]} {mpi.version}"
