/* gather, gatherv, scatter, scatterv, in C and in the large-count form.
 *
 * Arguments of the other side are significant on the root only; what a rank may look at is its own.
 */
#include "interpose/entry.h"

#define GATHER(name, COUNT)                                                                        \
    int MPI_##name(const void *sendbuf, COUNT sendcount, MPI_Datatype sendtype, void *recvbuf,     \
                   COUNT recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm) {              \
        stretto_comm *c =                                                                          \
            STRETTO_OURS(comm, "MPI_" #name, STRETTO_GATHER, root, 0, MPI_DATATYPE_NULL,           \
                         MPI_OP_NULL, .mine = {sendcount, sendtype},                               \
                         .roots = {recvcount, recvtype}, .in = sendbuf, .out = recvbuf);           \
        if (c && stretto_is_root_of(c, root)) {                                                    \
            bool is_root = c->rank == root;                                                        \
            const stretto_decision *d =                                                            \
                stretto_decision_for(c, STRETTO_GATHER, is_root ? recvcount : sendcount,           \
                                     is_root ? recvtype : sendtype, MPI_OP_NULL);                  \
            STRETTO_TRY(c, d,                                                                      \
                        stretto_call_gather(c, d, sendbuf, sendcount, sendtype, recvbuf, root));   \
        }                                                                                          \
        return stretto_through(comm, c,                                                            \
                               STRETTO_NATIVE(PMPI_##name(sendbuf, sendcount, sendtype, recvbuf,   \
                                                          recvcount, recvtype, root, comm)));      \
    }

#define SCATTER(name, COUNT)                                                                       \
    int MPI_##name(const void *sendbuf, COUNT sendcount, MPI_Datatype sendtype, void *recvbuf,     \
                   COUNT recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm) {              \
        stretto_comm *c =                                                                          \
            STRETTO_OURS(comm, "MPI_" #name, STRETTO_SCATTER, root, 0, MPI_DATATYPE_NULL,          \
                         MPI_OP_NULL, .mine = {recvcount, recvtype},                               \
                         .roots = {sendcount, sendtype}, .in = sendbuf, .out = recvbuf);           \
        if (c && stretto_is_root_of(c, root)) {                                                    \
            bool is_root = c->rank == root;                                                        \
            const stretto_decision *d =                                                            \
                stretto_decision_for(c, STRETTO_SCATTER, is_root ? sendcount : recvcount,          \
                                     is_root ? sendtype : recvtype, MPI_OP_NULL);                  \
            STRETTO_TRY(c, d,                                                                      \
                        stretto_call_scatter(c, d, sendbuf, recvbuf, recvcount, recvtype, root));  \
        }                                                                                          \
        return stretto_through(comm, c,                                                            \
                               STRETTO_NATIVE(PMPI_##name(sendbuf, sendcount, sendtype, recvbuf,   \
                                                          recvcount, recvtype, root, comm)));      \
    }

#define GATHERV(name, COUNT, DISPL, LARGE)                                                         \
    int MPI_##name(const void *sendbuf, COUNT sendcount, MPI_Datatype sendtype, void *recvbuf,     \
                   const COUNT recvcounts[], const DISPL displs[], MPI_Datatype recvtype,          \
                   int root, MPI_Comm comm) {                                                      \
        const stretto_ragged receive = {recvcounts, displs, LARGE, recvtype, NULL};                \
        stretto_comm *c =                                                                          \
            STRETTO_OURS(comm, "MPI_" #name, STRETTO_GATHERV, root, 0, MPI_DATATYPE_NULL,          \
                         MPI_OP_NULL, .mine = {sendcount, sendtype}, .receive = &receive,          \
                         .in_place = sendbuf == MPI_IN_PLACE, .in = sendbuf, .out = recvbuf);      \
        if (c && stretto_is_root_of(c, root)) {                                                    \
            const stretto_decision *d =                                                            \
                stretto_decision_for(c, STRETTO_GATHERV, 0, MPI_DATATYPE_NULL, MPI_OP_NULL);       \
            STRETTO_TRY(c, d,                                                                      \
                        stretto_call_gatherv(c, d, sendbuf, sendcount, sendtype, recvbuf,          \
                                             &receive, root));                                     \
        }                                                                                          \
        return stretto_through(                                                                    \
            comm, c,                                                                               \
            STRETTO_NATIVE(PMPI_##name(sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs,  \
                                       recvtype, root, comm)));                                    \
    }

#define SCATTERV(name, COUNT, DISPL, LARGE)                                                        \
    int MPI_##name(const void *sendbuf, const COUNT sendcounts[], const DISPL displs[],            \
                   MPI_Datatype sendtype, void *recvbuf, COUNT recvcount, MPI_Datatype recvtype,   \
                   int root, MPI_Comm comm) {                                                      \
        const stretto_ragged send = {sendcounts, displs, LARGE, sendtype, NULL};                   \
        stretto_comm *c =                                                                          \
            STRETTO_OURS(comm, "MPI_" #name, STRETTO_SCATTERV, root, 0, MPI_DATATYPE_NULL,         \
                         MPI_OP_NULL, .mine = {recvcount, recvtype}, .send = &send,                \
                         .in_place = recvbuf == MPI_IN_PLACE, .in = sendbuf, .out = recvbuf);      \
        if (c && stretto_is_root_of(c, root)) {                                                    \
            const stretto_decision *d =                                                            \
                stretto_decision_for(c, STRETTO_SCATTERV, 0, MPI_DATATYPE_NULL, MPI_OP_NULL);      \
            STRETTO_TRY(                                                                           \
                c, d,                                                                              \
                stretto_call_scatterv(c, d, sendbuf, &send, recvbuf, recvcount, recvtype, root));  \
        }                                                                                          \
        return stretto_through(                                                                    \
            comm, c,                                                                               \
            STRETTO_NATIVE(PMPI_##name(sendbuf, sendcounts, displs, sendtype, recvbuf, recvcount,  \
                                       recvtype, root, comm)));                                    \
    }

GATHER(Gather, int)
SCATTER(Scatter, int)
GATHERV(Gatherv, int, int, false)
SCATTERV(Scatterv, int, int, false)
#ifndef STRETTO_ABI_OPENMPI /* as in collectives.c */
GATHER(Gather_c, MPI_Count)
SCATTER(Scatter_c, MPI_Count)
GATHERV(Gatherv_c, MPI_Count, MPI_Aint, true)
SCATTERV(Scatterv_c, MPI_Count, MPI_Aint, true)
#endif
