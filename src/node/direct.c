/* Large messages copied once, from the owner's memory straight to the reader's, and reductions that
 * read their operands where they lie.
 *
 * No flags of its own: addresses are exchanged, and the end agreed upon, with the small
 * collectives, whose lines also order what is done to the buffers (a rank's stores come before its
 * line is released, the others' loads after they acquired it). Each step ends with agree(), by
 * which every rank learns whether all ranks could; agree() is also what keeps a rank's buffers
 * untouched until all have read them. If any rank could not (EPERM, EFAULT, ESRCH, a short
 * transfer, an attachment refused), all ranks do the rest through the shared buffers, and the group
 * no longer tries. What a failed copy has left behind is either overwritten or was right already.
 *
 * With two ranks a bcast is copied by both at once: the reader fetches the first half while the
 * root stores the second. Copying in the kernel costs more a byte than in the cache (page by page),
 * but two processors share it.
 */
#include "node/direct.h"

#include <stdlib.h>

void stretto_direct_bcast(stretto_node *node, void *buffer, size_t bytes, int root) {
    uint64_t address[2] = {(uintptr_t)buffer, 0};
    bool ok = true;
    if (node->nlocal == 2) {
        uint64_t mine = (uintptr_t)buffer;
        stretto_remote other;
        stretto_small_allgather(node, &mine, address, sizeof mine);
        size_t half = bytes / 2 & ~(size_t)4095;
        /* each opens, and thereby touches, only what the other one leaves alone */
        size_t from = node->me == root ? half : 0, n = node->me == root ? bytes - half : half;
        unsigned char *here = (unsigned char *)buffer + from;
        ok = stretto_remote_open(node, 1 - node->me, address[1 - node->me] + from, n, &other);
        if (ok && node->me != root)
            ok = stretto_remote_fetch(node, &other, 0, here, n);
        else if (ok)
            ok = stretto_remote_store(node, &other, 0, here, n);
        stretto_remote_close(node, &other);
    } else {
        stretto_small_bcast(node, address, sizeof address[0], root);
        if (node->me != root)
            ok = stretto_remote_copy(node, root, address[0], buffer, bytes);
    }
    if (!stretto_remote_agree(node, ok))
        stretto_chunk_bcast(node, buffer, bytes, root);
}

void stretto_direct_allgather(stretto_node *node, const void *src, void *dst, const size_t *at,
                              const size_t *bytes) {
    uint64_t mine = (uintptr_t)src, address[node->nlocal];
    unsigned char *blocks = dst;
    stretto_small_allgather(node, &mine, address, sizeof mine);
    if (bytes[node->me] && blocks + at[node->me] != src)
        stretto_copy(blocks + at[node->me], src, bytes[node->me]);
    bool ok = true;
    for (int i = 1; i < node->nlocal && ok; i++) {
        int rank = (node->me + i) % node->nlocal;
        ok = stretto_remote_copy(node, rank, address[rank], blocks + at[rank], bytes[rank]);
    }
    if (!stretto_remote_agree(node, ok))
        stretto_chunk_allgather(node, src, dst, at, bytes);
}

/* The share of the vector that a rank folds. */
typedef struct {
    size_t first, count;
} span;

static span share_of(size_t rank, size_t ranks, size_t count) {
    size_t share = (count + ranks - 1) / ranks, first = stretto_least(rank * share, count);
    return (span){first, stretto_least(share, count - first)};
}

size_t stretto_direct_fold(stretto_node *node, const stretto_remote *operand,
                           const unsigned char *src, unsigned char *out, size_t count, size_t size,
                           stretto_reduce_fn reduce) {
    size_t piece = STRETTO_NODE_DIRECT_PIECE / size;
    if (!node->sums && !(node->sums = malloc(2 * STRETTO_NODE_DIRECT_PIECE)))
        return 0;
    unsigned char *sum = node->sums, *next = sum + piece * size;
    size_t done = 0;
    while (done < count) {
        size_t part = stretto_least(piece, count - done), offset = done * size;
        const void *left = NULL;
        for (int r = 0; r < node->nlocal; r++) {
            const void *right = src + offset;
            if (r != node->me)
                right = stretto_remote_look(node, &operand[r], offset, r ? next : sum, part * size);
            if (!right)
                return done;
            if (left) /* only the last step, when nothing can fail any more, writes out */
                reduce(left, right, r == node->nlocal - 1 ? out + offset : sum, part);
            left = r == 0 ? right : sum;
        }
        done += part;
        node->wait.progress(node->wait.progress_arg);
    }
    return done;
}

