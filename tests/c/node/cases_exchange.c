/* Collectives in which ranks have different blocks, or different results. */
#include "tests/c/node/cases.h"

#include <stdlib.h>
#include <string.h>

static size_t at_most(size_t bytes, size_t most) {
    return bytes < most ? bytes : most;
}

/* The block that `from` sends to `to`. */
static void fill_pair(void *block, size_t bytes, const state *s, int from, int to) {
    fill(block, bytes, s->call * 1009 + (uint64_t)to, from);
}

/* A table of n sizes up to about `bytes` (some zero, some equal), the same on all ranks. */
static size_t ragged(state *s, size_t *sizes, size_t *at, size_t bytes) {
    size_t total = 0;
    uint64_t kind = below(&s->random, 4);
    for (int r = 0; r < s->n; r++) {
        uint64_t dice = below(&s->random, 6), size = below(&s->random, bytes + 1);
        sizes[r] = kind == 0 ? bytes : kind == 1 ? (dice == 0 ? bytes : 0) : dice == 0 ? 0 : size;
        at[r] = total;
        total += sizes[r] + (kind == 3 ? below(&s->random, 20) : 0); /* gaps in between */
    }
    return total;
}

void one_allgatherv(state *s, size_t bytes) {
    size_t sizes[s->n], at[s->n];
    size_t total = ragged(s, sizes, at, at_most(bytes, s->largest / 4));
    bool in_place = below(&s->random, 3) == 0;
    unsigned char *dst = take(s, 1, total);
    unsigned char *src = in_place ? dst + at[s->rank] : take(s, 0, sizes[s->rank]);
    memset(dst, 0x77, total);
    memset(s->buffer[2], 0x77, total);
    fill(src, sizes[s->rank], s->call, s->rank);
    stretto_node_allgatherv(s->node, src, dst, at, sizes);
    for (int r = 0; r < s->n; r++)
        fill(s->buffer[2] + at[r], sizes[r], s->call, r);
    check(s, dst, s->buffer[2], total, "allgatherv", in_place ? "in place" : "");
}

void one_alltoall(state *s, size_t bytes) {
    bytes = at_most(bytes, s->largest / 4);
    bool in_place = below(&s->random, 3) == 0;
    size_t total = bytes * (size_t)s->n;
    unsigned char *dst = take(s, 1, total), *src = in_place ? dst : take(s, 0, total);
    memset(dst, 0x77, total);
    for (int r = 0; r < s->n; r++)
        fill_pair(src + (size_t)r * bytes, bytes, s, s->rank, r);
    stretto_node_alltoall(s->node, in_place ? NULL : src, dst, bytes);
    for (int r = 0; r < s->n; r++)
        fill_pair(s->buffer[2] + (size_t)r * bytes, bytes, s, r, s->rank);
    check(s, dst, s->buffer[2], total, "alltoall", in_place ? "in place" : "");
}

/* Sizes for every pair, of which each rank uses only its own row and column. In place they are
 * symmetric. */
void one_alltoallv(state *s, size_t bytes) {
    int n = s->n;
    size_t limit = at_most(bytes, s->largest / 4), src_at[n], src_bytes[n], dst_at[n], dst_bytes[n];
    uint64_t seed = below(&s->random, UINT64_MAX), kind = below(&s->random, 5);
    bool in_place = below(&s->random, 3) == 0;
    size_t out = 0, in = 0;
    for (int r = 0; r < n; r++) {
        size_t both[2];
        for (int way = 0; way < 2; way++) {
            int from = way ? r : s->rank, to = way ? s->rank : r;
            if (in_place && from > to) {
                int swap = from;
                from = to;
                to = swap;
            }
            uint64_t x = seed + (uint64_t)(from * n + to) * 7, dice = below(&x, 6);
            size_t size = (size_t)below(&x, limit + 1);
            both[way] = kind == 0   ? limit
                        : kind == 1 ? (dice == 0 ? size : 0)
                        : kind == 2 ? at_most(size, dice < 5 ? 60 : limit)
                        : kind == 3 ? (to == (int)(seed % (uint64_t)n) ? size : 0)
                                    : size;
        }
        src_bytes[r] = both[0];
        dst_bytes[r] = both[1];
        src_at[r] = out;
        dst_at[r] = in;
        out += both[0] + (kind == 4 ? below(&s->own, 16) : 0);
        in += both[1] + (kind == 4 && !in_place ? below(&s->own, 16) : 0);
        if (in_place)
            in = out;
    }
    unsigned char *dst = take(s, 1, in), *src = in_place ? dst : take(s, 0, out);
    memset(dst, 0x77, in);
    memset(s->buffer[2], 0x77, in);
    for (int r = 0; r < n; r++)
        fill_pair(src + src_at[r], src_bytes[r], s, s->rank, r);
    size_t room[n]; /* now and then less than comes: what fits is stored, and it is said */
    bool fits = true;
    for (int r = 0; r < n; r++) {
        bool less = !in_place && dst_bytes[r] && below(&s->own, 40) == 0;
        room[r] = less ? (size_t)below(&s->own, dst_bytes[r]) : dst_bytes[r];
        fits &= room[r] == dst_bytes[r];
    }
    bool limited = !fits || below(&s->own, 2);
    bool said = stretto_node_alltoallv(s->node, in_place ? NULL : src, src_at, src_bytes, dst,
                                       dst_at, limited ? room : NULL);
    for (int r = 0; r < n; r++) {
        fill_pair(s->buffer[2] + dst_at[r], dst_bytes[r], s, r, s->rank);
        memset(s->buffer[2] + dst_at[r] + room[r], 0x77, dst_bytes[r] - room[r]);
    }
    if (said != fits)
        fail(s, "alltoallv", "says wrongly whether all had room", in, 0);
    check(s, dst, s->buffer[2], in, "alltoallv", in_place ? "in place" : "");
}

