/* Random sequences of node collectives by N ranks (processes over shared memory, or threads for
 * ThreadSanitizer), every result compared with one computed without them.
 *
 *   node_test [--ranks N] [--calls M] [--small M] [--seed S] [--largest BYTES] [--threads]
 *             [--direct MODE] [--pause P] [--domains D [--commutes]]
 *
 * --small M adds M calls of small messages without any check of the buffers' edges, at full speed.
 * --pause P: in about P calls of a thousand one rank sleeps before or after (finds buffers that are
 * reused too early). --direct: off, cma, or a fault to inject (see faults.h). --domains: where
 * ranks lie (harness.c); with --commutes only commutative operations, which may then be taken by
 * domain.
 */
#include "tests/c/node/cases.h"

#include <stdio.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static uint64_t next(uint64_t *x) {
    *x += 0x9e3779b97f4a7c15u;
    uint64_t z = *x;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

uint64_t below(uint64_t *x, uint64_t n) {
    return next(x) % n;
}

/* Contribution of a rank to a call: any bytes will do, they must only be its own. */
void fill(void *to, size_t bytes, uint64_t call, int rank) {
    unsigned char *p = to;
    uint64_t x = call * 1000003u + (uint64_t)rank * 7919u + 1;
    for (size_t i = 0; i < bytes; i += 8) {
        x = x * 6364136223846793005u + 1442695040888963407u;
        uint64_t v = x ^ (x >> 29);
        memcpy(p + i, &v, bytes - i < 8 ? bytes - i : 8);
    }
}

/* 2 x 2 matrices over the integers modulo 2^32: associative, not commutative. */
static void matrix_product(const void *left, const void *right, void *out, size_t n) {
    for (size_t i = 0; i < n; i++) {
        uint32_t a[4], b[4], c[4];
        memcpy(a, (const char *)left + i * sizeof a, sizeof a);
        memcpy(b, (const char *)right + i * sizeof b, sizeof b);
        c[0] = a[0] * b[0] + a[1] * b[2];
        c[1] = a[0] * b[1] + a[1] * b[3];
        c[2] = a[2] * b[0] + a[3] * b[2];
        c[3] = a[2] * b[1] + a[3] * b[3];
        memcpy((char *)out + i * sizeof c, c, sizeof c);
    }
}

/* Composition of permutations of `width` points given as bytes: an odd element size, not
 * commutative. A byte b stands for the point b % width. */
#define COMPOSITION(width)                                                                         \
    static void composition_##width(const void *left, const void *right, void *out, size_t n) {    \
        const unsigned char *l = left, *r = right;                                                 \
        unsigned char *o = out;                                                                    \
        for (size_t i = 0; i < n; i++) {                                                           \
            unsigned char t[width];                                                                \
            for (int k = 0; k < width; k++)                                                        \
                t[k] = r[i * width + l[i * width + k] % width];                                    \
            memcpy(o + i * width, t, width);                                                       \
        }                                                                                          \
    }
COMPOSITION(3)
COMPOSITION(1000)
COMPOSITION(12000)
COMPOSITION(40000)
COMPOSITION(100000)

static const struct {
    const char *name;
    size_t size;
    stretto_reduce_fn fn; /* NULL: op, type */
    stretto_op op;
    stretto_type type;
} operations[] = {
    {"sum of uint64", 8, NULL, STRETTO_OP_SUM, STRETTO_UINT64},
    {"sum of uint64", 8, NULL, STRETTO_OP_SUM, STRETTO_UINT64},
    {"max of int32", 4, NULL, STRETTO_OP_MAX, STRETTO_INT32},
    {"xor of uint8", 1, NULL, STRETTO_OP_BXOR, STRETTO_UINT8},
    {"matrix product", 16, matrix_product, 0, 0},
    {"matrix product", 16, matrix_product, 0, 0},
    {"composition of 3", 3, composition_3, 0, 0},
    {"composition of 1000", 1000, composition_1000, 0, 0},
    {"composition of 12000", 12000, composition_12000, 0, 0}, /* one in a chunk of two ranks */
    {"composition of 40000", 40000, composition_40000, 0, 0},
    {"composition of 100000", 100000, composition_100000, 0, 0},
};
enum { COMMUTATIVE = 4, OPERATIONS = sizeof operations / sizeof operations[0] };

