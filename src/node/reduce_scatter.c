/* Reduce_scatter: every rank folds its own share of the vector.
 *
 * Small: all show their vectors in their lines; a rank reads its share of each. With more than FAN
 * ranks that is an allreduce of the (small) vector, whose tree needs fewer looks.
 *
 * Large: the ring of exchange.c, of which see the numbering and why it cannot deadlock: what would
 * be received from each rank is folded instead, once the slots of a step are there from all ranks.
 *
 * In place the result lies over the front of the vector. Element x of it is written in step x / e
 * (e elements a step), over the operand that lies there, which is element x or an earlier one of
 * some share, thus of the same step or an earlier one: for another rank, it was shown before; of
 * this rank's own share, it was read before, as a run of results is collected beside the vector and
 * copied when the run is folded. */
#include "node/chunk.h"
#include "node/direct.h"
#include "node/lines.h"

#include <stdio.h>
#include <stdlib.h>

static void small_reduce_scatter(stretto_node *node, const unsigned char *src, void *dst,
                                 size_t before, size_t mine, size_t total, size_t size,
                                 stretto_reduce_fn reduce) {
    uint64_t call = stretto_lines_begin(node, total);
    stretto_lines_put(node, STRETTO_UP, call, src, total);
    if (mine) {
        unsigned char *sum = node->scratch[0], *next = node->scratch[1];
        const void *left = NULL;
        for (int r = 0; r < node->nlocal; r++) {
            const void *right = src + before;
            if (r != node->me) {
                right = r ? next : sum;
                stretto_lines_read(node, stretto_lines_of(node, r, STRETTO_UP, call, total), call,
                                   before, r ? next : sum, mine);
            }
            if (left)
                reduce(left, right, sum, mine / size);
            left = r ? sum : right;
        }
        stretto_copy(dst, sum, mine);
    }
    stretto_finish(node, mine > 0);
}

/* Elements too large for the slots: share after share. */
static void by_reductions(stretto_node *node, const unsigned char *src, void *dst,
                          const size_t *counts, size_t size, stretto_reduce_fn reduce) {
    unsigned char *result = malloc(counts[node->me] * size + 1);
    if (!result) {
        fprintf(stderr, "stretto: out of memory for %zu bytes in a reduce_scatter\n",
                counts[node->me] * size);
        abort();
    }
    for (int r = 0; r < node->nlocal; src += counts[r++] * size)
        if (counts[r])
            stretto_chunk_reduce(node, src, r == node->me ? result : NULL, counts[r], size, reduce,
                                 r);
    stretto_copy(dst, result, counts[node->me] * size);
    free(result);
}

/* out may lie over operands of this rank, of the same elements or of earlier ones. Advances
 * source[]. */
static void fold_in_place(stretto_node *node, const void **source, unsigned char *out, size_t count,
                          size_t size, stretto_reduce_fn reduce) {
    const size_t most = STRETTO_SMALL_MAX / size;
    for (size_t part; count; count -= part, out += part * size) {
        part = stretto_least(count, most);
        stretto_fold(source, node->nlocal, 0, node->scratch[0], NULL, part, reduce);
        stretto_copy(out, node->scratch[0], part * size);
        for (int r = 0; r < node->nlocal; r++)
            source[r] = (const unsigned char *)source[r] + part * size;
    }
}

void stretto_chunk_reduce_scatter(stretto_node *node, const void *src, void *dst,
                                  const size_t *counts, size_t size, stretto_reduce_fn reduce) {
    const size_t n = (size_t)node->nlocal, me = (size_t)node->me, others = n - 1;
    size_t start[n], longest = 0, at = 0;
    for (size_t r = 0; r < n; at += counts[r++]) {
        start[r] = at;
        longest = counts[r] > longest ? counts[r] : longest;
    }
    size_t room = stretto_least(node->area / (2 * others) & ~(size_t)63, STRETTO_NODE_CHUNK);
    room = stretto_place(room, longest * size);
    const size_t elements = room / size;
    if (elements == 0 || size > STRETTO_SMALL_MAX) {
        by_reductions(node, src, dst, counts, size, reduce);
        return;
    }
    const size_t depth = node->area / (room * others);
    const size_t steps = (longest + elements - 1) / elements;
    uint64_t base = stretto_ring_begin(node, steps * others, room, others);
    const size_t begin = (size_t)(base / others % depth); /* goes on where the last call stopped */
    stretto_area *mine = stretto_area_of(node, node->me);
    const unsigned char *vector = src;
    const void *source[n];
    for (size_t s = 0; s <= steps; s++) {
        size_t place = (begin + s) % depth * others, first = s * elements;
        uint64_t number = base + s * others + 1;
        for (size_t i = 0; i < others && s < steps; i++) {
            size_t to = (me + 1 + i) % n;
            if (counts[to] <= first)
                continue;
            if (s >= depth)
                stretto_await(node, &stretto_area_of(node, (int)to)->taken.value,
                              number + i - depth * others);
            stretto_publish(node, mine->chunks + (place + i) * room,
                            vector + (start[to] + first) * size,
                            stretto_least(elements, counts[to] - first) * size);
            stretto_set(&mine->posted, number + i);
        }
        if (s == 0 || counts[me] <= first - elements)
            continue;
        first -= elements, number -= others, place = (begin + s - 1) % depth * others;
        for (size_t i = 0; i < others; i++) { /* the rank that has this one at its place i */
            size_t from = (me + others - i) % n;
            const stretto_area *theirs = stretto_area_of(node, (int)from);
            stretto_await(node, &theirs->posted.value, number + i);
            source[from] = theirs->chunks + (place + i) * room;
        }
        source[me] = vector + (start[me] + first) * size;
        size_t part = stretto_least(elements, counts[me] - first);
        unsigned char *result = (unsigned char *)dst + first * size;
        const uint64_t began = stretto_read_begins(part * size * others);
        if (src == dst)
            fold_in_place(node, source, result, part, size, reduce);
        else
            stretto_fold(source, node->nlocal, 0, result, NULL, part, reduce);
        stretto_read_ends(node, began, part * size * others);
        stretto_set(&mine->taken, number + others - 1);
    }
    stretto_finish(node, counts[me] > 0);
}

void stretto_node_reduce_scatter(stretto_node *node, const void *src, void *dst,
                                 const size_t *counts, size_t size, stretto_reduce_fn reduce) {
    size_t total = 0, before = 0, mine = counts[node->me] * size, largest = 0;
    for (int r = 0; r < node->nlocal; r++) {
        before += r < node->me ? counts[r] * size : 0;
        total += counts[r] * size;
        largest = counts[r] > largest ? counts[r] : largest;
    }
    if (total == 0)
        return;
    if (node->nlocal == 1) {
        if (dst != src)
            stretto_copy(dst, src, mine);
    } else if (total <= node->small && node->nlocal <= STRETTO_NODE_FAN) {
        small_reduce_scatter(node, src, dst, before, mine, total, size, reduce);
    } else if (total <= node->small) {
        unsigned char whole[STRETTO_SMALL_MAX];
        stretto_small_allreduce(node, src, whole, total / size, size, reduce);
        if (mine)
            stretto_copy(dst, whole + before, mine);
    } else if (size <= STRETTO_NODE_DIRECT_PIECE &&
               stretto_direct_fits(node, largest * size, STRETTO_NODE_ATTACH, SIZE_MAX)) {
        stretto_direct_reduce_scatter(node, src, dst, counts, size, reduce);
    } else {
        stretto_chunk_reduce_scatter(node, src, dst, counts, size, reduce);
    }
}