void one_gather(state *s, size_t bytes) {
    bytes = at_most(bytes, s->largest / 4);
    int root = (int)below(&s->random, (uint64_t)s->n);
    bool top = s->rank == root, in_place = below(&s->random, 3) == 0 && top;
    size_t total = top ? bytes * (size_t)s->n : 0;
    unsigned char *dst = take(s, 1, total);
    unsigned char *src = in_place ? dst + (size_t)root * bytes : take(s, 0, bytes);
    memset(dst, 0x77, total);
    fill(src, bytes, s->call, s->rank);
    stretto_node_gather(s->node, src, top ? dst : NULL, bytes, root);
    for (int r = 0; top && r < s->n; r++)
        fill(s->buffer[2] + (size_t)r * bytes, bytes, s->call, r);
    check(s, dst, s->buffer[2], total, "gather", in_place ? "in place" : "");
}

void one_scatter(state *s, size_t bytes) {
    bytes = at_most(bytes, s->largest / 4);
    int root = (int)below(&s->random, (uint64_t)s->n);
    bool top = s->rank == root, in_place = below(&s->random, 3) == 0 && top;
    size_t total = top ? bytes * (size_t)s->n : 0;
    unsigned char *src = take(s, 0, total);
    unsigned char *dst = in_place ? src + (size_t)root * bytes : take(s, 1, bytes);
    if (!in_place)
        memset(dst, 0x77, bytes);
    for (int r = 0; top && r < s->n; r++)
        fill(src + (size_t)r * bytes, bytes, s->call, r);
    stretto_node_scatter(s->node, top ? src : NULL, dst, bytes, root);
    fill(s->buffer[2], bytes, s->call, s->rank);
    if (!in_place)
        check(s, dst, s->buffer[2], bytes, "scatter", "");
    for (int r = 0; top && r < s->n; r++)
        fill(s->buffer[2] + (size_t)r * bytes, bytes, s->call, r);
    if (top)
        check(s, src, s->buffer[2], total, "scatter, src", in_place ? "in place" : "");
}

void one_reduce_scatter(state *s, size_t bytes) {
    size_t count, counts[s->n], at[s->n];
    operation op = pick_operation(s, at_most(bytes, s->largest / 4), &count);
    count = at_most(count, s->largest / ((size_t)s->n * op.size)); /* of the vector: what fits */
    bool in_place = below(&s->random, 3) == 0;
    size_t total = 0;
    ragged(s, counts, at, count);
    for (int r = 0; r < s->n; r++) {
        at[r] = total;
        total += counts[r];
    }
    size_t all = total * op.size, mine = counts[s->rank] * op.size;
    unsigned char *dst = take(s, 1, in_place ? all : mine);
    unsigned char *src = in_place ? dst : take(s, 0, all), *want = s->buffer[2];
    if (!in_place)
        memset(dst, 0x77, mine);
    fill(src, all, s->call, s->rank);
    stretto_node_reduce_scatter(s->node, src, dst, counts, op.size, op.fn);
    reference_reduce(s, want, total, op, s->n - 1);
    memmove(want, want + at[s->rank] * op.size, mine);
    if (in_place) { /* the rest of the vector is as it was */
        unsigned char *before = malloc(all + 1);
        fill(before, all, s->call, s->rank);
        memcpy(want + mine, before + mine, all - mine);
        free(before);
    }
    check(s, dst, want, in_place ? all : mine, "reduce_scatter", op.name);
    if (!in_place) {
        fill(want, all, s->call, s->rank);
        check(s, src, want, all, "reduce_scatter, src", op.name);
    }
}

void one_scan(state *s, size_t bytes) {
    size_t count;
    operation op = pick_operation(s, bytes, &count);
    bool in_place = below(&s->random, 3) == 0, exclusive = below(&s->random, 2) == 0;
    bytes = count * op.size;
    unsigned char *dst = take(s, 1, bytes), *src = in_place ? dst : take(s, 0, bytes);
    unsigned char *want = s->buffer[2];
    if (!in_place)
        memset(dst, 0x77, bytes);
    fill(src, bytes, s->call, s->rank);
    stretto_node_scan(s->node, src, dst, count, op.size, op.fn, exclusive);
    if (s->rank || !exclusive)
        reference_reduce(s, want, count, op, exclusive ? s->rank - 1 : s->rank);
    else if (in_place)
        fill(want, bytes, s->call, s->rank);
    else
        memset(want, 0x77, bytes);
    check(s, dst, want, bytes, exclusive ? "exscan" : "scan", op.name);
}
