/* How a rank stores what others are about to read from its ring: ordinary stores, or streaming ones
 * that go past the caches.
 *
 * An ordinary store must first take the line away from whoever read it last. Where the cores share
 * an L3 and the ring outgrows the reader's L2 that is nearly free (25 to 50 GB/s, and the reader
 * finds the data in L3); where the line still lies in the reader's L2 (a modest ring: 5 to 10 GB/s)
 * or the cores share no L3 (two dies or sockets: 4 GB/s) streaming is quicker, at 50 GB/s for
 * writing, and the reader has to fetch the data from memory. Which it is no table tells: virtual
 * processors move, and neighbours use the same L3. What the stores alone cost does not tell it
 * either (near cores whose L3 somebody else fills: 1 to 4 ticks for 8 bytes; far ones: 2 to 3).
 *
 * So large pieces are timed on both sides, and the group's first rank tries both ways, each for a
 * few laps of the ring, and takes the one in which the busiest rank spends less time on writing and
 * reading, for all ranks of the group: a rank that decided for itself would spare its own stores at
 * its readers' expense. A way that lost is tried again after more and more laps. Readers cannot
 * tell the difference, so nobody has to agree on when it changes. */
#ifndef STRETTO_NODE_STORES_H
#define STRETTO_NODE_STORES_H

#include "node/tuning.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* ThreadSanitizer does not see streaming stores, aarch64 has none that were tried: there all stores
 * are ordinary, and nothing is timed. */
#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__)
#define STRETTO_MAY_STREAM 1
#include <emmintrin.h>

static inline uint64_t stretto_ticks(void) {
    return __builtin_ia32_rdtsc();
}

/* Past the caches, at least 64 bytes. The fence makes the streamed data visible before the flag
 * that the caller then sets. */
static inline void stretto_stream(void *to, const void *from, size_t bytes) {
    unsigned char *t = to;
    const unsigned char *f = from;
    size_t head = -(uintptr_t)to & 63;
    memcpy(t, f, head);
    t += head, f += head, bytes -= head;
    for (; bytes >= 64; bytes -= 64, t += 64, f += 64) {
        __m128i a = _mm_loadu_si128((const __m128i *)(const void *)f);
        __m128i b = _mm_loadu_si128((const __m128i *)(const void *)(f + 16));
        __m128i c = _mm_loadu_si128((const __m128i *)(const void *)(f + 32));
        __m128i d = _mm_loadu_si128((const __m128i *)(const void *)(f + 48));
        _mm_stream_si128((__m128i *)(void *)t, a);
        _mm_stream_si128((__m128i *)(void *)(t + 16), b);
        _mm_stream_si128((__m128i *)(void *)(t + 32), c);
        _mm_stream_si128((__m128i *)(void *)(t + 48), d);
    }
    memcpy(t, f, bytes);
    _mm_sfence();
}
#else
#define STRETTO_MAY_STREAM 0

static inline uint64_t stretto_ticks(void) {
    return 0;
}

static inline void stretto_stream(void *to, const void *from, size_t bytes) {
    memcpy(to, from, bytes);
}
#endif

enum { STRETTO_WRITING, STRETTO_READING, STRETTO_SIDES };

/* What a rank's copies to and from rings took since the group began: ticks of the time stamp
 * counter and bytes. Written by that rank alone; hints, so relaxed. */
typedef struct {
    _Alignas(128) _Atomic uint64_t ticks[STRETTO_SIDES];
    _Atomic uint64_t bytes[STRETTO_SIDES];
} stretto_costs;

/* At most so many ticks for a piece: an interruption counts as one very slow piece (0.3 GB/s). */
static inline uint64_t stretto_piece_ticks(uint64_t ticks, size_t bytes) {
    const uint64_t most = 8 * (uint64_t)bytes;
    return ticks < most ? ticks : most;
}

/* Record that a copy of `bytes` bytes took `ticks` ticks. Return the total bytes of that side. */
static inline uint64_t stretto_costs_add(stretto_costs *costs, int side, uint64_t ticks,
                                         size_t bytes) {
    _Atomic uint64_t *sum = &costs->ticks[side], *all = &costs->bytes[side];
    const uint64_t spent = atomic_load_explicit(sum, memory_order_relaxed) + ticks,
                   moved = atomic_load_explicit(all, memory_order_relaxed) + bytes;
    atomic_store_explicit(sum, spent, memory_order_relaxed);
    atomic_store_explicit(all, moved, memory_order_relaxed);
    return moved;
}

