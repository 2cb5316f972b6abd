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
    call->request = MPI_REQUEST_NULL;
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
#define EACH(CALL)                                                                                 \
    for (int i = 0; i < n && rc == MPI_SUCCESS; i++) {                                             \
        at = ((unsigned)i & mask) * stride;                                                        \
        rc = CALL;                                                                                 \
    }
/* The collective in the form that is timed; a persistent one is made here, for run to start. */
#define CALL(Name, name, ...)                                                                      \
    if (call->form == STRETTO_BENCH_BLOCKING)                                                      \
        EACH(MPI_##Name(__VA_ARGS__))                                                              \
    else if (call->form == STRETTO_BENCH_NONBLOCKING)                                              \
        EACH(wait_for(MPI_I##name(__VA_ARGS__, &call->request), &call->request))                   \
    else                                                                                           \
        rc = MPI_##Name##_init(__VA_ARGS__, MPI_INFO_NULL, &call->request);                        \
    break

static inline int wait_for(int rc, MPI_Request *request) {
    return rc == MPI_SUCCESS ? MPI_Wait(request, MPI_STATUS_IGNORE) : rc;
}

static int collective(stretto_bench_call *call, int n) {
    MPI_Datatype type = stretto_bench_datatype(call->shape->datatype);
    MPI_Op op = stretto_bench_operation(call->shape->operation);
    MPI_Comm comm = call->comm;
    char *send = call->send, *recv = call->recv;
    int rc = MPI_SUCCESS, count = (int)call->count, root = call->shape->root;
    int own = (int)call->own, *sends = call->sends, *recvs = call->recvs;
    int *from = call->send_at, *to = call->recv_at;
    unsigned mask = call->mask;
    size_t stride = call->stride, at = 0;
    (void)at; /* a barrier has no buffers */
    switch (call->shape->collective) {
    case STRETTO_BENCH_ALLREDUCE:
        CALL(Allreduce, allreduce, send + at, recv + at, count, type, op, comm);
    case STRETTO_BENCH_BCAST: CALL(Bcast, bcast, recv + at, count, type, root, comm);
    case STRETTO_BENCH_REDUCE:
        CALL(Reduce, reduce, send + at, recv + at, count, type, op, root, comm);
    case STRETTO_BENCH_ALLGATHER:
        CALL(Allgather, allgather, send + at, count, type, recv + at, count, type, comm);
    case STRETTO_BENCH_ALLTOALL:
        CALL(Alltoall, alltoall, send + at, count, type, recv + at, count, type, comm);
    case STRETTO_BENCH_GATHER:
        CALL(Gather, gather, send + at, count, type, recv + at, count, type, root, comm);
    case STRETTO_BENCH_SCATTER:
        CALL(Scatter, scatter, send + at, count, type, recv + at, count, type, root, comm);
    case STRETTO_BENCH_REDUCE_SCATTER_BLOCK:
        CALL(Reduce_scatter_block, reduce_scatter_block, send + at, recv + at, count, type, op,
             comm);
    case STRETTO_BENCH_ALLGATHERV:
        CALL(Allgatherv, allgatherv, send + at, own, type, recv + at, recvs, to, type, comm);
    case STRETTO_BENCH_ALLTOALLV:
        CALL(Alltoallv, alltoallv, send + at, sends, from, type, recv + at, recvs, to, type, comm);
    case STRETTO_BENCH_GATHERV:
        CALL(Gatherv, gatherv, send + at, own, type, recv + at, recvs, to, type, root, comm);
    case STRETTO_BENCH_SCATTERV:
        CALL(Scatterv, scatterv, send + at, sends, from, type, recv + at, own, type, root, comm);
    case STRETTO_BENCH_REDUCE_SCATTER:
        CALL(Reduce_scatter, reduce_scatter, send + at, recv + at, recvs, type, op, comm);
    case STRETTO_BENCH_SCAN: CALL(Scan, scan, send + at, recv + at, count, type, op, comm);
    case STRETTO_BENCH_EXSCAN: CALL(Exscan, exscan, send + at, recv + at, count, type, op, comm);
    case STRETTO_BENCH_NEIGHBOR_ALLGATHER:
        CALL(Neighbor_allgather, neighbor_allgather, send + at, count, type, recv + at, count, type,
             comm);
    case STRETTO_BENCH_NEIGHBOR_ALLGATHERV:
        CALL(Neighbor_allgatherv, neighbor_allgatherv, send + at, own, type, recv + at, recvs, to,
             type, comm);
    case STRETTO_BENCH_NEIGHBOR_ALLTOALL:
        CALL(Neighbor_alltoall, neighbor_alltoall, send + at, count, type, recv + at, count, type,
             comm);
    case STRETTO_BENCH_NEIGHBOR_ALLTOALLV:
        CALL(Neighbor_alltoallv, neighbor_alltoallv, send + at, sends, from, type, recv + at, recvs,
             to, type, comm);
    case STRETTO_BENCH_BARRIER: CALL(Barrier, barrier, comm);
    case STRETTO_BENCH_SELF:
        CALL(Allreduce, allreduce, send + at, recv + at, count, type, op, MPI_COMM_SELF);
    case STRETTO_BENCH_COLLECTIVES: break;
    }
    return rc;
}

int stretto_bench_call_make(stretto_bench_call *call) {
    bool made = call->request != MPI_REQUEST_NULL;
    if (call->form != STRETTO_BENCH_PERSISTENT || call->exchanges || made)
        return MPI_SUCCESS;
    return collective(call, 0);
}

int stretto_bench_call_free(MPI_Request *request) {
    return *request == MPI_REQUEST_NULL ? MPI_SUCCESS : MPI_Request_free(request);
}

int stretto_bench_call_run(stretto_bench_call *call, int n) {
    int rc = MPI_SUCCESS;
    if (call->exchanges)
        return stretto_bench_reference_run(call, n);
    if (call->form != STRETTO_BENCH_PERSISTENT)
        return collective(call, n);
    for (int i = 0; i < n && rc == MPI_SUCCESS; i++)
        rc = wait_for(MPI_Start(&call->request), &call->request);
    return rc;
}
