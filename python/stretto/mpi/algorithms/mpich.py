"""MPICH and what is built on it: ``MPIR_CVAR_<COLLECTIVE>_INTRA_ALGORITHM``, and its device's own.

The names of the algorithms stand in the variables' help, a line each. A forced algorithm of the
MPIR layer is applied to the whole communicator only when the device's composition (node level and
network level) is switched off for that collective; else the composition is the candidate.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from stretto.mpi.algorithms.base import AlgorithmParameter, NativeAlgorithm
from stretto.mpi.variables import Variable

_CVAR = "MPIR_CVAR_"
_LINE = re.compile(r"^(\w+)\s+-\s+\S", re.MULTILINE)
#: ``ccl`` needs a GPU library; ``nb`` is the nonblocking form of another choice
_NOT = ("auto", "nb", "ccl")
#: the end of a parameter's variable -> what it is called here, and what is tried
_VALUES = {
    "KVAL": ("radix", ("3", "4", "8")),
    "TYPE": ("tree", ("kary", "knomial_1", "knomial_2")),
    "PIPELINE_CHUNK_SIZE": ("segment", ("8192", "65536")),
    "BUFFER_PER_CHILD": ("buffers", ("1",)),
    "SINGLE_PHASE_RECV": ("single_phase", ("1",)),
    "IS_NON_BLOCKING": ("nonblocking", ("0",)),
    "RECV_PRE_POST": ("preposted", ("1",)),
}
#: words before that end -> the algorithms that look at it, where it is not each one with the word
#: in its name
_OWNERS = {
    "BRUCKS": r"k_brucks",
    "DISSEM": r"k_dissemination",
    "RECEXCH": r"recexch\w*|k_reduce_scatter_allgather",
    "TREE": r"(pipelined_)?tree",
}
#: the same for variables that have no such word
_NAMELESS = {"IS_NON_BLOCKING": r"(pipelined_)?tree", "RECV_PRE_POST": r"pipelined_tree"}
#: of the scattered algorithm of all three alltoalls: how many messages are under way (0: all)
_THROTTLE = "ALLTOALL_THROTTLE"
#: release_gather's trees, by collective: an allreduce gathers by one and releases by the other
_INTRANODE = {
    "bcast": ("BCAST",),
    "barrier": ("BCAST",),
    "reduce": ("REDUCE",),
    "allreduce": ("REDUCE", "BCAST"),
}
_INTRANODE_VALUES = {
    "KVAL": ("radix", ("2", "4", "8")),
    "TYPE": ("tree", ("kary", "knomial_1", "knomial_2")),
    # beyond MPIR_CVAR_REDUCE_INTRANODE_MSG_SIZE_THRESHOLD bytes
    "KVAL_LARGE": ("radix_large", ("2", "4", "8")),
    "TYPE_LARGE": ("tree_large", ("kary", "knomial_1", "knomial_2")),
}
# Not tried: trees by topology (``topology_aware``, ``topology_wave`` need coordinates of the nodes
# in a file of the site's, those inside a node a binding that the user has given to the launcher),
# size and cells of release_gather's buffers (memory of each communicator, which is limited for
# all of them together) and its threshold, how many calls come before it (none is faster).


def find(variables: Mapping[str, Variable]) -> list[NativeAlgorithm]:
    out: list[NativeAlgorithm] = []
    for name, variable in variables.items():
        found = re.fullmatch(_CVAR + r"([A-Z_]+?)(_POSIX)?_INTRA_ALGORITHM", name)
        if found and not found.group(1).endswith("_OFI"):
            collective = found.group(1).lower()
            if not _blocking(collective, variables):
                continue
            make = _posix if found.group(2) else _flat
            out += [
                make(collective, name, item, variables)
                for item in _LINE.findall(variable.help)
                if item not in _NOT and not (found.group(2) and item == "mpir")
            ]
        found = re.fullmatch(_CVAR + r"([A-Z_]+)_COMPOSITION", name)
        if found:
            out += _compositions(found.group(1).lower(), variable)
    return out


def _blocking(collective: str, variables: Mapping[str, Variable]) -> bool:
    """Tell ``ALLREDUCE`` from ``IALLREDUCE``: the latter has the former beside it."""
    return not (
        collective.startswith("i")
        and f"{_CVAR}{collective[1:].upper()}_INTRA_ALGORITHM" in variables
    )


def _flat(
    collective: str, name: str, item: str, variables: Mapping[str, Variable]
) -> NativeAlgorithm:
    upper = collective.upper()
    settings = [(name, item)]
    if f"{_CVAR}{upper}_DEVICE_COLLECTIVE" in variables:
        settings += [
            (f"{_CVAR}DEVICE_COLLECTIVES", "percoll"),
            (f"{_CVAR}{upper}_DEVICE_COLLECTIVE", "0"),
        ]
    return NativeAlgorithm(
        collective, item, item, "mpir", tuple(settings), _parameters(upper, item, variables),
        nodes=True if item == "smp" else None,
    )  # fmt: skip


def _parameters(
    collective: str, item: str, variables: Mapping[str, Variable]
) -> tuple[AlgorithmParameter, ...]:
    """Return what an algorithm of the MPIR layer takes, of the variables that there are."""
    out: list[AlgorithmParameter] = []
    for name in variables:
        for suffix, (word, values) in _VALUES.items():
            found = re.fullmatch(f"{_CVAR}{collective}_(?:(\\w+)_)?{suffix}", name)
            if found and _looks(collective, item, found.group(1), suffix, variables):
                out.append(_parameter(word, name, values, variables))
    if item == "scattered" and f"{_CVAR}{_THROTTLE}" in variables:
        out.append(_parameter("requests", f"{_CVAR}{_THROTTLE}", ("4", "8", "0"), variables))
    return tuple(out)


def _looks(
    collective: str, item: str, word: str | None, suffix: str, variables: Mapping[str, Variable]
) -> bool:
    """Return whether an algorithm looks at a parameter, by the words of the variable's name."""
    if word is None:
        return re.fullmatch(_NAMELESS.get(suffix, ""), item) is not None
    if word == "TREE" and suffix.startswith("PIPELINE") and item == "tree":
        # of two trees only the pipelined one cuts messages
        choice = variables.get(f"{_CVAR}{collective}_INTRA_ALGORITHM")
        return choice is None or "pipelined_tree" not in _LINE.findall(choice.help)
    owner = _OWNERS.get(word)
    return re.fullmatch(owner, item) is not None if owner else word.lower() in item


