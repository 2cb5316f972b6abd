"""MPICH's settings: ``MPIR_CVAR_*``, and Hydra's for binding (``HYDRA_BINDING``, seen to work)."""

from __future__ import annotations

from collections.abc import Mapping

from stretto.mpi.settings.base import Entry
from stretto.mpi.variables import Variable

_CVAR = "MPIR_CVAR_"
_BIND = ("bind-to", "binding", "map-by")


def entries(major: int, variables: Mapping[str, Variable]) -> list[Entry]:
    """Return what is worth trying under an MPICH.

    Parameters
    ----------
    major, variables
        As for Open MPI's.
    """
    del major, variables
    cma = ((f"{_CVAR}CH4_CMA_ENABLE", "1"),)
    # MPICH 5.0.2 aborts in MPI_Init when a piece is larger than what it packs into.
    pack = ((f"{_CVAR}CH4_PACK_BUFFER_SIZE", "65536"),)
    return [
        _cvar("CH4_CMA_ENABLE", ("1",), "single copy of large messages within a node", many=True),
        _cvar("CH4_IPC_CMA_P2P_THRESHOLD", ("4096", "65536"),
              "single copy within a node from so many bytes on", many=True, besides=cma),
        _cvar("CH4_XPMEM_ENABLE", ("0",), "no mapped memory (XPMEM) within a node", many=True),
        _cvar("CH4_SHM_POSIX_IQUEUE_CELL_SIZE", ("65536",),
              "larger pieces of messages within a node", many=True, besides=pack),
        _cvar("CH4_OFI_EAGER_THRESHOLD", ("16384", "65536"),
              "largest message that is sent without asking", True),
        _cvar("CH4_OFI_ENABLE_MULTI_NIC_STRIPING", ("1",),
              "a large message over several interfaces", True),
        _cvar("CH4_OFI_ENABLE_MULTI_NIC_HASHING", ("1",), "messages over several interfaces", True),
        _cvar("POLLS_BEFORE_YIELD", ("0", "50"),
              "a rank that waits gives up its core: never, early"),
        Entry(None, "HYDRA_BINDING", ("core", "socket"), "what a rank is bound to", words=_BIND),
    ]  # fmt: skip


def _cvar(
    name: str,
    values: tuple[str, ...],
    what: str,
    nodes: bool | None = None,
    many: bool = False,
    besides: tuple[tuple[str, str], ...] = (),
) -> Entry:
    variable = _CVAR + name
    return Entry(variable, variable, values, what, nodes, (), besides, many)
