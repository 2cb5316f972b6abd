/* Large messages copied once, from the owner's memory straight to the reader's (CMA:
 * process_vm_readv and process_vm_writev).
 *
 * No flags of its own: addresses are exchanged, and the end agreed upon, with the small
 * collectives. Each step ends with agree(), by which every rank learns whether all ranks could
 * copy; agree() is also what keeps a rank's buffers untouched until all have read them. If any rank
 * could not (EPERM, EFAULT, ESRCH, a short transfer), all ranks do the rest through the shared
 * buffers, and the group no longer tries direct copies. What a failed copy has left behind is
 * either overwritten or was right already.
 *
 * With two ranks a bcast is copied by both at once: the reader fetches the first half while the
 * root stores the second. Copying in the kernel costs more a byte than in the cache (page by page),
 * but two processors share it.
 */
#include "node/direct.h"

#include "node/internal.h"

#include <errno.h>
#include <stdlib.h>

stretto_vm_fn stretto_vm_readv = process_vm_readv;
stretto_vm_fn stretto_vm_writev = process_vm_writev;

static inline size_t least(size_t a, size_t b) {
    return a < b ? a : b;
}

/* Between `local` here and `remote` in the memory of rank peer; false when it cannot be done. */
static bool transfer(const stretto_node *node, stretto_vm_fn fn, int peer, void *local,
                     uint64_t remote, size_t bytes) {
    unsigned char *here = local;
    while (bytes) {
        size_t part = least(bytes, STRETTO_NODE_DIRECT_PIECE);
        struct iovec l = {here, part}, r = {(void *)(uintptr_t)remote, part};
        ssize_t moved = fn(node->pids[peer], &l, 1, &r, 1, 0);
        if (moved < 0 && errno == EINTR)
            continue;
        if (moved <= 0 || (size_t)moved > part)
            return false;
        here += moved, remote += (uint64_t)moved, bytes -= (size_t)moved;
        if (bytes)
            node->wait.progress(node->wait.progress_arg);
    }
    return true;
}

static bool fetch(const stretto_node *node, int peer, void *to, uint64_t from, size_t bytes) {
    return transfer(node, stretto_vm_readv, peer, to, from, bytes);
}

static void both(const void *left, const void *right, void *out, size_t n) {
    const uint64_t *l = left, *r = right;
    for (size_t i = 0; i < n; i++)
        ((uint64_t *)out)[i] = l[i] & r[i];
}

/* Whether all ranks say yes, the same answer on all; when not, direct copies are over. */
static bool agree(stretto_node *node, bool yes) {
    uint64_t mine = yes, all;
    stretto_small_allreduce(node, &mine, &all, 1, sizeof all, both);
    if (!all)
        node->wait.cma = false;
    return all;
}

void stretto_direct_bcast(stretto_node *node, void *buffer, size_t bytes, int root) {
    uint64_t address[2] = {(uintptr_t)buffer, 0};
    bool ok = true;
    if (node->nlocal == 2) {
        uint64_t mine = (uintptr_t)buffer;
        stretto_small_allgather(node, &mine, address, sizeof mine);
        size_t half = bytes / 2 & ~(size_t)4095;
        unsigned char *second = (unsigned char *)buffer + half;
        if (node->me != root)
            ok = fetch(node, root, buffer, address[root], half);
        else
            ok = transfer(node, stretto_vm_writev, 1 - root, second, address[1 - root] + half,
                          bytes - half);
    } else {
        stretto_small_bcast(node, address, sizeof address[0], root);
        if (node->me != root)
            ok = fetch(node, root, buffer, address[0], bytes);
    }
    if (!agree(node, ok))
        stretto_chunk_bcast(node, buffer, bytes, root);
}

