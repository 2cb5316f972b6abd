/* The shared buffers (protocol 3 of internal.h): how a call that uses them begins, and what it
 * waits for. */
#ifndef STRETTO_NODE_CHUNK_H
#define STRETTO_NODE_CHUNK_H

#include "node/internal.h"

/* Begins a call; returns the base of its chunk numbers. When it returns, all ranks have left the
 * last call that used the buffers. nchunks: the same on all ranks. */
static inline uint64_t stretto_chunk_begin(stretto_node *node, uint64_t nchunks) {
    node->seq++;
    stretto_catch_up(node, node->last_bulk);
    node->last_bulk = node->seq;
    uint64_t base = node->chunks;
    node->chunks += nchunks;
    return base;
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
 * holds at least two. The same on all ranks. */
static inline size_t stretto_step(const stretto_node *node, size_t readers) {
    size_t size = STRETTO_NODE_STEP / readers & ~(size_t)63;
    return size < STRETTO_NODE_BCAST_CHUNK ? STRETTO_NODE_BCAST_CHUNK
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