#define EDGE 64
#define EDGE_BYTE 0xa5

/* A buffer of `bytes` at an offset that is the same on no two calls, with edges to be checked. */
unsigned char *take(state *s, int which, size_t bytes) {
    unsigned char *p = s->buffer[which] + EDGE + below(&s->own, 3) * (below(&s->own, 64) & ~7u);
    if (below(&s->own, 4) == 0)
        p += below(&s->own, 8);
    memset(p - EDGE, EDGE_BYTE, EDGE);
    memset(p + bytes, EDGE_BYTE, EDGE);
    return p;
}

void fail(const state *s, const char *what, const char *detail, size_t bytes, size_t at) {
    fprintf(stderr, "node_test: rank %d of %d, call %llu: %s (%s, %zu bytes): wrong at byte %zu\n",
            s->rank, s->n, (unsigned long long)s->call, what, detail, bytes, at);
    abort();
}

void check(const state *s, const unsigned char *got, const unsigned char *want, size_t bytes,
           const char *what, const char *detail) {
    for (size_t i = 0; i < EDGE; i++) {
        if (got[-1 - (ptrdiff_t)i] != EDGE_BYTE)
            fail(s, what, "written before the buffer", bytes, i);
        if (got[bytes + i] != EDGE_BYTE)
            fail(s, what, "written after the buffer", bytes, i);
    }
    if (memcmp(got, want, bytes) == 0)
        return;
    size_t i = 0;
    while (got[i] == want[i])
        i++;
    fail(s, what, detail, bytes, i);
}

static size_t pick_bytes(state *s) {
    static const size_t edges[] = {0,     1,     55,    56,     57,     64,     112,    4095,
                                   4096,  4144,  4145,  8192,   16383,  16384,  16385,  32768,
                                   49152, 65536, 65537, 131072, 262144, 262145, 1048576};
    size_t bytes;
    switch (below(&s->random, 8)) {
    case 0: bytes = 8; break;
    case 1:
    case 2: bytes = below(&s->random, 120); break;
    case 3: bytes = below(&s->random, 6000); break;
    case 4: bytes = below(&s->random, 100000); break;
    case 5: bytes = edges[below(&s->random, sizeof edges / sizeof edges[0])]; break;
    case 6: bytes = below(&s->random, 16) ? below(&s->random, 300000) : s->largest; break;
    default: bytes = below(&s->random, 8) ? below(&s->random, 2000) : below(&s->random, s->largest);
    }
    return bytes < s->largest ? bytes : s->largest;
}

operation pick_operation(state *s, size_t bytes, size_t *count) {
    int i = (int)below(&s->random, s->commutes ? COMMUTATIVE : OPERATIONS);
    operation op = {operations[i].name, operations[i].size, operations[i].fn};
    if (!op.fn)
        op.fn = stretto_reduce_kernel(operations[i].op, operations[i].type);
    *count = bytes / op.size;
    if (op.size > 10000 && below(&s->random, 4))
        *count = 0; /* these are slow */
    if (op.size == 1000 && *count > 300)
        *count = 300;
    return op;
}

void reference_reduce(state *s, unsigned char *want, size_t count, operation op, int last) {
    unsigned char *right = malloc(count * op.size + 1);
    fill(want, count * op.size, s->call, 0);
    for (int r = 1; r <= last; r++) {
        fill(right, count * op.size, s->call, r);
        op.fn(want, right, want, count);
    }
    free(right);
}

