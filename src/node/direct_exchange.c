/* Single copies of messages that differ from rank to rank, and reduce_scatter with its operands
 * read where they lie. How they are ordered and what happens when one fails: direct.c. */
#include "node/chunk.h"
#include "node/direct.h"

/* Every rank copies what it has for itself and fetches its messages. Where one has them in place,
 * fetching would overwrite what others are still to fetch: then all go through the buffers. */
void stretto_direct_alltoall(stretto_node *node, const void *src, const size_t *at,
                             const size_t *bytes, void *dst) {
    const size_t n = (size_t)node->nlocal, me = (size_t)node->me;
    uint64_t mine = (uintptr_t)src, address[n];
    bool in_place = false, ok = true;
    size_t largest = 0;
    stretto_small_allgather(node, &mine, address, sizeof mine);
    if (src)
        stretto_copy((unsigned char *)dst + at[me], (const unsigned char *)src + at[me], bytes[me]);
    for (size_t r = 0; r < n; r++) {
        in_place |= address[r] == 0;
        largest = bytes[r] > largest ? bytes[r] : largest;
    }
    for (size_t i = 1; i < n && ok && !in_place; i++) {
        size_t r = (me + i) % n;
        ok = stretto_remote_copy(node, (int)r, address[r] + at[me], (unsigned char *)dst + at[r],
                                 bytes[r]);
    }
    if (in_place || !stretto_remote_agree(node, ok))
        stretto_chunk_exchange(node, src ? src : dst, at, bytes, dst, at, bytes, bytes, largest, 0,
                               stretto_step(node, n - 1));
}

/* Every rank stores its block in the root's memory. */
void stretto_direct_gather(stretto_node *node, const void *src, void *dst, size_t bytes, int root) {
    uint64_t address = (uintptr_t)dst;
    bool ok = true;
    stretto_small_bcast(node, &address, sizeof address, root);
    if (node->me == root) {
        unsigned char *own = (unsigned char *)dst + (size_t)root * bytes;
        if (own != src)
            stretto_copy(own, src, bytes);
    } else {
        stretto_remote top;
        ok = stretto_remote_open(node, root, address + (size_t)node->me * bytes, bytes, &top);
        ok = ok && stretto_remote_store(node, &top, 0, src, bytes);
        stretto_remote_close(node, &top);
    }
    if (!stretto_remote_agree(node, ok))
        stretto_chunk_gather(node, src, dst, bytes, root);
}

/* Every rank fetches its block. */
void stretto_direct_scatter(stretto_node *node, const void *src, void *dst, size_t bytes,
                            int root) {
    uint64_t address = (uintptr_t)src;
    bool ok = true;
    stretto_small_bcast(node, &address, sizeof address, root);
    if (node->me == root) {
        const unsigned char *own = (const unsigned char *)src + (size_t)root * bytes;
        if (own != dst)
            stretto_copy(dst, own, bytes);
    } else {
        ok = stretto_remote_copy(node, root, address + (size_t)node->me * bytes, dst, bytes);
    }
    if (!stretto_remote_agree(node, ok))
        stretto_chunk_scatter(node, src, dst, bytes, root);
}

/* Every rank folds its share; in place results would overwrite operands, as in alltoall. */
void stretto_direct_reduce_scatter(stretto_node *node, const void *src, void *dst,
                                   const size_t *counts, size_t size, stretto_reduce_fn reduce) {
    const size_t n = (size_t)node->nlocal, me = (size_t)node->me;
    uint64_t mine = src == dst ? 0 : (uintptr_t)src, address[n];
    bool in_place = false, ok = true;
    stretto_small_allgather(node, &mine, address, sizeof mine);
    for (size_t r = 0; r < n; r++)
        in_place |= address[r] == 0;
    if (!in_place && counts[me]) {
        stretto_remote operand[n];
        memset(operand, 0, sizeof operand);
        size_t offset = 0;
        for (size_t r = 0; r < me; r++)
            offset += counts[r] * size;
        for (size_t r = 0; r < n && ok; r++)
            if (r != me)
                ok = stretto_remote_open(node, (int)r, address[r] + offset, counts[me] * size,
                                         &operand[r]);
        ok = ok && stretto_direct_fold(node, operand, (const unsigned char *)src + offset, dst,
                                       counts[me], size, reduce) == counts[me];
        for (size_t r = 0; r < n; r++)
            stretto_remote_close(node, &operand[r]);
    }
    if (in_place || !stretto_remote_agree(node, ok))
        stretto_chunk_reduce_scatter(node, src, dst, counts, size, reduce);
}
