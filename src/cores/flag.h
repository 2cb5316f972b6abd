/* What a flag takes from one processor to another: the floor of every message and collective within
 * a node. Two processes or threads, each pinned, share a pair of flags. */
#ifndef STRETTO_CORES_FLAG_H
#define STRETTO_CORES_FLAG_H

#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <time.h>

/* Polls without an answer after which a side lets others have its core: some microseconds. */
enum { STRETTO_FLAG_POLLS = 4096 };

/* Each side writes one of them, in cache lines that the prefetcher does not fetch together. */
typedef struct {
    struct {
        _Alignas(128) _Atomic unsigned value;
    } way[2];
} stretto_flags;

static inline double stretto_flag_seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static inline void stretto_flag_raise(stretto_flags *flags, int way, unsigned value) {
    atomic_store_explicit(&flags->way[way].value, value, memory_order_release);
}

/* The other side may be one step further already, and may need this side's core to get there. */
static inline void stretto_flag_await(stretto_flags *flags, int way, unsigned value) {
    for (unsigned polls = 1;
         (int)(atomic_load_explicit(&flags->way[way].value, memory_order_acquire) - value) < 0;
         polls++)
        if (polls % STRETTO_FLAG_POLLS == 0)
            sched_yield();
}

/* Seconds one way: the least of some batches of round trips. Both sides call it (`side` 0 and 1)
 * with the same numbers; *count is how often the flags were raised so far, equal on both. */
static inline double stretto_flag_trip(stretto_flags *flags, int side, unsigned *count, int batches,
                                       int trips) {
    double least = 1;
    for (int b = 0; b < batches; b++) {
        const double began = stretto_flag_seconds();
        for (int i = 0; i < trips; i++) {
            ++*count;
            if (side == 0)
                stretto_flag_raise(flags, 0, *count);
            stretto_flag_await(flags, 1 - side, *count);
            if (side == 1)
                stretto_flag_raise(flags, 1, *count);
        }
        const double each = (stretto_flag_seconds() - began) / trips / 2;
        least = each < least ? each : least;
    }
    return least;
}

#endif
