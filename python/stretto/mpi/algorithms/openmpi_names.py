"""What Open MPI's algorithms are called, by number: the same whether an Open MPI is here or not.

`openmpi.py` asks an installed one; these are for results of another machine's, and for rows of
another release. `test_export_words.py` holds them against the releases that are installed.
"""

from __future__ import annotations

#: coll/tuned's algorithms from 1 on: the enumerations that MPI_T lists in 4.1.4 and 5.0.11, with
#: what 6.0 has besides (its sources: coll_tuned_*_decision.c)
TUNED = {
    "allgather": "linear bruck recursive_doubling ring neighbor two_proc sparbit direct-messaging",
    "allgatherv": "default bruck ring neighbor two_proc sparbit",
    "allreduce": "basic_linear nonoverlapping recursive_doubling ring segmented_ring rabenseifner "
    "allgather_reduce",
    "alltoall": "linear pairwise modified_bruck linear_sync two_proc",
    "alltoallv": "basic_linear pairwise",
    "barrier": "linear double_ring recursive_doubling bruck two_proc tree",
    "bcast": "basic_linear chain pipeline split_binary_tree binary_tree binomial knomial "
    "scatter_allgather scatter_allgather_ring",
    "exscan": "linear recursive_doubling",
    "gather": "basic_linear binomial linear_sync",
    "reduce": "linear chain pipeline binary binomial in-order_binary rabenseifner knomial",
    "reduce_scatter": "non-overlapping recursive_halving ring butterfly",
    "reduce_scatter_block": "basic_linear recursive_doubling recursive_halving butterfly",
    "scan": "linear recursive_doubling",
    "scatter": "basic_linear binomial linear_nb",
}
#: the numbers of algorithms that look at a parameter, by the end of its setting's name: the others
#: ignore it without a word (coll_tuned_*_decision.c of 4.1, 5.0 and main)
LOOKED_AT = {
    "_fanout": {"allgather": "2", "bcast": "2", "reduce": "28"},
    "_segmentsize": {"allreduce": "5", "bcast": "234567", "gather": "3", "reduce": "234568"},
    "_max_requests": {"alltoall": "4", "reduce": "234568"},
}
#: HAN's algorithms from 1 on (5.0.11's MPI_T); those of collectives that only 6.0 has have no
#: names here
HAN = {
    "allgather": "intra simple",
    "allreduce": "intra simple reproducible",
    "barrier": "simple",
    "bcast": "intra simple",
    "gather": "intra simple",
    "reduce": "intra simple reproducible",
    "scatter": "intra simple",
}
