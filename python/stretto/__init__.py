"""Stretto makes MPI collectives fast on the cluster you have, for unchanged applications.

Inside an MPI program (see `stretto.api`): `choose`, `last`, `counters`, `AlltoallvPlan`.
"""

from stretto.api import AlltoallvPlan, Blocks, Counters, choose, counters, last, loaded
from stretto.version import __version__

__all__ = [
    "AlltoallvPlan", "Blocks", "Counters", "__version__", "choose", "counters", "last", "loaded",
]  # fmt: skip
