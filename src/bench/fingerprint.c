/* Which algorithm does the MPI use? Told by what can be seen from outside, with any MPI:
 *
 *   sums      the order in which a reduction adds: floats of far apart magnitudes round differently
 *   operands  which of two partial sums is added to which, and for which elements: by NaNs
 *   messages  who sends how many messages and bytes to whom (messages.c: Open MPI's monitoring)
 *   arrivals  one rank is held back; what has by then arrived at the others, and who has returned,
 *             tells what depends on that rank (arrivals.c).
 *
 * Each is a digest over all ranks; equal digests mean the same algorithm as far as that goes. The
 * job names the communicator's ranks as candidates: `candidate RANKS` or `candidate RANKS@MS` (with
 * arrivals, the rank held for MS milliseconds). All ranks' part of it goes over MPI_Send, so that
 * the collective under test is the only one used. Settings of a candidate (`set`) are made before
 * its communicator is, and unmade afterwards. */
#include "bench/fingerprint.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TAG = 77, WARM = 8, ELEMENTS = 1024, MOST_CALLS = 64 };
#define SEED STRETTO_BENCH_SEED

uint64_t stretto_bench_digest(uint64_t value, const void *bytes, size_t size) {
    for (size_t i = 0; i < size; i++)
        value = (value ^ ((const unsigned char *)bytes)[i]) * 1099511628211u;
    return value;
}

stretto_bench_joined stretto_bench_join(MPI_Comm comm, uint64_t mine) {
    int rank, size;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    stretto_bench_joined all = {stretto_bench_digest(SEED, &mine, sizeof mine), mine, mine};
    if (rank != 0) {
        MPI_Send(&mine, sizeof mine, MPI_BYTE, 0, TAG, comm);
        MPI_Recv(&all, sizeof all, MPI_BYTE, 0, TAG, comm, MPI_STATUS_IGNORE);
        return all;
    }
    for (int from = 1; from < size; from++) {
        uint64_t one;
        MPI_Recv(&one, sizeof one, MPI_BYTE, from, TAG, comm, MPI_STATUS_IGNORE);
        all.digest = stretto_bench_digest(all.digest, &one, sizeof one);
        all.sum += one;
        all.most = one > all.most ? one : all.most;
    }
    for (int to = 1; to < size; to++)
        MPI_Send(&all, sizeof all, MPI_BYTE, to, TAG, comm);
    return all;
}

/* ---- sums ------------------------------------------------------------------------------------ */

void stretto_bench_fill_floats(stretto_bench_call *call, int generation) {
    uint64_t state = 88172645463325252u + 7919u * (uint64_t)call->rank + 104729u * generation;
    float *send = (float *)call->send;
    for (size_t i = 0; i < call->send_bytes / sizeof *send; i++) { /* xorshift */
        state ^= state << 13, state ^= state >> 7, state ^= state << 17;
        send[i] = (float)((double)(state >> 40) * (state & 1 ? 1e3 : 1e-3));
    }
    memset(call->recv, 0, call->recv_bytes);
}

/* Few elements may round alike in two orders: short vectors are called more often. */
static int calls_of(const stretto_bench_call *call) {
    size_t elements = call->shape->bytes / sizeof(float);
    if (!stretto_bench_reduces(call->shape->collective) || elements == 0)
        return 1;
    size_t calls = (ELEMENTS + elements - 1) / elements;
    return calls > MOST_CALLS ? MOST_CALLS : (int)calls;
}

/* ---- operands -------------------------------------------------------------------------------- */

/* Of two NaNs a processor keeps one, by their order as operands: which rank's NaN is in the result,
 * element by element, tells which partial sums met where. The other elements are plain ones. */
static void fill_nans(stretto_bench_call *call, int generation) {
    uint32_t state = 2463534242u + 7919u * (uint32_t)call->rank + 104729u * (uint32_t)generation;
    uint32_t nan = 0x7fc00001u + (uint32_t)call->rank, one = 0x3f800000u;
    for (size_t i = 0; i < call->send_bytes / sizeof nan; i++) {
        state ^= state << 13, state ^= state >> 17, state ^= state << 5;
        memcpy(call->send + i * sizeof nan, state >> 16 & 3 ? &nan : &one, sizeof nan);
    }
    memset(call->recv, 0, call->recv_bytes);
}

/* Does the MPI's addition keep the same operand's NaN wherever it lies and however many there are?
 * Else an order of operands may be that of a loop's rest, and says nothing. */
static bool keeps_one_side(MPI_Op op) {
    enum { MOST = 67, SHIFTS = 16 };
    uint32_t in[MOST + SHIFTS], inout[MOST + SHIFTS], left = 0x7fc00001u, right = 0x7fc00002u;
    uint32_t kept = 0;
    for (int count = 1; count <= MOST; count += 3)
        for (int shift = 0; shift < SHIFTS * SHIFTS; shift++) {
            uint32_t *a = in + shift % SHIFTS, *b = inout + shift / SHIFTS;
            for (int i = 0; i < count; i++)
                a[i] = left, b[i] = right;
            if (MPI_Reduce_local(a, b, count, MPI_FLOAT, op) != MPI_SUCCESS)
                return false;
            for (int i = 0; i < count; i++) {
                kept = kept ? kept : b[i];
                if (b[i] != kept)
                    return false;
            }
        }
    return kept == left || kept == right;
}

/* ---- one case -------------------------------------------------------------------------------- */

typedef struct {
    uint64_t kinds[STRETTO_BENCH_KINDS];
    uint64_t sent; /* messages of all ranks */
} print_of;

