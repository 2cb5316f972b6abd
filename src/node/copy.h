/* Copying into a shared buffer that others are about to read. */
#ifndef STRETTO_NODE_COPY_H
#define STRETTO_NODE_COPY_H

#include "node/tuning.h"

#include <stdint.h>
#include <string.h>

/* What a writer has learned; zeroed at first. */
typedef struct {
    int score;         /* slow pieces less quick ones, within 0 and 2 SLOW */
    unsigned streamed; /* pieces written past the caches */
} stretto_publisher;

/* ThreadSanitizer does not see streaming stores: there all stores are ordinary. */
#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__)
#include <emmintrin.h>

/* Past the caches. The fence makes the streamed data visible before the flag that the caller then
 * sets. */
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

/* A large piece: with ordinary stores or past the caches, whichever costs less here and now.
 *
 * An ordinary store must first take the line away from whoever read it last. Where the cores share
 * an L3 and the ring outgrows the reader's L2 that is nearly free (25 to 50 GB/s, and the reader
 * finds the data in L3); where the line still lies in the reader's L2 (a modest ring: 5 to 10 GB/s)
 * or the cores share no L3 (two dies or sockets: 4 GB/s) streaming wins, at 50 GB/s for writing and
 * 20 for reading. Which it is no table tells (virtual processors move), so the writer looks at what
 * its stores cost: a score of slow pieces decides, and while streaming one piece in PROBE tries
 * ordinary stores again. A rank's own affair: readers cannot tell the difference. */
static inline void stretto_publish(stretto_publisher *publisher, void *to, const void *from,
                                   size_t bytes) {
    if (bytes < STRETTO_NODE_STREAM) {
        memcpy(to, from, bytes);
        return;
    }
    if (publisher->score >= STRETTO_NODE_SLOW && ++publisher->streamed % STRETTO_NODE_PROBE) {
        stretto_stream(to, from, bytes);
        return;
    }
    uint64_t begin = __builtin_ia32_rdtsc();
    memcpy(to, from, bytes);
    uint64_t ticks = __builtin_ia32_rdtsc() - begin;
    if (ticks * STRETTO_NODE_TICKS_BYTES > bytes * STRETTO_NODE_TICKS)
        publisher->score += publisher->score < 2 * STRETTO_NODE_SLOW;
    else
        publisher->score -= publisher->score > 0;
}
#else
static inline void stretto_publish(stretto_publisher *publisher, void *to, const void *from,
                                   size_t bytes) {
    (void)publisher;
    memcpy(to, from, bytes);
}
#endif

#endif
