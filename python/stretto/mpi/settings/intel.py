"""Intel MPI's settings: ``I_MPI_*``, known to the library as aliases of its control variables."""

from __future__ import annotations

from collections.abc import Mapping

from stretto.mpi.settings.base import Around, Entry
from stretto.mpi.settings.network import libfabric, providers
from stretto.mpi.variables import Variable

_BIND = ("bind-to", "binding", "map-by")
_PLACE = ("ppn", "perhost", "grr", "rr", "machinefile", "machine", "f", "hostfile", "configfile")


def entries(major: int, variables: Mapping[str, Variable], around: Around) -> list[Entry]:
    del major, variables
    out = [
        _own("I_MPI_SHM_CMA", ("0", "1"), "single copy within a node: off, on", many=True),
        _own("I_MPI_SHM_EAGER_THRESHOLD", ("16384", "65536"),
             "largest eager message within a node", many=True),
        _own("I_MPI_FABRICS", ("shm",), "use shared memory only, on one node", False),
        _own("I_MPI_THREAD_YIELD", ("0", "2"), "how a waiting rank yields its core"),
        _own("I_MPI_WAIT_MODE", ("1",), "waiting ranks sleep"),
        _own("I_MPI_PIN", ("0",), "ranks are not bound", None, _BIND),
    ]  # fmt: skip
    if around.ports:
        # by hand from 2021.6, by itself from 2021.12: one of them is the default
        out.append(_own("I_MPI_MULTIRAIL", ("1", "0"), "ports of a rank: several, one", True))
    domains = ("core", "numa", "socket") if around.parts else ("core",)
    orders = ("compact", "scatter", "spread") if around.parts else ()
    out += [
        *libfabric(around),
        *providers(around, (), ("mlx", "verbs", "psm3")),
        _own("I_MPI_PIN_DOMAIN", domains, "binding of each rank", None, _BIND),
        _own("I_MPI_PIN_ORDER", orders, "order in which ranks are placed", None, _BIND, many=True),
    ]
    if not around.srun:
        out.append(
            _own(
                "I_MPI_PERHOST",
                ("1",),
                "ranks are placed round-robin over nodes",
                True,
                _PLACE,
                many=True,
            )
        )
    return out


def _own(
    name: str, values: tuple[str, ...], what: str, nodes: bool | None = None,
    words: tuple[str, ...] = (), many: bool = False,
) -> Entry:  # fmt: skip
    return Entry(name, name, values, what, nodes, words, many=many)
