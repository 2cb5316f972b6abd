/* One collective call on buffers of its own. */
#include "bench/bench.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CANARY = STRETTO_BENCH_CANARY, PAGE = 4096 };
#define COLD_BYTES ((size_t)64 << 20) /* more than the caches of a core's share */

int stretto_bench_call_open(stretto_bench_call *call, const stretto_bench_case *shape,
                            MPI_Comm comm, bool cold, char *error, size_t error_size) {
    memset(call, 0, sizeof *call);
    call->shape = shape;
    call->comm = comm;
    MPI_Comm_rank(comm, &call->rank);
    MPI_Comm_size(comm, &call->nranks);
    call->count = shape->bytes / stretto_bench_datatype_size(shape->datatype);
    if (call->count > INT32_MAX) {
        snprintf(error, error_size, "%zu bytes are more than 2^31-1 elements", shape->bytes);
        return -1;
    }
    call->outs = call->ins = call->nranks;
    if (stretto_bench_neighborly(shape->collective) &&
        stretto_bench_graph_degrees(call) != MPI_SUCCESS) {
        snprintf(error, error_size, "the MPI does not report the neighbours of a rank");
        return -1;
    }
    const size_t blocks = (size_t)(call->ins > call->nranks ? 2 * call->ins : call->nranks);
    if (stretto_bench_irregular(shape->collective) && call->count * blocks > INT32_MAX) {
        snprintf(error, error_size,
                 "%zu bytes for each of %zu blocks are more than 2^31-1 elements", shape->bytes,
                 blocks);
        return -1;
    }
    if (stretto_bench_blocks_open(call) != 0) {
        snprintf(error, error_size, "no memory for the blocks of %d ranks", call->nranks);
        return -1;
    }
    stretto_bench_blocks_set(call, false);
    size_t width = stretto_bench_datatype_size(shape->datatype);
    size_t sent = width * stretto_bench_room(call, true);
    size_t most = width * stretto_bench_room(call, false);
    most = sent > most ? sent : most;
    call->stride = (most + CANARY + PAGE - 1) / PAGE * PAGE;
    unsigned buffers = 1;
    while (cold && buffers < 256 && 2 * call->stride * buffers < COLD_BYTES)
        buffers *= 2;
    call->mask = buffers - 1;
    if (posix_memalign(&call->send_storage, PAGE, call->stride * buffers) != 0 ||
        posix_memalign(&call->recv_storage, PAGE, call->stride * buffers) != 0) {
        stretto_bench_call_close(call);
        snprintf(error, error_size, "no memory for %u buffers of %zu bytes", buffers, call->stride);
        return -1;
    }
    call->send = call->send_storage;
    call->recv = call->recv_storage;
    memset(call->send, 0, call->stride * buffers); /* touched before anything is timed */
    memset(call->recv, 0, call->stride * buffers);
    for (unsigned k = 0; k < buffers; k++)
        for (size_t i = 0; i < sent / width; i++)
            stretto_bench_put(shape->datatype, call->send + k * call->stride, i, 1);
    return 0;
}

void stretto_bench_call_close(stretto_bench_call *call) {
    free(call->send_storage);
    free(call->recv_storage);
    free(call->sends);
    stretto_bench_reference_close(call);
    call->send_storage = call->recv_storage = NULL;
    call->sends = call->send_at = call->recvs = call->recv_at = call->lengths = NULL;
    call->out_edges = call->in_edges = NULL;
}

/* The switch stands outside the loop: what is timed is the call. */
#define LOOP(CALL)                                                                                 \
    for (int i = 0; i < n && rc == MPI_SUCCESS; i++) {                                             \
        size_t at = ((unsigned)i & mask) * stride;                                                 \
        (void)at;                                                                                  \
        rc = CALL;                                                                                 \
    }                                                                                              \
    break