/* Folds this rank's share of all ranks' vectors into the same place of the vector at `result`, of
 * rank root or (root < 0) of this rank. Returns the number of elements done. */
static size_t fold_share(stretto_node *node, const uint64_t *from, const unsigned char *src,
                         unsigned char *dst, uint64_t result, size_t count, size_t size,
                         stretto_reduce_fn reduce, int root) {
    span own = share_of((size_t)node->me, (size_t)node->nlocal, count);
    size_t offset = own.first * size, bytes = own.count * size, done = 0;
    stretto_remote operand[node->nlocal + 1];
    memset(operand, 0, sizeof operand);
    bool ok = true, elsewhere = root >= 0 && root != node->me;
    for (int r = 0; r < node->nlocal && ok; r++)
        if (r != node->me)
            ok = stretto_remote_open(node, r, from[r] + offset, bytes, &operand[r]);
    if (ok && elsewhere)
        ok = stretto_remote_open(node, root, result + offset, bytes, &operand[node->nlocal]);
    if (ok && own.count)
        done = stretto_direct_fold(node, operand, src + offset,
                                   elsewhere ? operand[node->nlocal].mapping.at : dst + offset,
                                   own.count, size, reduce);
    for (int r = 0; r <= node->nlocal; r++)
        stretto_remote_close(node, &operand[r]);
    return done;
}

/* Every rank folds its share of the vector, reading the others' operands where they lie; then, in
 * an allreduce, collects the shares. For a reduce the result is written to the root's memory, which
 * takes XPMEM. */
void stretto_direct_reduce(stretto_node *node, const void *src, void *dst, size_t count,
                           size_t size, stretto_reduce_fn reduce, int root) {
    const size_t n = (size_t)node->nlocal;
    uint64_t mine[2] = {(uintptr_t)src, (uintptr_t)dst}, both_of[2 * n], from[n], done[n];
    unsigned char *result = dst;
    stretto_small_allgather(node, mine, both_of, sizeof mine);
    for (size_t r = 0; r < n; r++)
        from[r] = both_of[2 * r];

    uint64_t elements = fold_share(node, from, src, dst, root < 0 ? 0 : both_of[2 * root + 1],
                                   count, size, reduce, root);
    if (!stretto_remote_agree(node, elements == share_of((size_t)node->me, n, count).count)) {
        stretto_small_allgather(node, &elements, done, sizeof elements);
        for (size_t r = 0; r < n; r++) {
            span rest = share_of(r, n, count);
            size_t offset = (rest.first + done[r]) * size;
            if (rest.count > done[r])
                stretto_chunk_reduce(node, (const unsigned char *)src + offset,
                                     result ? result + offset : NULL, rest.count - done[r], size,
                                     reduce, root < 0 ? (int)r : root);
        }
        if (root < 0)
            for (size_t r = 0; r < n; r++) {
                span whole = share_of(r, n, count);
                if (whole.count)
                    stretto_chunk_bcast(node, result + whole.first * size, whole.count * size,
                                        (int)r);
            }
        return;
    }
    if (root >= 0)
        return;
    bool ok = true;
    for (size_t i = 1; i < n && ok; i++) {
        size_t r = ((size_t)node->me + i) % n;
        span theirs = share_of(r, n, count);
        ok = stretto_remote_copy(node, (int)r, both_of[2 * r + 1] + theirs.first * size,
                                 result + theirs.first * size, theirs.count * size);
    }
    if (!stretto_remote_agree(node, ok))
        for (size_t r = 0; r < n; r++) {
            span whole = share_of(r, n, count);
            if (whole.count)
                stretto_chunk_bcast(node, result + whole.first * size, whole.count * size, (int)r);
        }
}
