/* Which algorithm does the MPI use? Told by what can be seen from outside, with any MPI:
 *
 *   sums      the order in which a reduction adds: floats of far apart magnitudes round differently
 *   messages  who sends how many messages and bytes to whom (messages.c: Open MPI's monitoring)
 *   arrivals  one rank is held back; what has by then arrived at the others, and who has returned,
 *             tells what depends on that rank. A thread looks at the buffer, no MPI call in it.
 *
 * Each is a digest over all ranks; equal digests mean the same algorithm as far as that goes. The
 * job names the communicator's ranks as candidates: `candidate RANKS` or `candidate RANKS@MS` (with
 * arrivals, the rank held for MS milliseconds). All ranks' part of it goes over MPI_Send, so that
 * the collective under test is the only one used. Settings of a candidate (`set`) are made before
 * its communicator is, and unmade afterwards. */
#include "bench/bench.h"

#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    TAG = 77,
    POISON = 0xEE,
    SPOTS = 16,
    HELD = 4,
    WARM = 8,
    MOST_MS = 700,
    ELEMENTS = 1024,
    MOST_CALLS = 64
};
#define SEED 14695981039346656037u

static uint64_t digest(uint64_t value, const void *bytes, size_t size) {
    for (size_t i = 0; i < size; i++)
        value = (value ^ ((const unsigned char *)bytes)[i]) * 1099511628211u;
    return value;
}

typedef struct {
    uint64_t digest, sum;
} joined;

/* Collective: digest of all ranks' values in order of rank, and their sum; the same everywhere. */
static joined join(MPI_Comm comm, uint64_t mine) {
    int rank, size;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    joined all = {digest(SEED, &mine, sizeof mine), mine};
    if (rank != 0) {
        MPI_Send(&mine, sizeof mine, MPI_BYTE, 0, TAG, comm);
        MPI_Recv(&all, sizeof all, MPI_BYTE, 0, TAG, comm, MPI_STATUS_IGNORE);
        return all;
    }
    for (int from = 1; from < size; from++) {
        uint64_t one;
        MPI_Recv(&one, sizeof one, MPI_BYTE, from, TAG, comm, MPI_STATUS_IGNORE);
        all.digest = digest(all.digest, &one, sizeof one);
        all.sum += one;
    }
    for (int to = 1; to < size; to++)
        MPI_Send(&all, sizeof all, MPI_BYTE, to, TAG, comm);
    return all;
}

/* ---- sums ------------------------------------------------------------------------------------ */

static void fill_floats(stretto_bench_call *call, int generation) {
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

/* ---- arrivals -------------------------------------------------------------------------------- */

typedef struct {
    const stretto_bench_call *call;
    struct timespec halfway, until;
    volatile int returned;
    uint64_t before, seen;
} look;

/* Offsets of the bytes that are looked at: both ends of each block, or spots along a vector. */
static size_t spot(const stretto_bench_call *call, int i, int spots) {
    size_t blocks = call->shape->bytes ? call->recv_bytes / call->shape->bytes : 0;
    if (blocks > 1)
        return (size_t)(i / 2) * call->shape->bytes + (i % 2 ? call->shape->bytes - 1 : 0);
    return (size_t)i * (call->recv_bytes - 1) / (size_t)(spots - 1);
}

static int spots_of(const stretto_bench_call *call) {
    size_t blocks = call->shape->bytes ? call->recv_bytes / call->shape->bytes : 0;
    return blocks == 0 ? 0 : blocks > 1 ? 2 * (int)blocks : SPOTS;
}

static void sleep_until(const struct timespec *then) {
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, then, NULL) == EINTR)
        ;
}

static uint64_t look_now(const look *at) {
    const volatile unsigned char *recv = (const volatile unsigned char *)at->call->recv;
    int spots = spots_of(at->call), returned = at->returned;
    uint64_t seen = digest(SEED, &returned, sizeof returned);
    for (int i = 0; i < spots; i++) {
        unsigned char there = recv[spot(at->call, i, spots)] != POISON;
        seen = digest(seen, &there, 1);
    }
    return seen;
}

static void *look_then(void *argument) {
    look *at = argument;
    sleep_until(&at->halfway);
    at->before = look_now(at);
    sleep_until(&at->until);
    at->seen = look_now(at);
    return NULL;
}

