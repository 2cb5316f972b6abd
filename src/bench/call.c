/* One collective call on buffers of its own, and the proof that it did what it should. */
#include "bench/bench.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { CANARY = 64, CANARY_BYTE = 0xA5, POISON = 0xEE, PAGE = 4096, GENERATIONS = 3 };
#define COLD_BYTES ((size_t)64 << 20) /* more than the caches of a core's share */

/* Does a rank give (get) a block for (from) each rank? The root alone in gather and scatter; the
 * others have the room, too. */
static bool gives_all(stretto_bench_collective c) {
    return c == STRETTO_BENCH_ALLTOALL || c == STRETTO_BENCH_SCATTER ||
           c == STRETTO_BENCH_REDUCE_SCATTER_BLOCK;
}

static bool gets_all(stretto_bench_collective c) {
    return c == STRETTO_BENCH_ALLTOALL || c == STRETTO_BENCH_ALLGATHER || c == STRETTO_BENCH_GATHER;
}

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
    size_t all = shape->bytes * (size_t)call->nranks;
    call->send_bytes = gives_all(shape->collective) ? all : shape->bytes;
    call->recv_bytes = gets_all(shape->collective) ? all : shape->bytes;
    size_t most = call->send_bytes > call->recv_bytes ? call->send_bytes : call->recv_bytes;
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
        for (size_t i = 0; i < call->send_bytes / stretto_bench_datatype_size(shape->datatype); i++)
            stretto_bench_put(shape->datatype, call->send + k * call->stride, i, 1);
    return 0;
}

void stretto_bench_call_close(stretto_bench_call *call) {
    free(call->send_storage);
    free(call->recv_storage);
    call->send_storage = call->recv_storage = NULL;
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
    unsigned mask = call->mask;
    size_t stride = call->stride;
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
    case STRETTO_BENCH_SCAN: LOOP(MPI_Scan(send + at, recv + at, count, type, op, comm));
    case STRETTO_BENCH_EXSCAN: LOOP(MPI_Exscan(send + at, recv + at, count, type, op, comm));
    case STRETTO_BENCH_BARRIER: LOOP(MPI_Barrier(comm));
    case STRETTO_BENCH_SELF:
        LOOP(MPI_Allreduce(send + at, recv + at, count, type, op, MPI_COMM_SELF));
    case STRETTO_BENCH_COLLECTIVES: break;
    }
    return rc;
}

/* ---- the check ------------------------------------------------------------------------------- */

/* The ranks whose contributions are in this rank's result of a reduction; 0: it has none. */
static int contributors(const stretto_bench_call *call) {
    switch (call->shape->collective) {
    case STRETTO_BENCH_SCAN: return call->rank + 1;
    case STRETTO_BENCH_EXSCAN: return call->rank;
    case STRETTO_BENCH_REDUCE: return call->rank == call->shape->root ? call->nranks : 0;
    default: return call->nranks;
    }
}

static void fill(stretto_bench_call *call, int generation) {
    const stretto_bench_case *shape = call->shape;
    memset(call->recv, POISON, call->recv_bytes);
    memset(call->recv + call->recv_bytes, CANARY_BYTE, CANARY);
    bool root_fills = shape->collective == STRETTO_BENCH_BCAST;
    char *into = root_fills ? call->recv : call->send;
    if (root_fills && call->rank != shape->root)
        return;
    int blocks = gives_all(shape->collective) ? call->nranks : 1;
    for (int to = 0; to < blocks; to++)
        for (size_t i = 0; i < call->count; i++)
            stretto_bench_put(
                shape->datatype, into, (size_t)to * call->count + i,
                stretto_bench_value(shape->operation, call->rank, to, i, call->nranks, generation));
}

/* Element i of block `block` after the call. Contents repeat in i: with 13 (or with the ranks, for
 * products), so a reduction's values are worked out once into `cycle`. */
static long expected(const stretto_bench_call *call, const long *cycle, size_t period, size_t block,
                     size_t i, int generation) {
    const stretto_bench_case *shape = call->shape;
    if (stretto_bench_reduces(shape->collective) && shape->collective != STRETTO_BENCH_SELF)
        return cycle[i % period];
    switch (shape->collective) {
    case STRETTO_BENCH_BCAST:
        return stretto_bench_value(shape->operation, shape->root, 0, i, call->nranks, generation);
    case STRETTO_BENCH_SCATTER:
        return stretto_bench_value(shape->operation, shape->root, call->rank, i, call->nranks,
                                   generation);
    case STRETTO_BENCH_GATHER:
    case STRETTO_BENCH_ALLGATHER:
        return stretto_bench_value(shape->operation, (int)block, 0, i, call->nranks, generation);
    case STRETTO_BENCH_ALLTOALL:
        return stretto_bench_value(shape->operation, (int)block, call->rank, i, call->nranks,
                                   generation);
    default:
        return stretto_bench_value(shape->operation, call->rank, 0, i, call->nranks, generation);
    }
}

