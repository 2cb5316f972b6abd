/* One time for all ranks.
 *
 * Ranks of a node share CLOCK_MONOTONIC, so only the leaders are compared (hierarchically, as HCA
 * does): rank 0 answers pings of each other leader; of PINGS exchanges the one with the shortest
 * round trip counts, as the least disturbed, and half of it bounds the error. Points taken at
 * different times are fitted by a straight line (offset and drift), weighted by that bound.
 * Hunold, Carpen-Amarie: "Hierarchical clock synchronization in MPI" (2018) gives the background.
 */
#include "bench/bench.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { PINGS = 24, POINTS = 32, TAG = 4711 };
#define SLOPE_SPAN 0.25 /* s: points closer together than this say nothing about drift */

typedef struct {
    double when, offset, bound; /* local time; local minus rank 0's; half the round trip */
} point;

struct stretto_bench_clock {
    MPI_Comm comm, node; /* comm is ours (dup); node: ranks that share a clock */
    int rank, nranks, nodes, ppn;
    bool fake, leader;
    int *leaders; /* [nodes] ranks in comm, valid everywhere */
    double fake_offset, fake_rate, origin;
    point points[POINTS]; /* on leaders; a ring of the latest */
    int npoints, next;
    double model[3]; /* reference time, offset there, drift */
    double error_us, cost_ns;
};

static double monotonic(void) {
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (double)ts.tv_sec + 1e-9 * (double)ts.tv_nsec;
}

/* This rank's own clock, counted from the start so that a double keeps nanoseconds. */
static double local(const stretto_bench_clock *clock) {
    double t = monotonic() - clock->origin;
    return clock->fake ? t * clock->fake_rate + clock->fake_offset : t;
}

double stretto_bench_clock_now(const stretto_bench_clock *clock) {
    double t = local(clock);
    return t - (clock->model[1] + clock->model[2] * (t - clock->model[0]));
}

/* Offset of this leader against rank 0; rank 0 serves. */
static int ping(stretto_bench_clock *clock, int leader, point *best) {
    double stamp = 0;
    best->bound = 1e9;
    for (int i = 0; i < PINGS; i++) {
        int rc;
        if (clock->rank == 0) {
            rc = MPI_Recv(&stamp, 1, MPI_DOUBLE, leader, TAG, clock->comm, MPI_STATUS_IGNORE);
            stamp = local(clock);
            if (rc == MPI_SUCCESS)
                rc = MPI_Send(&stamp, 1, MPI_DOUBLE, leader, TAG, clock->comm);
        } else {
            double before = local(clock);
            rc = MPI_Send(&before, 1, MPI_DOUBLE, 0, TAG, clock->comm);
            if (rc == MPI_SUCCESS)
                rc = MPI_Recv(&stamp, 1, MPI_DOUBLE, 0, TAG, clock->comm, MPI_STATUS_IGNORE);
            double after = local(clock), half = 0.5 * (after - before);
            if (half < best->bound)
                *best = (point){before + half, before + half - stamp, half};
        }
        if (rc != MPI_SUCCESS)
            return rc;
    }
    return MPI_SUCCESS;
}

/* Straight line through the points; drift only when they lie far enough apart. */
static void fit(stretto_bench_clock *clock) {
    const point *p = clock->points;
    double w = 0, t = 0, o = 0, tt = 0, to = 0, first = 1e300, last = -1e300;
    for (int i = 0; i < clock->npoints; i++) {
        double weight = 1 / (p[i].bound * p[i].bound + 1e-18);
        w += weight;
        t += weight * p[i].when;
        o += weight * p[i].offset;
        first = fmin(first, p[i].when);
        last = fmax(last, p[i].when);
    }
    t /= w;
    o /= w;
    for (int i = 0; i < clock->npoints; i++) {
        double weight = 1 / (p[i].bound * p[i].bound + 1e-18);
        tt += weight * (p[i].when - t) * (p[i].when - t);
        to += weight * (p[i].when - t) * (p[i].offset - o);
    }
    bool sloped = last - first > SLOPE_SPAN && tt > 0;
    if (sloped) {
        clock->model[0] = t;
        clock->model[1] = o;
        clock->model[2] = to / tt;
    } else { /* the latest point says more than an average over a drift */
        const point *now = &p[(clock->next + POINTS - 1) % POINTS];
        clock->model[0] = now->when;
        clock->model[1] = now->offset;
        clock->model[2] = 0;
    }
}

