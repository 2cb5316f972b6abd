/* Large messages through the shared buffers, cut into chunks so that writing and reading overlap.
 *
 * Flags (protocol 3 of internal.h): posted_r and taken_r of each rank, absolute chunk numbers
 * counted from `base`, which grows by the same amount on all ranks in every call. A call begins
 * when all ranks have left the last call that used the buffers (stretto_chunk_begin), or at least
 * all calls that used the places it writes first (stretto_ring_begin). So only reuse within a call
 * needs an argument; it stands at each function.
 */
#include "node/pair.h"

#include <stdio.h>
#include <stdlib.h>

/* Others may be in the middle of their calls: what they have added up so far counts. */
static stretto_costs_seen costs_of(const stretto_node *node, int rank) {
    const stretto_costs *costs = &stretto_area_of(node, rank)->costs;
    uint64_t ticks[STRETTO_SIDES];
    for (int side = 0; side < STRETTO_SIDES; side++)
        ticks[side] = atomic_load_explicit(&costs->ticks[side], memory_order_relaxed);
    return (stretto_costs_seen){
        ticks[STRETTO_WRITING] + ticks[STRETTO_READING], ticks[STRETTO_WRITING],
        atomic_load_explicit(&costs->bytes[STRETTO_WRITING], memory_order_relaxed)};
}

static void look_again_later(stretto_node *node, bool first) {
    const stretto_costs *mine = &stretto_area_of(node, node->me)->costs;
    for (int side = 0; side < STRETTO_SIDES; side++)
        node->stores.next[side] =
            atomic_load_explicit(&mine->bytes[side], memory_order_relaxed) +
            node->area * (side == STRETTO_READING && !first ? (size_t)node->nlocal - 1 : (size_t)1);
}

void stretto_stores_enter(stretto_node *node) {
    node->stores = (stretto_stores){.next = {UINT64_MAX, UINT64_MAX}};
    if (!STRETTO_MAY_STREAM || node->me != 0 || node->area == STRETTO_NODE_SHORT)
        return;
    for (int r = 0; r < node->nlocal; r++)
        node->seen[r] = costs_of(node, r);
    node->stores.streaming =
        atomic_load_explicit(&stretto_area_of(node, 0)->streaming.value, memory_order_relaxed);
    look_again_later(node, true);
}

void stretto_decide_stores(stretto_node *node) {
    stretto_stores *stores = &node->stores;
    stretto_costs_seen now[node->nlocal];
    uint64_t busy = 0, most = 0, writing = 0, bytes = 0;
    for (int r = 0; r < node->nlocal; r++) {
        const stretto_costs_seen *seen = &node->seen[r];
        now[r] = costs_of(node, r);
        busy = now[r].busy - seen->busy > busy ? now[r].busy - seen->busy : busy;
        most = now[r].bytes - seen->bytes > most ? now[r].bytes - seen->bytes : most;
        writing += now[r].writing - seen->writing;
        bytes += now[r].bytes - seen->bytes;
    }
    look_again_later(node, false);
    if (most < node->area)
        return;
    memcpy(node->seen, now, sizeof now);
    const bool before = stores->streaming;
    stretto_stores_judge(stores, busy * 1024 / most, writing * 1024 / bytes);
#ifdef STRETTO_NODE_TELL_STORES
    fprintf(stderr, "stores: %s %lu writing %lu%s\n", before ? "streaming" : "ordinary",
            busy * 1024 / most, writing * 1024 / bytes, stores->trying ? " trying" : "");
#endif
    if (stores->streaming != before)
        atomic_store_explicit(&stretto_area_of(node, 0)->streaming.value, stores->streaming,
                              memory_order_relaxed);
}

/* The root fills a ring of DEPTH chunks, each overwritten when all readers have taken it
 * (await_taken acquires what they released after reading). */
void stretto_chunk_bcast(stretto_node *node, void *buffer, size_t bytes, int root) {
    const size_t size = stretto_chunk(node, bytes);
    const int depth = (int)(node->area / size);
    size_t n = (bytes + size - 1) / size;
    uint64_t base = stretto_ring_begin(node, n, size, 1);
    stretto_area *mine = stretto_area_of(node, node->me);
    unsigned char *data = buffer;
    for (size_t c = 0; c < n; c++, data += size) {
        size_t part = stretto_least(size, bytes - c * size);
        unsigned char *shared = stretto_slot(node, root, base + c, size, depth);
        if (node->me == root) {
            if (c >= (size_t)depth)
                stretto_await_taken(node, base + c - (size_t)depth + 1);
            if (part == size)
                stretto_own(&mine->posted);
            stretto_publish(node, shared, data, part);
            stretto_set(&mine->posted, base + c + 1);
        } else {
            stretto_await(node, &stretto_area_of(node, root)->posted.value, base + c + 1);
            stretto_fetch(node, data, shared, part);
            stretto_set(&mine->taken, base + c + 1);
        }
    }
    stretto_finish(node, false);
}

