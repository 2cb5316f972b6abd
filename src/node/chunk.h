/* The shared buffers (protocol 3 of internal.h): how a call that uses them begins, how it writes
 * and reads them, and what it waits for. */
#ifndef STRETTO_NODE_CHUNK_H
#define STRETTO_NODE_CHUNK_H

#include "node/internal.h"

/* chunk.c: rank 0 looks at what all ranks' copies cost, and if the ring of one has gone round since
 * the last lap, decides how all write from now on. */
void stretto_decide_stores(stretto_node *node);

/* A call begins, and `before` was the last one that used the buffers. */
static inline void stretto_stores_look(stretto_node *node, uint64_t before) {
    /* whatever rank 0's own part in the calls */
    if (STRETTO_MAY_STREAM && node->me == 0 && node->seq / 64 != before / 64)
        stretto_decide_stores(node);
}

/* The same as stretto_decide_stores: the group goes on in the memory that node now has, from what
 * its last users learned. */
void stretto_stores_enter(stretto_node *node);

/* A large piece was written or read. */
static inline void stretto_count(stretto_node *node, int side, uint64_t ticks, size_t bytes) {
    stretto_costs *costs = &stretto_area_of(node, node->me)->costs;
    if (__builtin_expect(stretto_costs_add(costs, side, ticks, bytes) >= node->stores.next[side],
                         0))
        stretto_decide_stores(node);
}

/* What begins here reads so many bytes of others' rings: stretto_read_ends follows. */
static inline uint64_t stretto_read_begins(size_t bytes) {
    return bytes < STRETTO_NODE_STREAM ? 0 : stretto_ticks();
}

/* Copies from other ranks' rings, or folds what lies there. */
static inline void stretto_read_ends(stretto_node *node, uint64_t began, size_t bytes) {
    if (STRETTO_MAY_STREAM && bytes >= STRETTO_NODE_STREAM)
        stretto_count(node, STRETTO_READING, stretto_piece_ticks(stretto_ticks() - began, bytes),
                      bytes);
}

/* From another rank's ring, and a copy within this rank's memory (which may be empty). */
static inline void stretto_fetch_both(stretto_node *node, stretto_copying in, stretto_copying own) {
    stretto_way *way = &node->ways[STRETTO_WAY_READ];
    const uint64_t began = stretto_read_begins(in.bytes);
    /* with an own copy it is not timed: most others are without */
    const stretto_copies copies = own.bytes ? way->string : stretto_copies_begin(way, in.bytes);
    if (stretto_by_string(copies)) {
        stretto_copy_way(in, true);
        stretto_copy_way(own, true);
    } else {
        stretto_copy_both(in, own);
    }
    stretto_copies_end(way, copies, in.bytes);
    stretto_read_ends(node, began, in.bytes);
}

static inline void stretto_fetch(stretto_node *node, void *to, const void *from, size_t bytes) {
    stretto_way *way = &node->ways[STRETTO_WAY_READ];
    const uint64_t began = stretto_read_begins(bytes);
    const stretto_copies copies = stretto_copies_begin(way, bytes);
    if (stretto_by_string(copies))
        stretto_copy_string(to, from, bytes);
    else
        stretto_copy_foreign((stretto_copying){to, from, bytes});
    stretto_copies_end(way, copies, bytes);
    stretto_read_ends(node, began, bytes);
}

/* Within this rank's memory. */
static inline void stretto_keep(const stretto_node *node, stretto_copying own) {
    stretto_copy_way(own, node->ways[STRETTO_WAY_READ].string);
}

/* To this rank's ring: a large piece with ordinary or streaming stores (stores.h). */
static inline void stretto_publish(stretto_node *node, void *to, const void *from, size_t bytes) {
    const bool large = STRETTO_MAY_STREAM && bytes >= STRETTO_NODE_STREAM;
    const uint64_t began = large ? stretto_ticks() : 0;
    if (large &&
        atomic_load_explicit(&stretto_area_of(node, 0)->streaming.value, memory_order_relaxed)) {
        stretto_stream(to, from, bytes);
    } else {
        stretto_way *way = &node->ways[STRETTO_WAY_WRITE];
        const stretto_copies copies = stretto_copies_begin(way, bytes);
        if (stretto_by_string(copies))
            stretto_copy_string(to, from, bytes);
        else
            stretto_copy(to, from, bytes);
        stretto_copies_end(way, copies, bytes);
    }
    if (large)
        stretto_count(node, STRETTO_WRITING, stretto_piece_ticks(stretto_ticks() - began, bytes),
                      bytes);
}

/* Begins a call; returns the base of its chunk numbers. When it returns, all ranks have left the
 * last call that used the buffers. nchunks: the same on all ranks. */
