/* One case while it is measured: its candidates, and the values taken of each. */
#ifndef STRETTO_BENCH_MEASURING_H
#define STRETTO_BENCH_MEASURING_H

#include "bench/bench.h"

enum { STRETTO_BENCH_TRIES = 6 }; /* of a batch that a rank was late for */
#define STRETTO_BENCH_MISSED 1e30 /* more than any time; survives the maximum over ranks */

typedef struct {
    double *us, *flag_ns;
    int n, capacity, missed;
} stretto_bench_values;

typedef struct {
    const char *name;
    const stretto_bench_choice *choice;
    MPI_Comm comm; /* of its own where it has settings, else MPI_COMM_NULL */
    bool active, correct, refused;
    bool reference;                  /* no candidate: messages (reference.c) */
    MPI_Request request;             /* of persistent calls: made once, else null */
    unsigned long long ours, native; /* calls that the library carried out, and left to the MPI */
    int batch;
    double estimate; /* s per call */
    stretto_bench_values throughput, latency;
    char detail[256], done_by[256];
} stretto_bench_candidate;

typedef struct {
    stretto_bench *bench;
    const stretto_bench_case *shape;
    stretto_bench_call call;
    stretto_bench_candidate *candidates;
    int n, index;
    double lead, gap; /* s: notice before a batch; length of a window over the estimate */
    unsigned long long random;
} stretto_bench_case_run;

/* ---- timing.c: single values ----------------------------------------------------------------- */

double stretto_bench_seconds(void); /* monotonic, this rank's */
/* One batch of n calls. *us per call on all ranks, MISSED when a rank began late. */
int stretto_bench_batch(stretto_bench_case_run *m, int n, double *us);
/* A batch, or single calls in windows of their own, kept with the candidate on rank 0. */
int stretto_bench_take_throughput(stretto_bench_case_run *m, stretto_bench_candidate *c);
int stretto_bench_take_latency(stretto_bench_case_run *m, stretto_bench_candidate *c);

/* ---- places.c: where a candidate with settings of its own runs --------------------------------
 */

/* Collective: makes the communicator, with the settings made; where some rank cannot make them the
 * candidate is refused. An MPI error code. */
int stretto_bench_place_open(stretto_bench_case_run *m, stretto_bench_candidate *c);
/* From here to leave the calls are the candidate's. An MPI error code. */
int stretto_bench_place_enter(stretto_bench_case_run *m, stretto_bench_candidate *c);
int stretto_bench_place_leave(stretto_bench_case_run *m, stretto_bench_candidate *c);
/* Collective: frees the communicator. */
void stretto_bench_place_close(stretto_bench_candidate *c);

#endif