static struct timespec later(int milliseconds) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    t.tv_nsec += (long)(milliseconds % 1000) * 1000000;
    t.tv_sec += milliseconds / 1000 + t.tv_nsec / 1000000000;
    t.tv_nsec %= 1000000000;
    return t;
}

/* Collective: `held` calls after `ms` milliseconds, the others' buffers are looked at before,
 * twice: *moving ranks saw something come in between. */
static int hold_one(stretto_bench_call *call, int held, int ms, uint64_t *seen, uint64_t *moving) {
    look at = {.call = call};
    pthread_t thread;
    bool holds = call->rank == held;
    /* What is sent is the same everywhere; a bcast's root has it where others receive. */
    memset(call->send, 1, call->send_bytes);
    memset(call->recv, POISON, call->recv_bytes);
    if (call->rank == call->shape->root && call->shape->collective == STRETTO_BENCH_BCAST)
        memset(call->recv, 1, call->recv_bytes);
    join(call->comm, 0);
    struct timespec release = later(ms);
    at.halfway = later(ms * 2 / 5);
    at.until = later(ms * 4 / 5);
    if (holds)
        sleep_until(&release);
    else if (pthread_create(&thread, NULL, look_then, &at) != 0)
        return -1;
    int rc = stretto_bench_call_run(call, 1);
    at.returned = 1;
    if (!holds)
        pthread_join(thread, NULL);
    *seen = join(call->comm, at.seen).digest;
    *moving = join(call->comm, at.before != at.seen).sum;
    return rc;
}

/* A rank is held for longer where much goes on, as on a machine with more ranks than cores. */
static int arrivals(stretto_bench_call *call, int ms, uint64_t *seen) {
    int ranks = call->nranks < HELD ? call->nranks : HELD, rc = MPI_SUCCESS;
    *seen = SEED;
    for (int i = 0; i < ranks && rc == MPI_SUCCESS; i++) {
        int held = ranks > 1 ? i * (call->nranks - 1) / (ranks - 1) : 0;
        uint64_t one = 0, moving = 1;
        for (int hold = ms; rc == MPI_SUCCESS && moving && hold <= MOST_MS; hold *= 2)
            rc = hold_one(call, held, hold, &one, &moving);
        *seen = digest(*seen, &one, sizeof one);
    }
    return rc;
}

/* ---- one case -------------------------------------------------------------------------------- */

typedef struct {
    uint64_t sums, messages, arrivals;
    uint64_t sent; /* messages of all ranks */
} print_of;

static int take(stretto_bench_call *call, int hold_ms, print_of *print) {
    int rc = MPI_SUCCESS, calls = calls_of(call);
    bool reduces = stretto_bench_reduces(call->shape->collective);
    uint64_t sums = SEED, sent = 0;
    memset(print, 0, sizeof *print);
    stretto_bench_messages_begin();
    for (int i = 0; i < calls && rc == MPI_SUCCESS; i++) {
        if (reduces)
            fill_floats(call, i);
        rc = stretto_bench_call_run(call, 1);
        sums = digest(sums, call->recv, call->recv_bytes);
    }
    uint64_t mine = stretto_bench_messages_end(&sent);
    print->sums = reduces ? join(call->comm, sums).digest : 0;
    uint64_t all = join(call->comm, mine).digest; /* what one rank knows all know */
    print->messages = stretto_bench_messages_known() ? all : 0;
    print->sent = join(call->comm, sent).sum;
    if (hold_ms > 0 && rc == MPI_SUCCESS)
        rc = arrivals(call, hold_ms, &print->arrivals);
    return rc;
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
        /* MPICH goes over to shared memory after some calls on a communicator. */
        rc = stretto_bench_call_run(&call, WARM);
        do {
            if (rc == MPI_SUCCESS)
                rc = take(&call, hold_ms, &first);
            if (rc == MPI_SUCCESS)
                rc = take(&call, hold_ms, &second);
            hold_ms *= 3;
        } while (rc == MPI_SUCCESS && first.arrivals != second.arrivals && hold_ms <= MOST_MS);
        if (rc != MPI_SUCCESS)
            snprintf(error, size, "the MPI returned error %d", rc);
        else if (rank == 0) {
            uint64_t prints[2][3] = {{first.sums, first.messages, first.arrivals},
                                     {second.sums, second.messages, second.arrivals}};
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
    join(MPI_COMM_WORLD, 0); /* every rank has sent something: a monitor has seen it */
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
            join(MPI_COMM_WORLD, 0); /* ranks outside of it wait here */
            done++;
        }
    return 0;
}
