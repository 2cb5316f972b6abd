/* The nonblocking and the persistent collectives: one text for both, in C and in the large-count
 * form. To be included by their files, which define
 *
 * - WITH_INFO, INFO: the parameter and the argument before the request ("MPI_Info info,"), or
 *   nothing;
 * - LOOK_UP(comm): the communicator's state, or NULL;
 * - AT_ONCE(comm, collective, count, datatype, op, in, out): whether the whole call is done with
 *   that, in a short way that only the smallest ones have;
 * - OURS(comm, collective, count, datatype, op): the record to be filled for a call that is ours,
 *   or NULL;
 * - START(assignments, native): the rest of a function, that is assignments to the record o, then
 *   the MPI's own call.
 */
#include "interpose/entry.h"
#include "engine/operation.h"

/* What ranks know alike and both kinds ask; c is set up. With the lock held. */
static inline stretto_operation *stretto_record(stretto_comm *c, stretto_collective collective,
                                                long long count, MPI_Datatype datatype, MPI_Op op) {
    /* a user operation may be freed before the end, and may itself not be interrupted */
    if (stretto_collective_reduces(collective) && !stretto_is_predefined_op(op))
        return NULL;
    const stretto_decision *d = stretto_decision_for(c, collective, count, datatype, op);
    return d ? stretto_operation_new(c, collective, d) : NULL;
}

static inline bool is_root(MPI_Comm comm, int root) {
    const stretto_comm *c = LOOK_UP(comm);
    return c && c->rank == root;
}

#define IALLREDUCE(name, COUNT)                                                                    \
    int MPI_##name(const void *sendbuf, void *recvbuf, COUNT count, MPI_Datatype datatype,         \
                   MPI_Op op, MPI_Comm comm, WITH_INFO MPI_Request *request) {                     \
        if (AT_ONCE(comm, STRETTO_ALLREDUCE, count, datatype, op,                                  \
                    sendbuf == MPI_IN_PLACE ? recvbuf : sendbuf, recvbuf))                         \
            return MPI_SUCCESS;                                                                    \
        stretto_operation *o = OURS(comm, STRETTO_ALLREDUCE, count, datatype, op);                 \
        START((o->in = sendbuf == recvbuf ? MPI_IN_PLACE : sendbuf, o->out = recvbuf),             \
              PMPI_##name(sendbuf, recvbuf, count, datatype, op, comm, INFO request));             \
    }
#define IREDUCE(name, COUNT)                                                                       \
    int MPI_##name(const void *sendbuf, void *recvbuf, COUNT count, MPI_Datatype datatype,         \
                   MPI_Op op, int root, MPI_Comm comm, WITH_INFO MPI_Request *request) {           \
        stretto_operation *o = OURS(comm, STRETTO_REDUCE, count, datatype, op);                    \
        START((o->in = sendbuf, o->out = recvbuf, o->root = root),                                 \
              PMPI_##name(sendbuf, recvbuf, count, datatype, op, root, comm, INFO request));       \
    }
#define IBCAST(name, COUNT)                                                                        \
    int MPI_##name(void *buffer, COUNT count, MPI_Datatype datatype, int root, MPI_Comm comm,      \
                   WITH_INFO MPI_Request *request) {                                               \
        stretto_operation *o = OURS(comm, STRETTO_BCAST, count, datatype, MPI_OP_NULL);            \
        START((o->out = buffer, o->root = root),                                                   \
              PMPI_##name(buffer, count, datatype, root, comm, INFO request));                     \
    }
#define IALLGATHER(name, COUNT, which)                                                             \
    int MPI_##name(const void *sendbuf, COUNT sendcount, MPI_Datatype sendtype, void *recvbuf,     \
                   COUNT recvcount, MPI_Datatype recvtype, MPI_Comm comm,                          \
                   WITH_INFO MPI_Request *request) {                                               \
        stretto_operation *o = OURS(comm, which, recvcount, recvtype, MPI_OP_NULL);                \
        START((o->in = sendbuf, o->count = sendbuf == MPI_IN_PLACE ? 0 : sendcount,                \
               o->type = sendtype, o->out = recvbuf),                                              \
              PMPI_##name(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm,        \
                          INFO request));                                                          \
    }
