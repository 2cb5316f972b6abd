/* The nonblocking collectives, in C and in the large-count form: decided like the blocking ones, by
 * the same rows, on communicators that are set up already; anything else is the MPI's. */
#include "pmpi/entry.h"
#include "run/operation.h"

/* The record to be filled for a call that is ours, with the lock that start gives back; or NULL. */
static stretto_operation *begin(MPI_Comm comm, stretto_collective collective, long long count,
                                MPI_Datatype datatype, MPI_Op op) {
    stretto_comm *c = stretto_comm_find(comm);
    if (!c || c->status != STRETTO_COMM_READY)
        return NULL;
    /* a user operation may be freed before the end, and may itself not be interrupted */
    if (stretto_collective_reduces(collective) && !stretto_is_predefined_op(op))
        return NULL;
    stretto_outstanding_lock();
    const stretto_decision *d = stretto_decision_for(c, collective, count, datatype, op);
    stretto_operation *o = d ? stretto_operation_new(c, collective, d) : NULL;
    if (!o)
        stretto_outstanding_unlock();
    return o;
}

#define OURS(...) (STRETTO_LIKELY(!stretto_the_world.nonblocking) ? NULL : begin(__VA_ARGS__))

/* The rest of a function: assignments to the record o, then the MPI's own call. */
#define START(assignments, native)                                                                 \
    if (o) {                                                                                       \
        assignments;                                                                               \
        if (stretto_operation_start(o, request))                                                   \
            return MPI_SUCCESS;                                                                    \
    }                                                                                              \
    return native

static inline bool is_root(MPI_Comm comm, int root) {
    const stretto_comm *c = stretto_the_world.nonblocking ? stretto_comm_find(comm) : NULL;
    return c && c->rank == root;
}

#define IALLREDUCE(name, COUNT)                                                                    \
    int MPI_##name(const void *sendbuf, void *recvbuf, COUNT count, MPI_Datatype datatype,         \
                   MPI_Op op, MPI_Comm comm, MPI_Request *request) {                               \
        stretto_operation *o = OURS(comm, STRETTO_ALLREDUCE, count, datatype, op);                 \
        START((o->in = sendbuf == recvbuf ? MPI_IN_PLACE : sendbuf, o->out = recvbuf),             \
              PMPI_##name(sendbuf, recvbuf, count, datatype, op, comm, request));                  \
    }
#define IREDUCE(name, COUNT)                                                                       \
    int MPI_##name(const void *sendbuf, void *recvbuf, COUNT count, MPI_Datatype datatype,         \
                   MPI_Op op, int root, MPI_Comm comm, MPI_Request *request) {                     \
        stretto_operation *o = OURS(comm, STRETTO_REDUCE, count, datatype, op);                    \
        START((o->in = sendbuf, o->out = recvbuf, o->root = root),                                 \
              PMPI_##name(sendbuf, recvbuf, count, datatype, op, root, comm, request));            \
    }
#define IBCAST(name, COUNT)                                                                        \
    int MPI_##name(void *buffer, COUNT count, MPI_Datatype datatype, int root, MPI_Comm comm,      \
                   MPI_Request *request) {                                                         \
        stretto_operation *o = OURS(comm, STRETTO_BCAST, count, datatype, MPI_OP_NULL);            \
        START((o->out = buffer, o->root = root),                                                   \
              PMPI_##name(buffer, count, datatype, root, comm, request));                          \
    }
#define IALLGATHER(name, COUNT, which)                                                             \
    int MPI_##name(const void *sendbuf, COUNT sendcount, MPI_Datatype sendtype, void *recvbuf,     \
                   COUNT recvcount, MPI_Datatype recvtype, MPI_Comm comm, MPI_Request *request) {  \
        stretto_operation *o = OURS(comm, which, recvcount, recvtype, MPI_OP_NULL);                \
        START((o->in = sendbuf, o->count = sendbuf == MPI_IN_PLACE ? 0 : sendcount,                \
               o->type = sendtype, o->out = recvbuf),                                              \
              PMPI_##name(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm,        \
                          request));                                                               \
    }
