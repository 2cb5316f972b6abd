/* reduce_scatter(_block), scan, exscan, in C and in the large-count form. */
#include "interpose/entry.h"

#define REDUCE_SCATTER_BLOCK(name, COUNT)                                                          \
    int MPI_##name(const void *sendbuf, void *recvbuf, COUNT recvcount, MPI_Datatype datatype,     \
                   MPI_Op op, MPI_Comm comm) {                                                     \
        stretto_comm *c = STRETTO_OURS(comm, "MPI_" #name, STRETTO_REDUCE_SCATTER_BLOCK, -1,       \
                                       recvcount, datatype, op, .in = sendbuf, .out = recvbuf);    \
        if (c) {                                                                                   \
            const stretto_decision *d =                                                            \
                stretto_decision_for(c, STRETTO_REDUCE_SCATTER_BLOCK, recvcount, datatype, op);    \
            STRETTO_TRY(c, d, stretto_call_reduce_scatter_block(c, d, sendbuf, recvbuf));          \
        }                                                                                          \
        return stretto_through(                                                                    \
            comm, c,                                                                               \
            STRETTO_NATIVE(PMPI_##name(sendbuf, recvbuf, recvcount, datatype, op, comm)));         \
    }

#define REDUCE_SCATTER(name, COUNT, LARGE)                                                         \
    int MPI_##name(const void *sendbuf, void *recvbuf, const COUNT recvcounts[],                   \
                   MPI_Datatype datatype, MPI_Op op, MPI_Comm comm) {                              \
        const stretto_ragged blocks = {recvcounts, NULL, LARGE, datatype, NULL};                   \
        stretto_comm *c =                                                                          \
            STRETTO_OURS(comm, "MPI_" #name, STRETTO_REDUCE_SCATTER, -1, 0, MPI_DATATYPE_NULL, op, \
                         .everywhere = &blocks, .in = sendbuf, .out = recvbuf);                    \
        if (c && !stretto_passes(c, STRETTO_REDUCE_SCATTER)) {                                     \
            const stretto_decision *d = stretto_decision_for(                                      \
                c, STRETTO_REDUCE_SCATTER, stretto_total_of(c, &blocks), datatype, op);            \
            STRETTO_TRY(c, d, stretto_call_reduce_scatter(c, d, sendbuf, recvbuf, &blocks));       \
        }                                                                                          \
        return stretto_through(                                                                    \
            comm, c,                                                                               \
            STRETTO_NATIVE(PMPI_##name(sendbuf, recvbuf, recvcounts, datatype, op, comm)));        \
    }

#define SCAN(name, WHICH, COUNT, exclusive)                                                        \
    int MPI_##name(const void *sendbuf, void *recvbuf, COUNT count, MPI_Datatype datatype,         \
                   MPI_Op op, MPI_Comm comm) {                                                     \
        stretto_comm *c = STRETTO_OURS(comm, "MPI_" #name, STRETTO_##WHICH, -1, count, datatype,   \
                                       op, .in = sendbuf, .out = recvbuf);                         \
        if (c) {                                                                                   \
            const stretto_decision *d =                                                            \
                stretto_decision_for(c, STRETTO_##WHICH, count, datatype, op);                     \
            STRETTO_TRY(c, d, stretto_call_scan(c, d, sendbuf, recvbuf, exclusive));               \
        }                                                                                          \
        return stretto_through(                                                                    \
            comm, c, STRETTO_NATIVE(PMPI_##name(sendbuf, recvbuf, count, datatype, op, comm)));    \
    }

REDUCE_SCATTER_BLOCK(Reduce_scatter_block, int)
REDUCE_SCATTER(Reduce_scatter, int, false)
SCAN(Scan, SCAN, int, false)
SCAN(Exscan, EXSCAN, int, true)
#ifndef STRETTO_ABI_OPENMPI /* as in collectives.c */
REDUCE_SCATTER_BLOCK(Reduce_scatter_block_c, MPI_Count)
REDUCE_SCATTER(Reduce_scatter_c, MPI_Count, true)
SCAN(Scan_c, SCAN, MPI_Count, false)
SCAN(Exscan_c, EXSCAN, MPI_Count, true)
#endif