static void one_reduction(state *s, size_t bytes, bool all) {
    size_t count;
    operation op = pick_operation(s, bytes, &count);
    int root = (int)below(&s->random, (uint64_t)s->n);
    bool in_place = below(&s->random, 3) == 0;
    bytes = count * op.size;
    unsigned char *dst = take(s, 1, bytes), *src = in_place ? dst : take(s, 0, bytes);
    unsigned char *want = s->buffer[2];
    if (!in_place)
        memset(dst, 0x77, bytes);
    fill(src, bytes, s->call, s->rank);
    if (all && bytes && (s->call + (uint64_t)s->rank) % 3 == 0 &&
        stretto_node_post(s->node, src, bytes))
        while (!stretto_node_collect(s->node, src, dst, count, bytes, op.fn, 1 + (int)(count % 3)))
            sched_yield();
    else if (all)
        stretto_node_allreduce(s->node, src, dst, count, op.size, op.fn);
    else
        stretto_node_reduce(s->node, src, s->rank == root || in_place ? dst : NULL, count, op.size,
                            op.fn, root);
    if (all || s->rank == root) {
        reference_reduce(s, want, count, op, s->n - 1);
        check(s, dst, want, bytes, all ? "allreduce" : "reduce", op.name);
    } else { /* the contribution must not have been touched */
        fill(want, bytes, s->call, s->rank);
        check(s, src, want, bytes, "reduce, src", op.name);
    }
}

static void one_bcast(state *s, size_t bytes) {
    int root = (int)below(&s->random, (uint64_t)s->n);
    unsigned char *buffer = take(s, 0, bytes);
    fill(s->buffer[2], bytes, s->call, root);
    if (s->rank == root)
        memcpy(buffer, s->buffer[2], bytes);
    else
        memset(buffer, 0x77, bytes);
    stretto_node_bcast(s->node, buffer, bytes, root);
    check(s, buffer, s->buffer[2], bytes, "bcast", "");
}

static void one_allgather(state *s, size_t bytes) {
    bool in_place = below(&s->random, 3) == 0;
    if (bytes > s->largest / 4)
        bytes = s->largest / 4;
    size_t total = bytes * (size_t)s->n;
    unsigned char *dst = take(s, 1, total);
    unsigned char *src = in_place ? dst + (size_t)s->rank * bytes : take(s, 0, bytes);
    memset(dst, 0x77, total);
    fill(src, bytes, s->call, s->rank);
    stretto_node_allgather(s->node, src, dst, bytes);
    for (int r = 0; r < s->n; r++)
        fill(s->buffer[2] + (size_t)r * bytes, bytes, s->call, r);
    check(s, dst, s->buffer[2], total, "allgather", in_place ? "in place" : "");
}

/* No rank may leave a barrier before all have come. */
static void one_barrier(state *s, harness *h) {
    atomic_store_explicit(&h->arrived[s->rank], s->call, memory_order_relaxed);
    stretto_node_barrier(s->node);
    for (int r = 0; r < s->n; r++)
        if (atomic_load_explicit(&h->arrived[r], memory_order_relaxed) < s->call)
            fail(s, "barrier", "left before all had come", 0, (size_t)r);
}

/* Sums of doubles: rounding depends on the order, so all ranks must have the same bits. */
static void one_rounded_sum(state *s, size_t bytes) {
    size_t count = bytes / 8;
    double *src = (double *)s->buffer[0], *dst = (double *)s->buffer[1];
    uint64_t x = s->call * 31 + (uint64_t)s->rank, hash = 0, *all = (uint64_t *)s->buffer[2];
    for (size_t i = 0; i < count; i++)
        src[i] = (double)(int64_t)next(&x) * (i % 7 ? 1e-9 : 1e9);
    stretto_node_allreduce(s->node, src, dst, count, 8,
                           stretto_reduce_kernel(STRETTO_OP_SUM, STRETTO_DOUBLE));
    for (size_t i = 0; i < count; i++) {
        uint64_t v;
        memcpy(&v, dst + i, 8);
        hash = (hash ^ v) * 0x100000001b3u;
    }
    stretto_node_allgather(s->node, &hash, all, 8);
    for (int r = 0; r < s->n; r++)
        if (all[r] != hash)
            fail(s, "allreduce", "sums of doubles differ between ranks", bytes, 0);
}

