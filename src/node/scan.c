/* Scan and exscan: rank r's result is src_0 op ... op src_r, or without src_r.
 *
 * Small: all show their operands; a rank folds those before it, with more than FAN ranks by groups:
 * the last rank of a group shows the group's fold, so that a rank reads its own group's members and
 * the groups before. One hop, or two. Large: a chain, chunk by chunk: each rank folds its operand
 * to what it finds in its predecessor's buffer, and leaves the result in its own; with n ranks and
 * c chunks n + c steps, each rank touching each element once. */
#include "node/chunk.h"
#include "node/lines.h"

#include <stdio.h>
#include <stdlib.h>

/* An accumulating fold in node->scratch[0]; has: something is in it. */
static void add(stretto_node *node, bool *has, const void *right, size_t count, size_t bytes,
                stretto_reduce_fn reduce) {
    if (*has)
        reduce(node->scratch[0], right, node->scratch[0], count);
    else
        stretto_copy(node->scratch[0], right, bytes);
    *has = true;
}

/* Reuse of lines follows protocol 2. Only the last rank hears of all others, so only it knows
 * without looking that the call before is over everywhere. */
static void small_scan(stretto_node *node, const void *src, void *dst, size_t count, size_t size,
                       stretto_reduce_fn reduce, bool exclusive) {
    const size_t bytes = count * size;
    const int me = node->me, n = node->nlocal, first = me - me % STRETTO_NODE_FAN;
    uint64_t call = stretto_lines_begin(node, bytes);
    bool has = false;
    unsigned char *next = node->scratch[1], *total = node->scratch[2];
    if (me < n - 1)
        stretto_lines_put(node, STRETTO_UP, call, src, bytes);
    if (me - first == STRETTO_NODE_FAN - 1 && me < n - 1) { /* its group's fold, for later groups */
        for (int r = first; r < me; r++) {
            stretto_lines_get(node, r, STRETTO_UP, call, next, bytes);
            add(node, &has, next, count, bytes, reduce);
        }
        add(node, &has, src, count, bytes, reduce);
        stretto_copy(total, node->scratch[0], bytes);
        stretto_lines_put(node, STRETTO_DOWN, call, total, bytes);
        has = false;
    }
    for (int r = STRETTO_NODE_FAN - 1; r < first; r += STRETTO_NODE_FAN) {
        stretto_lines_get(node, r, STRETTO_DOWN, call, next, bytes);
        add(node, &has, next, count, bytes, reduce);
    }
    for (int r = first; r < me; r++) {
        stretto_lines_get(node, r, STRETTO_UP, call, next, bytes);
        add(node, &has, next, count, bytes, reduce);
    }
    if (!exclusive)
        add(node, &has, src, count, bytes, reduce);
    if (has)
        stretto_copy(dst, node->scratch[0], bytes);
    stretto_finish(node, me == n - 1);
}

/* Rank r overwrites a slot when r + 1 has taken what lay there. No deadlock: rank r waits for r - 1
 * to produce, and for r + 1 to take what was produced `depth` chunks ago, which r + 1 does without
 * waiting for anything of later chunks. In place: an operand's chunk is folded into the slot before
 * the result is copied over it. */
static void chunk_scan(stretto_node *node, const unsigned char *src, unsigned char *dst,
                       size_t count, size_t size, stretto_reduce_fn reduce, bool exclusive) {
    const int me = node->me, last = node->nlocal - 1;
    size_t room = STRETTO_NODE_CHUNK > size ? STRETTO_NODE_CHUNK : size;
    const size_t elements = room / size, n = (count + elements - 1) / elements;
    const int depth = (int)(node->area / room);
    uint64_t base = stretto_ring_begin(node, n, room, 1);
    stretto_area *mine = stretto_area_of(node, me);
    for (size_t c = 0; c < n; c++) {
        size_t from = c * elements * size, part = stretto_least(elements, count - c * elements);
        const unsigned char *operand = src + from;
        unsigned char *shown = stretto_slot(node, me, base + c, room, depth);
        if (me < last && c >= (size_t)depth)
            stretto_await(node, &stretto_area_of(node, me + 1)->taken.value,
                          base + c - (size_t)depth + 1);
        if (me == 0) {
            stretto_publish(node, shown, operand, part * size);
            stretto_set(&mine->posted, base + c + 1);
            if (!exclusive && dst != src)
                stretto_copy(dst + from, operand, part * size);
            continue;
        }
        const unsigned char *before = stretto_slot(node, me - 1, base + c, room, depth);
        stretto_await(node, &stretto_area_of(node, me - 1)->posted.value, base + c + 1);
        if (me < last) {
            const uint64_t began = stretto_read_begins(part * size);
            reduce(before, operand, shown, part);
            stretto_read_ends(node, began, part * size);
            stretto_set(&mine->posted, base + c + 1);
            stretto_copy(dst + from, exclusive ? before : shown, part * size);
        } else if (exclusive) {
            stretto_fetch(node, dst + from, before, part * size);
        } else {
            const uint64_t began = stretto_read_begins(part * size);
            reduce(before, operand, dst + from, part);
            stretto_read_ends(node, began, part * size);
        }
        stretto_set(&mine->taken, base + c + 1);
    }
    stretto_finish(node, me == last);
}

/* Elements larger than the buffers: rank after rank shows its elements to all. */
static void scan_giant(stretto_node *node, const unsigned char *src, unsigned char *dst,
                       size_t count, size_t size, stretto_reduce_fn reduce, bool exclusive) {
    unsigned char *shown = malloc(size), *sum = malloc(size);
    if (!shown || !sum) {
        fprintf(stderr, "stretto: out of memory for an element of %zu bytes in a scan\n", size);
        abort();
    }
    const int last = exclusive ? node->me - 1 : node->me;
    for (size_t i = 0; i < count; i++) {
        for (int r = 0; r < node->nlocal; r++) {
            if (r == node->me)
                memcpy(shown, src + i * size, size);
            stretto_chunk_bcast(node, shown, size, r);
            if (r == 0)
                memcpy(sum, shown, size);
            else if (r <= last)
                reduce(sum, shown, sum, 1);
        }
        if (last >= 0)
            memcpy(dst + i * size, sum, size);
    }
    free(shown);
    free(sum);
}

void stretto_node_scan(stretto_node *node, const void *src, void *dst, size_t count, size_t size,
                       stretto_reduce_fn reduce, bool exclusive) {
    size_t bytes = count * size;
    if (bytes == 0)
        return;
    if (node->nlocal == 1) {
        if (!exclusive && dst != src)
            stretto_copy(dst, src, bytes);
    } else if (bytes <= node->small) {
        small_scan(node, src, dst, count, size, reduce, exclusive);
    } else if (size <= node->area / 2) {
        chunk_scan(node, src, dst, count, size, reduce, exclusive);
    } else {
        scan_giant(node, src, dst, count, size, reduce, exclusive);
    }
}