def _parameter(
    word: str, name: str, values: Sequence[str], variables: Mapping[str, Variable]
) -> AlgorithmParameter:
    """Return a parameter without the value that it has anyway."""
    return AlgorithmParameter(word, name, tuple(v for v in values if v != variables[name].value))


def _posix(
    collective: str, name: str, item: str, variables: Mapping[str, Variable]
) -> NativeAlgorithm:
    out: list[AlgorithmParameter] = []
    trees = _INTRANODE.get(collective, ()) if item == "release_gather" else ()
    for at, tree in enumerate(trees):
        for end, (word, values) in _INTRANODE_VALUES.items():
            variable = f"{_CVAR}{tree}_INTRANODE_TREE_{end}"
            if variable in variables:
                word = word if at == 0 else f"release_{word}"
                out.append(_parameter(word, variable, values, variables))
    return NativeAlgorithm(
        collective, item, item, "posix", ((name, item),), tuple(out), nodes=False
    )


def _compositions(collective: str, variable: Variable) -> list[NativeAlgorithm]:
    """Return the device's compositions: ``0 Auto selection 1 NM + SHM 2 NM only``."""
    body = variable.help.partition("0 Auto selection")[2]
    found = re.findall(r"(?:^|\s)([1-9])\s+([A-Z].*?)(?=\s[1-9]\s+[A-Z]|$)", body)
    return [
        NativeAlgorithm(
            collective,
            "_".join(re.findall(r"[a-z0-9]+", words.lower())),
            number,
            "composition",
            ((variable.name, number),),
            nodes=True,
        )
        for number, words in found
        if not words.startswith("SHM only")
    ]