int stretto_bench_call_run(stretto_bench_call *call, int n) {
    MPI_Datatype type = stretto_bench_datatype(call->shape->datatype);
    MPI_Op op = stretto_bench_operation(call->shape->operation);
    MPI_Comm comm = call->comm;
    char *send = call->send, *recv = call->recv;
    int rc = MPI_SUCCESS, count = (int)call->count, root = call->shape->root;
    int own = (int)call->own, *sends = call->sends, *recvs = call->recvs;
    int *from = call->send_at, *to = call->recv_at;
    unsigned mask = call->mask;
    size_t stride = call->stride;
    if (call->exchanges)
        return stretto_bench_reference_run(call, n);
    switch (call->shape->collective) {
    case STRETTO_BENCH_ALLREDUCE: LOOP(MPI_Allreduce(send + at, recv + at, count, type, op, comm));
    case STRETTO_BENCH_BCAST: LOOP(MPI_Bcast(recv + at, count, type, root, comm));
    case STRETTO_BENCH_REDUCE: LOOP(MPI_Reduce(send + at, recv + at, count, type, op, root, comm));
    case STRETTO_BENCH_ALLGATHER:
        LOOP(MPI_Allgather(send + at, count, type, recv + at, count, type, comm));
    case STRETTO_BENCH_ALLTOALL:
        LOOP(MPI_Alltoall(send + at, count, type, recv + at, count, type, comm));
    case STRETTO_BENCH_GATHER:
        LOOP(MPI_Gather(send + at, count, type, recv + at, count, type, root, comm));
    case STRETTO_BENCH_SCATTER:
        LOOP(MPI_Scatter(send + at, count, type, recv + at, count, type, root, comm));
    case STRETTO_BENCH_REDUCE_SCATTER_BLOCK:
        LOOP(MPI_Reduce_scatter_block(send + at, recv + at, count, type, op, comm));
    case STRETTO_BENCH_ALLGATHERV:
        LOOP(MPI_Allgatherv(send + at, own, type, recv + at, recvs, to, type, comm));
    case STRETTO_BENCH_ALLTOALLV:
        LOOP(MPI_Alltoallv(send + at, sends, from, type, recv + at, recvs, to, type, comm));
    case STRETTO_BENCH_GATHERV:
        LOOP(MPI_Gatherv(send + at, own, type, recv + at, recvs, to, type, root, comm));
    case STRETTO_BENCH_SCATTERV:
        LOOP(MPI_Scatterv(send + at, sends, from, type, recv + at, own, type, root, comm));
    case STRETTO_BENCH_REDUCE_SCATTER:
        LOOP(MPI_Reduce_scatter(send + at, recv + at, recvs, type, op, comm));
    case STRETTO_BENCH_SCAN: LOOP(MPI_Scan(send + at, recv + at, count, type, op, comm));
    case STRETTO_BENCH_EXSCAN: LOOP(MPI_Exscan(send + at, recv + at, count, type, op, comm));
    case STRETTO_BENCH_NEIGHBOR_ALLGATHER:
        LOOP(MPI_Neighbor_allgather(send + at, count, type, recv + at, count, type, comm));
    case STRETTO_BENCH_NEIGHBOR_ALLGATHERV:
        LOOP(MPI_Neighbor_allgatherv(send + at, own, type, recv + at, recvs, to, type, comm));
    case STRETTO_BENCH_NEIGHBOR_ALLTOALL:
        LOOP(MPI_Neighbor_alltoall(send + at, count, type, recv + at, count, type, comm));
    case STRETTO_BENCH_NEIGHBOR_ALLTOALLV:
        LOOP(
            MPI_Neighbor_alltoallv(send + at, sends, from, type, recv + at, recvs, to, type, comm));
    case STRETTO_BENCH_BARRIER: LOOP(MPI_Barrier(comm));
    case STRETTO_BENCH_SELF:
        LOOP(MPI_Allreduce(send + at, recv + at, count, type, op, MPI_COMM_SELF));
    case STRETTO_BENCH_COLLECTIVES: break;
    }
    return rc;
}