#define IALLGATHERV(name, COUNT, DISPL, LARGE)                                                     \
    int MPI_##name(const void *sendbuf, COUNT sendcount, MPI_Datatype sendtype, void *recvbuf,     \
                   const COUNT recvcounts[], const DISPL displs[], MPI_Datatype recvtype,          \
                   MPI_Comm comm, WITH_INFO MPI_Request *request) {                                \
        const stretto_ragged receive = {recvcounts, displs, LARGE, recvtype, NULL};                \
        stretto_comm *c = LOOK_UP(comm);                                                           \
        stretto_operation *o =                                                                     \
            c && c->status == STRETTO_COMM_READY                                                   \
                ? OURS(comm, STRETTO_ALLGATHERV, stretto_ragged_total(&receive, c->nranks),        \
                       recvtype, MPI_OP_NULL)                                                      \
                : NULL;                                                                            \
        START((o->in = sendbuf, o->count = sendbuf == MPI_IN_PLACE ? 0 : sendcount,                \
               o->type = sendtype, o->out = recvbuf, o->receive = receive),                        \
              PMPI_##name(sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype,     \
                          comm, INFO request));                                                    \
    }
#define IALLTOALLV(name, COUNT, DISPL, LARGE)                                                      \
    int MPI_##name(const void *sendbuf, const COUNT sendcounts[], const DISPL sdispls[],           \
                   MPI_Datatype sendtype, void *recvbuf, const COUNT recvcounts[],                 \
                   const DISPL rdispls[], MPI_Datatype recvtype, MPI_Comm comm,                    \
                   WITH_INFO MPI_Request *request) {                                               \
        stretto_operation *o = OURS(comm, STRETTO_ALLTOALLV, 0, MPI_DATATYPE_NULL, MPI_OP_NULL);   \
        START((o->in = sendbuf, o->out = recvbuf,                                                  \
               o->send = (stretto_ragged){sendcounts, sdispls, LARGE, sendtype, NULL},             \
               o->receive = (stretto_ragged){recvcounts, rdispls, LARGE, recvtype, NULL}),         \
              PMPI_##name(sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls,    \
                          recvtype, comm, INFO request));                                          \
    }
#define IALLTOALLW(name, COUNT, DISPL, LARGE)                                                      \
    int MPI_##name(const void *sendbuf, const COUNT sendcounts[], const DISPL sdispls[],           \
                   const MPI_Datatype sendtypes[], void *recvbuf, const COUNT recvcounts[],        \
                   const DISPL rdispls[], const MPI_Datatype recvtypes[], MPI_Comm comm,           \
                   WITH_INFO MPI_Request *request) {                                               \
        stretto_operation *o = OURS(comm, STRETTO_ALLTOALLV, 0, MPI_DATATYPE_NULL, MPI_OP_NULL);   \
        START(                                                                                     \
            (o->in = sendbuf, o->out = recvbuf,                                                    \
             o->send = (stretto_ragged){sendcounts, sdispls, LARGE, MPI_DATATYPE_NULL, sendtypes}, \
             o->receive =                                                                          \
                 (stretto_ragged){recvcounts, rdispls, LARGE, MPI_DATATYPE_NULL, recvtypes}),      \
            PMPI_##name(sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts, rdispls,     \
                        recvtypes, comm, INFO request));                                           \
    }
#define IGATHER(name, COUNT)                                                                       \
    int MPI_##name(const void *sendbuf, COUNT sendcount, MPI_Datatype sendtype, void *recvbuf,     \
                   COUNT recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm,                \
                   WITH_INFO MPI_Request *request) {                                               \
        const bool here = is_root(comm, root);                                                     \
        stretto_operation *o = OURS(comm, STRETTO_GATHER, here ? recvcount : sendcount,            \
                                    here ? recvtype : sendtype, MPI_OP_NULL);                      \
        START((o->in = sendbuf, o->count = here && sendbuf == MPI_IN_PLACE ? 0 : sendcount,        \
               o->type = sendtype, o->out = recvbuf, o->root = root),                              \
              PMPI_##name(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root, comm,  \
                          INFO request));                                                          \
    }
