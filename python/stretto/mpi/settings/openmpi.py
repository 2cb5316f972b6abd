"""Open MPI's settings: ``OMPI_MCA_*``, and for binding and mapping its launcher's.

Binding by environment was seen to work on 4.1.4 (``OMPI_MCA_hwloc_base_binding_policy``) and on
5.0.11 (``PRTE_MCA_hwloc_default_binding_policy``); options on the command line win over both.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from stretto.mpi.settings.base import Around, Entry
from stretto.mpi.settings.network import tcp_interfaces, ucx_devices
from stretto.mpi.variables import Variable

_BIND = ("bind-to", "bind-to-core", "bind-to-socket", "hwloc_base_binding_policy",
         "hwloc_default_binding_policy", "cpu-list", "cpu-set", "rankfile", "rf")  # fmt: skip
_MAP = ("map-by", "N", "npernode", "npersocket", "ppr", "rankfile", "rf", "bynode", "byslot",
        "pernode", "rank-by", "cpus-per-proc", "cpus-per-rank", "cpu-list", "cpu-set",
        "rmaps_base_mapping_policy", "rmaps_default_mapping_policy")  # fmt: skip

#: By itself ob1 puts large messages only over the links of least latency: of up to four links of an
#: interface it opens one connection, of eight eight, and one carries most. With all of them in its
#: list, each message over the next one, capped streams add up: 1.98 times with 2 links, 3.9 with 4,
#: 7.4 with 8 (4.1.4 and 5.0.11, connections counted; without: 1, 1 and 1.7 times).
SPREAD = (
    ("OMPI_MCA_pml_ob1_use_all_rdma", "1"),
    ("OMPI_MCA_pml_ob1_max_rdma_per_request", "1"),
)


def entries(major: int, variables: Mapping[str, Variable], around: Around) -> list[Entry]:
    old = major < 5
    shared = "btl_sm" if "btl_sm_eager_limit" in variables else "btl_vader"
    out = [
        _mca("btl_tcp_links", ("2", "4"), "TCP connections for each pair of ranks and interface",
             True, besides=SPREAD),
        _mca("btl_tcp_eager_limit", ("16384", "262144"),
             "largest eager TCP message", True),
        _mca(f"{shared}_eager_limit", ("16384", "32768"),
             "largest eager message within a node", many=True),
        _mca("coll_han_priority", ("0", "100"), "collectives by nodes (HAN): off, on", True),
        _mca("mpi_yield_when_idle", ("0", "1"), "waiting ranks yield the core: off, on"),
    ]  # fmt: skip
    single = variables.get("btl_vader_single_copy_mechanism")
    if single is not None and single.items:
        # The library lists what it was built with; the first is the best available, its default.
        names = tuple(item for _, item in single.items[1:])
        out.append(
            _mca(
                single.name,
                names,
                "how large messages within a node are copied",
                many=True,
            )
        )
    elif "smsc" in variables:
        out.append(
            _mca(
                "smsc",
                ("^cma,xpmem,knem",),
                "no single copy of messages within a node",
                many=True,
            )
        )
    out += tcp_interfaces(around)
    if "pml_ucx_priority" in variables:
        out += ucx_devices(around)
    return out if around.srun else [*out, *_placing(old, around)]


def _placing(old: bool, around: Around) -> list[Entry]:
    """Return where mpirun puts ranks, and what it binds them to.

    By core fills a node's cores in turn, by node puts one rank on each node in turn.
    """
    binding = (
        "OMPI_MCA_hwloc_base_binding_policy" if old else "PRTE_MCA_hwloc_default_binding_policy"
    )
    mapping = (
        "OMPI_MCA_rmaps_base_mapping_policy" if old else "PRTE_MCA_rmaps_default_mapping_policy"
    )
    package = "socket" if old else "package"
    parts = (package,) if around.parts else ()
    out = [
        Entry(None, binding, ("core", *parts, "none"), "binding of each rank", words=_BIND),
        Entry(None, mapping, ("core",), "ranks fill one core after another", words=_MAP,
              many=True),
        Entry(None, mapping, ("node",), "ranks are placed round-robin over nodes", True, _MAP,
              many=True),
    ]  # fmt: skip
    if around.parts:
        out.append(
            Entry(None, mapping, (package, "numa"),
                  "ranks are placed round-robin over sockets or NUMA "
                  "domains", words=_MAP, many=True)
        )  # fmt: skip
    return out


def _mca(
    name: str, values: tuple[str, ...], what: str, nodes: bool | None = None, **more: Any
) -> Entry:
    return Entry(name, f"OMPI_MCA_{name}", values, what, nodes, **more)
