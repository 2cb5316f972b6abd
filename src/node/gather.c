/* Gather and scatter of equal blocks.
 *
 * Small: every rank's block in its own lines for the root to read; the root's blocks one behind the
 * other in its lines, each reader looks at those that its block covers. One hop. No tree: all
 * blocks pass the root in any case. */
#include "node/chunk.h"
#include "node/direct.h"
#include "node/lines.h"

static void small_gather(stretto_node *node, const void *src, unsigned char *dst, size_t bytes,
                         int root) {
    uint64_t call = stretto_lines_begin(node, bytes);
    if (node->me != root) {
        stretto_lines_put(node, STRETTO_UP, call, src, bytes);
        stretto_finish(node, false);
        return;
    }
    for (int r = 0; r < node->nlocal; r++)
        if (r != root)
            stretto_lines_get(node, r, STRETTO_UP, call, dst + (size_t)r * bytes, bytes);
    if (dst + (size_t)root * bytes != src)
        stretto_copy_tail(dst + (size_t)root * bytes, src, bytes);
    stretto_finish(node, true);
}

/* Place i in the root's lines is rank root + 1 + i's. */
static void small_scatter(stretto_node *node, const unsigned char *src, void *dst, size_t bytes,
                          int root) {
    const size_t n = (size_t)node->nlocal, top = (size_t)root, all = (n - 1) * bytes;
    uint64_t call = stretto_lines_begin(node, all);
    stretto_line *first = stretto_lines_of(node, root, STRETTO_DOWN, call, all);
    if (node->me == root) {
        stretto_line_writer writer = {first, 0};
        stretto_lines_write(&writer, call, src + (top + 1) * bytes, (n - 1 - top) * bytes);
        stretto_lines_write(&writer, call, src, top * bytes);
        stretto_lines_end(&writer, call);
        if (src + top * bytes != dst)
            stretto_copy_tail(dst, src + top * bytes, bytes);
    } else {
        size_t place = ((size_t)node->me + n - 1 - top) % n;
        stretto_lines_read(node, first, call, place * bytes, dst, bytes);
    }
    stretto_finish(node, false);
}

/* Every rank but the root fills its ring, the root reads chunk by chunk from all; a chunk is
 * overwritten when the root has taken the one that lay there. */
void stretto_chunk_gather(stretto_node *node, const void *src, void *dst, size_t bytes, int root) {
    const size_t size = stretto_chunk(node, bytes), n = (bytes + size - 1) / size;
    const int depth = (int)(node->area / size);
    uint64_t base = stretto_ring_begin(node, n, size, 1);
    stretto_area *mine = stretto_area_of(node, node->me);
    unsigned char *into = dst;
    for (size_t c = 0; c < n; c++) {
        size_t part = stretto_least(size, bytes - c * size);
        if (node->me != root) {
            if (c >= (size_t)depth)
                stretto_await(node, &stretto_area_of(node, root)->taken.value,
                              base + c - (size_t)depth + 1);
            stretto_publish(node, stretto_slot(node, node->me, base + c, size, depth),
                            (const unsigned char *)src + c * size, part);
            stretto_set(&mine->posted, base + c + 1);
            continue;
        }
        for (int r = 0; r < node->nlocal; r++) {
            if (r == root)
                continue;
            stretto_await(node, &stretto_area_of(node, r)->posted.value, base + c + 1);
            stretto_fetch(node, into + (size_t)r * bytes + c * size,
                          stretto_slot(node, r, base + c, size, depth), part);
        }
        stretto_set(&mine->taken, base + c + 1);
    }
    if (node->me == root && into + (size_t)root * bytes != src)
        stretto_keep(node, (stretto_copying){into + (size_t)root * bytes, src, bytes});
    stretto_finish(node, node->me == root);
}

/* The exchange of messages in which only the root has some to send. */
void stretto_chunk_scatter(stretto_node *node, const void *src, void *dst, size_t bytes, int root) {
    const size_t n = (size_t)node->nlocal;
    size_t sent_at[n], sent[n], got_at[n], got[n];
    for (size_t r = 0; r < n; r++) {
        sent_at[r] = r * bytes;
        sent[r] = node->me == root ? bytes : 0;
        got_at[r] = 0;
        got[r] = (int)r == root && node->me != root ? bytes : 0;
    }
    if (node->me == root && (const unsigned char *)src + (size_t)root * bytes != dst)
        stretto_copy(dst, (const unsigned char *)src + (size_t)root * bytes, bytes);
    stretto_chunk_exchange(node, src, sent_at, sent, dst, got_at, got, got, bytes, 0,
                           stretto_chunk(node, bytes));
}

void stretto_node_gather(stretto_node *node, const void *src, void *dst, size_t bytes, int root) {
    if (bytes == 0)
        return;
    if (node->nlocal == 1) {
        if (dst != src)
            stretto_copy(dst, src, bytes);
    } else if (bytes <= node->small) {
        small_gather(node, src, dst, bytes, root);
    } else if (stretto_direct_fits(node, bytes, STRETTO_NODE_ATTACH, STRETTO_NODE_DIRECT_BLOCK)) {
        stretto_direct_gather(node, src, dst, bytes, root);
    } else {
        stretto_chunk_gather(node, src, dst, bytes, root);
    }
}

void stretto_node_scatter(stretto_node *node, const void *src, void *dst, size_t bytes, int root) {
    if (bytes == 0)
        return;
    if (node->nlocal == 1) {
        if (dst != src)
            stretto_copy(dst, src, bytes);
    } else if ((size_t)(node->nlocal - 1) * bytes <= node->small) {
        small_scatter(node, src, dst, bytes, root);
    } else if (stretto_direct_fits(node, bytes, STRETTO_NODE_ATTACH, STRETTO_NODE_DIRECT_BLOCK)) {
        stretto_direct_scatter(node, src, dst, bytes, root);
    } else {
        stretto_chunk_scatter(node, src, dst, bytes, root);
    }
}