#define ISCATTER(name, COUNT)                                                                      \
    int MPI_##name(const void *sendbuf, COUNT sendcount, MPI_Datatype sendtype, void *recvbuf,     \
                   COUNT recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm,                \
                   WITH_INFO MPI_Request *request) {                                               \
        const bool here = is_root(comm, root);                                                     \
        stretto_operation *o = OURS(comm, STRETTO_SCATTER, here ? sendcount : recvcount,           \
                                    here ? sendtype : recvtype, MPI_OP_NULL);                      \
        START((o->in = sendbuf, o->count = here && recvbuf == MPI_IN_PLACE ? 0 : recvcount,        \
               o->type = recvtype, o->out = recvbuf, o->root = root),                              \
              PMPI_##name(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root, comm,  \
                          INFO request));                                                          \
    }
#define IGATHERV(name, COUNT, DISPL, LARGE)                                                        \
    int MPI_##name(const void *sendbuf, COUNT sendcount, MPI_Datatype sendtype, void *recvbuf,     \
                   const COUNT recvcounts[], const DISPL displs[], MPI_Datatype recvtype,          \
                   int root, MPI_Comm comm, WITH_INFO MPI_Request *request) {                      \
        const bool here = is_root(comm, root);                                                     \
        stretto_operation *o = OURS(comm, STRETTO_GATHERV, 0, MPI_DATATYPE_NULL, MPI_OP_NULL);     \
        START((o->in = sendbuf, o->count = here && sendbuf == MPI_IN_PLACE ? 0 : sendcount,        \
               o->type = sendtype, o->out = recvbuf, o->root = root,                               \
               o->receive = here ? (stretto_ragged){recvcounts, displs, LARGE, recvtype, NULL}     \
                                 : o->receive),                                                    \
              PMPI_##name(sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype,     \
                          root, comm, INFO request));                                              \
    }
#define ISCATTERV(name, COUNT, DISPL, LARGE)                                                       \
    int MPI_##name(const void *sendbuf, const COUNT sendcounts[], const DISPL displs[],            \
                   MPI_Datatype sendtype, void *recvbuf, COUNT recvcount, MPI_Datatype recvtype,   \
                   int root, MPI_Comm comm, WITH_INFO MPI_Request *request) {                      \
        const bool here = is_root(comm, root);                                                     \
        stretto_operation *o = OURS(comm, STRETTO_SCATTERV, 0, MPI_DATATYPE_NULL, MPI_OP_NULL);    \
        START((o->in = sendbuf, o->count = here && recvbuf == MPI_IN_PLACE ? 0 : recvcount,        \
               o->type = recvtype, o->out = recvbuf, o->root = root,                               \
               o->send =                                                                           \
                   here ? (stretto_ragged){sendcounts, displs, LARGE, sendtype, NULL} : o->send),  \
              PMPI_##name(sendbuf, sendcounts, displs, sendtype, recvbuf, recvcount, recvtype,     \
                          root, comm, INFO request));                                              \
    }
