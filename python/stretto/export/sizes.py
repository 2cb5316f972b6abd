"""What each MPI calls the size of a message when it looks for a rule.

Stretto counts type size x count, for allgather, alltoall, gather, scatter and reduce_scatter_block
that of one block, for allgatherv and reduce_scatter that of the mean block.
"""

from __future__ import annotations

from stretto.files.table import WITHOUT_SIZE

#: of one block in Stretto's measure
BLOCKS = ("allgather", "alltoall", "gather", "scatter", "reduce_scatter_block")

#: a call's size in MPICH's trees: of a block, or of those of all ranks; the others have none that
#: can be used
MPICH_AVERAGE = ("allreduce", "bcast", "reduce", "alltoall")
MPICH_TOTAL = ("allgather", "allgatherv", "reduce_scatter", "reduce_scatter_block")

#: of these coll/tuned does not look at the size, or at one that ranks know differently (see
#: `openmpi_bytes`): a row must hold for all sizes
OPENMPI_SIZELESS = ("barrier", "scan", "exscan", "gather", "scatter", *WITHOUT_SIZE)

#: of these each rank looks at its own send arguments: allgather by their size, whether the call is
#: in place or not, allgatherv by the size of the type, times the counts received. In legal calls
#: ranks differ in that, so that rows by size are for those only who say that theirs do not
OWN_SIZE = ("allgather", "allgatherv")


def openmpi_bytes(collective: str, size: int, nranks: int) -> int | None:
    """Return the size that coll/tuned looks up, None where a row must hold for all.

    From the decision functions of Open MPI 4.1 and 5.0: allgather, alltoall and
    reduce_scatter_block are counted with all ranks' blocks, reduce_scatter by the sum of them,
    allgatherv by their mean (the counts that a rank receives, times the size of the type that it
    sends, divided by the ranks: see `OWN_SIZE`); scan and exscan by type size x ranks,
    whatever the count, so that no size can be told from another. Gather and scatter are counted by
    each rank's own send arguments, which mean nothing in a scatter but at the root, and nothing in
    a gather at a root that has its block in place: rows for some sizes would have ranks of one call
    go different ways, which hangs or gives wrong data (seen with 4.1.4 and 5.0.11).
    """
    if collective in OPENMPI_SIZELESS:
        return None
    if collective in (*BLOCKS, "reduce_scatter"):
        return size * nranks
    return size


def intel_bytes(collective: str, size: int, nranks: int) -> int | None:
    """Return the size that I_MPI_ADJUST_* looks up, None where it looks at none.

    Seen with 2021.18.1 (tests/mpi/test_export_intel.py): one block for allgather, alltoall,
    gather, scatter and reduce_scatter_block, the mean block for allgatherv, the sum for
    reduce_scatter. (The table in its reference says the sum for allgatherv.) None for barrier,
    gatherv, scatterv, alltoallv and alltoallw, from that table.
    """
    if collective in ("barrier", *WITHOUT_SIZE):
        return None
    return size * nranks if collective == "reduce_scatter" else size
