/* What in a collective depends on whom: one rank is held back, and a thread of each other looks at
 * what has come by then, and whether the call has returned; no MPI call in it.
 *
 * A barrier shows nothing by that, for nobody may leave it before all have come. There a second
 * rank is stopped inside of it, by a signal, before the first one comes: who gets out all the same
 * does not need what that one still has to do.
 *
 * A look counts only when things have come to rest: nothing changes between two looks while every
 * rank that still waits uses the processor, which an MPI does that asks for messages. On a machine
 * that is too busy for that the ranks are held for longer, and at last nothing is said. */
#include "bench/fingerprint.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <time.h>

enum {
    POISON = 0xEE,
    SPOTS = 16,
    HELD = 4,
    NOBODY = -1,
    PROOF_US = 2000 /* of the processor between two looks: a rank that waits has looked, too */
};

static int64_t now_us(clockid_t clock) {
    struct timespec t;
    clock_gettime(clock, &t);
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

static void sleep_until(int64_t us) {
    struct timespec then = {us / 1000000, us % 1000000 * 1000};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &then, NULL) == EINTR)
        ;
}

/* ---- stopping this process's main thread where it is ------------------------------------------
 */

/* One call at a time, so that the handler finds it here. `began` and `ended`: of the wall clock,
 * which the ranks' nodes share as well as their clocks are set. */
static struct { volatile int64_t until, began, ended; } stop;

static void stop_here(int number) {
    (void)number;
    int saved = errno;
    stop.began = now_us(CLOCK_REALTIME);
    sleep_until(stop.until);
    stop.ended = now_us(CLOCK_REALTIME);
    errno = saved;
}

/* ---- looks ------------------------------------------------------------------------------------
 */

/* When things happen, monotonic: a rank stops, the held one enters, the looks, the end of a stop.
 */
typedef struct {
    int64_t stops, enters, first, second, ends;
} times;

typedef struct {
    const stretto_bench_call *call;
    times at;
    pthread_t main; /* makes the call */
    clockid_t used; /* its processor time */
    bool held, stopped;
    volatile int returned;
    uint64_t before, seen;
    int64_t looked; /* wall clock, when all was seen */
    bool moving;
} look;

/* Offset of what is looked at: both ends of each block, or elements along a vector. */
static size_t spot(const stretto_bench_call *call, int i, int spots, size_t width) {
    size_t blocks = call->shape->bytes ? call->recv_bytes / call->shape->bytes : 0, bytes;
    if (blocks > 1)
        return (size_t)(i / 2) * call->shape->bytes + (i % 2 ? call->shape->bytes - width : 0);
    bytes = (size_t)i * (call->recv_bytes - width) / (size_t)(spots - 1);
    return bytes / width * width;
}

static int spots_of(const stretto_bench_call *call) {
    size_t blocks = call->shape->bytes ? call->recv_bytes / call->shape->bytes : 0;
    return blocks == 0 ? 0 : blocks > 1 ? 2 * (int)blocks : SPOTS;
}

/* Of a reduction the values, for there are partial ones; else whether something has come. */
static uint64_t look_now(const look *at) {
    const volatile unsigned char *recv = (const volatile unsigned char *)at->call->recv;
    bool reduces = stretto_bench_reduces(at->call->shape->collective);
    size_t width = reduces ? sizeof(float) : 1;
    int spots = spots_of(at->call), returned = at->returned;
    uint64_t seen = stretto_bench_digest(STRETTO_BENCH_SEED, &returned, sizeof returned);
    for (int i = 0; i < spots; i++)
        for (size_t k = 0, from = spot(at->call, i, spots, width); k < width; k++) {
            unsigned char there = recv[from + k];
            there = reduces ? there : there != POISON;
            seen = stretto_bench_digest(seen, &there, 1);
        }
    return seen;
}

/* Sleeps; did the main thread use the processor meanwhile, or is it done? */
static bool busy_until(const look *at, int64_t then) {
    int64_t used = now_us(at->used);
    sleep_until(then);
    return at->returned || now_us(at->used) - used >= PROOF_US;
}

static void *look_then(void *argument) {
    look *at = argument;
    const times *t = &at->at;
    bool rests = true;
    if (t->stops != 0) { /* all are inside and wait, but the held one */
        bool began = busy_until(at, t->stops - (t->enters - t->stops));
        rests = (began && busy_until(at, t->stops)) || at->held;
    }
    if (at->stopped)
        rests = rests && !at->returned && pthread_kill(at->main, SIGRTMIN + 5) == 0;
    sleep_until(t->first);
    at->before = look_now(at);
    rests = (busy_until(at, t->second) || at->stopped) && rests;
    at->seen = look_now(at);
    at->looked = now_us(CLOCK_REALTIME);
    at->moving = at->before != at->seen || !rests;
    return NULL;
}