/* The root folds everybody's chunks itself: the shortest way with few ranks. Rings as in bcast,
 * with the root's `taken` as the one to wait for. The root's own buffer is its scratch: it
 * is used only once all others have posted in this call, so they have left all earlier calls, in
 * which they may have read there. */
static void reduce_at_root(stretto_node *node, const unsigned char *src, unsigned char *dst,
                           size_t count, size_t size, stretto_reduce_fn reduce, int root) {
    const size_t chunk = stretto_chunk(node, count * size), elements = chunk / size;
    const int depth = (int)(node->area / chunk);
    size_t n = (count + elements - 1) / elements;
    uint64_t base = stretto_ring_begin(node, n, chunk, 1);
    stretto_area *mine = stretto_area_of(node, node->me), *top = stretto_area_of(node, root);
    const void *source[STRETTO_NODE_FOLD_RANKS];
    for (size_t c = 0; c < n; c++) {
        size_t first = c * elements, part = stretto_least(elements, count - first);
        if (node->me == root) {
            stretto_await_posted(node, base + c + 1);
            for (int r = 0; r < node->nlocal; r++)
                source[r] =
                    r == root ? src + first * size : stretto_slot(node, r, base + c, chunk, depth);
            const uint64_t began = stretto_read_begins(part * size * (size_t)(node->nlocal - 1));
            stretto_fold(source, node->nlocal, root, dst + first * size, mine->chunks, part,
                         reduce);
            stretto_read_ends(node, began, part * size * (size_t)(node->nlocal - 1));
            stretto_set(&mine->taken, base + c + 1);
        } else {
            if (c >= (size_t)depth)
                stretto_await(node, &top->taken.value, base + c - (size_t)depth + 1);
            stretto_own(&mine->posted);
            stretto_publish(node, stretto_slot(node, node->me, base + c, chunk, depth),
                            src + first * size, part * size);
            stretto_set(&mine->posted, base + c + 1);
        }
    }
    stretto_finish(node, node->me == root);
}

/* Elements too large for the buffers: rank after rank shows its elements to all, who fold them.
 * Slow and rare. There is no other way out when memory is exhausted than to say so and stop. */
static void reduce_giant(stretto_node *node, const unsigned char *src, unsigned char *dst,
                         size_t count, size_t size, stretto_reduce_fn reduce, int root) {
    unsigned char *shown = malloc(size), *sum = malloc(size);
    if (!shown || !sum) {
        fprintf(stderr, "stretto: out of memory for an element of %zu bytes in a reduction\n",
                size);
        abort();
    }
    for (size_t i = 0; i < count; i++) {
        for (int r = 0; r < node->nlocal; r++) {
            unsigned char *into = r ? shown : sum;
            if (r == node->me)
                memcpy(into, src + i * size, size);
            stretto_chunk_bcast(node, into, size, r);
            if (r)
                reduce(sum, shown, sum, 1);
        }
        if (root < 0 || root == node->me)
            memcpy(dst + i * size, sum, size);
    }
    free(shown);
    free(sum);
}

/* Segment by segment: (A) every rank copies its operands to its buffer, (B) folds its share of the
 * segment from everybody's buffers into its result slot, (C) the ranks that want the result collect
 * the shares. A of segment s, B of s - 1 and C of s - 2 are done together, so that the flags waited
 * for are usually there.
 *
 * A place of the ring holds a segment's operands and the result of one share. Reuse within a call,
 * at least 3 places (shown for 3):
 * - A(s) overwrites operands of s - 3: this rank has acquired taken_r of all r, in C(s - 3) or, as
 *   it does not want the result, in A(s). r released it after B(s - 3), its last reading of them.
 * - B(s) overwrites results of s - 3: it has acquired posted_r > s of all r, which r released at
 *   A(s), after its C(s - 3), its last reading of them.
 * In place: dst of a segment is written at B (own share, after its operand was read) and C (the
 * rest), both after A copied the operands of that segment. */
