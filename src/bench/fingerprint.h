/* What fingerprint.c and arrivals.c share. */
#ifndef STRETTO_BENCH_FINGERPRINT_H
#define STRETTO_BENCH_FINGERPRINT_H

#include "bench/bench.h"

#define STRETTO_BENCH_SEED 14695981039346656037u
enum { STRETTO_BENCH_MOST_MS = 1500 }; /* no rank is held for longer than this */

uint64_t stretto_bench_digest(uint64_t value, const void *bytes, size_t size);

typedef struct {
    uint64_t digest, sum, most;
} stretto_bench_joined;

/* Collective: digest of all ranks' values in order of rank, their sum, the largest; the same
 * everywhere.
 * Over MPI_Send, so that the collective under test is the only one used. */
stretto_bench_joined stretto_bench_join(MPI_Comm comm, uint64_t mine);

/* Floats of far apart magnitudes in the send buffer, other ones in each generation. */
void stretto_bench_fill_floats(stretto_bench_call *call, int generation);

/* Collective: what depends on whom, by holding ranks back for `ms` milliseconds and longer. *seen
 * is 0 where things did not come to rest. An MPI error code, or -1. */
int stretto_bench_arrivals(stretto_bench_call *call, int ms, uint64_t *seen);

#endif