static inline uint64_t stretto_chunk_begin(stretto_node *node, uint64_t nchunks) {
    const uint64_t before = node->last_bulk, base = node->chunks;
    node->seq++;
    stretto_catch_up(node, before);
    stretto_stores_look(node, before);
    node->last_bulk = node->last_ring = node->seq;
    node->chunks = base + nchunks;
    return base;
}

/* The same for a call in which each rank writes only its own ring, place after place, each of so
 * many bytes: `step` of them are written in every step, so that they lie together. It may begin
 * while others are still in earlier such calls with places of the same size and step, if no other
 * call has used the buffers since: who only writes then runs ahead of those that read. A call that
 * is waited for is always an earlier one, so nobody waits in a circle.
 *
 * Chunks before `from` were used in calls that are over on all ranks, so the next `depth` chunks
 * from there on may be written. `mark` is where a later call began; when there is no room left,
 * what lay before it is mostly long over and becomes free without waiting. Short calls take half of
 * the ring, since what is to be read should lie in the writer's L2 cache still. Where that does not
 * give enough, the call waits as above; if it takes more than a whole ring, it sees itself to the
 * places that it uses twice. */
static inline uint64_t stretto_ring_begin(stretto_node *node, uint64_t nchunks, size_t size,
                                          size_t step) {
    stretto_ring *ring = &node->ring;
    const uint64_t before = node->last_bulk, base = node->chunks, end = base + nchunks,
                   depth = node->area / (size * step) * step,
                   room = 4 * nchunks <= depth ? depth / 2 : depth;
    const bool goes_on = ring->last == before && ring->size == size && ring->step == step;
    node->seq++;
    if (goes_on && end - ring->from > room) {
        stretto_catch_up(node, ring->marked);
        ring->from = ring->mark;
    }
    if (!goes_on || end - ring->from > room) {
        stretto_catch_up(node, before);
        ring->from = ring->mark = base;
        ring->size = size;
        ring->step = step;
    }
    if (ring->mark == ring->from || base - ring->from <= room / 2) {
        ring->mark = base;
        ring->marked = before;
    }
    stretto_stores_look(node, before);
    node->last_bulk = node->last_ring = ring->last = node->seq;
    node->chunks = end;
    return base;
}

/* Bytes of a chunk of a message of so many bytes: longer ones only where a ring holds several. */
static inline size_t stretto_chunk(const stretto_node *node, size_t bytes) {
    const bool longer = bytes >= STRETTO_NODE_LONG && node->area >= 8 * STRETTO_NODE_CHUNK;
    return longer ? 2 * STRETTO_NODE_CHUNK : STRETTO_NODE_CHUNK;
}

static inline unsigned char *stretto_slot(const stretto_node *node, int rank, uint64_t chunk,
                                          size_t size, int depth) {
    return stretto_area_of(node, rank)->chunks + chunk % (uint64_t)depth * size;
}

/* Bytes of a place in the ring for pieces of at most `most` bytes of messages up to `longest`. No
 * larger than needed: calls use place after place, and the whole ring must be gone through before a
 * line is written again (tuning.h). longest > 0 is the same on all ranks, so is the result. */
static inline size_t stretto_place(size_t most, size_t longest) {
    return stretto_least(most, (longest + 63) & ~(size_t)63);
}

/* Most bytes of a piece where all ranks write one for each of `readers` others, then read; a ring
 * holds at least two. The same on all ranks. With more ranks than cores each step costs every rank
 * a turn on its core, so it is as long as possible (Zen 4, 8 ranks on 2 cores, alltoall of 64 KiB
 * 417 -> 270 us, of 1 MiB 11.2 -> 8.4 ms). */
static inline size_t stretto_step(const stretto_node *node, size_t readers) {
    if (node->wait.yield)
        return node->area / (2 * readers) & ~(size_t)63;
    size_t size = STRETTO_NODE_STEP / readers & ~(size_t)63;
    return size < STRETTO_NODE_CHUNK ? STRETTO_NODE_CHUNK
                                     : stretto_least(size, node->area / 2 & ~(size_t)63);
}

static inline void stretto_await_posted(const stretto_node *node, uint64_t chunk) {
    for (int r = 0; r < node->nlocal; r++)
        if (r != node->me)
            stretto_await(node, &stretto_area_of(node, r)->posted.value, chunk);
}

static inline void stretto_await_taken(const stretto_node *node, uint64_t chunk) {
    for (int r = 0; r < node->nlocal; r++)
        if (r != node->me)
            stretto_await(node, &stretto_area_of(node, r)->taken.value, chunk);
}

#endif
