/* Cache lines that the sources of src/node move between the cores of a described machine.
 *
 * The sources run as they are, each rank a coroutine with a clock of its own; the rank with the
 * least clock goes on. Every access to the shared memory comes here through the model check's
 * intercept/. A rank that reads a line which another one has written, and which it does not hold
 * yet, fetches it from the nearest holder:
 *
 *   far enough apart in time   the reader waits `hop` of that distance;
 *   one of several in a row    `next` more, since the processor asks for them together;
 *   a line of a long copy      `stream` of that distance;
 *   one line read by many      its holder serves one reader each `next`.
 *
 * Times are assumed (cache_machine); what counts are lines and hops. A hop lies on the critical
 * path of a rank where it waited for it; `path` is carried along with the data.
 * Left out: polling before the data is there, stores (their invalidations are part of a hop),
 * capacity of caches, and contention of links. */
#ifndef STRETTO_TRAFFIC_CACHE_H
#define STRETTO_TRAFFIC_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { CACHE_RANKS = 192, CACHE_GROUPS = 24, CACHE_LINE = 64 };

/* Cores 0, 1, 2, ... fill cache after cache, memory after memory. */
typedef struct {
    const char *name;
    int ranks, cache, memory,
        socket;                /* cores on the node, of an L3 cache, a NUMA domain, a socket */
    double near, far, farther; /* ns of a hop: one L3 cache, one socket, two */
} cache_machine;

typedef struct {
    double ns;
    int near, far;
} cache_path;

typedef struct {
    uint64_t near, far; /* lines fetched from the same L3 cache, from another one */
} cache_lines;

/* Runs `run` on every rank in zeroed memory. Ends the program when they wait for ever. */
void cache_run(const cache_machine *machine, int ranks, void *memory, size_t bytes,
               void (*run)(int rank));
/* Waits for all ranks, for nothing: they go on at the same time, and are counted from here on. */
void cache_align(void);
cache_path cache_path_of(int rank); /* since the last cache_align */
cache_lines cache_lines_of(int rank);

/* For protocols that are not in src/node: a flag that is set, and one that is waited for. */
void cache_set(_Atomic uint64_t *flag, uint64_t value);
void cache_await(const _Atomic uint64_t *flag, uint64_t value);

#endif
