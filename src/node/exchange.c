/* The collectives in which every pair of ranks has a message of its own, by broadcasts: correct,
 * and to be replaced one by one. */
#include "node/internal.h"

#include <stdio.h>
#include <stdlib.h>

static void *must(size_t bytes) {
    void *memory = malloc(bytes + 1);
    if (!memory) {
        fprintf(stderr, "stretto: out of memory for %zu bytes in a collective\n", bytes);
        abort();
    }
    return memory;
}

void stretto_node_alltoallv(stretto_node *node, const void *src, const size_t *src_at,
                            const size_t *src_bytes, void *dst, const size_t *dst_at) {
    size_t n = (size_t)node->nlocal, me = (size_t)node->me, total = 0, largest = 0;
    for (size_t r = 0; r < n; r++)
        total += src_bytes[r];
    unsigned char *mine = must(total), *into = dst;
    for (size_t r = 0, at = 0; r < n; at += src_bytes[r++])
        memcpy(mine + at, (const unsigned char *)(src ? src : dst) + src_at[r], src_bytes[r]);
    size_t *sizes = must(n * n * sizeof *sizes);
    stretto_node_allgather(node, src_bytes, sizes, n * sizeof *sizes);
    for (size_t i = 0; i < n * n; i++)
        largest = sizes[i] > largest ? sizes[i] : largest;
    unsigned char *dump = must(largest);
    for (size_t s = 0; s < n; s++)
        for (size_t d = 0, at = 0; d < n; d++) {
            unsigned char *here = s == me ? mine + at : d == me ? into + dst_at[s] : dump;
            stretto_node_bcast(node, here, sizes[s * n + d], (int)s);
            if (s == me && d == me)
                memcpy(into + dst_at[me], here, src_bytes[me]);
            at += sizes[s * n + d];
        }
    free(mine);
    free(sizes);
    free(dump);
}

void stretto_node_alltoall(stretto_node *node, const void *src, void *dst, size_t bytes) {
    size_t n = (size_t)node->nlocal, at[n], sizes[n];
    for (size_t r = 0; r < n; r++) {
        at[r] = r * bytes;
        sizes[r] = bytes;
    }
    stretto_node_alltoallv(node, src, at, sizes, dst, at);
}

void stretto_node_gather(stretto_node *node, const void *src, void *dst, size_t bytes, int root) {
    size_t n = (size_t)node->nlocal, none[n], at[n], sizes[n];
    for (size_t r = 0; r < n; r++) {
        none[r] = 0;
        at[r] = r * bytes;
        sizes[r] = (int)r == root ? bytes : 0;
    }
    stretto_node_alltoallv(node, src, none, sizes, dst, at);
}

void stretto_node_scatter(stretto_node *node, const void *src, void *dst, size_t bytes, int root) {
    size_t n = (size_t)node->nlocal, none[n], at[n], sizes[n];
    for (size_t r = 0; r < n; r++) {
        none[r] = 0;
        at[r] = r * bytes;
        sizes[r] = node->me == root ? bytes : 0;
    }
    stretto_node_alltoallv(node, src, at, sizes, dst, none);
}

void stretto_node_allgatherv(stretto_node *node, const void *src, void *dst, const size_t *at,
                             const size_t *bytes) {
    unsigned char *into = dst;
    if (src != into + at[node->me])
        memcpy(into + at[node->me], src, bytes[node->me]);
    for (int r = 0; r < node->nlocal; r++)
        stretto_node_bcast(node, into + at[r], bytes[r], r);
}

void stretto_node_reduce_scatter(stretto_node *node, const void *src, void *dst,
                                 const size_t *counts, size_t size, stretto_reduce_fn reduce) {
    unsigned char *result = must(counts[node->me] * size);
    const unsigned char *vector = src;
    for (int r = 0; r < node->nlocal; vector += counts[r++] * size)
        stretto_node_reduce(node, vector, r == node->me ? result : NULL, counts[r], size, reduce,
                            r);
    memcpy(dst, result, counts[node->me] * size);
    free(result);
}

void stretto_node_scan(stretto_node *node, const void *src, void *dst, size_t count, size_t size,
                       stretto_reduce_fn reduce, bool exclusive) {
    size_t bytes = count * size;
    int last = exclusive ? node->me - 1 : node->me;
    unsigned char *shown = must(bytes), *sum = must(bytes), *mine = must(bytes);
    memcpy(mine, src, bytes);
    for (int r = 0; r < node->nlocal; r++) {
        unsigned char *into = r == node->me ? mine : r ? shown : sum;
        stretto_node_bcast(node, into, bytes, r);
        if (r == 0 && into == mine)
            memcpy(sum, mine, bytes);
        else if (r && r <= last && bytes)
            reduce(sum, into, sum, count);
    }
    if (last >= 0)
        memcpy(dst, sum, bytes);
    free(shown);
    free(sum);
    free(mine);
}
