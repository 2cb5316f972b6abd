"""Stretto makes MPI collectives fast on the cluster you have, for unchanged applications.

Inside an MPI program (see `stretto.api`): `choose`, `last`, `counters`, `AlltoallvPlan`.
"""

from stretto.api import AlltoallvPlan, Blocks, Counters, choose, counters, last, loaded

__version__ = "0.1.0"
__all__ = ["AlltoallvPlan", "Blocks", "Counters", "choose", "counters", "last", "loaded"]