int stretto_bench_clock_sync(stretto_bench_clock *clock) {
    double error = 0;
    if (clock->nodes == 1)
        return MPI_SUCCESS;
    for (int node = 0; node < clock->nodes; node++) {
        int leader = clock->leaders[node];
        if (leader == 0 || (clock->rank != 0 && clock->rank != leader))
            continue;
        point found = {0, 0, 0};
        int rc = ping(clock, leader, &found);
        if (rc != MPI_SUCCESS)
            return rc;
        if (clock->rank == leader) {
            clock->points[clock->next] = found;
            clock->next = (clock->next + 1) % POINTS;
            if (clock->npoints < POINTS)
                clock->npoints++;
            fit(clock);
            double modelled = clock->model[1] + clock->model[2] * (found.when - clock->model[0]);
            error = fmax(fabs(modelled - found.offset), found.bound);
        }
    }
    if (!clock->fake)
        stretto_bench_control_bcast(clock->model, sizeof clock->model, 0, clock->node);
    clock->error_us = 1e6 * error;
    return stretto_bench_control_max(&clock->error_us, 1, clock->comm);
}

/* Who shares a clock with whom. */
static int find_nodes(stretto_bench_clock *clock) {
    int size = 0, me = 0;
    int rc = MPI_Comm_split_type(clock->comm, MPI_COMM_TYPE_SHARED, clock->rank, MPI_INFO_NULL,
                                 &clock->node);
    if (rc != MPI_SUCCESS)
        return rc;
    MPI_Comm_rank(clock->node, &me);
    MPI_Comm_size(clock->node, &size);
    double most = size;
    rc = stretto_bench_control_max(&most, 1, clock->comm);
    if (rc != MPI_SUCCESS)
        return rc;
    clock->ppn = (int)most;
    clock->leader = me == 0 || clock->fake;
    double *all = calloc((size_t)clock->nranks, sizeof *all); /* whether it is a leader, by rank */
    clock->leaders = malloc((size_t)clock->nranks * sizeof *clock->leaders);
    if (!all || !clock->leaders) {
        free(all);
        return MPI_ERR_OTHER;
    }
    all[clock->rank] = clock->leader;
    rc = stretto_bench_control_max(all, clock->nranks, clock->comm);
    for (int r = 0; r < clock->nranks; r++)
        if (all[r] > 0)
            clock->leaders[clock->nodes++] = r;
    free(all);
    return rc;
}

stretto_bench_clock *stretto_bench_clock_new(MPI_Comm comm, const stretto_bench_job *job) {
    stretto_bench_clock *clock = calloc(1, sizeof *clock);
    if (!clock)
        return NULL;
    clock->node = MPI_COMM_NULL;
    MPI_Comm_dup(comm, &clock->comm);
    MPI_Comm_rank(comm, &clock->rank);
    MPI_Comm_size(comm, &clock->nranks);
    clock->fake = job->fake_offset_us != 0 || job->fake_drift_ppm != 0;
    clock->fake_offset = 1e-6 * job->fake_offset_us * clock->rank;
    clock->fake_rate = 1 + 1e-6 * job->fake_drift_ppm * clock->rank;
    /* One origin per node (the same clock must stay the same); any will do across nodes, as the
     * difference is part of the offset that is measured. */
    clock->origin = monotonic();
    if (find_nodes(clock) != MPI_SUCCESS) {
        stretto_bench_clock_free(clock);
        return NULL;
    }
    stretto_bench_control_bcast(&clock->origin, sizeof clock->origin, 0, clock->node);
    double begin = monotonic();
    for (int i = 0; i < 1000; i++)
        (void)stretto_bench_clock_now(clock);
    clock->cost_ns = (monotonic() - begin) * 1e6;
    /* Several points over more than SLOPE_SPAN, so that the drift is known from the start. */
    for (int i = 0; clock->nodes > 1 && i < 6; i++) {
        if (i > 0)
            nanosleep(&(struct timespec){0, 80 * 1000 * 1000}, NULL);
        if (stretto_bench_clock_sync(clock) != MPI_SUCCESS) {
            stretto_bench_clock_free(clock);
            return NULL;
        }
    }
    return clock;
}

void stretto_bench_clock_free(stretto_bench_clock *clock) {
    if (!clock)
        return;
    if (clock->node != MPI_COMM_NULL)
        MPI_Comm_free(&clock->node);
    MPI_Comm_free(&clock->comm);
    free(clock->leaders);
    free(clock);
}

double stretto_bench_clock_true_error_us(const stretto_bench_clock *clock) {
    double error = 0;
    if (clock->fake) {
        /* On one machine the true time is the shared clock: rank 0's is not skewed. */
        double truth = monotonic() - clock->origin;
        error = fabs(stretto_bench_clock_now(clock) - truth) * 1e6;
    }
    stretto_bench_control_max(&error, 1, clock->comm);
    return error;
}

double stretto_bench_clock_error_us(const stretto_bench_clock *clock) {
    return clock->error_us;
}
double stretto_bench_clock_cost_ns(const stretto_bench_clock *clock) {
    return clock->cost_ns;
}
int stretto_bench_clock_nodes(const stretto_bench_clock *clock) {
    return clock->fake ? clock->nranks / (clock->ppn > 0 ? clock->ppn : 1) : clock->nodes;
}
int stretto_bench_clock_ppn(const stretto_bench_clock *clock) {
    return clock->ppn;
}
