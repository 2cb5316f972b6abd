/* The proof that a call did what it should. */
#include "bench/bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    CANARY = STRETTO_BENCH_CANARY,
    CANARY_BYTE = 0xA5,
    POISON = 0xEE,
    GENERATIONS = 3,
    RAGGED = 1
};

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
    for (int to = 0; to < stretto_bench_blocks_sent(call); to++) {
        stretto_bench_part part = stretto_bench_sent(call, to);
        for (size_t i = 0; i < part.count; i++)
            stretto_bench_put(
                shape->datatype, into, part.at + i,
                stretto_bench_value(shape->operation, call->rank, to, i, call->nranks, generation));
    }
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
    case STRETTO_BENCH_SCATTERV:
        return stretto_bench_value(shape->operation, shape->root, call->rank, i, call->nranks,
                                   generation);
    case STRETTO_BENCH_GATHER:
    case STRETTO_BENCH_GATHERV:
    case STRETTO_BENCH_ALLGATHER:
    case STRETTO_BENCH_ALLGATHERV:
        return stretto_bench_value(shape->operation, (int)block, 0, i, call->nranks, generation);
    case STRETTO_BENCH_NEIGHBOR_ALLGATHER:
    case STRETTO_BENCH_NEIGHBOR_ALLGATHERV:
        return stretto_bench_value(shape->operation, call->in_edges[block].from, 0, i, call->nranks,
                                   generation);
    case STRETTO_BENCH_NEIGHBOR_ALLTOALL:
    case STRETTO_BENCH_NEIGHBOR_ALLTOALLV:
        return stretto_bench_value(shape->operation, call->in_edges[block].from,
                                   call->in_edges[block].slot, i, call->nranks, generation);
    case STRETTO_BENCH_ALLTOALL:
    case STRETTO_BENCH_ALLTOALLV:
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
    bool gathers =
        shape->collective == STRETTO_BENCH_GATHER || shape->collective == STRETTO_BENCH_GATHERV;
    if (upto == 0 || (gathers && call->rank != shape->root))
        return true;
    long *cycle = calloc(period, sizeof *cycle);
    if (!cycle) {
        snprintf(detail, size, "no memory to check the result");
        return false;
    }
    bool scatters = shape->collective == STRETTO_BENCH_REDUCE_SCATTER_BLOCK ||
                    shape->collective == STRETTO_BENCH_REDUCE_SCATTER;
    const int to = scatters ? call->rank : 0;
    for (size_t i = 0; stretto_bench_reduces(shape->collective) && i < period; i++)
        cycle[i] = stretto_bench_reduced(shape->operation, to, i, upto, call->nranks, generation);
    bool right = true;
    for (int block = 0; right && block < stretto_bench_blocks_received(call); block++) {
        stretto_bench_part part = stretto_bench_received(call, block);
        if (call->in_edges && call->in_edges[block].from < 0)
            continue; /* nothing comes there */
        for (size_t i = 0; right && i < part.count; i++) {
            long value = expected(call, cycle, period, (size_t)block, i, generation);
            right = stretto_bench_is(shape->datatype, call->recv, part.at + i, value);
            if (!right)
                snprintf(detail, size, "rank %d: element %zu of block %d is not %ld", call->rank, i,
                         block, value);
        }
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
    double left = stretto_bench_clock_now(clock), last = entered, tolerance = 0;
    if (rc != MPI_SUCCESS)
        return rc;
    rc = stretto_bench_control_max(&last, 1, control);
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
        int rc;
        stretto_bench_blocks_set(call, generation == RAGGED);
        rc =
            stretto_bench_call_make(call); /* for these blocks, which must stay until it is freed */
        if (rc == MPI_SUCCESS && call->shape->collective == STRETTO_BENCH_BARRIER)
            rc = check_barrier(call, control, clock, generation, &right, detail, detail_size);
        else if (rc == MPI_SUCCESS) {
            fill(call, generation);
            rc = stretto_bench_call_run(call, 1);
            right = rc == MPI_SUCCESS && compare(call, generation, detail, detail_size);
        }
        if (rc == MPI_SUCCESS)
            rc = stretto_bench_call_free(&call->request);
        stretto_bench_blocks_set(call, false);
        if (rc != MPI_SUCCESS)
            return rc;
        double first = -(right ? call->nranks : call->rank); /* the least, negative: the largest */
        rc = stretto_bench_control_max(&first, 1, control);
        if (rc != MPI_SUCCESS)
            return rc;
        if (-first < call->nranks) {
            *correct = false;
            return stretto_bench_control_bcast(detail, detail_size, (int)-first, control);
        }
    }
    return MPI_SUCCESS;
}