#define IALLGATHERV(name, COUNT, DISPL, LARGE)                                                     \
    int MPI_##name(const void *sendbuf, COUNT sendcount, MPI_Datatype sendtype, void *recvbuf,     \
                   const COUNT recvcounts[], const DISPL displs[], MPI_Datatype recvtype,          \
                   MPI_Comm comm, MPI_Request *request) {                                          \
        const stretto_ragged receive = {recvcounts, displs, LARGE, recvtype, NULL};                \
        stretto_comm *c = stretto_the_world.nonblocking ? stretto_comm_find(comm) : NULL;          \
        stretto_operation *o =                                                                     \
            c && c->status == STRETTO_COMM_READY                                                   \
                ? OURS(comm, STRETTO_ALLGATHERV, stretto_ragged_total(&receive, c->nranks),        \
                       recvtype, MPI_OP_NULL)                                                      \
                : NULL;                                                                            \
        START((o->in = sendbuf, o->count = sendbuf == MPI_IN_PLACE ? 0 : sendcount,                \
               o->type = sendtype, o->out = recvbuf, o->receive = receive),                        \
              PMPI_##name(sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype,     \
                          comm, request));                                                         \
    }
#define IALLTOALLV(name, COUNT, DISPL, LARGE)                                                      \
    int MPI_##name(const void *sendbuf, const COUNT sendcounts[], const DISPL sdispls[],           \
                   MPI_Datatype sendtype, void *recvbuf, const COUNT recvcounts[],                 \
                   const DISPL rdispls[], MPI_Datatype recvtype, MPI_Comm comm,                    \
                   MPI_Request *request) {                                                         \
        stretto_operation *o = OURS(comm, STRETTO_ALLTOALLV, 0, MPI_DATATYPE_NULL, MPI_OP_NULL);   \
        START((o->in = sendbuf, o->out = recvbuf,                                                  \
               o->send = (stretto_ragged){sendcounts, sdispls, LARGE, sendtype, NULL},             \
               o->receive = (stretto_ragged){recvcounts, rdispls, LARGE, recvtype, NULL}),         \
              PMPI_##name(sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls,    \
                          recvtype, comm, request));                                               \
    }
#define IALLTOALLW(name, COUNT, DISPL, LARGE)                                                      \
    int MPI_##name(const void *sendbuf, const COUNT sendcounts[], const DISPL sdispls[],           \
                   const MPI_Datatype sendtypes[], void *recvbuf, const COUNT recvcounts[],        \
                   const DISPL rdispls[], const MPI_Datatype recvtypes[], MPI_Comm comm,           \
                   MPI_Request *request) {                                                         \
        stretto_operation *o = OURS(comm, STRETTO_ALLTOALLV, 0, MPI_DATATYPE_NULL, MPI_OP_NULL);   \
        START(                                                                                     \
            (o->in = sendbuf, o->out = recvbuf,                                                    \
             o->send = (stretto_ragged){sendcounts, sdispls, LARGE, MPI_DATATYPE_NULL, sendtypes}, \
             o->receive =                                                                          \
                 (stretto_ragged){recvcounts, rdispls, LARGE, MPI_DATATYPE_NULL, recvtypes}),      \
            PMPI_##name(sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts, rdispls,     \
                        recvtypes, comm, request));                                                \
    }
#define IGATHER(name, COUNT)                                                                       \
    int MPI_##name(const void *sendbuf, COUNT sendcount, MPI_Datatype sendtype, void *recvbuf,     \
                   COUNT recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm,                \
                   MPI_Request *request) {                                                         \
        const bool here = is_root(comm, root);                                                     \
        stretto_operation *o = OURS(comm, STRETTO_GATHER, here ? recvcount : sendcount,            \
                                    here ? recvtype : sendtype, MPI_OP_NULL);                      \
        START((o->in = sendbuf, o->count = here && sendbuf == MPI_IN_PLACE ? 0 : sendcount,        \
               o->type = sendtype, o->out = recvbuf, o->root = root),                              \
              PMPI_##name(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root, comm,  \
                          request));                                                               \
    }
#define ISCATTER(name, COUNT)                                                                      \
    int MPI_##name(const void *sendbuf, COUNT sendcount, MPI_Datatype sendtype, void *recvbuf,     \
                   COUNT recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm,                \
                   MPI_Request *request) {                                                         \
        const bool here = is_root(comm, root);                                                     \
        stretto_operation *o = OURS(comm, STRETTO_SCATTER, here ? sendcount : recvcount,           \
                                    here ? sendtype : recvtype, MPI_OP_NULL);                      \
        START((o->in = sendbuf, o->count = here && recvbuf == MPI_IN_PLACE ? 0 : recvcount,        \
               o->type = recvtype, o->out = recvbuf, o->root = root),                              \
              PMPI_##name(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root, comm,  \
                          request));                                                               \
    }
