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
#: what presets are called, from number 1 on ("I_MPI_ADJUST Family Environment Variables" in the
#: Developer Reference of releases 2019 to 2021); newer releases promise no names
PRESETS = {
    "allgather": "recursive doubling, Bruck, ring, topology-aware gatherv + bcast, knomial",
    "allgatherv": "recursive doubling, Bruck, ring, topology-aware gatherv + bcast",
    "allreduce": "recursive doubling, Rabenseifner, reduce + bcast, topology-aware reduce + bcast, "
    "binomial gather + scatter, topology-aware binomial gather + scatter, Shumilin's ring, ring, "
    "knomial, SHM flat, SHM knomial, SHM knary",
    "alltoall": "Bruck, isend/irecv + waitall, pairwise, Plum",
    "alltoallv": "isend/irecv + waitall, Plum",
    "alltoallw": "isend/irecv + waitall",
    "barrier": "dissemination, recursive doubling, topology-aware dissemination, topology-aware "
    "recursive doubling, binomial gather + scatter, topology-aware binomial gather + scatter, SHM "
    "flat, SHM knomial, SHM knary",
    "bcast": "binomial, recursive doubling, ring, topology-aware binomial, topology-aware "
    "recursive doubling, topology-aware ring, Shumilin, knomial, SHM flat, SHM knomial, SHM knary",
    "exscan": "partial results, topology-aware partial results",
    "gather": "binomial, topology-aware binomial, Shumilin, binomial in segments",
    "gatherv": "linear, topology-aware linear, knomial",
    "reduce": "Shumilin, binomial, topology-aware Shumilin, topology-aware binomial, Rabenseifner, "
    "topology-aware Rabenseifner, knomial, SHM flat, SHM knomial, SHM knary, SHM binomial",
    "reduce_scatter": "recursive halving, pairwise, recursive doubling, reduce + scatterv, "
    "topology-aware reduce + scatterv",
    "scan": "partial results, topology-aware partial results",
    "scatter": "binomial, topology-aware binomial, Shumilin",
    "scatterv": "linear, topology-aware linear",
}


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
