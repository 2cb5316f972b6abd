/* What the node phases share: the layout of the memory, the handle, the flags.
 *
 * PROTOCOLS, and why they are right. Every flag and every line has one writer. Notation: W -> R is
 * "store-release of W is read by load-acquire in R", which orders everything before W in the writer
 * before everything after R in the reader (C11 5.1.2.4); nothing else is relied on, and in
 * particular not the order of stores of x86.
 *
 * 1. Sequenced lines. A line is 56 bytes of payload and a 64-bit sequence number that only grows.
 *      writer:  payload = x (plain);  seq = s (release)
 *      reader:  while (seq < s) (acquire);  read payload (plain)
 *    seq = s -> reader: the payload is x. That it is not yet overwritten by the call s + ring which
 *    uses the same line next is the writer's duty (2). The payload arrives with its flag in one
 *    transfer of the cache line, and long messages are a run of such lines.
 *
 * 2. Done. Rank r stores done_r = s (release) when it has read all that it reads in call s. Each
 *    rank has two rings of lines for each way (up, down): one of TINY_RING single lines (in a short
 *    piece SHORT_RING), for calls whose messages fit in one, and one of SMALL_RING places for
 *    longer ones. Which of them a call
 *    uses follows from a size that is the same on all ranks; its place is call % ring. So the call
 *    that last used a place of either ring is `ring` calls back or more, whatever the calls in
 *    between were, and a writer in call s needs done_r >= s - ring of every r (acquire): r's
 *    reads then happen before the overwriting. Most calls know it without looking:
 *    a rank that completed call t of a kind that needs everybody's contribution (allreduce,
 *    barrier, allgather; reduce at the root) has, through the chain of lines that brought the
 *    contributions, an acquire of something that each rank released after its own call t - 1 ended.
 *    `known` is the largest call that this rank knows to be over on all ranks, and catch_up() reads
 *    the done flags only when it is too small (a root of rooted calls that runs ahead).
 *
 * 3. Chunk counters (chunk.c). posted_r counts the chunks that r has written to its ring (pair.c:
 *    also to the other rank's, and in an allreduce steps of up to two chunks), and taken_r what it
 *    has produced or consumed; both are absolute over the life of the group, from a base that every
 *    rank computes alike. See chunk.c for each use. A place is written again in a later call when
 * the calls that used it are over on all ranks (`known`, or done_r), and within a call when its
 *    readers have said so by taken_r or by a later posted_r. Between calls of pair.c posted_r alone
 *    says it.
 *
 * 4. Domains (domains.h). The same lines and counters, read by other ranks: a rank reads only from
 *    its own domain, unless it acts for that; what acts for a domain reads from those that act for
 *    others. For protocol 1 each rank still writes its UP and its DOWN line at most once in a call;
 *    for 2 nothing changes, as done_r covers all that r reads, and what has come up two trees has
 *    come from everybody as before. In 3 a bcast's counters count what they did before, only
 *    between other pairs, and reductions number the stages of a loop (domain_chunk.c).
 *
 * 5. A piece of memory that had users before (node.h, stretto_node_past). Whoever left it did so
 *    after its last call there and told how far its numbers had got; the new group goes on from the
 *    largest, `past`, when all have left. So what lies in flags and lines is at most `past`, no
 *    waiting takes it for something of this group, and calls up to past.calls are over on all
 *    ranks (`known`). That the old group's accesses come before the new one's is the runtime's
 * duty: leaving releases, taking the piece acquires, and others learn of it by messages.
 *
 * A rank never waits for a flag that can only be set after its own later action, so no call can
 * deadlock as long as all ranks make the same calls.
 */
#ifndef STRETTO_NODE_INTERNAL_H
#define STRETTO_NODE_INTERNAL_H

#include "node/copy.h"
#include "node/judge.h"
#include "node/node.h"
#include "node/stores.h"
#include "node/tuning.h"
#include "node/ways.h"

#include <stdatomic.h>
#include <string.h>

#define STRETTO_LINE_DATA 56

typedef struct {
    _Alignas(64) unsigned char data[STRETTO_LINE_DATA];
    _Atomic uint64_t seq;
} stretto_line;

