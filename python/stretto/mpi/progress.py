"""Progress threads: whether an MPI can move messages while its rank computes, and how it is asked.

The MPI lists the variable itself (MPI_T). Open MPI 4 and 5 have none; `opal_async_progress` came
after 5.0 (open-mpi/ompi pull request 13088).
"""

from __future__ import annotations

from collections.abc import Mapping

from stretto.kinds import Family
from stretto.mpi.base import MPIInstallation
from stretto.mpi.variables import control_variables

#: as MPI_T lists it, and the environment's name for it
_NAMES: Mapping[Family, tuple[str, str]] = {
    "openmpi": ("opal_async_progress", "OMPI_MCA_opal_async_progress"),
    "mpich": ("MPIR_CVAR_ASYNC_PROGRESS", "MPIR_CVAR_ASYNC_PROGRESS"),
    "intel": ("MPIR_CVAR_ASYNC_PROGRESS", "I_MPI_ASYNC_PROGRESS"),
}


def progress_thread(installation: MPIInstallation) -> dict[str, str]:
    """Return the variable that starts a progress thread in each rank; empty: the MPI has none."""
    listed, variable = _NAMES[installation.family]
    if installation.libmpi is None or listed not in control_variables(installation):
        return {}
    return {variable: "1"}
