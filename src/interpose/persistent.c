/* The persistent collectives, where the MPI has them: decided when they are initialised, which is
 * collective and may wait (MPI-4.1, 6.13), so that a communicator is set up here at once. */
#include "abi/host.h"

/* Open MPI 4 has none of them: a program must not find them here. */
#if !defined(STRETTO_ABI_OPENMPI) || defined(STRETTO_OPENMPI5)
#define WITH_INFO MPI_Info info,
#define INFO info,
#define LOOK_UP(comm) (STRETTO_LIKELY(!stretto_the_world.nonblocking) ? NULL : ready(comm))
#define AT_ONCE(...) false
#define OURS(...) (STRETTO_LIKELY(!stretto_the_world.nonblocking) ? NULL : begin(__VA_ARGS__))
#define START(assignments, native)                                                                 \
    if (o) {                                                                                       \
        assignments;                                                                               \
        if (stretto_operation_init(o, request))                                                    \
            return MPI_SUCCESS;                                                                    \
    }                                                                                              \
    stretto_native_persistent = true;                                                              \
    return STRETTO_NATIVE(native)

static struct stretto_comm *ready(MPI_Comm comm);
#include "interpose/forms.h"

static stretto_comm *ready(MPI_Comm comm) {
    stretto_comm *c = stretto_comm_ready(comm);
    return c && c->status == STRETTO_COMM_READY ? c : NULL;
}

static stretto_operation *begin(MPI_Comm comm, stretto_collective collective, long long count,
                                MPI_Datatype datatype, MPI_Op op) {
    stretto_comm *c = ready(comm);
    if (!c)
        return NULL;
    if (stretto_collective_neighbor(collective) && c->coll[collective].looked_at)
        stretto_comm_graph(c); /* collective: not with the lock */
    stretto_outstanding_lock();
    stretto_operation *o = stretto_record(c, collective, count, datatype, op);
    stretto_outstanding_unlock();
    return o;
}

IALLREDUCE(Allreduce_init, int)
IREDUCE(Reduce_init, int)
IBCAST(Bcast_init, int)
IALLGATHER(Allgather_init, int, STRETTO_ALLGATHER)
IALLGATHER(Alltoall_init, int, STRETTO_ALLTOALL)
IALLGATHERV(Allgatherv_init, int, int, false)
IALLTOALLV(Alltoallv_init, int, int, false)
IALLTOALLW(Alltoallw_init, int, int, false)
IGATHER(Gather_init, int)
ISCATTER(Scatter_init, int)
IGATHERV(Gatherv_init, int, int, false)
ISCATTERV(Scatterv_init, int, int, false)
IREDUCE_SCATTER_BLOCK(Reduce_scatter_block_init, int)
IREDUCE_SCATTER(Reduce_scatter_init, int, false)
ISCAN(Scan_init, int, STRETTO_SCAN)
ISCAN(Exscan_init, int, STRETTO_EXSCAN)
IBARRIER(Barrier_init)
INEIGHBOR_EQUAL(Neighbor_allgather_init, int, STRETTO_NEIGHBOR_ALLGATHER)
INEIGHBOR_EQUAL(Neighbor_alltoall_init, int, STRETTO_NEIGHBOR_ALLTOALL)
INEIGHBOR_ALLGATHERV(Neighbor_allgatherv_init, int, int, false)
INEIGHBOR_ALLTOALLV(Neighbor_alltoallv_init, int, int, false)
INEIGHBOR_ALLTOALLW(Neighbor_alltoallw_init, int, false)
#ifndef STRETTO_ABI_OPENMPI /* as in collectives.c */
IALLREDUCE(Allreduce_init_c, MPI_Count)
IREDUCE(Reduce_init_c, MPI_Count)
IBCAST(Bcast_init_c, MPI_Count)
IALLGATHER(Allgather_init_c, MPI_Count, STRETTO_ALLGATHER)
IALLGATHER(Alltoall_init_c, MPI_Count, STRETTO_ALLTOALL)
IALLGATHERV(Allgatherv_init_c, MPI_Count, MPI_Aint, true)
IALLTOALLV(Alltoallv_init_c, MPI_Count, MPI_Aint, true)
IALLTOALLW(Alltoallw_init_c, MPI_Count, MPI_Aint, true)
IGATHER(Gather_init_c, MPI_Count)
ISCATTER(Scatter_init_c, MPI_Count)
IGATHERV(Gatherv_init_c, MPI_Count, MPI_Aint, true)
ISCATTERV(Scatterv_init_c, MPI_Count, MPI_Aint, true)
IREDUCE_SCATTER_BLOCK(Reduce_scatter_block_init_c, MPI_Count)
IREDUCE_SCATTER(Reduce_scatter_init_c, MPI_Count, true)
ISCAN(Scan_init_c, MPI_Count, STRETTO_SCAN)
ISCAN(Exscan_init_c, MPI_Count, STRETTO_EXSCAN)
INEIGHBOR_EQUAL(Neighbor_allgather_init_c, MPI_Count, STRETTO_NEIGHBOR_ALLGATHER)
INEIGHBOR_EQUAL(Neighbor_alltoall_init_c, MPI_Count, STRETTO_NEIGHBOR_ALLTOALL)
INEIGHBOR_ALLGATHERV(Neighbor_allgatherv_init_c, MPI_Count, MPI_Aint, true)
INEIGHBOR_ALLTOALLV(Neighbor_alltoallv_init_c, MPI_Count, MPI_Aint, true)
INEIGHBOR_ALLTOALLW(Neighbor_alltoallw_init_c, MPI_Count, true)
#endif
#endif
