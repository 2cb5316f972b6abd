/* Single values: the time of the slowest rank, counted from the moment at which all began.
 *
 *  throughput: a batch of back-to-back calls that begins at an agreed time; per call.
 *  latency:    single calls, each beginning in a window of its own at an agreed time.
 * A batch or window that a rank reached too late is dropped (and counted). With more ranks than
 * cores agreed times mean nothing, as not all ranks run at once: then only batches are taken, from
 * the rank's own return from a barrier. */
#include "bench/measuring.h"

#include <stdlib.h>
#include <time.h>

enum { MOST_WINDOWS = 24 };

double stretto_bench_seconds(void) {
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (double)ts.tv_sec + 1e-9 * (double)ts.tv_nsec;
}

static double *grown(double *values, int capacity) {
    return realloc(values, (size_t)capacity * sizeof *values);
}

static int keep(stretto_bench_values *v, double us, double flag_ns) {
    if (v->n == v->capacity) {
        int capacity = v->capacity ? 2 * v->capacity : 64;
        double *larger = grown(v->us, capacity);
        if (!larger)
            return -1;
        v->us = larger;
        if (!(larger = grown(v->flag_ns, capacity)))
            return -1;
        v->flag_ns = larger;
        v->capacity = capacity;
    }
    v->us[v->n] = us;
    v->flag_ns[v->n++] = flag_ns;
    return 0;
}

/* Until the agreed time; whether this rank was there before it. */
static bool wait_until(const stretto_bench_clock *clock, double when) {
    if (stretto_bench_clock_now(clock) > when)
        return false;
    while (stretto_bench_clock_now(clock) < when)
        ;
    return true;
}

/* Rank 0 names a time soon. */
static int agree(stretto_bench_case_run *m, double *when) {
    *when = stretto_bench_clock_now(m->bench->clock) + m->lead;
    return stretto_bench_control_bcast(when, sizeof *when, 0, m->bench->control);
}

int stretto_bench_batch(stretto_bench_case_run *m, int n, double *us) {
    stretto_bench *bench = m->bench;
    double begin, taken;
    int rc;
    if (bench->job->yield) {
        rc = stretto_bench_control_barrier(bench->control);
        if (rc != MPI_SUCCESS)
            return rc;
        begin = stretto_bench_seconds();
        rc = stretto_bench_call_run(&m->call, n);
        taken = stretto_bench_seconds() - begin;
    } else {
        rc = agree(m, &begin);
        if (rc != MPI_SUCCESS)
            return rc;
        bool there = wait_until(bench->clock, begin);
        rc = stretto_bench_call_run(&m->call, n);
        taken = there ? stretto_bench_clock_now(bench->clock) - begin : STRETTO_BENCH_MISSED;
    }
    if (rc != MPI_SUCCESS)
        return rc;
    double worst = taken;
    rc = stretto_bench_control_max(&worst, 1, bench->control);
    *us = worst >= STRETTO_BENCH_MISSED ? STRETTO_BENCH_MISSED : 1e6 * worst / n;
    if (worst >= STRETTO_BENCH_MISSED && m->lead < 0.02)
        m->lead *= 1.5; /* the same on all ranks: worst is */
    return rc;
}

int stretto_bench_take_throughput(stretto_bench_case_run *m, stretto_bench_candidate *c) {
    double us = STRETTO_BENCH_MISSED;
    for (int i = 0; i < STRETTO_BENCH_TRIES && us >= STRETTO_BENCH_MISSED; i++) {
        int rc = stretto_bench_batch(m, c->batch, &us);
        if (rc != MPI_SUCCESS)
            return rc;
        if (us >= STRETTO_BENCH_MISSED)
            c->throughput.missed++;
    }
    double flag_ns = stretto_bench_flag_since(m->bench);
    if (us < STRETTO_BENCH_MISSED && m->bench->rank == 0 && keep(&c->throughput, us, flag_ns) != 0)
        return MPI_ERR_OTHER;
    return MPI_SUCCESS;
}

int stretto_bench_take_latency(stretto_bench_case_run *m, stretto_bench_candidate *c) {
    stretto_bench *bench = m->bench;
    double ends[MOST_WINDOWS], begin;
    double window = 2 * c->estimate + m->gap;
    int n = (int)(1e-6 * bench->job->batch_us / window);
    n = n < 3 ? 3 : n > MOST_WINDOWS ? MOST_WINDOWS : n;
    if (window > 0.01)
        n = 1;
    int rc = agree(m, &begin), missed = 0;
    for (int i = 0; i < n && rc == MPI_SUCCESS; i++) {
        double at = begin + i * window;
        bool there = wait_until(bench->clock, at);
        rc = stretto_bench_call_run(&m->call, 1);
        ends[i] = there ? stretto_bench_clock_now(bench->clock) - at : STRETTO_BENCH_MISSED;
    }
    if (rc == MPI_SUCCESS)
        rc = stretto_bench_control_max(ends, n, bench->control);
    if (rc != MPI_SUCCESS)
        return rc;
    for (int i = 0; i < n; i++)
        if (ends[i] >= STRETTO_BENCH_MISSED)
            missed++;
        else if (bench->rank == 0 && keep(&c->latency, 1e6 * ends[i], 0) != 0)
            return MPI_ERR_OTHER;
    c->latency.missed += missed;
    if (4 * missed > n && m->gap < 0.1)
        m->gap *= 1.5;
    return MPI_SUCCESS;
}
