/* Whether a rank copies to and from rings in pieces (copy.h) or by the string instruction, `rep
 * movsb`.
 *
 * Some processors write whole lines by that instruction without fetching them first, and read
 * faster by it (Zen 5: twice and 1.1 to 1.3 times as fast, near and far; docs/explanation/
 * node-limits.md). On others it gains nothing, and copies in turn are lost (copy.h). No bit of
 * CPUID tells them apart: Zen 3 and Zen 4 have the same ones. So each rank tries both on each
 * group and for each kind of work, a few copies of either, at first soon and then ever less often.
 * Nobody has to agree on it, and readers do not pay for it: what was written either way is read
 * equally fast (bench/results/node_limits-zen5-20261129.txt), unlike what was streamed (stores.h).
 */
#ifndef STRETTO_NODE_WAYS_H
#define STRETTO_NODE_WAYS_H

#include "node/copy.h"
#include "node/stores.h"

typedef enum {
    STRETTO_WAY_WRITE, /* to the own ring */
    STRETTO_WAY_READ,  /* from another one */
    STRETTO_WAY_KINDS
} stretto_way_kind;

/* Zeroed at first. */
typedef struct {
    uint64_t sum[2], most[2]; /* of this trial, in pieces and by string: ticks for 1024 bytes */
    uint32_t left;            /* copies until the next trial */
    uint32_t stay;            /* copies between the last trial and the next */
    uint32_t tried;           /* copies of this trial */
    bool string;              /* the way in use */
} stretto_way;

/* One copy, or several in turn: bit 0 = by string; in a trial, the others = ticks when it began.
 * A scalar: with a structure, which is stored just before `rep movsb`, a bcast of 64 KiB took 1.30
 * instead of 1.21 us (Zen 5, near). */
typedef uint64_t stretto_copies;

static inline bool stretto_by_string(stretto_copies copies) {
    return copies & 1;
}

_Static_assert(
    STRETTO_NODE_WAY_TRIAL % 2 == 0 && STRETTO_NODE_WAY_TRIAL * ((STRETTO_NODE_WAY_RUN + 1) / 2) >=
                                           2 * (STRETTO_MAY_STREAM ? 2 : 1),
    "a trial has at least two timed copies of each way, of which the dearest is left out");

static inline void stretto_way_decide(stretto_way *way) {
    uint64_t cost[2];
    for (int string = 0; string < 2; string++)
        cost[string] = way->sum[string] - way->most[string]; /* one may have been interrupted */
    const uint64_t here = cost[way->string], other = cost[!way->string];
    const bool changes = other + other / STRETTO_NODE_WAY_GAIN < here;
    way->string ^= changes;
    if (way->stay == 0 || changes)
        way->stay = STRETTO_NODE_WAY_STAY;
    else if (way->stay < STRETTO_NODE_WAY_STAY_MOST)
        way->stay *= 4;
    way->left = way->stay;
    way->tried = 0;
    for (int string = 0; string < 2; string++)
        way->sum[string] = way->most[string] = 0;
}

/* So many bytes are about to be copied. Tells which way, and in a trial takes the time. */
static inline stretto_copies stretto_copies_begin(stretto_way *way, size_t bytes) {
    __asm__("" : "+r"(bytes)); /* a bound known to the compiler becomes `rep movsq` in the copies */
    if (bytes < STRETTO_NODE_STRING)
        return 0;
    const bool turn = way->tried / STRETTO_NODE_WAY_RUN & 1;
    if (!STRETTO_MAY_STREAM) {
        way->tried++;
        return STRETTO_NODE_WAY_UNTIMED && turn;
    }
    /* short copies end before their stores do: their time says little */
    if (__builtin_expect(way->left != 0 || bytes < STRETTO_NODE_WAY_TIMED, 1)) {
        way->left -= way->left != 0;
        return way->string;
    }
    return (stretto_ticks() & ~(uint64_t)1) | turn;
}

/* A copy of a trial cost so many ticks for 1024 bytes. */
static inline void stretto_way_count(stretto_way *way, bool string, uint64_t cost) {
    /* first, lines lie where the other way has left them */
    if (way->tried % STRETTO_NODE_WAY_RUN + 1 > STRETTO_NODE_WAY_RUN / 2) {
        way->sum[string] += cost;
        if (cost > way->most[string])
            way->most[string] = cost;
    }
    if (++way->tried == STRETTO_NODE_WAY_TRIAL * STRETTO_NODE_WAY_RUN)
        stretto_way_decide(way);
}

static inline void stretto_copies_end(stretto_way *way, stretto_copies copies, size_t bytes) {
    if (__builtin_expect(copies > 1, 0))
        stretto_way_count(way, copies & 1,
                          stretto_piece_ticks(stretto_ticks() - copies, bytes) * 1024 / bytes);
}

#endif