/* Neighbouring lines are prefetched in pairs on x86 too: a flag keeps 128 bytes for itself. */
typedef struct {
    _Alignas(128) _Atomic uint64_t value;
} stretto_flag;

typedef struct {
    _Alignas(128) stretto_line line;
} stretto_tiny;

enum { STRETTO_UP, STRETTO_DOWN, STRETTO_WAYS };

/* What one rank writes and the others read; in pair.c, two ranks write the ring by turns. */
typedef struct {
    stretto_flag done;   /* protocol 2 */
    stretto_flag posted; /* protocol 3 */
    stretto_flag taken;
    stretto_flag streaming; /* rank 0's: how all write large pieces (stores.h); a hint */
    stretto_costs costs;
    /* a short piece has the first SHORT_RING of them, and ends there */
    stretto_tiny tiny[STRETTO_NODE_TINY_RING][STRETTO_WAYS];
    stretto_line small[STRETTO_WAYS][STRETTO_NODE_SMALL_RING][STRETTO_NODE_SMALL_LINES];
    _Alignas(128) unsigned char chunks[]; /* node->area bytes */
} stretto_area;

typedef struct stretto_domains stretto_domains; /* domains.h */

enum { STRETTO_SCRATCH = 3 };

/* Calls one behind the other whose ranks write each its own ring (stretto_ring_begin). */
typedef struct {
    size_t size, step;     /* bytes of a place; places that are written together */
    uint64_t last, marked; /* the last call; the last one before chunk `mark` */
    uint64_t from, mark;   /* chunk numbers; from <= mark */
} stretto_ring;

struct stretto_node {
    unsigned char *memory;
    size_t stride; /* from one rank's area to the next */
    size_t area;   /* bytes of a rank's buffer for large messages */
    size_t small;  /* bytes of the longest small message */
    size_t lines;  /* the same where lines go without regard to domains (node.c), else 0 */
    uint64_t tiny; /* places of the ring of single lines */
    int nlocal, me;
    uint64_t seq;       /* calls begun */
    uint64_t known;     /* calls that are over on all ranks, as far as this rank knows */
    uint64_t last_bulk; /* last call that used the chunk buffers */
    uint64_t last_ring; /* ... but not as pair.c does */
    uint64_t turn;      /* places that pair.c has gone through */
    uint64_t chunks;    /* base of the chunk counters */
    stretto_ring ring;
    stretto_wait wait;
    int *pids;
    int *peers;               /* the ranks' numbers for xpmem.h, or NULL */
    bool attaches;            /* reaches the others' memory by XPMEM; equal on all ranks */
    stretto_domains *domains; /* NULL: all ranks are as near to one another */
    bool by_domain;           /* messages of all sizes go by domain */
    bool cma;                 /* the kernel copies between these ranks; until one copy failed */
    bool modest;              /* the ring is so small that the kernel's copies are mostly quicker */
    stretto_judge judges[STRETTO_JUDGE_KINDS][STRETTO_JUDGE_CLASSES];
    stretto_way ways[STRETTO_WAY_KINDS];
    stretto_stores stores;                   /* rank 0's; of others only `next`, never reached */
    stretto_costs_seen *seen;                /* rank 0's: [nlocal] */
    unsigned char *scratch[STRETTO_SCRATCH]; /* each for the longest small message */
    unsigned char *room; /* where they lie, and `seen` as well; NULL: in short_scratch */
    unsigned char *sums; /* two pieces, for direct reductions; NULL before the first one */
    _Alignas(64) unsigned char short_scratch[STRETTO_SCRATCH][64];
};

static inline size_t stretto_least(size_t a, size_t b) {
    return a < b ? a : b;
}

#define STRETTO_SMALL_MAX ((size_t)STRETTO_NODE_SMALL_LINES * STRETTO_LINE_DATA)

static inline stretto_area *stretto_area_of(const stretto_node *node, int rank) {
    return (stretto_area *)(node->memory + (size_t)rank * node->stride);
}

uint64_t stretto_await_slow(const stretto_node *node, const _Atomic uint64_t *flag, uint64_t value);