#define IGATHERV(name, COUNT, DISPL, LARGE)                                                        \
    int MPI_##name(const void *sendbuf, COUNT sendcount, MPI_Datatype sendtype, void *recvbuf,     \
                   const COUNT recvcounts[], const DISPL displs[], MPI_Datatype recvtype,          \
                   int root, MPI_Comm comm, MPI_Request *request) {                                \
        const bool here = is_root(comm, root);                                                     \
        stretto_operation *o = OURS(comm, STRETTO_GATHERV, 0, MPI_DATATYPE_NULL, MPI_OP_NULL);     \
        START((o->in = sendbuf, o->count = here && sendbuf == MPI_IN_PLACE ? 0 : sendcount,        \
               o->type = sendtype, o->out = recvbuf, o->root = root,                               \
               o->receive = here ? (stretto_ragged){recvcounts, displs, LARGE, recvtype, NULL}     \
                                 : o->receive),                                                    \
              PMPI_##name(sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype,     \
                          root, comm, request));                                                   \
    }
#define ISCATTERV(name, COUNT, DISPL, LARGE)                                                       \
    int MPI_##name(const void *sendbuf, const COUNT sendcounts[], const DISPL displs[],            \
                   MPI_Datatype sendtype, void *recvbuf, COUNT recvcount, MPI_Datatype recvtype,   \
                   int root, MPI_Comm comm, MPI_Request *request) {                                \
        const bool here = is_root(comm, root);                                                     \
        stretto_operation *o = OURS(comm, STRETTO_SCATTERV, 0, MPI_DATATYPE_NULL, MPI_OP_NULL);    \
        START((o->in = sendbuf, o->count = here && recvbuf == MPI_IN_PLACE ? 0 : recvcount,        \
               o->type = recvtype, o->out = recvbuf, o->root = root,                               \
               o->send =                                                                           \
                   here ? (stretto_ragged){sendcounts, displs, LARGE, sendtype, NULL} : o->send),  \
              PMPI_##name(sendbuf, sendcounts, displs, sendtype, recvbuf, recvcount, recvtype,     \
                          root, comm, request));                                                   \
    }
#define IREDUCE_SCATTER_BLOCK(name, COUNT)                                                         \
    int MPI_##name(const void *sendbuf, void *recvbuf, COUNT recvcount, MPI_Datatype datatype,     \
                   MPI_Op op, MPI_Comm comm, MPI_Request *request) {                               \
        stretto_operation *o = OURS(comm, STRETTO_REDUCE_SCATTER_BLOCK, recvcount, datatype, op);  \
        START((o->in = sendbuf, o->out = recvbuf),                                                 \
              PMPI_##name(sendbuf, recvbuf, recvcount, datatype, op, comm, request));              \
    }
#define IREDUCE_SCATTER(name, COUNT, LARGE)                                                        \
    int MPI_##name(const void *sendbuf, void *recvbuf, const COUNT recvcounts[],                   \
                   MPI_Datatype datatype, MPI_Op op, MPI_Comm comm, MPI_Request *request) {        \
        const stretto_ragged blocks = {recvcounts, NULL, LARGE, datatype, NULL};                   \
        stretto_comm *c = stretto_the_world.nonblocking ? stretto_comm_find(comm) : NULL;          \
        stretto_operation *o = c && c->status == STRETTO_COMM_READY                                \
                                   ? OURS(comm, STRETTO_REDUCE_SCATTER,                            \
                                          stretto_ragged_total(&blocks, c->nranks), datatype, op)  \
                                   : NULL;                                                         \
        START((o->in = sendbuf, o->out = recvbuf, o->receive = blocks),                            \
              PMPI_##name(sendbuf, recvbuf, recvcounts, datatype, op, comm, request));             \
    }
#define ISCAN(name, COUNT, which)                                                                  \
    int MPI_##name(const void *sendbuf, void *recvbuf, COUNT count, MPI_Datatype datatype,         \
                   MPI_Op op, MPI_Comm comm, MPI_Request *request) {                               \
        stretto_operation *o = OURS(comm, which, count, datatype, op);                             \
        START((o->in = sendbuf, o->out = recvbuf),                                                 \
              PMPI_##name(sendbuf, recvbuf, count, datatype, op, comm, request));                  \
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
#endif

int MPI_Ibarrier(MPI_Comm comm, MPI_Request *request) {
    stretto_operation *o = OURS(comm, STRETTO_BARRIER, 0, MPI_DATATYPE_NULL, MPI_OP_NULL);
    START((void)0, PMPI_Ibarrier(comm, request));
}
