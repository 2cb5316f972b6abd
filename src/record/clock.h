/* Time stamps of a few nanoseconds, and what relates them to CLOCK_MONOTONIC and to other ranks. */
#ifndef STRETTO_RECORD_CLOCK_H
#define STRETTO_RECORD_CLOCK_H

#include "record/raw.h"

#include <stdbool.h>
#include <time.h>
#if defined(__x86_64__)
#include <x86intrin.h>
#endif

/* STRETTO_CLOCK_*; set once by stretto_clock_choose before the first time stamp. */
extern int stretto_clock;

static inline uint64_t stretto_monotonic_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Not serialising on purpose: a fence costs more than the few instructions that may slip across. */
static inline uint64_t stretto_ticks(void) {
#if defined(__x86_64__)
    if (__builtin_expect(stretto_clock == STRETTO_CLOCK_TSC, 1))
        return __rdtsc();
#elif defined(__aarch64__)
    if (__builtin_expect(stretto_clock == STRETTO_CLOCK_CNTVCT, 1)) {
        uint64_t ticks;
        __asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
        return ticks;
    }
#endif
    return stretto_monotonic_ns();
}

/* Takes the processor's counter where it runs at a constant rate, through all sleep states and in
 * step on all cores; CLOCK_MONOTONIC otherwise. */
void stretto_clock_choose(void);
/* Both clocks at one instant: the best of a few tries. */
stretto_raw_instant stretto_clock_instant(void);
/* Ticks in a second, from two instants at least some milliseconds apart. */
double stretto_clock_rate(stretto_raw_instant first, stretto_raw_instant last);
/* A number that is equal for two ranks exactly when they share CLOCK_MONOTONIC: the same boot of
 * the same kernel and the same time namespace. */
uint64_t stretto_clock_domain(void);

/* FNV-1a, for names and identities. */
static inline uint64_t stretto_hash_bytes(const void *data, size_t n, uint64_t hash) {
    const unsigned char *bytes = data;
    for (size_t i = 0; i < n; i++)
        hash = (hash ^ bytes[i]) * 0x100000001b3ull;
    return hash;
}
#define STRETTO_HASH_START 0xcbf29ce484222325ull

/* Scrambles a number so that every bit of the result depends on all of its bits. */
static inline uint64_t stretto_mix(uint64_t x) {
    x ^= x >> 32;
    x *= 0xd6e8feb86659fd93ull;
    x ^= x >> 32;
    x *= 0xd6e8feb86659fd93ull;
    return x ^ x >> 32;
}

#endif
