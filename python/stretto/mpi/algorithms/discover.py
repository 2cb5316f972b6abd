"""Asks an installed MPI for its algorithms."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from stretto.errors import UsageError
from stretto.kinds import Family
from stretto.mpi.algorithms import intel, mpich, openmpi
from stretto.mpi.algorithms.base import NativeAlgorithm
from stretto.mpi.base import MPIInstallation
from stretto.mpi.variables import Variable, control_variables

_FINDERS: dict[Family, Callable[[Mapping[str, Variable]], list[NativeAlgorithm]]] = {
    "openmpi": openmpi.find,
    "mpich": mpich.find,
    "intel": intel.find,
}


def discover(installation: MPIInstallation) -> list[NativeAlgorithm]:
    """Return all algorithms of all blocking collectives that an installed MPI has.

    In the order of the MPI, by collective; without values for their parameters
    (`Algorithm.variations` gives those).
    """
    found = _FINDERS[installation.family](control_variables(installation))
    order = {name: i for i, name in enumerate(dict.fromkeys(a.collective for a in found))}
    return sorted(found, key=lambda a: order[a.collective])


def named(
    algorithms: Iterable[NativeAlgorithm], collective: str, name: str, mpi: str = "this MPI"
) -> NativeAlgorithm:
    """Return the algorithm of a collective by its name, label or number.

    `name`: ``ring``, ``tuned ring`` or ``4``.
    """
    mine = [a for a in algorithms if a.collective == collective]
    for a in mine:
        if name in (a.label, a.name, a.value):
            return a
    names = ", ".join(dict.fromkeys(a.name for a in mine))
    raise UsageError(
        f"{mpi} has no {name!r} for {collective}",
        "--candidates",
        f"it has {names}; native:all takes all that it has" if names else "it has none",
    )
