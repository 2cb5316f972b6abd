/* Allgather, of equal blocks or of blocks whose sizes all ranks know.
 *
 * Every block is needed by every rank, so a tree would move no less: all read from all. Cost for n
 * ranks and blocks of b bytes: one hop and (n - 1) reads of b; long blocks n b of copying. */
#include "node/chunk.h"
#include "node/direct.h"
#include "node/lines.h"
#include "node/pair.h"

void stretto_small_allgather(stretto_node *node, const void *src, void *dst, size_t bytes) {
    uint64_t call = stretto_lines_begin(node, bytes);
    unsigned char *blocks = dst;
    stretto_lines_put(node, STRETTO_UP, call, src, bytes);
    if (blocks + (size_t)node->me * bytes != src)
        stretto_copy(blocks + (size_t)node->me * bytes, src, bytes);
    for (int i = 1; i < node->nlocal; i++) {
        int rank = (node->me + i) % node->nlocal;
        stretto_lines_get(node, rank, STRETTO_UP, call, blocks + (size_t)rank * bytes, bytes);
    }
    stretto_finish(node, true);
}

/* A rank without a block also writes an empty line. So every rank has received a line of every
 * other rank (protocol 2), and no rank needs to read the done flags. */
static void small_allgatherv(stretto_node *node, const void *src, unsigned char *dst,
                             const size_t *at, const size_t *bytes, size_t largest) {
    uint64_t call = stretto_lines_begin(node, largest);
    stretto_lines_put(node, STRETTO_UP, call, src, bytes[node->me]);
    if (dst + at[node->me] != src && bytes[node->me])
        stretto_copy(dst + at[node->me], src, bytes[node->me]);
    for (int i = 1; i < node->nlocal; i++) {
        int rank = (node->me + i) % node->nlocal;
        stretto_lines_get(node, rank, STRETTO_UP, call, dst + at[rank], bytes[rank]);
    }
    stretto_finish(node, true);
}

static size_t largest_of(const size_t *bytes, int n) {
    size_t largest = 0;
    for (int r = 0; r < n; r++)
        largest = bytes[r] > largest ? bytes[r] : largest;
    return largest;
}

/* Every rank fills its ring, one chunk ahead of what it reads of all others, so that what it waits
 * for is usually there. A chunk is overwritten when all have taken the one that lay there: all
 * count their chunks up to the longest block's, with or without data. A ring holds at least 2.
 *
 * No deadlock: of all ranks take one that has begun the fewest steps, say it is in step c. It waits
 * for what the others took in step c - depth + 1 < c, and for what they posted in step c - 1: they
 * have left these. */
void stretto_chunk_allgather(stretto_node *node, const void *src, void *dst, const size_t *at,
                             const size_t *bytes) {
    const size_t largest = largest_of(bytes, node->nlocal), size = stretto_chunk(node, largest),
                 mine = bytes[node->me], n = (largest + size - 1) / size;
    const int depth = (int)(node->area / size);
    uint64_t base = stretto_ring_begin(node, n, size, 1);
    stretto_area *area = stretto_area_of(node, node->me);
    bool all = true; /* has something from everybody */
    for (int r = 0; r < node->nlocal; r++)
        all &= bytes[r] > 0;
    /* what is left of the rank's own block, to be copied and to be written for the others */
    stretto_copying own = {(unsigned char *)dst + at[node->me], src, mine};
    stretto_copying rest = {NULL, src, mine};
    if (own.to == src)
        own.bytes = 0;
    for (size_t c = 0; c <= n; c++) {
        if (c < n) {
            if (c >= (size_t)depth)
                stretto_await_taken(node, base + c - (size_t)depth + 1);
            rest.to = stretto_slot(node, node->me, base + c, size, depth);
            const stretto_copying out = stretto_copy_part(&rest, size);
            if (out.bytes)
                stretto_publish(node, out.to, out.from, out.bytes);
            stretto_set(&area->posted, base + c + 1);
        }
        if (c == 0) { /* from now on what was just written, which is still in the nearest cache */
            stretto_keep(node, stretto_copy_part(&own, size));
            continue;
        }
        size_t t = c - 1;
        for (int i = 1; i < node->nlocal; i++) {
            int rank = (node->me + i) % node->nlocal;
            if (t * size >= bytes[rank])
                continue;
            const stretto_copying in = {(unsigned char *)dst + at[rank] + t * size,
                                        stretto_slot(node, rank, base + t, size, depth),
                                        stretto_least(size, bytes[rank] - t * size)};
            stretto_await(node, &stretto_area_of(node, rank)->posted.value, base + t + 1);
            stretto_fetch_both(node, in, stretto_copy_part(&own, i == 1 ? in.bytes : 0));
        }
        stretto_set(&area->taken, base + t + 1);
    }
    stretto_keep(node, own);
    stretto_finish(node, all);
}

/* Two ranks. */
static void pair_allgather(stretto_node *node, const unsigned char *src, unsigned char *dst,
                           const size_t *at, const size_t *bytes) {
    const int me = node->me, other = 1 - me;
    stretto_copying own = {dst + at[me], src, bytes[me]};
    if (own.to == src)
        own.bytes = 0;
    stretto_pair_exchange(node, src, bytes[me], dst + at[other], bytes[other], own);
}

static void large_allgather(stretto_node *node, const void *src, void *dst, const size_t *at,
                            const size_t *bytes, size_t largest) {
    const stretto_judged call = stretto_judge_begin(node, STRETTO_JUDGE_GATHERED, largest);
    if (call.second)
        stretto_direct_allgather(node, src, dst, at, bytes);
    else if (node->nlocal == 2)
        pair_allgather(node, src, dst, at, bytes);
    else
        stretto_chunk_allgather(node, src, dst, at, bytes);
    stretto_judge_end(node, &call);
}

void stretto_node_allgather(stretto_node *node, const void *src, void *dst, size_t bytes) {
    if (bytes == 0)
        return;
    if (node->nlocal == 1) {
        if (dst != src)
            stretto_copy(dst, src, bytes);
        return;
    }
    if (bytes <= node->small) {
        stretto_small_allgather(node, src, dst, bytes);
        return;
    }
    size_t n = (size_t)node->nlocal, at[n], sizes[n];
    for (size_t r = 0; r < n; r++) {
        at[r] = r * bytes;
        sizes[r] = bytes;
    }
    large_allgather(node, src, dst, at, sizes, bytes);
}

void stretto_node_allgatherv(stretto_node *node, const void *src, void *dst, const size_t *at,
                             const size_t *bytes) {
    size_t largest = largest_of(bytes, node->nlocal);
    if (largest == 0)
        return;
    if (node->nlocal == 1) {
        if ((unsigned char *)dst + at[0] != src)
            stretto_copy((unsigned char *)dst + at[0], src, bytes[0]);
    } else if (largest <= node->small) {
        small_allgatherv(node, src, dst, at, bytes, largest);
    } else {
        large_allgather(node, src, dst, at, bytes, largest);
    }
}
