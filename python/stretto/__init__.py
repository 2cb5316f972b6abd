"""Stretto makes MPI collectives fast on the cluster you have, for unchanged applications.

Inside an MPI program (see `stretto.api`): `choose`, `last`, `counters`, `AlltoallvPlan`.
"""

import importlib

from stretto.light import TYPE_CHECKING
from stretto.version import __version__

if TYPE_CHECKING:
    from stretto.api import AlltoallvPlan, Blocks, Counters, choose, counters, last, loaded

__all__ = [
    "AlltoallvPlan", "Blocks", "Counters", "__version__", "choose", "counters", "last", "loaded",
]  # fmt: skip


def __getattr__(name: str) -> object:
    """Load `stretto.api` when one of its names is asked for: the commands do not need it."""
    if name in __all__:
        return getattr(importlib.import_module("stretto.api"), name)
    raise AttributeError(f"module 'stretto' has no attribute {name!r}")
