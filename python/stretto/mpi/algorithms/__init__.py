"""The algorithms that an MPI has for each collective, found by asking the MPI.

`discover` returns them; each family's module knows how that MPI names its settings, and no more:
which algorithms there are, and their numbers, the installed MPI tells.
"""

from stretto.mpi.algorithms.base import AlgorithmParameter, NativeAlgorithm
from stretto.mpi.algorithms.discover import discover, named

__all__ = ["AlgorithmParameter", "NativeAlgorithm", "discover", "named"]