/* Waits until *flag >= value (acquire); returns what was seen. */
static inline uint64_t stretto_await(const stretto_node *node, const _Atomic uint64_t *flag,
                                     uint64_t value) {
    uint64_t seen = atomic_load_explicit(flag, memory_order_acquire);
    return __builtin_expect(seen >= value, 1) ? seen : stretto_await_slow(node, flag, value);
}

/* A look (acquire), without waiting: whether *flag >= value. */
static inline bool stretto_peek(const _Atomic uint64_t *flag, uint64_t value) {
    return atomic_load_explicit(flag, memory_order_acquire) >= value;
}

static inline void stretto_set(stretto_flag *flag, uint64_t value) {
    atomic_store_explicit(&flag->value, value, memory_order_release);
}

void stretto_catch_up_slow(stretto_node *node, uint64_t call);

/* Returns when call `call` is over on all ranks. */
static inline void stretto_catch_up(stretto_node *node, uint64_t call) {
    if (__builtin_expect(node->known < call, 0))
        stretto_catch_up_slow(node, call);
}

/* Ends call node->seq here; `all` when everybody's contribution was seen. */
static inline void stretto_finish(stretto_node *node, bool all) {
    stretto_set(&stretto_area_of(node, node->me)->done, node->seq);
    if (all)
        node->known = node->seq - 1;
}

/* out = source[0] op source[1] op ... , left to right, n >= 2 elements of `size` bytes. Only
 * source[own] may equal out; scratch holds count elements and is none of the sources. */
static inline void stretto_fold(const void *const *source, int nsources, int own, void *out,
                                void *scratch, size_t count, stretto_reduce_fn reduce) {
    const void *left = source[0];
    for (int i = 1; i < nsources; i++) {
        void *result = i >= own || i == nsources - 1 ? out : scratch;
        reduce(left, source[i], result, count);
        left = result;
    }
}

/* small.c: messages up to STRETTO_SMALL_MAX bytes. */
void stretto_small_bcast(stretto_node *node, void *buffer, size_t bytes, int root);
void stretto_small_reduce(stretto_node *node, const void *src, void *dst, size_t count, size_t size,
                          stretto_reduce_fn reduce, int root);
void stretto_small_allreduce(stretto_node *node, const void *src, void *dst, size_t count,
                             size_t size, stretto_reduce_fn reduce);

/* chunk.c: any size, pipelined through the shared buffers. root < 0: allreduce. */
void stretto_chunk_bcast(stretto_node *node, void *buffer, size_t bytes, int root);
void stretto_chunk_reduce(stretto_node *node, const void *src, void *dst, size_t count, size_t size,
                          stretto_reduce_fn reduce, int root);

/* allgather.c: the same for blocks of sizes that all ranks know; and the small one, of equal
 * blocks. */
void stretto_small_allgather(stretto_node *node, const void *src, void *dst, size_t bytes);
void stretto_chunk_allgather(stretto_node *node, const void *src, void *dst, const size_t *at,
                             const size_t *bytes);

/* exchange.c: a message for each pair of ranks through the shared buffers, and got[me] bytes from a
 * rank to itself. `largest` of all pairs, the same on all ranks; where sent[r] > skip_up_to the
 * message to r is sent, likewise received. Of what comes from r at most fits[r] bytes are stored.
 * source may be dst where the places are the same. Messages are moved in pieces of at most `piece`
 * bytes (a multiple of a line, the same on all ranks). */
void stretto_chunk_exchange(stretto_node *node, const unsigned char *source, const size_t *sent_at,
                            const size_t *sent, unsigned char *dst, const size_t *got_at,
                            const size_t *got, const size_t *fits, size_t largest,
                            size_t skip_up_to, size_t piece);

/* gather.c, reduce_scatter.c: any size, through the shared buffers. */
void stretto_chunk_gather(stretto_node *node, const void *src, void *dst, size_t bytes, int root);
void stretto_chunk_scatter(stretto_node *node, const void *src, void *dst, size_t bytes, int root);
void stretto_chunk_reduce_scatter(stretto_node *node, const void *src, void *dst,
                                  const size_t *counts, size_t size, stretto_reduce_fn reduce);

#endif
