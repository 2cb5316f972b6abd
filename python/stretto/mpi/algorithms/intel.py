"""Intel MPI: presets by number, ``I_MPI_ADJUST_<COLLECTIVE>``.

Its control variables tell the range of presets and the name of the environment variable
(``range: 0-32 @Alias:# I_MPI_ADJUST_ALLREDUCE``); what a preset does it does not say. The levels
of a hierarchical collective have numbers of their own (``_COMPOSITION``, ``_NETWORK``, ``_NODE``).
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from stretto.mpi.algorithms.base import NativeAlgorithm
from stretto.mpi.variables import Variable

_ALIAS = re.compile(r"@Alias:#\s*I_MPI_ADJUST_(\w+)")
_RANGE = re.compile(r"range:\s*(\d+)-(\d+)")
_LEVELS = ("COMPOSITION", "NETWORK", "NODE")
_OTHER = ("SENDRECV_REPLACE",)
#: what presets were called, from 1 on, in Intel's Developer Reference up to 2021.12; since then
#: presets are more than algorithms, and no names are promised
PUBLISHED = {
    "allgather": (
        "recursive doubling", "Bruck's", "ring", "topology-aware gatherv and bcast", "k-nomial",
    ),
    "allgatherv": (
        "recursive doubling", "Bruck's", "ring", "topology-aware gatherv and bcast",
    ),
    "allreduce": (
        "recursive doubling", "Rabenseifner's", "reduce and bcast",
        "topology-aware reduce and bcast", "binomial gather and scatter",
        "topology-aware binomial gather and scatter", "Shumilin's ring", "ring", "k-nomial",
        "shared memory, flat", "shared memory, k-nomial", "shared memory, k-ary",
    ),
    "alltoall": ("Bruck's", "isend/irecv and waitall", "pairwise exchange", "Plum's"),
    "alltoallv": ("isend/irecv and waitall", "Plum's"),
    "alltoallw": ("isend/irecv and waitall",),
    "barrier": (
        "dissemination", "recursive doubling", "topology-aware dissemination",
        "topology-aware recursive doubling", "binomial gather and scatter",
        "topology-aware binomial gather and scatter",
    ),
}  # fmt: skip


def find(variables: Mapping[str, Variable]) -> list[NativeAlgorithm]:
    names = {m.group(1) for v in variables.values() if (m := _ALIAS.search(v.help))}
    out: list[NativeAlgorithm] = []
    for variable in variables.values():
        alias, span = _ALIAS.search(variable.help), _RANGE.search(variable.help)
        if not alias or not span:
            continue
        name = alias.group(1)
        level = next((one for one in _LEVELS if name.endswith(f"_{one}")), None)
        collective = name.removesuffix(f"_{level}") if level else name
        if collective in _OTHER or (collective.startswith("I") and collective[1:] in names):
            continue
        component = level.lower() if level else "preset"
        out += [
            NativeAlgorithm(
                collective.lower(),
                str(number),
                str(number),
                component,
                ((f"I_MPI_ADJUST_{name}", str(number)),),
                nodes=True if level in ("COMPOSITION", "NETWORK") else None,
            )
            for number in range(int(span.group(1)), int(span.group(2)) + 1)
        ]
    return out
