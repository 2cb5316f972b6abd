/* What the test cases of node_test share: a rank's state, its randomness, checked buffers. */
#ifndef STRETTO_TESTS_NODE_CASES_H
#define STRETTO_TESTS_NODE_CASES_H

#include "node/node.h"
#include "tests/c/node/harness.h"

typedef struct {
    stretto_node *node;
    int rank, n;
    bool commutes;   /* only commutative operations */
    uint64_t random; /* the same on all ranks */
    uint64_t own;    /* this rank's own randomness: delays */
    uint64_t call;
    unsigned char *buffer[HARNESS_BUFFERS]; /* src, dst, reference; largest * n + room each */
    size_t largest;
} state;

/* A random number below n; *x is s->random (the same on all ranks) or s->own. */
uint64_t below(uint64_t *x, uint64_t n);
/* Contribution of a rank to a call: any bytes will do, they must only be its own. */
void fill(void *to, size_t bytes, uint64_t call, int rank);
/* A buffer of `bytes` at an offset that is the same on no two calls, with edges to be checked. */
unsigned char *take(state *s, int which, size_t bytes);
/* Aborts with the place unless the edges are untouched and the bytes are those wanted. */
void check(const state *s, const unsigned char *got, const unsigned char *want, size_t bytes,
           const char *what, const char *detail);
/* Aborts. */
void fail(const state *s, const char *what, const char *detail, size_t bytes, size_t at);

typedef struct {
    const char *name;
    size_t size;
    stretto_reduce_fn fn;
} operation;
/* A random operation for about `bytes`, and a count of elements that is affordable. */
operation pick_operation(state *s, size_t bytes, size_t *count);
/* want = contributions of ranks 0..last of this call, reduced. */
void reference_reduce(state *s, unsigned char *want, size_t count, operation op, int last);

/* cases_exchange.c */
void one_allgatherv(state *s, size_t bytes);
void one_alltoall(state *s, size_t bytes);
void one_alltoallv(state *s, size_t bytes);
void one_gather(state *s, size_t bytes);
void one_scatter(state *s, size_t bytes);
void one_reduce_scatter(state *s, size_t bytes);
void one_scan(state *s, size_t bytes);

#endif
