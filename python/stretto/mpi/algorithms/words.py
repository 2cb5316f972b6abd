"""A candidate's label from its own settings, the same whether its MPI is here or not."""

from __future__ import annotations

import re

from stretto.mpi.algorithms.base import PREFIX
from stretto.mpi.algorithms.intel import PRESETS
from stretto.mpi.algorithms.openmpi_names import HAN, TUNED
from stretto.mpi.algorithms.pairs import pairs_of

#: the settings that name an algorithm, and the part of the MPI that has it
_NAMING = (
    (re.compile(r"coll_tuned_([a-z_]+)_algorithm"), "tuned"),
    (re.compile(r"coll_han_use_([a-z_]+)_algorithm"), "han"),
    (re.compile(r"coll_(sm|adapt|basic)_priority"), "by_priority"),
    (re.compile(r"MPIR_CVAR_[A-Z_]+?_POSIX_INTRA_ALGORITHM"), "posix"),
    (re.compile(r"MPIR_CVAR_[A-Z_]+?_INTRA_ALGORITHM"), "mpir"),
    (re.compile(r"I_MPI_ADJUST_[A-Z_]+?_(COMPOSITION|NETWORK|NODE)"), None),
    (re.compile(r"I_MPI_ADJUST_[A-Z_]+"), "preset"),
)
#: what an algorithm takes, by the end of the setting's name
_TAKES = (
    ("radix", ("_KVAL", "_radix", "coll_sm_tree_degree")),
    ("tree", ("_TREE_TYPE", "coll_adapt_bcast_algorithm", "coll_adapt_reduce_algorithm")),
    ("segment", ("_segmentsize", "_CHUNK_SIZE", "_segsize", "_segment_size")),
    ("fanout", ("_fanout",)),
    ("requests", ("_requests", "_THROTTLE")),
    ("buffers", ("_BUFFER_PER_CHILD",)),
    ("single_phase", ("_SINGLE_PHASE_RECV",)),
    ("nonblocking", ("_IS_NON_BLOCKING",)),
    ("preposted", ("_RECV_PRE_POST",)),
    ("up", ("_up_module", "_dynamic_inter_node_module")),
    ("low", ("_low_module",)),
)
#: what only lets the others count
_ENABLING = re.compile(r"DEVICE_COLLECTIVES?$|use_dynamic_rules$")
_PRIORITY = "coll_han_priority"


def own_label(candidate: str, han: bool = False) -> str | None:
    """Return ``tuned ring`` or ``mpir tree(radix=4)``; None where the settings do not say it.

    `han`: where it ran, HAN decides if nobody takes its priority away: an algorithm of coll/tuned
    is then HAN's to call on its parts, and not what all ranks did.
    """
    name: str | None = None
    takes: list[str] = []
    priority: str | None = None
    for given, value in pairs_of(candidate.removeprefix(PREFIX)):
        variable = given.removeprefix("OMPI_MCA_")
        named = _named(variable, value)
        if named is not None and name is None:
            name = named
            continue
        if variable == _PRIORITY:
            priority = value
            continue
        word = next((w for w, ends in _TAKES if variable.endswith(ends)), None)
        if "_INTRANODE_" in variable:
            return None  # of two trees, which one depends on the collective
        if word is not None:
            takes.append(f"{word}={value}")
        elif not _ENABLING.search(variable):
            return None  # another setting beside it makes another candidate: all is shown
    if name is None:
        return None
    if name.startswith("tuned "):
        if priority not in (None, "0"):
            takes.append(f"{_PRIORITY}={priority}")
        elif priority is None and han:
            takes.append(f"{_PRIORITY} not set")
    elif name.startswith("han ") and priority == "0":
        takes.append(f"{_PRIORITY}=0")
    return name + (f"({','.join(takes)})" if takes else "")


def shown_label(candidate: str, han: bool = False) -> str | None:
    """Return a label for people: as `own_label`, and a preset with the name that Intel gives it.

    Intel MPI's documentation names the presets of the releases up to 2021; newer ones promise none.
    """
    label = own_label(candidate, han)
    found = re.search(r"I_MPI_ADJUST_([A-Z_]+)=(\d+)", candidate)
    if label is None or found is None or not label.startswith("preset "):
        return label
    names = PRESETS.get(found.group(1).lower(), "").split(", ")
    number = int(found.group(2))
    return f"{label}: {names[number - 1]}" if 0 < number <= len(names) and names[0] else label


def _named(variable: str, value: str) -> str | None:
    for pattern, component in _NAMING:
        found = pattern.fullmatch(variable)
        if found is None:
            continue
        if component in ("tuned", "han"):
            names = (TUNED if component == "tuned" else HAN).get(found.group(1), "").split()
            number = int(value) if value.isdecimal() else 0
            own = names[number - 1] if 0 < number <= len(names) else value
            return f"{component} {own}" if own in names else None
        if component == "by_priority":
            return f"{found.group(1)} by_priority" if value == "100" else None
        return f"{component or found.group(1).lower()} {value}"
    return None
