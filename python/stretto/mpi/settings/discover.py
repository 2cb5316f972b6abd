"""Asks an installed MPI which of the settings it has."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from stretto.kinds import Family
from stretto.mpi.base import MPIInstallation
from stretto.mpi.settings import intel, memory, mpich, openmpi, slurm
from stretto.mpi.settings.base import Around, Entry, Setting
from stretto.mpi.variables import Variable, control_variables

_ALIAS = re.compile(r"@Alias:#\s*(\w+)")
_LISTS: dict[Family, Callable[[int, Mapping[str, Variable], Around], list[Entry]]] = {
    "openmpi": openmpi.entries,
    "mpich": mpich.entries,
    "intel": intel.entries,
}


def settings(
    installation: MPIInstallation, nodes: int, ppn: int, around: Around | None = None
) -> tuple[list[Setting], list[str]]:
    """Return the settings that an MPI has and that can matter on a layout.

    Returns the settings, and the names of variables that this version lacks.
    """
    variables = control_variables(installation)
    known = {*variables, *(m for v in variables.values() for m in _ALIAS.findall(v.help))}
    found: list[Setting] = []
    lacking: list[str] = []
    around = around or Around()
    entries = _LISTS[installation.family](installation.major, variables, around)
    entries += slurm.entries(around) if around.srun else []
    for entry in [*entries, *memory.entries()]:
        if not entry.fits(nodes, ppn):
            continue
        if entry.variable is not None and entry.variable not in known:
            lacking.append(entry.variable)
            continue
        found += entry.settings()
    return found, lacking
