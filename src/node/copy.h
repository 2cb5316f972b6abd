/* How data is copied: what may be long goes through stretto_copy, what others are about to read
 * from a shared buffer, or have written there, through chunk.h's stretto_publish and stretto_fetch,
 * or in turn with other copies; and which of the ways of copying is taken there: ways.h. */
#ifndef STRETTO_NODE_COPY_H
#define STRETTO_NODE_COPY_H

#include "node/tuning.h"

#include <stdbool.h>
#include <stddef.h>
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

/* A hint: this thread is about to write to that line, which others have read. */
static inline void stretto_own(const void *line) {
#ifdef __x86_64__
    /* as compilers have it only for processors later than the first of x86-64 (where it does
     * nothing) */
    __asm__ volatile("prefetchw %0" : : "m"(*(const char *)line));
#else
    __builtin_prefetch(line, 1);
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

/* Asks for the lines of the copy that lie AHEAD of its next piece, and none beyond its end: those
 * may be written just now. */
static inline void stretto_copy_ahead(const stretto_copying *copy, size_t piece) {
    const size_t end =
        copy->bytes < STRETTO_NODE_AHEAD + piece ? copy->bytes : STRETTO_NODE_AHEAD + piece;
    for (size_t i = STRETTO_NODE_AHEAD; i < end; i += 64)
        __builtin_prefetch(copy->from + i);
}

/* The first of them. */
static inline void stretto_copy_ask(const unsigned char *from, size_t bytes) {
    for (size_t i = 0; i < STRETTO_NODE_AHEAD && i < bytes; i += 64)
        __builtin_prefetch(from + i);
}

/* From what another core has written. In pieces whose lines were asked for: the processor's own
 * prefetching follows one stream of growing addresses, and memcpy loads the end of what it copies
 * first (tuning.h, AHEAD). */
static inline void stretto_copy_foreign(stretto_copying in) {
    size_t piece = STRETTO_NODE_COPY_TURN_THREE;
    __asm__("" : "+r"(piece)); /* as above */
    stretto_copy_ask(in.from, in.bytes);
    while (in.bytes > piece) {
        stretto_copy_ahead(&in, piece);
        stretto_copy_turn(&in, piece);
    }
    stretto_copy_rest(in);
}

/* By the string instruction, where ways.h or judge.h has found it the faster way. Not where the
 * target lies less than a line behind the source modulo 4096: up to 31 bytes it is slow on older
 * Zen (above), and on Zen 5 up to 63 a third slower. Elsewhere than on x86-64 as from another
 * core: then only the order and the length of copies differ. */
static inline void stretto_copy_string(void *to, const void *from, size_t bytes) {
#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__) /* which does not see its accesses */
    if ((((uintptr_t)to - (uintptr_t)from - 1) & 4095) >= 63) {
        __asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(bytes) : : "memory");
        return;
    }
#endif
    stretto_copy_foreign((stretto_copying){to, from, bytes});
}

/* By the string instruction or not; also from MOST bytes on (Zen 5, near: gather of 1 MiB 35.1 us,
 * with memcpy for the root's own block 38.3; of 4 MiB alike). */
static inline void stretto_copy_way(stretto_copying copy, bool string) {
    size_t bytes = copy.bytes;
    __asm__("" : "+r"(bytes)); /* as above */
    if (string && bytes >= STRETTO_NODE_STRING)
        stretto_copy_string(copy.to, copy.from, bytes);
    else
        stretto_copy_rest(copy);
}

/* Two copies in turn, piece by piece: one that waits for lines of another core, and one within this
 * rank's memory. While the first waits the processor goes on with the second, which then costs next
 * to nothing. */
static inline void stretto_copy_both(stretto_copying a, stretto_copying b) {
    size_t piece = STRETTO_NODE_COPY_TURN;
    __asm__("" : "+r"(piece)); /* as above */
    while (a.bytes > piece && b.bytes > piece) {
        stretto_copy_ahead(&a, piece);
        stretto_copy_turn(&a, piece);
        stretto_copy_turn(&b, piece);
    }
    stretto_copy_foreign(a);
    stretto_copy_rest(b);
}

/* Three: from what another core has written, to what another core has read, and within this rank's
 * memory. */
static inline void stretto_copy_three(stretto_copying a, stretto_copying b, stretto_copying c) {
    size_t piece = STRETTO_NODE_COPY_TURN_THREE;
    __asm__("" : "+r"(piece)); /* as above */
    while (a.bytes > piece && b.bytes > piece && c.bytes > piece) {
        stretto_copy_ahead(&a, piece);
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

#endif
