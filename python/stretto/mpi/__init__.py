"""The MPI families: what is installed, where, and how it is launched.

The names most needed: `MPIInstallation`, `installations`, `find_installation`, `from_launcher`,
`from_library`. Nothing is guessed from names: launchers and libraries are asked what they are.
"""

from stretto.mpi.base import MPIInstallation
from stretto.mpi.detect import (
    find_installation,
    from_launcher,
    from_library,
    identify_launcher,
    installations,
)

__all__ = [
    "MPIInstallation",
    "find_installation",
    "from_launcher",
    "from_library",
    "identify_launcher",
    "installations",
]
