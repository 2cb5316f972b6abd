"""MPICH's settings: ``MPIR_CVAR_*``, and Hydra's for binding (``HYDRA_BINDING``, seen to work)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from stretto.mpi.settings.base import Around, Entry
from stretto.mpi.settings.network import netmods
from stretto.mpi.settings.nodes import MOST
from stretto.mpi.variables import Variable

_CVAR = "MPIR_CVAR_"
_BIND = ("bind-to", "binding", "map-by")


def entries(major: int, variables: Mapping[str, Variable], around: Around) -> list[Entry]:
    del major
    cma = ((f"{_CVAR}CH4_CMA_ENABLE", "1"),)
    # MPICH 5.0.2 aborts in MPI_Init when a piece is larger than what it packs into.
    pack = ((f"{_CVAR}CH4_PACK_BUFFER_SIZE", "65536"),)
    out = [
        _cvar("CH4_CMA_ENABLE", ("1",), "single copy of large messages within a node", many=True),
        _cvar("CH4_IPC_CMA_P2P_THRESHOLD", ("4096", "65536"),
              "smallest message copied once within a node", many=True, besides=cma),
        _cvar("CH4_XPMEM_ENABLE", ("0",), "no mapped memory (XPMEM) within a node", many=True),
        _cvar("CH4_SHM_POSIX_IQUEUE_CELL_SIZE", ("65536",),
              "larger segments of messages within a node", many=True, besides=pack),
        _cvar("CH4_OFI_EAGER_THRESHOLD", ("16384", "65536"),
              "largest eager message", True),
        _cvar("POLLS_BEFORE_YIELD", ("0", "50"),
              "waiting ranks yield the core: never, early"),
    ]  # fmt: skip
    has_ucx = any(name.startswith(f"{_CVAR}CH4_UCX_") for name in variables)
    out += [*_nics(around), *netmods(around, has_ucx)]
    return out if around.srun else [*out, *_placing(around)]


def _nics(around: Around) -> list[Entry]:
    """Return which of several RDMA ports a rank uses, or all: MPICH takes one by itself."""
    number = len(around.ports)
    if not number or around.environ.get(f"{_CVAR}CH4_NETMOD", "").lower() == "ucx":
        return []
    most = ((f"{_CVAR}CH4_OFI_MAX_NICS", str(number)),)
    return [
        _cvar("CH4_OFI_PREF_NIC", tuple(map(str, range(min(number, MOST)))),
              "network port for all ranks", True),
        _cvar("CH4_OFI_ENABLE_MULTI_NIC_STRIPING", ("1",),
              "stripe large messages over several ports", True, besides=most),
        _cvar("CH4_OFI_ENABLE_MULTI_NIC_HASHING", ("1",),
              "distribute messages over several ports", True, besides=most),
    ]  # fmt: skip


def _placing(around: Around) -> list[Entry]:
    """Return Hydra's binding, and its mapping, which means something only with a binding.

    Ranks in turn among nodes cannot be had by a variable: the hosts' list of the command decides.
    """
    core = (("HYDRA_BINDING", "core"),)
    parts = ("socket", "numa") if around.parts else ()
    out = [Entry(None, "HYDRA_BINDING", ("core", *parts[:1]), "binding of each rank",
                 words=_BIND)]  # fmt: skip
    if parts:
        out.append(
            Entry(None, "HYDRA_MAPPING", parts,
                  "ranks are placed round-robin over sockets or NUMA "
                  "domains", None, _BIND, core, True)
        )  # fmt: skip
    return out


def _cvar(
    name: str, values: tuple[str, ...], what: str, nodes: bool | None = None, **more: Any
) -> Entry:
    variable = _CVAR + name
    return Entry(variable, variable, values, what, nodes, **more)