void stretto_chunk_reduce(stretto_node *node, const void *src_, void *dst_, size_t count,
                          size_t size, stretto_reduce_fn reduce, int root) {
    const unsigned char *src = src_;
    unsigned char *dst = dst_;
    size_t n = (size_t)node->nlocal;
    if (root < 0 && n == 2 && size <= STRETTO_NODE_PAIR_CHUNK) {
        stretto_pair_allreduce(node, src, dst, count, size, reduce);
        return;
    }
    if (root >= 0 && node->nlocal <= STRETTO_NODE_FOLD_RANKS && size <= STRETTO_NODE_CHUNK) {
        reduce_at_root(node, src, dst, count, size, reduce, root);
        return;
    }
    size_t share = (node->area / STRETTO_NODE_DEPTH & ~(size_t)63) / ((n + 1) * size);
    if (share == 0) {
        reduce_giant(node, src, dst, count, size, reduce, root);
        return;
    }
    size_t wanted = STRETTO_NODE_SEGMENT / (n * size);
    if (wanted < STRETTO_NODE_SHARE / size)
        wanted = STRETTO_NODE_SHARE / size;
    if (wanted == 0)
        wanted = 1;
    share = stretto_least(share, wanted);
    size_t segments = (count + n * share - 1) / (n * share);
    share = (count + n * segments - 1) / (n * segments);

    const bool wants = root < 0 || root == node->me;
    const size_t segment = n * share;
    const size_t place = ((n + 1) * share * size + 63) & ~(size_t)63;
    const int depth = (int)(node->area / place); /* at least DEPTH */
    uint64_t base = stretto_ring_begin(node, segments, place, 1);
    stretto_area *mine = stretto_area_of(node, node->me);
    const void *source[node->nlocal];

    for (size_t s = 0; s < segments + 2; s++) {
        if (s < segments) { /* A */
            size_t from = s * segment, to = stretto_least(from + segment, count);
            size_t own = stretto_least(from + (size_t)node->me * share, to),
                   after = stretto_least(own + share, to);
            unsigned char *operands = stretto_slot(node, node->me, base + s, place, depth);
            if (!wants && s >= (size_t)depth)
                stretto_await_taken(node, base + s - (size_t)depth + 1);
            stretto_publish(node, operands, src + from * size, (own - from) * size);
            stretto_publish(node, operands + (after - from) * size, src + after * size,
                            (to - after) * size);
            stretto_set(&mine->posted, base + s + 1);
        }
        if (s >= 1 && s - 1 < segments) { /* B */
            size_t t = s - 1, from = t * segment, to = stretto_least(from + segment, count);
            size_t own = stretto_least(from + (size_t)node->me * share, to),
                   after = stretto_least(own + share, to);
            unsigned char *result =
                stretto_slot(node, node->me, base + t, place, depth) + segment * size;
            stretto_await_posted(node, base + t + 1);
            if (after > own) {
                for (int r = 0; r < node->nlocal; r++)
                    source[r] = r == node->me ? src + own * size
                                              : stretto_slot(node, r, base + t, place, depth) +
                                                    (own - from) * size;
                const uint64_t began = stretto_read_begins((after - own) * size * (n - 1));
                if (wants) { /* the result slot is the scratch, then takes the result */
                    stretto_fold(source, node->nlocal, node->me, dst + own * size, result,
                                 after - own, reduce);
                    stretto_read_ends(node, began, (after - own) * size * (n - 1));
                    stretto_publish(node, result, dst + own * size, (after - own) * size);
                } else {
                    stretto_fold(source, node->nlocal, 0, result, NULL, after - own, reduce);
                    stretto_read_ends(node, began, (after - own) * size * (n - 1));
                }
            }
            stretto_set(&mine->taken, base + t + 1);
        }
        if (s >= 2 && wants) { /* C */
            size_t t = s - 2, from = t * segment, to = stretto_least(from + segment, count);
            for (int i = 1; i < node->nlocal; i++) {
                int r = (node->me + i) % node->nlocal;
                size_t first = stretto_least(from + (size_t)r * share, to),
                       end = stretto_least(first + share, to);
                stretto_await(node, &stretto_area_of(node, r)->taken.value, base + t + 1);
                stretto_fetch(node, dst + first * size,
                              stretto_slot(node, r, base + t, place, depth) + segment * size,
                              (end - first) * size);
            }
        }
    }
    stretto_finish(node, true);
}