#define IREDUCE_SCATTER_BLOCK(name, COUNT)                                                         \
    int MPI_##name(const void *sendbuf, void *recvbuf, COUNT recvcount, MPI_Datatype datatype,     \
                   MPI_Op op, MPI_Comm comm, WITH_INFO MPI_Request *request) {                     \
        stretto_operation *o = OURS(comm, STRETTO_REDUCE_SCATTER_BLOCK, recvcount, datatype, op);  \
        START((o->in = sendbuf, o->out = recvbuf),                                                 \
              PMPI_##name(sendbuf, recvbuf, recvcount, datatype, op, comm, INFO request));         \
    }
#define IREDUCE_SCATTER(name, COUNT, LARGE)                                                        \
    int MPI_##name(const void *sendbuf, void *recvbuf, const COUNT recvcounts[],                   \
                   MPI_Datatype datatype, MPI_Op op, MPI_Comm comm,                                \
                   WITH_INFO MPI_Request *request) {                                               \
        const stretto_ragged blocks = {recvcounts, NULL, LARGE, datatype, NULL};                   \
        stretto_comm *c = LOOK_UP(comm);                                                           \
        stretto_operation *o = c && c->status == STRETTO_COMM_READY                                \
                                   ? OURS(comm, STRETTO_REDUCE_SCATTER,                            \
                                          stretto_ragged_total(&blocks, c->nranks), datatype, op)  \
                                   : NULL;                                                         \
        START((o->in = sendbuf, o->out = recvbuf, o->receive = blocks),                            \
              PMPI_##name(sendbuf, recvbuf, recvcounts, datatype, op, comm, INFO request));        \
    }
#define ISCAN(name, COUNT, which)                                                                  \
    int MPI_##name(const void *sendbuf, void *recvbuf, COUNT count, MPI_Datatype datatype,         \
                   MPI_Op op, MPI_Comm comm, WITH_INFO MPI_Request *request) {                     \
        stretto_operation *o = OURS(comm, which, count, datatype, op);                             \
        START((o->in = sendbuf, o->out = recvbuf),                                                 \
              PMPI_##name(sendbuf, recvbuf, count, datatype, op, comm, INFO request));             \
    }
#define IBARRIER(name)                                                                             \
    int MPI_##name(MPI_Comm comm, WITH_INFO MPI_Request *request) {                                \
        if (AT_ONCE(comm, STRETTO_BARRIER, 0, MPI_DATATYPE_NULL, MPI_OP_NULL, NULL, NULL))         \
            return MPI_SUCCESS;                                                                    \
        stretto_operation *o = OURS(comm, STRETTO_BARRIER, 0, MPI_DATATYPE_NULL, MPI_OP_NULL);     \
        START((void)0, PMPI_##name(comm, INFO request));                                           \
    }
/* Sizes are shared by the two ends of an edge only: the key is the communicator alone. */
#define INEIGHBOR(which, blocks, native)                                                           \
    stretto_operation *o = OURS(comm, which, 0, MPI_DATATYPE_NULL, MPI_OP_NULL);                   \
    START((o->in = sendbuf, o->out = recvbuf, blocks), native)
#define EQUAL(type) ((stretto_ragged){NULL, NULL, true, type, NULL})

#define INEIGHBOR_EQUAL(name, COUNT, which)                                                        \
    int MPI_##name(const void *sendbuf, COUNT sendcount, MPI_Datatype sendtype, void *recvbuf,     \
                   COUNT recvcount, MPI_Datatype recvtype, MPI_Comm comm,                          \
                   WITH_INFO MPI_Request *request) {                                               \
        INEIGHBOR(which,                                                                           \
                  (o->send = EQUAL(sendtype), o->each[0] = sendcount,                              \
                   o->receive = EQUAL(recvtype), o->each[1] = recvcount),                          \
                  PMPI_##name(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm,    \
                              INFO request));                                                      \
    }
#define INEIGHBOR_ALLGATHERV(name, COUNT, DISPL, LARGE)                                            \
    int MPI_##name(const void *sendbuf, COUNT sendcount, MPI_Datatype sendtype, void *recvbuf,     \
                   const COUNT recvcounts[], const DISPL displs[], MPI_Datatype recvtype,          \
                   MPI_Comm comm, WITH_INFO MPI_Request *request) {                                \
        INEIGHBOR(STRETTO_NEIGHBOR_ALLGATHERV,                                                     \
                  (o->send = EQUAL(sendtype), o->each[0] = sendcount,                              \
                   o->receive = (stretto_ragged){recvcounts, displs, LARGE, recvtype, NULL}),      \
                  PMPI_##name(sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype, \
                              comm, INFO request));                                                \
    }
#define INEIGHBOR_ALLTOALLV(name, COUNT, DISPL, LARGE)                                             \
    int MPI_##name(const void *sendbuf, const COUNT sendcounts[], const DISPL sdispls[],           \
                   MPI_Datatype sendtype, void *recvbuf, const COUNT recvcounts[],                 \
                   const DISPL rdispls[], MPI_Datatype recvtype, MPI_Comm comm,                    \
                   WITH_INFO MPI_Request *request) {                                               \
        INEIGHBOR(STRETTO_NEIGHBOR_ALLTOALLV,                                                      \
                  (o->send = (stretto_ragged){sendcounts, sdispls, LARGE, sendtype, NULL},         \
                   o->receive = (stretto_ragged){recvcounts, rdispls, LARGE, recvtype, NULL}),     \
                  PMPI_##name(sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts,         \
                              rdispls, recvtype, comm, INFO request));                             \
    }
