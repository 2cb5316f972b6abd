"""Which native algorithms can alternate inside one launch, and how they are set there.

A candidate ``native:SETTINGS`` either gets its settings from the environment of a launch of its
own, or, where the MPI looks at them in a running process, shares a launch with others: the
measuring program writes them through MPI_T (src/bench/setting.c, places.c). Settings that are read
when the process starts stay in the environment; candidates with the same ones share a launch,
which is named after them: ``natives:coll_tuned_use_dynamic_rules=1``; where there are none it is
``bare``.

That a setting can be written says nothing about whether it is used. So what is written here is only
what fingerprints have shown to take effect, on the versions on which they were taken
(tests/mpi/test_inlaunch.py); everything else has launches apart.
"""

from __future__ import annotations

import os
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence

from stretto.errors import StrettoError
from stretto.kinds import Family
from stretto.measure.compare import BARE
from stretto.measure.settings import Case, Settings
from stretto.measure.variants import (
    IDLE,
    SHARED,
    launch_for,
    shared_name,
    shared_settings,
    single_settings,
)
from stretto.mpi.algorithms.base import PREFIX
from stretto.mpi.algorithms.discover import discover
from stretto.mpi.base import MPIInstallation
from stretto.mpi.variables import Variable, control_variables, numbers

#: by family: the versions whose running processes take the settings, as fingerprints showed
PROVEN: dict[Family, tuple[str, ...]] = {"openmpi": ("4.1.", "5.0."), "mpich": ("5.0.",)}
#: by family: those settings. Not the choices of MPICH's shared-memory device, whose memory is
#: limited for all communicators together, nor a TREE_TYPE, which is read in MPI_Init.
_WRITTEN: dict[Family, str] = {
    "openmpi": r"coll_tuned_[a-z_]+_algorithm"
    r"(_(segmentsize|tree_fanout|chain_fanout|knomial_radix|max_requests))?",
    "mpich": r"MPIR_CVAR_DEVICE_COLLECTIVES"
    r"|MPIR_CVAR_(?!\w*(POSIX|OFI|INTRANODE))[A-Z_]+_(INTRA_ALGORITHM|DEVICE_COLLECTIVE|KVAL)"
    r"|MPIR_CVAR_(?!\w*(POSIX|OFI))[A-Z_]+_PIPELINE_CHUNK_SIZE",
}

Written = Mapping[str, tuple[tuple[str, str], ...]]


def shared_launches(
    installation: MPIInstallation, cases: Sequence[Case], nodes: int
) -> dict[str, str]:
    """Return the candidates that can share a launch, each with that launch's name.

    One that would be alone in its launch is not among them: it has its settings from the
    environment, as all others. Bare is, where what the launch begins with changes nothing for it.
    """
    names = dict.fromkeys(c for case in cases for c in case.candidates)
    natives = [c for c in names if c.startswith(PREFIX)]
    if not natives:
        return {}
    try:
        writable = _writable(installation, natives)
    except StrettoError:
        return {}  # it does not list its settings: nothing is known about them
    groups: dict[str, list[str]] = defaultdict(list)
    for candidate, written in writable.items():
        at_start = {n: v for n, v in single_settings(candidate).items() if n not in dict(written)}
        groups[shared_name(at_start)].append(candidate)
    out = {
        candidate: group
        for group, members in groups.items()
        if len(members) > 1 or (group == BARE and BARE in names)
        for candidate in members
    }
    # Where `launch_for` would find it, or nowhere: it does not know the nodes.
    launch = launch_for(BARE, tuple(sorted(set(out.values()))))
    if BARE in names and launch != BARE and _idle(installation, launch, nodes):
        out[BARE] = launch
    return out


def _idle(installation: MPIInstallation, launch: str, nodes: int) -> bool:
    """Return whether what a launch begins with changes nothing for the native choice.

    HAN is Open MPI 5's own choice on several nodes; in 4.1 its priority is 0 anyway, unless the
    user has set it. Dynamic rules find nothing, unless the user has named a file for them.
    """
    if any(f"OMPI_MCA_{n}" in os.environ for n in (*IDLE, "coll_tuned_dynamic_rules_filename")):
        return False
    without_han = nodes == 1 or installation.version.startswith("4.1.")
    return without_han or "coll_han_priority" not in shared_settings(launch)


def written_in(
    settings: Settings, installation: MPIInstallation, launch: int, cases: Sequence[Case]
) -> dict[str, tuple[tuple[str, str], ...]]:
    """Return what the program has to write for each candidate of a launch, as numbers.

    `launch`: its number.
    """
    variant = settings.variant_of(launch)
    if variant != BARE and not variant.startswith(SHARED):
        return {}
    at_start = shared_settings(variant)
    names = dict.fromkeys(c for case in cases for c in case.candidates if c.startswith(PREFIX))
    writable = _writable(installation, list(names)) if names else {}
    for name in names:
        wanted = single_settings(name)
        rest = {n for n in wanted if n not in at_start}
        if {n for n, _ in writable.get(name, ())} != rest:
            raise StrettoError(
                f"{name} cannot be set in a running process of {installation.name}",
                variant,
                "the campaign began with another build of this MPI: measure into another file",
            )
    return {name: writable[name] for name in names}


def _writable(installation: MPIInstallation, natives: Sequence[str]) -> Written:
    family = installation.family
    version = f"{installation.version}."
    pattern = _WRITTEN.get(family, "")
    if not version.startswith(PROVEN.get(family, ())):
        return {}
    variables = control_variables(installation)
    words = _words(installation, variables) if family == "mpich" else {}
    out: dict[str, tuple[tuple[str, str], ...]] = {}
    for candidate in natives:
        written: list[tuple[str, str]] = []
        for name, value in single_settings(candidate).items():
            variable = variables.get(name)
            if variable is None or variable.constant or not re.fullmatch(pattern, name):
                continue
            number = _number(variable, value) or words.get((name, value))
            if number is not None:
                written.append((name, number))
        # A parameter without its algorithm is looked at by the native choice, at other times.
        if any(n.endswith("_algorithm") or n.endswith("_INTRA_ALGORITHM") for n, _ in written):
            out[candidate] = tuple(written)
    return out


def _number(variable: Variable, value: str) -> str | None:
    if re.fullmatch(r"-?\d{1,9}", value):
        known = {number for number, _ in variable.items}
        return value if not known or int(value) in known else None
    return next((str(number) for number, word in variable.items if word == value), None)


def _words(
    installation: MPIInstallation, variables: Mapping[str, Variable]
) -> Mapping[tuple[str, str], str]:
    wanted: dict[str, list[str]] = defaultdict(list)
    for algorithm in discover(installation):
        for name, value in algorithm.settings:
            a_word = not value.lstrip("-").isdecimal()
            if name in variables and a_word and value not in wanted[name]:
                wanted[name].append(value)
    return numbers(installation, wanted)
