"""Stretto makes MPI collectives fast on the cluster you have, for unchanged applications.

Inside an MPI program (see `stretto.api`): `choose`, `last`, `counters`, `AlltoallvPlan`.
In a notebook (see `stretto.notebook`): `open_bench`, `open_profile`, `open_net`.
Both raise `StrettoError`.
"""

from stretto.light import TYPE_CHECKING, module
from stretto.version import __version__

if TYPE_CHECKING:
    from stretto.api import AlltoallvPlan, Blocks, Counters, choose, counters, last, loaded
    from stretto.errors import StrettoError
    from stretto.notebook import open_bench, open_net, open_profile

__all__ = [
    "AlltoallvPlan", "Blocks", "Counters", "StrettoError", "__version__", "choose", "counters",
    "last", "loaded", "open_bench", "open_net", "open_profile",
]  # fmt: skip


def __getattr__(name: str) -> object:
    """Load a module when one of its names is asked for: the commands do not need them."""
    if name in __all__:
        home = "stretto.notebook" if name.startswith("open_") else "stretto.api"
        home = "stretto.errors" if name == "StrettoError" else home
        return getattr(module(home), name)
    raise AttributeError(f"module 'stretto' has no attribute {name!r}")