/* A rank's sums when this lap began. */
typedef struct {
    uint64_t busy;           /* ticks of both sides */
    uint64_t writing, bytes; /* ticks and bytes of writing */
} stretto_costs_seen;

/* What the group's first rank has learned; but for `next` zeroed at first. Costs are ticks for 1024
 * bytes of the rank that wrote most. */
typedef struct {
    uint64_t next[STRETTO_SIDES];       /* look at all ranks' sums when the own bytes are so many */
    uint64_t recent[STRETTO_NODE_LAPS]; /* costs of the last laps */
    uint64_t writing[STRETTO_NODE_LAPS]; /* of which mere writing, on the average */
    uint64_t kept;   /* least cost of the way that is kept, when it was decided; 0: not yet */
    uint64_t other;  /* while one is tried: of the other way */
    unsigned laps;   /* timed since this way began */
    unsigned since;  /* laps since the last decision */
    unsigned stay;   /* laps until the other way is tried */
    unsigned before; /* the same of the way that was left, until that one has been tried again */
    bool settled; /* the first lap of a way is over: in it pages are touched, or lines fetched that
                     the other way had left elsewhere */
    bool streaming, trying;
} stretto_stores;

static inline void stretto_stores_change(stretto_stores *stores) {
    stores->streaming = !stores->streaming;
    stores->settled = false;
    stores->laps = 0;
}

static inline unsigned stretto_stores_longer(const stretto_stores *stores, unsigned stay) {
    const unsigned most = stores->streaming ? STRETTO_NODE_STAY_PAST : STRETTO_NODE_STAY_MOST;
    return stay < most / 4 ? 4 * stay : most;
}

static inline uint64_t stretto_least_of(const uint64_t costs[STRETTO_NODE_LAPS]) {
    uint64_t least = costs[0];
    for (int i = 1; i < STRETTO_NODE_LAPS; i++)
        least = costs[i] < least ? costs[i] : least;
    return least;
}

/* A lap has ended that cost so much, and on the average `writing` for mere writing. Decides how
 * what follows is written (stores->streaming). */
static inline void stretto_stores_judge(stretto_stores *stores, uint64_t lap, uint64_t writing) {
    if (!stores->settled) {
        stores->settled = true;
        return;
    }
    stores->recent[stores->laps % STRETTO_NODE_LAPS] = lap;
    stores->writing[stores->laps % STRETTO_NODE_LAPS] = writing;
    stores->laps++;
    stores->since++;
    if (stores->laps < STRETTO_NODE_LAPS)
        return;
    const uint64_t cost = stretto_least_of(stores->recent);
    if (stores->trying) {
        stores->trying = false;
        stores->since = 0;
        if (cost < stores->other - stores->other / STRETTO_NODE_GAIN) {
            /* the other's laps may have been unlucky: it is soon tried again, and if it wins, this
             * trial has changed nothing */
            const bool back = stores->before && stores->stay == STRETTO_NODE_STAY;
            const unsigned stay = stores->stay;
            stores->stay = back ? stretto_stores_longer(stores, stores->before) : STRETTO_NODE_STAY;
            stores->before = back ? 0 : stay;
            stores->kept = cost;
            return;
        }
        stretto_stores_change(stores);
        stores->stay = stretto_stores_longer(stores, stores->stay);
        stores->before = 0;
        stores->kept = stores->other;
        return;
    }
    if (!stores->streaming && stretto_least_of(stores->writing) < STRETTO_NODE_COST_NEAR) {
        stores->kept = cost;
        return;
    }
    const bool dearer = cost > stores->kept + stores->kept / 2;
    if (stores->since < stores->stay && !(dearer && stores->since >= stores->stay / 8))
        return;
    if (stores->stay == 0)
        stores->stay = STRETTO_NODE_STAY; /* the first trial comes at once */
    stores->other = cost;
    stores->trying = true;
    stretto_stores_change(stores);
}

#endif
