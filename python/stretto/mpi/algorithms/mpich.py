"""MPICH and what is built on it: ``MPIR_CVAR_<COLLECTIVE>_INTRA_ALGORITHM``, and its device's own.

The names of the algorithms stand in the variables' help, a line each. A forced algorithm of the
MPIR layer is applied to the whole communicator only when the device's composition (node level and
network level) is switched off for that collective; else the composition is the candidate.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from stretto.mpi.algorithms.base import Algorithm, Parameter
from stretto.mpi.variables import Variable

_CVAR = "MPIR_CVAR_"
_LINE = re.compile(r"^(\w+)\s+-\s+\S", re.MULTILINE)
#: ``ccl`` needs a GPU library; ``nb`` is the nonblocking form of another choice
_NOT = ("auto", "nb", "ccl")
#: words of a parameter's variable -> words of the algorithms that look at it
_WORDS = {"BRUCKS": "k_brucks", "DISSEM": "dissemination"}
#: of the k-valued algorithms whose variable is named after the whole algorithm
_VALUES = {
    "KVAL": ("radix", ("3", "4", "8")),
    "TREE_TYPE": ("tree", ("kary", "knomial_1", "knomial_2")),
    "PIPELINE_CHUNK_SIZE": ("segment", ("8192", "65536")),
}


def find(variables: Mapping[str, Variable]) -> list[Algorithm]:
    """Return the algorithms of an MPICH.

    Parameters
    ----------
    variables
        From `control_variables`.
    """
    out: list[Algorithm] = []
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


def _flat(collective: str, name: str, item: str, variables: Mapping[str, Variable]) -> Algorithm:
    upper = collective.upper()
    settings = [(name, item)]
    if f"{_CVAR}{upper}_DEVICE_COLLECTIVE" in variables:
        settings += [
            (f"{_CVAR}DEVICE_COLLECTIVES", "percoll"),
            (f"{_CVAR}{upper}_DEVICE_COLLECTIVE", "0"),
        ]
    return Algorithm(
        collective, item, item, "mpir", tuple(settings), _parameters(upper, item, variables),
        nodes=True if item == "smp" else None,
    )  # fmt: skip


def _parameters(
    collective: str, item: str, variables: Mapping[str, Variable]
) -> tuple[Parameter, ...]:
    out: list[Parameter] = []
    for name in variables:
        for suffix, (word, values) in _VALUES.items():
            found = re.fullmatch(f"{_CVAR}{collective}_(\\w+?)_?{suffix}", name)
            if suffix == "TREE_TYPE":
                found = re.fullmatch(f"{_CVAR}{collective}_(TREE)_TYPE", name)
            if not found:
                continue
            owner = _WORDS.get(found.group(1), found.group(1).lower())
            if owner in item and not (
                owner == "tree" and item == "pipelined_tree" and word != "segment"
            ):
                out.append(Parameter(word, name, values))
    return tuple(out)


def _posix(collective: str, name: str, item: str, variables: Mapping[str, Variable]) -> Algorithm:
    del variables
    return Algorithm(collective, item, item, "posix", ((name, item),), nodes=False)


def _compositions(collective: str, variable: Variable) -> list[Algorithm]:
    """Return the device's compositions: ``0 Auto selection 1 NM + SHM 2 NM only``."""
    body = variable.help.partition("0 Auto selection")[2]
    found = re.findall(r"(?:^|\s)([1-9])\s+([A-Z].*?)(?=\s[1-9]\s+[A-Z]|$)", body)
    return [
        Algorithm(
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
