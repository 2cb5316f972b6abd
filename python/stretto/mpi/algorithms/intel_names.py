"""The names that Intel MPI's documentation gives to presets, by collective, from number 1 on.

Source: "I_MPI_ADJUST Family Environment Variables" in the Developer Reference of releases 2019 to
2021. Newer releases call them presets and promise no names.
"""

from __future__ import annotations

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
