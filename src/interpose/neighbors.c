/* The neighbourhood collectives, in C and in the large-count form. Sizes are shared by the two ends
 * of an edge only: the key is the communicator alone. */
#include "interpose/entry.h"

#define NEIGHBORS(name, COLLECTIVE, send, receive, ...)                                            \
    do {                                                                                           \
        stretto_comm *c =                                                                          \
            STRETTO_OURS(comm, "MPI_" #name, COLLECTIVE, -1, 0, MPI_DATATYPE_NULL, MPI_OP_NULL,    \
                         .to = &send, .from = &receive, .in = sendbuf, .out = recvbuf);            \
        if (c) {                                                                                   \
            const stretto_decision *d =                                                            \
                stretto_decision_for(c, COLLECTIVE, 0, MPI_DATATYPE_NULL, MPI_OP_NULL);            \
            STRETTO_TRY(                                                                           \
                c, d, stretto_call_neighbor(c, d, COLLECTIVE, sendbuf, &send, recvbuf, &receive)); \
        }                                                                                          \
        return stretto_through(comm, c, STRETTO_NATIVE(PMPI_##name(__VA_ARGS__)));                 \
    } while (0)

#define EQUAL(n, type)                                                                             \
    { {NULL, NULL, true, type, NULL}, n }

#define ALLGATHER(name, COUNT)                                                                     \
    int MPI_##name(const void *sendbuf, COUNT sendcount, MPI_Datatype sendtype, void *recvbuf,     \
                   COUNT recvcount, MPI_Datatype recvtype, MPI_Comm comm) {                        \
        const stretto_neighbor_blocks send = EQUAL(sendcount, sendtype);                           \
        const stretto_neighbor_blocks receive = EQUAL(recvcount, recvtype);                        \
        NEIGHBORS(name, STRETTO_NEIGHBOR_ALLGATHER, send, receive, sendbuf, sendcount, sendtype,   \
                  recvbuf, recvcount, recvtype, comm);                                             \
    }

#define ALLTOALL(name, COUNT)                                                                      \
    int MPI_##name(const void *sendbuf, COUNT sendcount, MPI_Datatype sendtype, void *recvbuf,     \
                   COUNT recvcount, MPI_Datatype recvtype, MPI_Comm comm) {                        \
        const stretto_neighbor_blocks send = EQUAL(sendcount, sendtype);                           \
        const stretto_neighbor_blocks receive = EQUAL(recvcount, recvtype);                        \
        NEIGHBORS(name, STRETTO_NEIGHBOR_ALLTOALL, send, receive, sendbuf, sendcount, sendtype,    \
                  recvbuf, recvcount, recvtype, comm);                                             \
    }

#define ALLGATHERV(name, COUNT, DISPL, LARGE)                                                      \
    int MPI_##name(const void *sendbuf, COUNT sendcount, MPI_Datatype sendtype, void *recvbuf,     \
                   const COUNT recvcounts[], const DISPL displs[], MPI_Datatype recvtype,          \
                   MPI_Comm comm) {                                                                \
        const stretto_neighbor_blocks send = EQUAL(sendcount, sendtype);                           \
        const stretto_neighbor_blocks receive = {{recvcounts, displs, LARGE, recvtype, NULL}, 0};  \
        NEIGHBORS(name, STRETTO_NEIGHBOR_ALLGATHERV, send, receive, sendbuf, sendcount, sendtype,  \
                  recvbuf, recvcounts, displs, recvtype, comm);                                    \
    }

#define ALLTOALLV(name, COUNT, DISPL, LARGE)                                                       \
    int MPI_##name(const void *sendbuf, const COUNT sendcounts[], const DISPL sdispls[],           \
                   MPI_Datatype sendtype, void *recvbuf, const COUNT recvcounts[],                 \
                   const DISPL rdispls[], MPI_Datatype recvtype, MPI_Comm comm) {                  \
        const stretto_neighbor_blocks send = {{sendcounts, sdispls, LARGE, sendtype, NULL}, 0};    \
        const stretto_neighbor_blocks receive = {{recvcounts, rdispls, LARGE, recvtype, NULL}, 0}; \
        NEIGHBORS(name, STRETTO_NEIGHBOR_ALLTOALLV, send, receive, sendbuf, sendcounts, sdispls,   \
                  sendtype, recvbuf, recvcounts, rdispls, recvtype, comm);                         \
    }

/* An alltoallv to us. Displacements are bytes, MPI_Aint in both forms. */
#define ALLTOALLW(name, COUNT, LARGE)                                                              \
    int MPI_##name(const void *sendbuf, const COUNT sendcounts[], const MPI_Aint sdispls[],        \
                   const MPI_Datatype sendtypes[], void *recvbuf, const COUNT recvcounts[],        \
                   const MPI_Aint rdispls[], const MPI_Datatype recvtypes[], MPI_Comm comm) {      \
        const stretto_neighbor_blocks send = {                                                     \
            {sendcounts, sdispls, LARGE, MPI_DATATYPE_NULL, sendtypes}, 0};                        \
        const stretto_neighbor_blocks receive = {                                                  \
            {recvcounts, rdispls, LARGE, MPI_DATATYPE_NULL, recvtypes}, 0};                        \
        NEIGHBORS(name, STRETTO_NEIGHBOR_ALLTOALLV, send, receive, sendbuf, sendcounts, sdispls,   \
                  sendtypes, recvbuf, recvcounts, rdispls, recvtypes, comm);                       \
    }

ALLGATHER(Neighbor_allgather, int)
ALLGATHERV(Neighbor_allgatherv, int, int, false)
ALLTOALL(Neighbor_alltoall, int)
ALLTOALLV(Neighbor_alltoallv, int, int, false)
ALLTOALLW(Neighbor_alltoallw, int, false)
#ifndef STRETTO_ABI_OPENMPI /* as in collectives.c */
ALLGATHER(Neighbor_allgather_c, MPI_Count)
ALLGATHERV(Neighbor_allgatherv_c, MPI_Count, MPI_Aint, true)
ALLTOALL(Neighbor_alltoall_c, MPI_Count)
ALLTOALLV(Neighbor_alltoallv_c, MPI_Count, MPI_Aint, true)
ALLTOALLW(Neighbor_alltoallw_c, MPI_Count, true)
#endif