static bool compare(const stretto_bench_call *call, int generation, char *detail, size_t size) {
    const stretto_bench_case *shape = call->shape;
    size_t period = strcmp(stretto_bench_operation_name(shape->operation), "MPI_PROD") == 0
                        ? (size_t)call->nranks
                        : 13;
    const int upto = contributors(call);
    if (upto == 0 || (shape->collective == STRETTO_BENCH_GATHER && call->rank != shape->root))
        return true;
    long *cycle = calloc(period, sizeof *cycle);
    if (!cycle) {
        snprintf(detail, size, "no memory to check the result");
        return false;
    }
    const int to = shape->collective == STRETTO_BENCH_REDUCE_SCATTER_BLOCK ? call->rank : 0;
    for (size_t i = 0; stretto_bench_reduces(shape->collective) && i < period; i++)
        cycle[i] = stretto_bench_reduced(shape->operation, to, i, upto, call->nranks, generation);
    bool right = true;
    size_t blocks = call->count ? call->recv_bytes / shape->bytes : 0;
    for (size_t block = 0; right && block < blocks; block++)
        for (size_t i = 0; right && i < call->count; i++) {
            long value = expected(call, cycle, period, block, i, generation);
            right = stretto_bench_is(shape->datatype, call->recv, block * call->count + i, value);
            if (!right)
                snprintf(detail, size, "rank %d: element %zu of block %zu is not %ld", call->rank,
                         i, block, value);
        }
    free(cycle);
    for (int i = 0; right && i < CANARY; i++) {
        right = (unsigned char)call->recv[call->recv_bytes + (size_t)i] == CANARY_BYTE;
        if (!right)
            snprintf(detail, size, "rank %d: written %d bytes beyond the buffer", call->rank,
                     i + 1);
    }
    return right;
}

/* A barrier is right when nobody leaves before the last has entered; one rank comes late. */
static int check_barrier(stretto_bench_call *call, MPI_Comm control,
                         const stretto_bench_clock *clock, int generation, bool *right,
                         char *detail, size_t size) {
    if (generation % call->nranks == call->rank)
        nanosleep(&(struct timespec){0, 2 * 1000 * 1000}, NULL);
    double entered = stretto_bench_clock_now(clock);
    int rc = stretto_bench_call_run(call, 1);
    double left = stretto_bench_clock_now(clock), last = 0, tolerance = 0;
    if (rc != MPI_SUCCESS)
        return rc;
    rc = MPI_Allreduce(&entered, &last, 1, MPI_DOUBLE, MPI_MAX, control);
    tolerance = 1e-6 * (1 + 3 * stretto_bench_clock_error_us(clock));
    *right = left >= last - tolerance;
    if (!*right)
        snprintf(detail, size, "rank %d left %.1f us before the last rank entered", call->rank,
                 1e6 * (last - left));
    return rc;
}

int stretto_bench_call_check(stretto_bench_call *call, MPI_Comm control,
                             const stretto_bench_clock *clock, bool *correct, char *detail,
                             size_t detail_size) {
    *correct = true;
    memset(detail, 0, detail_size);
    for (int generation = 0; generation < GENERATIONS && *correct; generation++) {
        bool right = true;
        int rc, first = 0;
        if (call->shape->collective == STRETTO_BENCH_BARRIER)
            rc = check_barrier(call, control, clock, generation, &right, detail, detail_size);
        else {
            fill(call, generation);
            rc = stretto_bench_call_run(call, 1);
            right = rc == MPI_SUCCESS && compare(call, generation, detail, detail_size);
        }
        if (rc != MPI_SUCCESS)
            return rc;
        int mine = right ? call->nranks : call->rank;
        rc = MPI_Allreduce(&mine, &first, 1, MPI_INT, MPI_MIN, control);
        if (rc != MPI_SUCCESS)
            return rc;
        if (first < call->nranks) {
            *correct = false;
            return MPI_Bcast(detail, (int)detail_size, MPI_CHAR, first, control);
        }
    }
    return MPI_SUCCESS;
}
