"""Settings of an MPI that are no algorithm but decide real jobs, as far as the MPI has them.

Each family's module lists what is worth trying; whether the installed MPI has the variable, and
which values it takes where it tells, the MPI itself is asked.
"""

from stretto.mpi.settings.base import Setting
from stretto.mpi.settings.discover import settings
from stretto.mpi.settings.names import NAMES

__all__ = ["NAMES", "Setting", "settings"]