static void small_calls(state *s, long calls) {
    stretto_reduce_fn sum = stretto_reduce_kernel(STRETTO_OP_SUM, STRETTO_UINT64);
    for (long i = 0; i < calls; i++) {
        uint64_t v[2] = {(uint64_t)i + (uint64_t)s->rank, (uint64_t)i * (uint64_t)s->rank}, got[2];
        uint64_t me = (uint64_t)s->rank, all[HARNESS_RANKS];
        uint64_t n = (uint64_t)s->n, ranks = n * (n - 1) / 2, k = (uint64_t)i;
        int root = (int)(i / 64 % s->n); /* one for a run, or it could not run ahead */
        bool wrong = false;
        switch (i / 64 % 8) { /* runs of one kind, so that roots run ahead */
        case 0:
            stretto_node_allreduce(s->node, v, got, 2, 8, sum);
            wrong = got[0] != n * k + ranks || got[1] != k * ranks;
            break;
        case 1:
            stretto_node_reduce(s->node, v, got, 2, 8, sum, root);
            wrong = s->rank == root && (got[0] != n * k + ranks || got[1] != k * ranks);
            break;
        case 2:
            got[0] = s->rank == root ? k * 3 : 0;
            stretto_node_bcast(s->node, got, 8, root);
            wrong = got[0] != k * 3;
            break;
        case 3: stretto_node_barrier(s->node); break;
        case 4:
            for (uint64_t r = 0; r < n; r++)
                all[r] = k * n + r;
            stretto_node_scatter(s->node, s->rank == root ? all : NULL, got, 8, root);
            wrong = got[0] != k * n + (uint64_t)s->rank;
            break;
        case 5:
            stretto_node_gather(s->node, v, s->rank == root ? all : NULL, 8, root);
            for (uint64_t r = 0; r < n && s->rank == root; r++)
                wrong |= all[r] != k + r;
            break;
        case 6:
            stretto_node_scan(s->node, v, got, 2, 8, sum, false);
            wrong = got[0] != (me + 1) * k + me * (me + 1) / 2 || got[1] != k * me * (me + 1) / 2;
            break;
        default:
            for (uint64_t r = 0; r < n; r++)
                all[r] = k * n * n + me * n + r;
            stretto_node_alltoall(s->node, NULL, all, 8);
            for (uint64_t r = 0; r < n; r++)
                wrong |= all[r] != k * n * n + r * n + me;
        }
        if (wrong)
            fail(s, "small call", "", 16, (size_t)i);
    }
}

static void pause_sometimes(state *s, int per_mille) {
    if ((int)below(&s->own, 1000) < per_mille)
        usleep((useconds_t)below(&s->own, 300));
}

static void run(harness *h, int rank) {
    state s = {
        .rank = rank, .n = h->ranks, .random = h->seed, .own = h->seed ^ ((uint64_t)rank + 1) * 77};
    s.largest = h->largest;
    s.commutes = h->commutes;
    s.node = harness_attach(h, rank);
    for (int i = 0; i < HARNESS_BUFFERS; i++)
        s.buffer[i] = harness_buffer(h, rank, i);
    small_calls(&s, h->small);
    for (long i = 0; i < h->calls; i++) {
        s.call++;
        pause_sometimes(&s, h->pause);
        size_t bytes = pick_bytes(&s);
        switch (below(&s.random, 16)) {
        case 0: one_barrier(&s, h); break;
        case 1: one_bcast(&s, bytes); break;
        case 2:
        case 3: one_reduction(&s, bytes, true); break;
        case 4: one_reduction(&s, bytes, false); break;
        case 5: one_allgather(&s, bytes); break;
        case 6: one_rounded_sum(&s, bytes); break;
        case 7: one_allgatherv(&s, bytes); break;
        case 8:
        case 9: one_alltoall(&s, bytes); break;
        case 10: one_alltoallv(&s, bytes); break;
        case 11: one_gather(&s, bytes); break;
        case 12: one_scatter(&s, bytes); break;
        case 13:
        case 14: one_reduce_scatter(&s, bytes); break;
        default: one_scan(&s, bytes);
        }
        pause_sometimes(&s, h->pause);
    }
    for (int i = 0; i < HARNESS_BUFFERS; i++)
        harness_give_back(h, s.buffer[i]);
    harness_detach(h, rank, s.node);
}

int main(int argc, char **argv) {
    return harness_main(argc, argv, run);
}