/* Calls n times on such contents; a digest of all that came out here. */
static int results(stretto_bench_call *call, int n, void (*put)(stretto_bench_call *, int),
                   uint64_t *seen) {
    int rc = MPI_SUCCESS;
    *seen = SEED;
    for (int i = 0; i < n && rc == MPI_SUCCESS; i++) {
        if (put)
            put(call, i);
        rc = stretto_bench_call_run(call, 1);
        *seen = stretto_bench_digest(*seen, call->recv, call->recv_bytes);
    }
    return rc;
}

static int take(stretto_bench_call *call, int hold_ms, bool nans, print_of *print) {
    bool reduces = stretto_bench_reduces(call->shape->collective);
    uint64_t mine, sent = 0;
    memset(print, 0, sizeof *print);
    stretto_bench_messages_begin();
    int rc = results(call, calls_of(call), reduces ? stretto_bench_fill_floats : NULL, &mine);
    uint64_t messages = stretto_bench_messages_end(&sent);
    if (reduces)
        print->kinds[STRETTO_BENCH_SUMS] = stretto_bench_join(call->comm, mine).digest;
    uint64_t all = stretto_bench_join(call->comm, messages).digest; /* what one knows all know */
    if (stretto_bench_messages_known())
        print->kinds[STRETTO_BENCH_MESSAGES] = all;
    print->sent = stretto_bench_join(call->comm, sent).sum;
    if (reduces && nans && rc == MPI_SUCCESS) {
        rc = results(call, calls_of(call), fill_nans, &mine);
        print->kinds[STRETTO_BENCH_OPERANDS] = stretto_bench_join(call->comm, mine).digest;
    }
    if (hold_ms > 0 && rc == MPI_SUCCESS)
        rc = stretto_bench_arrivals(call, hold_ms, &print->kinds[STRETTO_BENCH_ARRIVALS]);
    return rc;
}

static bool steady(const print_of *first, const print_of *second) {
    uint64_t one = first->kinds[STRETTO_BENCH_ARRIVALS];
    return one != 0 && one == second->kinds[STRETTO_BENCH_ARRIVALS];
}

/* Twice, so that what differs from call to call is known for that. */
static int measure(stretto_bench_output *out, const stretto_bench_case *shape,
                   const stretto_bench_choice *choice, char *error, size_t size) {
    int rank, nranks, ranks = 0, hold_ms = 0;
    MPI_Comm comm;
    if (sscanf(choice->name, "%d@%d", &ranks, &hold_ms) < 1 || ranks < 1 || hold_ms < 0) {
        snprintf(error, size, "candidate wants RANKS or RANKS@MS, not %s", choice->name);
        return -1;
    }
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &nranks);
    if (ranks > nranks || shape->root >= ranks) {
        snprintf(error, size, "%d ranks are needed, there are %d", ranks, nranks);
        return -1;
    }
    if (stretto_bench_settings_write(choice, error, size) != 0)
        return -1;
    MPI_Comm_split(MPI_COMM_WORLD, rank < ranks ? 0 : MPI_UNDEFINED, rank, &comm);
    int rc = 0;
    if (comm != MPI_COMM_NULL) {
        stretto_bench_call call;
        print_of first, second;
        if (stretto_bench_call_open(&call, shape, comm, false, error, size) != 0) {
            fprintf(stderr, "stretto-bench: %s\n", error);
            MPI_Abort(MPI_COMM_WORLD, 1); /* the others would wait */
        }
        bool nans = keeps_one_side(stretto_bench_operation(shape->operation));
        nans = stretto_bench_join(comm, nans).sum == (uint64_t)ranks;
        /* MPICH goes over to shared memory after some calls on a communicator. */
        rc = stretto_bench_call_run(&call, WARM);
        do {
            if (rc == MPI_SUCCESS)
                rc = take(&call, hold_ms, nans, &first);
            if (rc == MPI_SUCCESS)
                rc = take(&call, hold_ms, nans, &second);
            hold_ms *= 3;
        } while (rc == MPI_SUCCESS && hold_ms > 0 && !steady(&first, &second) &&
                 hold_ms <= STRETTO_BENCH_MOST_MS);
        if (rc != MPI_SUCCESS)
            snprintf(error, size, "the MPI returned error %d", rc);
        else if (rank == 0) {
            const uint64_t *prints[2] = {first.kinds, second.kinds};
            rc = stretto_bench_fingerprint_line(out, shape, ranks, prints, first.sent);
        }
        stretto_bench_call_close(&call);
        /* The communicator stays: Open MPI 5's monitoring crashes when one of HAN's is freed. */
    }
    if (stretto_bench_settings_restore(error, size) != 0)
        return -1;
    return rc == 0 ? 0 : -1;
}

int stretto_bench_fingerprint(stretto_bench_output *out, const stretto_bench_job *job, char *error,
                              size_t error_size) {
    stretto_bench_messages_open(MPI_COMM_WORLD);
    stretto_bench_join(MPI_COMM_WORLD,
                       0); /* every rank has sent something: a monitor has seen it */
    int done = 0, total = 0;
    for (int i = 0; i < job->ncases; i++)
        total += job->cases[i].ncandidates;
    for (int i = 0; i < job->ncases; i++)
        for (int c = 0; c < job->cases[i].ncandidates; c++) {
            const stretto_bench_case *shape = &job->cases[i];
            if (out)
                stretto_bench_status(out, done, total,
                                     stretto_bench_collective_name(shape->collective), shape->bytes,
                                     shape->candidates[c].name);
            if (measure(out, shape, &shape->candidates[c], error, error_size) != 0)
                return -1;
            stretto_bench_join(MPI_COMM_WORLD, 0); /* ranks outside of it wait here */
            done++;
        }
    return 0;
}