/* An alltoallv to us. Displacements are bytes, MPI_Aint in both forms. */
#define INEIGHBOR_ALLTOALLW(name, COUNT, LARGE)                                                    \
    int MPI_##name(const void *sendbuf, const COUNT sendcounts[], const MPI_Aint sdispls[],        \
                   const MPI_Datatype sendtypes[], void *recvbuf, const COUNT recvcounts[],        \
                   const MPI_Aint rdispls[], const MPI_Datatype recvtypes[], MPI_Comm comm,        \
                   WITH_INFO MPI_Request *request) {                                               \
        INEIGHBOR(                                                                                 \
            STRETTO_NEIGHBOR_ALLTOALLV,                                                            \
            (o->send = (stretto_ragged){sendcounts, sdispls, LARGE, MPI_DATATYPE_NULL, sendtypes}, \
             o->receive =                                                                          \
                 (stretto_ragged){recvcounts, rdispls, LARGE, MPI_DATATYPE_NULL, recvtypes}),      \
            PMPI_##name(sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts, rdispls,     \
                        recvtypes, comm, INFO request));                                           \
    }

/* All of them but the barrier, which has no large-count form. NAME makes a function's name of a
 * collective's; COUNT, DISPL and LARGE are int, int and false, or MPI_Count, MPI_Aint and true. */
#define FORM(form, ...) form(__VA_ARGS__) /* the name is expanded before it is taken apart */
#define FORMS(NAME, COUNT, DISPL, LARGE)                                                           \
    FORM(IALLREDUCE, NAME(allreduce, Allreduce), COUNT)                                            \
    FORM(IREDUCE, NAME(reduce, Reduce), COUNT)                                                     \
    FORM(IBCAST, NAME(bcast, Bcast), COUNT)                                                        \
    FORM(IALLGATHER, NAME(allgather, Allgather), COUNT, STRETTO_ALLGATHER)                         \
    FORM(IALLGATHER, NAME(alltoall, Alltoall), COUNT, STRETTO_ALLTOALL)                            \
    FORM(IALLGATHERV, NAME(allgatherv, Allgatherv), COUNT, DISPL, LARGE)                           \
    FORM(IALLTOALLV, NAME(alltoallv, Alltoallv), COUNT, DISPL, LARGE)                              \
    FORM(IALLTOALLW, NAME(alltoallw, Alltoallw), COUNT, DISPL, LARGE)                              \
    FORM(IGATHER, NAME(gather, Gather), COUNT)                                                     \
    FORM(ISCATTER, NAME(scatter, Scatter), COUNT)                                                  \
    FORM(IGATHERV, NAME(gatherv, Gatherv), COUNT, DISPL, LARGE)                                    \
    FORM(ISCATTERV, NAME(scatterv, Scatterv), COUNT, DISPL, LARGE)                                 \
    FORM(IREDUCE_SCATTER_BLOCK, NAME(reduce_scatter_block, Reduce_scatter_block), COUNT)           \
    FORM(IREDUCE_SCATTER, NAME(reduce_scatter, Reduce_scatter), COUNT, LARGE)                      \
    FORM(ISCAN, NAME(scan, Scan), COUNT, STRETTO_SCAN)                                             \
    FORM(ISCAN, NAME(exscan, Exscan), COUNT, STRETTO_EXSCAN)                                       \
    FORM(INEIGHBOR_EQUAL, NAME(neighbor_allgather, Neighbor_allgather), COUNT,                     \
         STRETTO_NEIGHBOR_ALLGATHER)                                                               \
    FORM(INEIGHBOR_EQUAL, NAME(neighbor_alltoall, Neighbor_alltoall), COUNT,                       \
         STRETTO_NEIGHBOR_ALLTOALL)                                                                \
    FORM(INEIGHBOR_ALLGATHERV, NAME(neighbor_allgatherv, Neighbor_allgatherv), COUNT, DISPL,       \
         LARGE)                                                                                    \
    FORM(INEIGHBOR_ALLTOALLV, NAME(neighbor_alltoallv, Neighbor_alltoallv), COUNT, DISPL, LARGE)   \
    FORM(INEIGHBOR_ALLTOALLW, NAME(neighbor_alltoallw, Neighbor_alltoallw), COUNT, LARGE)
