/* allreduce, reduce, bcast, allgather(v), barrier, in C and in the large-count form. */
#include "interpose/entry.h"

/* In the macros: COUNT is int or MPI_Count, and the last lines are the MPI's own function. */
#define ALLREDUCE(name, COUNT)                                                                     \
    int MPI_##name(const void *sendbuf, void *recvbuf, COUNT count, MPI_Datatype datatype,         \
                   MPI_Op op, MPI_Comm comm) {                                                     \
        stretto_comm *c = STRETTO_OURS(comm, "MPI_" #name, STRETTO_ALLREDUCE, -1, count, datatype, \
                                       op, .in = sendbuf, .out = recvbuf);                         \
        if (c) {                                                                                   \
            const stretto_decision *d =                                                            \
                stretto_decision_for(c, STRETTO_ALLREDUCE, count, datatype, op);                   \
            const void *in =                                                                       \
                sendbuf == recvbuf ? MPI_IN_PLACE : sendbuf; /* one rank's own mistake */          \
            STRETTO_TRY(c, d, stretto_call_allreduce(c, d, in, recvbuf));                          \
        }                                                                                          \
        return stretto_through(                                                                    \
            comm, c, STRETTO_NATIVE(PMPI_##name(sendbuf, recvbuf, count, datatype, op, comm)));    \
    }

#define REDUCE(name, COUNT)                                                                        \
    int MPI_##name(const void *sendbuf, void *recvbuf, COUNT count, MPI_Datatype datatype,         \
                   MPI_Op op, int root, MPI_Comm comm) {                                           \
        stretto_comm *c = STRETTO_OURS(comm, "MPI_" #name, STRETTO_REDUCE, root, count, datatype,  \
                                       op, .in = sendbuf, .out = recvbuf);                         \
        if (c && stretto_is_root_of(c, root)) {                                                    \
            const stretto_decision *d =                                                            \
                stretto_decision_for(c, STRETTO_REDUCE, count, datatype, op);                      \
            STRETTO_TRY(c, d, stretto_call_reduce(c, d, sendbuf, recvbuf, root));                  \
        }                                                                                          \
        return stretto_through(                                                                    \
            comm, c,                                                                               \
            STRETTO_NATIVE(PMPI_##name(sendbuf, recvbuf, count, datatype, op, root, comm)));       \
    }

#define BCAST(name, COUNT)                                                                         \
    int MPI_##name(void *buffer, COUNT count, MPI_Datatype datatype, int root, MPI_Comm comm) {    \
        stretto_comm *c =                                                                          \
            STRETTO_OURS(comm, "MPI_" #name, STRETTO_BCAST, root, count, datatype, MPI_OP_NULL);   \
        if (c && stretto_is_root_of(c, root)) {                                                    \
            const stretto_decision *d =                                                            \
                stretto_decision_for(c, STRETTO_BCAST, count, datatype, MPI_OP_NULL);              \
            STRETTO_TRY(c, d, stretto_call_bcast(c, d, buffer, root));                             \
        }                                                                                          \
        return stretto_through(comm, c,                                                            \
                               STRETTO_NATIVE(PMPI_##name(buffer, count, datatype, root, comm)));  \
    }

#define ALLGATHER(name, COUNT)                                                                     \
    int MPI_##name(const void *sendbuf, COUNT sendcount, MPI_Datatype sendtype, void *recvbuf,     \
                   COUNT recvcount, MPI_Datatype recvtype, MPI_Comm comm) {                        \
        stretto_comm *c = STRETTO_OURS(comm, "MPI_" #name, STRETTO_ALLGATHER, -1, recvcount,       \
                                       recvtype, MPI_OP_NULL, .mine = {sendcount, sendtype},       \
                                       .in = sendbuf, .out = recvbuf);                             \
        if (c) {                                                                                   \
            const stretto_decision *d =                                                            \
                stretto_decision_for(c, STRETTO_ALLGATHER, recvcount, recvtype, MPI_OP_NULL);      \
            STRETTO_TRY(c, d,                                                                      \
                        stretto_call_allgather(c, d, sendbuf, sendcount, sendtype, recvbuf));      \
        }                                                                                          \
        return stretto_through(comm, c,                                                            \
                               STRETTO_NATIVE(PMPI_##name(sendbuf, sendcount, sendtype, recvbuf,   \
                                                          recvcount, recvtype, comm)));            \
    }

#define ALLGATHERV(name, COUNT, DISPL, LARGE)                                                      \
    int MPI_##name(const void *sendbuf, COUNT sendcount, MPI_Datatype sendtype, void *recvbuf,     \
                   const COUNT recvcounts[], const DISPL displs[], MPI_Datatype recvtype,          \
                   MPI_Comm comm) {                                                                \
        const stretto_ragged receive = {recvcounts, displs, LARGE, recvtype, NULL};                \
        stretto_comm *c = STRETTO_OURS(                                                            \
            comm, "MPI_" #name, STRETTO_ALLGATHERV, -1, 0, MPI_DATATYPE_NULL, MPI_OP_NULL,         \
            .everywhere = &receive, .mine = {sendcount, sendtype}, .in = sendbuf, .out = recvbuf); \
        if (c && !stretto_passes(c, STRETTO_ALLGATHERV)) {                                         \
            const stretto_decision *d = stretto_decision_for(                                      \
                c, STRETTO_ALLGATHERV, stretto_total_of(c, &receive), recvtype, MPI_OP_NULL);      \
            STRETTO_TRY(                                                                           \
                c, d,                                                                              \
                stretto_call_allgatherv(c, d, sendbuf, sendcount, sendtype, recvbuf, &receive));   \
        }                                                                                          \
        return stretto_through(comm, c,                                                            \
                               STRETTO_NATIVE(PMPI_##name(sendbuf, sendcount, sendtype, recvbuf,   \
                                                          recvcounts, displs, recvtype, comm)));   \
    }

ALLREDUCE(Allreduce, int)
REDUCE(Reduce, int)
BCAST(Bcast, int)
ALLGATHER(Allgather, int)
ALLGATHERV(Allgatherv, int, int, false)
/* Open MPI 4 and 5 have no large-count forms: a program must not find them here. */
#ifndef STRETTO_ABI_OPENMPI
ALLREDUCE(Allreduce_c, MPI_Count)
REDUCE(Reduce_c, MPI_Count)
BCAST(Bcast_c, MPI_Count)
ALLGATHER(Allgather_c, MPI_Count)
ALLGATHERV(Allgatherv_c, MPI_Count, MPI_Aint, true)
#endif

int MPI_Barrier(MPI_Comm comm) {
    stretto_comm *c =
        STRETTO_OURS(comm, "MPI_Barrier", STRETTO_BARRIER, -1, 0, MPI_DATATYPE_NULL, MPI_OP_NULL);
    if (c) {
        const stretto_decision *d =
            stretto_decision_for(c, STRETTO_BARRIER, 0, MPI_DATATYPE_NULL, MPI_OP_NULL);
        STRETTO_TRY(c, d, stretto_call_barrier(c, d));
    }
    return stretto_through(comm, c, STRETTO_NATIVE(PMPI_Barrier(comm)));
}
