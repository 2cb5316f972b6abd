"""Intel MPI's settings: ``I_MPI_*``, known to the library as aliases of its control variables."""

from __future__ import annotations

from collections.abc import Mapping

from stretto.mpi.settings.base import Entry
from stretto.mpi.variables import Variable

_BIND = ("bind-to", "binding", "map-by")


def entries(major: int, variables: Mapping[str, Variable]) -> list[Entry]:
    """Return what is worth trying under an Intel MPI.

    Parameters
    ----------
    major, variables
        As for Open MPI's.
    """
    del major, variables
    return [
        _own("I_MPI_MULTIRAIL", ("1",), "messages over several interfaces", True),
        _own("I_MPI_SHM_CMA", ("0", "1"), "single copy within a node: off, on", many=True),
        _own("I_MPI_SHM_EAGER_THRESHOLD", ("16384", "65536"),
             "largest message within a node that is sent without asking", many=True),
        _own("I_MPI_FABRICS", ("shm",), "within one node without the network's library", False),
        _own("I_MPI_THREAD_YIELD", ("0", "2"), "how a rank that waits gives up its core"),
        _own("I_MPI_WAIT_MODE", ("1",), "a rank that waits sleeps"),
        _own("I_MPI_PIN", ("0",), "ranks are bound to nothing", words=_BIND),
        _own("I_MPI_PIN_DOMAIN", ("core", "numa", "socket"), "what a rank is bound to",
             words=_BIND),
        _own("I_MPI_PIN_ORDER", ("compact", "scatter", "spread"), "in which order ranks are placed",
             many=True, words=_BIND),
    ]  # fmt: skip


def _own(
    name: str,
    values: tuple[str, ...],
    what: str,
    nodes: bool | None = None,
    many: bool = False,
    words: tuple[str, ...] = (),
) -> Entry:
    return Entry(name, name, values, what, nodes, words, (), many)
