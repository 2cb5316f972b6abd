/* stretto-p2p: measures messages between pairs of ranks inside one launch.
 *
 *   stretto-p2p-F [--count] LEVEL OUTPUT SAMPLES BATCH_US BUDGET_S POINT...
 *
 * LEVEL is the thread level that is asked for: single, funneled, serialized, multiple. A POINT is
 * TEST:BYTES:PAIRS:WINDOW:THREADS (tests: point.c). Pair i consists of rank i and rank i + n/2: the
 * first half of the ranks sends to the second half. All points are measured in turn, SAMPLES times,
 * in batches of about BATCH_US microseconds; rank 0 writes a JSON line a batch to OUTPUT, a new
 * file or - for standard output. Statistics are Python's part. With --count, lines follow of the
 * TCP connections of each pair, and of the bytes that each interface of a node moved for each
 * point.
 *
 * The program is not linked with an MPI: every call goes through the host table (abi/host.h).
 */
#ifndef STRETTO_P2P_H
#define STRETTO_P2P_H

#include "abi/host.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

enum { P2P_MOST_THREADS = 64, P2P_MOST_WINDOW = 1024 };

typedef struct {
    const struct p2p_test *test;
    long bytes;
    int pairs, window, threads;
    long iterations; /* of a batch; 0: not found out yet */
    char *out, *in;  /* of all points of this size */
} p2p_point;

typedef struct {
    int rank, nranks;
    int pair;    /* rank % (nranks / 2); -1: no partner (the last of an odd number) */
    int partner; /* the other rank of the pair */
    bool sends;  /* in the first half */
    MPI_Comm comm;
    MPI_Comm *threads; /* a communicator for each thread of the largest "threads" point */
    char *out, *in;    /* of the point */
    MPI_Request requests[2 * P2P_MOST_WINDOW];
    MPI_Status statuses[2 * P2P_MOST_WINDOW];
} p2p;

/* What a batch took, in seconds; rank 0's values count, and are reduced over ranks by the test. */
typedef struct {
    double total;          /* of all iterations */
    double pure, computed; /* overlap tests: without computation, and the computation alone */
} p2p_took;

typedef struct p2p_test {
    const char *name;
    /* All ranks of the communicator call it with the same point. */
    p2p_took (*run)(p2p *self, const p2p_point *point, long iterations);
    const char *needs; /* thread level, NULL: any */
} p2p_test;

double p2p_seconds(void);

/* Counters of --count (counters.c); all ranks call open and write. NULL: nothing is counted. */
typedef struct p2p_counters p2p_counters;
p2p_counters *p2p_counters_open(const p2p *self, int points);
void p2p_counters_before(p2p_counters *counters);
void p2p_counters_after(p2p_counters *counters, int point);
void p2p_counters_write(p2p_counters *counters, const p2p *self, const p2p_point *points, int count,
                        FILE *out); /* `out`: of rank 0 */
void p2p_counters_close(p2p_counters *counters);

/* The largest value of all ranks. */
double p2p_longest(const p2p *self, double seconds);
bool p2p_active(const p2p *self, const p2p_point *point);

/* NULL: there is none of this name. */
const p2p_test *p2p_find(const char *name);
/* 0, or -1 with an error text. */
int p2p_point_read(p2p_point *point, const char *word, char *error, size_t size);

p2p_took p2p_latency(p2p *self, const p2p_point *point, long iterations);
p2p_took p2p_echo(p2p *self, const p2p_point *point, long iterations);
p2p_took p2p_bandwidth(p2p *self, const p2p_point *point, long iterations);
p2p_took p2p_bidirectional(p2p *self, const p2p_point *point, long iterations);
p2p_took p2p_sends(p2p *self, const p2p_point *point, long iterations);
p2p_took p2p_threads(p2p *self, const p2p_point *point, long iterations);
p2p_took p2p_shared(p2p *self, const p2p_point *point, long iterations);
p2p_took p2p_turns(p2p *self, const p2p_point *point, long iterations);
p2p_took p2p_overlap(p2p *self, const p2p_point *point, long iterations);
p2p_took p2p_overlap_allreduce(p2p *self, const p2p_point *point, long iterations);
p2p_took p2p_overlap_bcast(p2p *self, const p2p_point *point, long iterations);
p2p_took p2p_overlap_alltoall(p2p *self, const p2p_point *point, long iterations);

#endif
