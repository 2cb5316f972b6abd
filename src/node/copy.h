/* How data is copied: what may be long goes through stretto_copy, what others are about to read
 * from a shared buffer through stretto_publish. */
#ifndef STRETTO_NODE_COPY_H
#define STRETTO_NODE_COPY_H

#include "node/tuning.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* memcpy in pieces too short for its `rep movsb`.
 *
 * From some 2 to 16 KiB on (by machine and version) glibc's memcpy on x86-64 is that one
 * instruction, up to a length near the L2 cache. On AMD's Zen it is 20 times slower than a loop
 * where the target lies 1 to 31 bytes behind the source modulo 4096 (Zen 4: 2.8 GB/s), which is
 * nobody's fault: two buffers of malloc's differ by 16 in every second case. Up to the piece's
 * length every glibc runs its loop, for which a piece more costs nothing (Zen 4, 16 KiB in cache: 4
 * % at most where both are aligned, a fifth where they are not); a loop of our own would need a
 * copy for each vector length. Beyond MOST it is left to memcpy, which then goes past the caches.
 */
static inline void stretto_copy(void *to, const void *from, size_t bytes) {
#ifdef __x86_64__
    size_t piece = bytes < STRETTO_NODE_COPY_MOST ? STRETTO_NODE_COPY_PIECE : bytes;
    __asm__("" : "+r"(piece)); /* a length known to the compiler becomes `rep movsq` here */
    unsigned char *t = to;
    const unsigned char *f = from;
    for (; bytes > piece; bytes -= piece, t += piece, f += piece)
        memcpy(t, f, piece);
    memcpy(t, f, bytes);
#else
    memcpy(to, from, bytes);
#endif
}

/* Two copies in turn, piece by piece: one whose source another core has written, and one within
 * this rank's memory. While the first waits for lines the processor goes on with the second, which
 * then costs next to nothing. own may be 0, its pointers are not looked at then. */
static inline void stretto_copy_both(void *to, const void *from, size_t bytes, void *own_to,
                                     const void *own_from, size_t own) {
    size_t piece = STRETTO_NODE_COPY_TURN;
    __asm__("" : "+r"(piece)); /* as above */
    unsigned char *t = to, *o = own_to;
    const unsigned char *f = from, *g = own_from;
    for (; bytes > piece && own > piece; bytes -= piece, own -= piece) {
        memcpy(t, f, piece);
        memcpy(o, g, piece);
        t += piece, f += piece, o += piece, g += piece;
    }
    stretto_copy(t, f, bytes);
    if (own)
        stretto_copy(o, g, own);
}

/* What a writer has learned; `ring` is set, the rest zeroed at first. */
typedef struct {
    size_t ring;    /* bytes of the buffer that is written round and round */
    size_t bytes;   /* of large pieces in this lap, or since streaming began */
    uint64_t ticks; /* that ordinary stores took in this lap */
    unsigned laps;  /* with ordinary stores since they began */
    bool streaming;
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
 * its stores cost, lap by lap of its ring; never in the first lap, in which pages are touched, or
 * lines fetched that streaming had left in memory. While streaming, ordinary stores are given two
 * laps in PROBE. A rank's own affair: readers cannot tell the difference. */
static inline void stretto_publish(stretto_publisher *publisher, void *to, const void *from,
                                   size_t bytes) {
    if (bytes < STRETTO_NODE_STREAM) {
        stretto_copy(to, from, bytes);
        return;
    }
    publisher->bytes += bytes;
    if (publisher->streaming) {
        stretto_stream(to, from, bytes);
        if (publisher->bytes >= STRETTO_NODE_PROBE * publisher->ring)
            *publisher = (stretto_publisher){.ring = publisher->ring};
        return;
    }
    uint64_t begin = __builtin_ia32_rdtsc();
    stretto_copy(to, from, bytes);
    uint64_t ticks = __builtin_ia32_rdtsc() - begin;
    /* an interruption counts as no more than one slow piece */
    publisher->ticks += ticks < bytes ? ticks : bytes;
    if (publisher->bytes >= publisher->ring) {
        publisher->streaming = publisher->laps++ && publisher->ticks * STRETTO_NODE_TICKS_BYTES >
                                                        publisher->bytes * STRETTO_NODE_TICKS;
        publisher->bytes = 0;
        publisher->ticks = 0;
    }
}
#else
static inline void stretto_publish(stretto_publisher *publisher, void *to, const void *from,
                                   size_t bytes) {
    (void)publisher;
    stretto_copy(to, from, bytes);
}
#endif

#endif
