/* alltoall, alltoallv, alltoallw, in C and in the large-count form. */
#include "interpose/entry.h"

#define ALLTOALL(name, COUNT)                                                                      \
    int MPI_##name(const void *sendbuf, COUNT sendcount, MPI_Datatype sendtype, void *recvbuf,     \
                   COUNT recvcount, MPI_Datatype recvtype, MPI_Comm comm) {                        \
        stretto_comm *c = STRETTO_OURS(comm, "MPI_" #name, STRETTO_ALLTOALL, -1, recvcount,        \
                                       recvtype, MPI_OP_NULL, .mine = {sendcount, sendtype},       \
                                       .in = sendbuf, .out = recvbuf);                             \
        if (c) {                                                                                   \
            const stretto_decision *d =                                                            \
                stretto_decision_for(c, STRETTO_ALLTOALL, recvcount, recvtype, MPI_OP_NULL);       \
            STRETTO_TRY(c, d, stretto_call_alltoall(c, d, sendbuf, sendcount, sendtype, recvbuf)); \
        }                                                                                          \
        return stretto_through(comm, c,                                                            \
                               STRETTO_NATIVE(PMPI_##name(sendbuf, sendcount, sendtype, recvbuf,   \
                                                          recvcount, recvtype, comm)));            \
    }

/* Both are alltoallv to us; the key is the communicator alone. */
#define EXCHANGE(name, send, receive, ...)                                                         \
    do {                                                                                           \
        stretto_comm *c =                                                                          \
            STRETTO_OURS(comm, "MPI_" #name, STRETTO_ALLTOALLV, -1, 0, MPI_DATATYPE_NULL,          \
                         MPI_OP_NULL, .send = &send, .receive = &receive,                          \
                         .in_place = sendbuf == MPI_IN_PLACE, .in = sendbuf, .out = recvbuf);      \
        if (c) {                                                                                   \
            const stretto_decision *d =                                                            \
                stretto_decision_for(c, STRETTO_ALLTOALLV, 0, MPI_DATATYPE_NULL, MPI_OP_NULL);     \
            STRETTO_TRY(c, d, stretto_call_alltoallv(c, d, sendbuf, &send, recvbuf, &receive));    \
        }                                                                                          \
        return stretto_through(comm, c, STRETTO_NATIVE(PMPI_##name(__VA_ARGS__)));                 \
    } while (0)

#define ALLTOALLV(name, COUNT, DISPL, LARGE)                                                       \
    int MPI_##name(const void *sendbuf, const COUNT sendcounts[], const DISPL sdispls[],           \
                   MPI_Datatype sendtype, void *recvbuf, const COUNT recvcounts[],                 \
                   const DISPL rdispls[], MPI_Datatype recvtype, MPI_Comm comm) {                  \
        const stretto_ragged send = {sendcounts, sdispls, LARGE, sendtype, NULL};                  \
        const stretto_ragged receive = {recvcounts, rdispls, LARGE, recvtype, NULL};               \
        EXCHANGE(name, send, receive, sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, \
                 rdispls, recvtype, comm);                                                         \
    }

#define ALLTOALLW(name, COUNT, DISPL, LARGE)                                                       \
    int MPI_##name(const void *sendbuf, const COUNT sendcounts[], const DISPL sdispls[],           \
                   const MPI_Datatype sendtypes[], void *recvbuf, const COUNT recvcounts[],        \
                   const DISPL rdispls[], const MPI_Datatype recvtypes[], MPI_Comm comm) {         \
        const stretto_ragged send = {sendcounts, sdispls, LARGE, MPI_DATATYPE_NULL, sendtypes};    \
        const stretto_ragged receive = {recvcounts, rdispls, LARGE, MPI_DATATYPE_NULL, recvtypes}; \
        EXCHANGE(name, send, receive, sendbuf, sendcounts, sdispls, sendtypes, recvbuf,            \
                 recvcounts, rdispls, recvtypes, comm);                                            \
    }

ALLTOALL(Alltoall, int)
ALLTOALLV(Alltoallv, int, int, false)
ALLTOALLW(Alltoallw, int, int, false)
#ifndef STRETTO_ABI_OPENMPI /* as in collectives.c */
ALLTOALL(Alltoall_c, MPI_Count)
ALLTOALLV(Alltoallv_c, MPI_Count, MPI_Aint, true)
ALLTOALLW(Alltoallw_c, MPI_Count, MPI_Aint, true)
#endif
