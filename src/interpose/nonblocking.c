/* The nonblocking collectives: decided like the blocking ones, by the same rows, on communicators
 * that are set up already; anything else is the MPI's. */
#define WITH_INFO
#define INFO
#define LOOK_UP(comm) (stretto_the_world.nonblocking ? stretto_comm_find(comm) : NULL)
#define AT_ONCE(...)                                                                               \
    (STRETTO_LIKELY(!stretto_the_world.nonblocking) ? false : at_once(__VA_ARGS__, request))
#define OURS(...) (STRETTO_LIKELY(!stretto_the_world.nonblocking) ? NULL : begin(__VA_ARGS__))
#define START(assignments, native)                                                                 \
    if (o) {                                                                                       \
        assignments;                                                                               \
        if (stretto_operation_start(o, request))                                                   \
            return MPI_SUCCESS;                                                                    \
    }                                                                                              \
    return native
#include "interpose/forms.h"

/* A call like the last one of its kind; whatever is not is looked at by begin. */
static inline bool at_once(MPI_Comm comm, stretto_collective collective, long long count,
                           MPI_Datatype datatype, MPI_Op op, const void *in, void *out,
                           MPI_Request *request) {
    stretto_comm *c = stretto_comm_find(comm);
    if (!c || c->status != STRETTO_COMM_READY)
        return false;
    stretto_outstanding_lock();
    stretto_comm_calls *calls = &c->coll[collective];
    const stretto_decision *d = calls->last;
    const bool ours = d->count == count && d->datatype == datatype && d->op == op &&
                      stretto_operation_at_once(c, collective, d, in, out, request);
    calls->ours += ours;
    stretto_outstanding_unlock();
    return ours;
}

/* With the lock, which start gives back. */
static stretto_operation *begin(MPI_Comm comm, stretto_collective collective, long long count,
                                MPI_Datatype datatype, MPI_Op op) {
    stretto_comm *c = stretto_comm_find(comm);
    if (!c || c->status != STRETTO_COMM_READY)
        return NULL;
    /* the graph of neighbours is gathered where ranks may wait for each other */
    if (stretto_collective_neighbor(collective) && !c->graph_asked)
        return NULL;
    stretto_outstanding_lock();
    stretto_operation *o = stretto_record(c, collective, count, datatype, op);
    if (!o)
        stretto_outstanding_unlock();
    return o;
}

IALLREDUCE(Iallreduce, int)
IREDUCE(Ireduce, int)
IBCAST(Ibcast, int)
IALLGATHER(Iallgather, int, STRETTO_ALLGATHER)
IALLGATHER(Ialltoall, int, STRETTO_ALLTOALL)
IALLGATHERV(Iallgatherv, int, int, false)
IALLTOALLV(Ialltoallv, int, int, false)
IALLTOALLW(Ialltoallw, int, int, false)
IGATHER(Igather, int)
ISCATTER(Iscatter, int)
IGATHERV(Igatherv, int, int, false)
ISCATTERV(Iscatterv, int, int, false)
IREDUCE_SCATTER_BLOCK(Ireduce_scatter_block, int)
IREDUCE_SCATTER(Ireduce_scatter, int, false)
ISCAN(Iscan, int, STRETTO_SCAN)
ISCAN(Iexscan, int, STRETTO_EXSCAN)
IBARRIER(Ibarrier)
INEIGHBOR_EQUAL(Ineighbor_allgather, int, STRETTO_NEIGHBOR_ALLGATHER)
INEIGHBOR_EQUAL(Ineighbor_alltoall, int, STRETTO_NEIGHBOR_ALLTOALL)
INEIGHBOR_ALLGATHERV(Ineighbor_allgatherv, int, int, false)
INEIGHBOR_ALLTOALLV(Ineighbor_alltoallv, int, int, false)
INEIGHBOR_ALLTOALLW(Ineighbor_alltoallw, int, false)
#ifndef STRETTO_ABI_OPENMPI /* as in collectives.c */
IALLREDUCE(Iallreduce_c, MPI_Count)
IREDUCE(Ireduce_c, MPI_Count)
IBCAST(Ibcast_c, MPI_Count)
IALLGATHER(Iallgather_c, MPI_Count, STRETTO_ALLGATHER)
IALLGATHER(Ialltoall_c, MPI_Count, STRETTO_ALLTOALL)
IALLGATHERV(Iallgatherv_c, MPI_Count, MPI_Aint, true)
IALLTOALLV(Ialltoallv_c, MPI_Count, MPI_Aint, true)
IALLTOALLW(Ialltoallw_c, MPI_Count, MPI_Aint, true)
IGATHER(Igather_c, MPI_Count)
ISCATTER(Iscatter_c, MPI_Count)
IGATHERV(Igatherv_c, MPI_Count, MPI_Aint, true)
ISCATTERV(Iscatterv_c, MPI_Count, MPI_Aint, true)
IREDUCE_SCATTER_BLOCK(Ireduce_scatter_block_c, MPI_Count)
IREDUCE_SCATTER(Ireduce_scatter_c, MPI_Count, true)
ISCAN(Iscan_c, MPI_Count, STRETTO_SCAN)
ISCAN(Iexscan_c, MPI_Count, STRETTO_EXSCAN)
INEIGHBOR_EQUAL(Ineighbor_allgather_c, MPI_Count, STRETTO_NEIGHBOR_ALLGATHER)
INEIGHBOR_EQUAL(Ineighbor_alltoall_c, MPI_Count, STRETTO_NEIGHBOR_ALLTOALL)
INEIGHBOR_ALLGATHERV(Ineighbor_allgatherv_c, MPI_Count, MPI_Aint, true)
INEIGHBOR_ALLTOALLV(Ineighbor_alltoallv_c, MPI_Count, MPI_Aint, true)
INEIGHBOR_ALLTOALLW(Ineighbor_alltoallw_c, MPI_Count, true)
#endif