/* A held rank sleeps until it enters; where one is stopped the looks are after that. */
static times times_of(int ms, bool stops) {
    int64_t now = now_us(CLOCK_MONOTONIC), part = (int64_t)ms * 200;
    if (!stops)
        return (times){0, now + 5 * part, now + 2 * part, now + 4 * part, 0};
    return (times){now + 2 * part, now + 3 * part, now + 4 * part, now + 6 * part, now + 7 * part};
}

static void fill(stretto_bench_call *call) {
    if (stretto_bench_reduces(call->shape->collective))
        stretto_bench_fill_floats(call, 0);
    else
        memset(call->send, 1, call->send_bytes);
    memset(call->recv, POISON, call->recv_bytes);
    /* What is sent is the same everywhere; a bcast's root has it where others receive. */
    if (call->rank == call->shape->root && call->shape->collective == STRETTO_BENCH_BCAST)
        memset(call->recv, 1, call->recv_bytes);
}

/* Collective: whether all that came before an event did: `mine` on those of whom it is asked, else
 * 0; `event` on the one that knows it, else 0. Both of the wall clock. */
static bool precedes(MPI_Comm comm, int64_t mine, int64_t event) {
    uint64_t last = stretto_bench_join(comm, (uint64_t)mine).most;
    uint64_t then = stretto_bench_join(comm, (uint64_t)event).most;
    return last < then;
}

/* Collective: `held` calls after `ms` milliseconds, `stopped` (or NOBODY) stops in its call. The
 * others' buffers are looked at twice; *moving when that may not be the end of it. */
static int hold_one(stretto_bench_call *call, int held, int stopped, int ms, uint64_t *seen,
                    bool *moving) {
    look at = {.call = call,
               .main = pthread_self(),
               .held = call->rank == held,
               .stopped = call->rank == stopped,
               .moving = true};
    bool stops = stopped != NOBODY, looks = !at.held || stops, threaded = false;
    int64_t entered = 0;
    pthread_t thread;
    fill(call);
    stretto_bench_join(call->comm, 0);
    pthread_getcpuclockid(at.main, &at.used);
    at.at = times_of(ms, stops);
    stop.began = stop.ended = 0;
    stop.until = at.at.ends;
    if (looks)
        threaded = pthread_create(&thread, NULL, look_then, &at) == 0;
    if (at.held) {
        sleep_until(at.at.enters);
        entered = now_us(CLOCK_REALTIME);
    }
    int rc = stretto_bench_call_run(call, 1);
    at.returned = 1;
    if (threaded)
        pthread_join(thread, NULL);
    *seen = stretto_bench_join(call->comm, at.seen).digest;
    *moving = stretto_bench_join(call->comm, looks && at.moving).sum != 0;
    /* Ranks begin when they come to it: was it in time? */
    if (!precedes(call->comm, stops ? stop.began : at.looked, entered))
        *moving = true;
    if (stops && !precedes(call->comm, at.looked, stop.ended))
        *moving = true;
    return rc;
}

/* A rank is held for longer where much goes on, as on a machine with more ranks than cores. */
static int settled(stretto_bench_call *call, int held, int stopped, int ms, uint64_t *seen) {
    uint64_t one = 0;
    bool moving = true;
    int rc = MPI_SUCCESS;
    for (int hold = ms; rc == MPI_SUCCESS && moving && hold <= STRETTO_BENCH_MOST_MS; hold *= 2)
        rc = hold_one(call, held, stopped, hold, &one, &moving);
    *seen = moving ? 0 : stretto_bench_digest(*seen, &one, sizeof one);
    return rc;
}

/* Up to HELD ranks from first to last. */
static int chosen(const stretto_bench_call *call, int i, int n) {
    return n > 1 ? i * (call->nranks - 1) / (n - 1) : 0;
}

int stretto_bench_arrivals(stretto_bench_call *call, int ms, uint64_t *seen) {
    bool barrier = call->shape->collective == STRETTO_BENCH_BARRIER;
    int n = call->nranks < HELD ? call->nranks : HELD, rc = MPI_SUCCESS;
    struct sigaction action = {.sa_handler = stop_here, .sa_flags = SA_RESTART}, old;
    sigemptyset(&action.sa_mask);
    if (barrier && sigaction(SIGRTMIN + 5, &action, &old) != 0)
        return -1;
    *seen = STRETTO_BENCH_SEED;
    for (int i = 0; i < n && rc == MPI_SUCCESS && *seen != 0; i++) {
        if (!barrier)
            rc = settled(call, chosen(call, i, n), NOBODY, ms, seen);
        bool end = i == 0 || i == n - 1; /* so many pairs are enough, and take long */
        for (int k = 0; barrier && end && k < n && rc == MPI_SUCCESS && *seen != 0; k++)
            if (k != i)
                rc = settled(call, chosen(call, i, n), chosen(call, k, n), ms, seen);
    }
    if (barrier)
        sigaction(SIGRTMIN + 5, &old, NULL);
    return rc;
}