void stretto_direct_allgather(stretto_node *node, const void *src, void *dst, size_t bytes) {
    uint64_t mine = (uintptr_t)src, address[node->nlocal];
    unsigned char *blocks = dst;
    stretto_small_allgather(node, &mine, address, sizeof mine);
    if (blocks + (size_t)node->me * bytes != src)
        memcpy(blocks + (size_t)node->me * bytes, src, bytes);
    bool ok = true;
    for (int i = 1; i < node->nlocal && ok; i++) {
        int rank = (node->me + i) % node->nlocal;
        ok = fetch(node, rank, blocks + (size_t)rank * bytes, address[rank], bytes);
    }
    if (!agree(node, ok))
        stretto_chunk_allgather(node, src, dst, bytes);
}

/* dst = the fold of all ranks' elements first..first+count-1, in pieces that stay in the cache.
 * Returns the number of elements done; of the others dst is untouched, as src may be in place. */
static size_t fold_directly(stretto_node *node, const uint64_t *address, const unsigned char *src,
                            unsigned char *dst, size_t first, size_t count, size_t size,
                            stretto_reduce_fn reduce) {
    size_t piece = STRETTO_NODE_DIRECT_PIECE / size;
    unsigned char *sum = malloc(2 * piece * size);
    if (!sum)
        return 0;
    unsigned char *next = sum + piece * size;
    size_t done = 0;
    for (; done < count; done += least(piece, count - done)) {
        size_t part = least(piece, count - done), offset = (first + done) * size;
        const void *left = NULL;
        for (int r = 0; r < node->nlocal; r++) {
            const void *operand = src + offset;
            if (r != node->me) {
                operand = r ? next : sum;
                if (!fetch(node, r, r ? next : sum, address[r] + offset, part * size)) {
                    free(sum);
                    return done;
                }
            }
            if (left) /* only the last step, when nothing can fail any more, writes dst */
                reduce(left, operand, r == node->nlocal - 1 ? dst + offset : sum, part);
            left = r == 0 ? operand : sum;
        }
    }
    free(sum);
    return done;
}

/* Every rank folds its share of the vector, reading the others' operands; then collects the shares.
 */
void stretto_direct_allreduce(stretto_node *node, const void *src, void *dst, size_t count,
                              size_t size, stretto_reduce_fn reduce) {
    const size_t n = (size_t)node->nlocal, share = (count + n - 1) / n;
    uint64_t mine[2] = {(uintptr_t)src, (uintptr_t)dst}, both_of[2 * n], from[n], done[n];
    unsigned char *result = dst;
    stretto_small_allgather(node, mine, both_of, sizeof mine);
    for (size_t r = 0; r < n; r++)
        from[r] = both_of[2 * r];

    size_t first = least((size_t)node->me * share, count), own = least(share, count - first);
    uint64_t elements = fold_directly(node, from, src, dst, first, own, size, reduce);
    if (!agree(node, elements == own)) {
        stretto_small_allgather(node, &elements, done, sizeof elements);
        for (size_t r = 0; r < n; r++) {
            size_t start = least(r * share, count), end = least(start + share, count);
            start += done[r];
            if (start < end)
                stretto_chunk_reduce(node, (const unsigned char *)src + start * size,
                                     result + start * size, end - start, size, reduce, (int)r);
        }
    }
    bool ok = node->wait.cma;
    for (size_t i = 1; i < n && ok; i++) {
        size_t r = ((size_t)node->me + i) % n;
        size_t start = least(r * share, count), end = least(start + share, count);
        ok = fetch(node, (int)r, result + start * size, both_of[2 * r + 1] + start * size,
                   (end - start) * size);
    }
    if (!agree(node, ok))
        for (size_t r = 0; r < n; r++) {
            size_t start = least(r * share, count), end = least(start + share, count);
            if (start < end)
                stretto_chunk_bcast(node, result + start * size, (end - start) * size, (int)r);
        }
}

bool stretto_node_cma_works(int n, const int *pids, const uintptr_t *addresses, uint64_t expected) {
    for (int i = 0; i < n; i++) {
        uint64_t word = ~expected;
        struct iovec l = {&word, sizeof word}, r = {(void *)addresses[i], sizeof word};
        if (stretto_vm_readv(pids[i], &l, 1, &r, 1, 0) != sizeof word || word != expected)
            return false;
    }
    return true;
}
