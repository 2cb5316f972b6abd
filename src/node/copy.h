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

/* One of several copies that go on at once. The pointers are not looked at where bytes is 0. */
typedef struct {
    unsigned char *to;
    const unsigned char *from;
    size_t bytes;
} stretto_copying;

/* At most so many bytes of a copy, which goes on behind them. */
static inline stretto_copying stretto_copy_part(stretto_copying *whole, size_t most) {
    stretto_copying part = *whole;
    if (part.bytes > most)
        part.bytes = most;
    if (part.bytes)
        whole->to += part.bytes, whole->from += part.bytes, whole->bytes -= part.bytes;
    return part;
}

static inline void stretto_copy_rest(stretto_copying copy) {
    if (copy.bytes)
        stretto_copy(copy.to, copy.from, copy.bytes);
}

static inline void stretto_copy_turn(stretto_copying *copy, size_t piece) {
    memcpy(copy->to, copy->from, piece);
    copy->to += piece, copy->from += piece, copy->bytes -= piece;
}

/* Two copies in turn, piece by piece: one that waits for lines of another core, and one within this
 * rank's memory. While the first waits the processor goes on with the second, which then costs next
 * to nothing. */
static inline void stretto_copy_both(stretto_copying a, stretto_copying b) {
    size_t piece = STRETTO_NODE_COPY_TURN;
    __asm__("" : "+r"(piece)); /* as above */
    while (a.bytes > piece && b.bytes > piece) {
        stretto_copy_turn(&a, piece);
        stretto_copy_turn(&b, piece);
    }
    stretto_copy_rest(a);
    stretto_copy_rest(b);
}

/* Three: from what another core has written, to what another core has read, and within this rank's
 * memory. */
static inline void stretto_copy_three(stretto_copying a, stretto_copying b, stretto_copying c) {
    size_t piece = STRETTO_NODE_COPY_TURN_THREE;
    __asm__("" : "+r"(piece)); /* as above */
    while (a.bytes > piece && b.bytes > piece && c.bytes > piece) {
        stretto_copy_turn(&a, piece);
        stretto_copy_turn(&b, piece);
        stretto_copy_turn(&c, piece);
    }
    if (b.bytes <= piece) {
        stretto_copying rest = b;
        b = c, c = rest;
    } /* now c is what has ended, unless a has: it is short then, and b and c are not in turn */
    stretto_copy_rest(c);
    stretto_copy_both(a, b);
}

/* What a writer has learned; `ring` is set, the rest zeroed at first. */
typedef struct {
    size_t ring;      /* bytes of the buffer that is written round and round */
    size_t bytes;     /* of large pieces in this lap, or since streaming began */
    uint64_t ticks;   /* that ordinary stores took in this lap */
    unsigned laps;    /* timed, with ordinary stores, since they began */
    unsigned streams; /* laps to be streamed the next time, 0: PROBE */
    size_t untimed;   /* bytes that may now be written with ordinary stores without timing them */
    bool streaming;
    bool cheap; /* ordinary stores were, and one dear lap has not followed yet */
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

/* A lap with ordinary stores has ended: what comes next (see stretto_publish). */
static inline void stretto_end_lap(stretto_publisher *publisher) {
    const uint64_t cost = publisher->ticks * STRETTO_NODE_TICKS_BYTES;
    const bool known = publisher->laps++;
    const bool dear = known && cost > publisher->bytes * STRETTO_NODE_TICKS;
    const bool cheap = known && cost < publisher->bytes * STRETTO_NODE_TICKS_CHEAP;
    publisher->bytes = 0;
    publisher->ticks = 0;
    publisher->untimed = cheap ? STRETTO_NODE_UNTIMED * publisher->ring : 0;
    if (dear && !publisher->cheap) {
        publisher->streaming = true;
        if (publisher->streams == 0 || publisher->streams > STRETTO_NODE_PROBE)
            publisher->streams = STRETTO_NODE_PROBE;
    } else if (dear) {
        publisher->cheap = false;
    } else if (cheap) {
        publisher->cheap = true;
        publisher->streams = STRETTO_NODE_STREAMS;
    }
}

/* A large piece: with ordinary stores or past the caches, whichever costs less here and now.
 *
 * An ordinary store must first take the line away from whoever read it last. Where the cores share
 * an L3 and the ring outgrows the reader's L2 that is nearly free (25 to 50 GB/s, and the reader
 * finds the data in L3); where the line still lies in the reader's L2 (a modest ring: 5 to 10 GB/s)
 * or the cores share no L3 (two dies or sockets: 4 GB/s) streaming wins, at 50 GB/s for writing and
 * 20 for reading. Which it is no table tells (virtual processors move), so the writer looks at what
 * its stores cost, lap by lap of its ring; never in the first lap, in which pages are touched, or
 * lines fetched that streaming had left in memory. One dear lap after cheap ones is not believed
 * either: something else had emptied the caches, and by the next lap they are full again. Ordinary
 * stores are tried again for two laps after PROBE past the caches; where they ever were cheap,
 * after STREAMS and, as long as they are dear, 5 times as many each time, up to PROBE. A rank's own
 * affair: readers cannot tell the difference. */
static inline void stretto_publish(stretto_publisher *publisher, void *to, const void *from,
                                   size_t bytes) {
    if (bytes < STRETTO_NODE_STREAM) {
        stretto_copy(to, from, bytes);
        return;
    }
    publisher->bytes += bytes;
    if (publisher->streaming) {
        stretto_stream(to, from, bytes);
        if (publisher->bytes >= publisher->streams * publisher->ring)
            *publisher =
                (stretto_publisher){.ring = publisher->ring, .streams = 5 * publisher->streams};
        return;
    }
    uint64_t begin = __builtin_ia32_rdtsc();
    stretto_copy(to, from, bytes);
    uint64_t ticks = __builtin_ia32_rdtsc() - begin;
    /* an interruption counts as no more than one slow piece */
    publisher->ticks += ticks < bytes ? ticks : bytes;
    if (publisher->bytes >= publisher->ring)
        stretto_end_lap(publisher);
}

/* Whether a piece may be written with ordinary stores in turn with other copies, so that nobody
 * sees what they cost: where they were cheap in a lap that was timed a few laps ago. The caller
 * then does so. */
static inline bool stretto_may_mix(stretto_publisher *publisher, size_t bytes) {
    if (bytes < STRETTO_NODE_STREAM)
        return true;
    if (bytes > publisher->untimed)
        return false;
    publisher->untimed -= bytes;
    return true;
}
#else
static inline void stretto_publish(stretto_publisher *publisher, void *to, const void *from,
                                   size_t bytes) {
    (void)publisher;
    stretto_copy(to, from, bytes);
}

static inline bool stretto_may_mix(stretto_publisher *publisher, size_t bytes) {
    (void)publisher;
    return bytes < STRETTO_NODE_STREAM; /* what long ones gain was not measured */
}
#endif

#endif
