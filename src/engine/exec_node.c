/* Node actions of plans, as calls of src/node. They see bytes only: user operations were refused
 * before. */
#include "engine/exec.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Room for `arrays` arrays of one number for each rank of the node, zeroed. */
static size_t *numbers(stretto_comm *c, int nlocal, int arrays) {
    enum { MOST = 4 };
    if (!c->node_numbers) {
        c->node_numbers = malloc(MOST * (size_t)nlocal * sizeof *c->node_numbers);
        if (!c->node_numbers)
            stretto_no_memory(); /* the others have begun the call */
    }
    return memset(c->node_numbers, 0, (size_t)arrays * (size_t)nlocal * sizeof *c->node_numbers);
}

/* The part of a run of n * count blocks that belongs to local rank l. */
static stretto_piece share(const stretto_running *r, stretto_span run, int n, int l) {
    const int count = run.count / n;
    return stretto_locate(r, stretto_span_of(run.buffer, run.first + l * count, count));
}

/* Blocks of sizes that may differ; all ranks know all of them. */
static void allgather(const stretto_running *r, const stretto_action *a, int n) {
    const size_t stride = (size_t)r->e->stride;
    const stretto_piece src = stretto_locate(r, a->src), dst = stretto_locate(r, a->dst);
    size_t *at = numbers(r->c, n, 2), *bytes = at + n;
    for (int l = 0; l < n; l++) {
        const stretto_piece part = share(r, a->dst, n, l);
        at[l] = part.n ? (size_t)(part.at - dst.at) : 0;
        bytes[l] = part.n * stride;
    }
    stretto_node_allgatherv(r->c->node, src.at, dst.at, at, bytes);
}

/* The root knows the sizes of all blocks, the others their own. */
static void scatter(const stretto_running *r, const stretto_action *a, int n, int me) {
    static char nothing;
    const size_t stride = (size_t)r->e->stride;
    const stretto_piece src = stretto_locate(r, a->src), dst = stretto_locate(r, a->dst);
    size_t *from = numbers(r->c, n, 3), *bytes = from + n, *to = bytes + n;
    for (int l = 0; me == a->peer && l < n; l++) {
        const stretto_piece part = share(r, a->src, n, l);
        from[l] = part.n ? (size_t)(part.at - src.at) : 0;
        bytes[l] = part.n * stride;
    }
    if (!dst.at)
        bytes[me] = 0; /* its share stays where it is */
    stretto_node_alltoallv(r->c->node, src.at ? src.at : &nothing, from, bytes,
                           dst.at ? dst.at : &nothing, to, NULL);
}

/* For shares of a vector, which may differ by one element, or for blocks of any size (in gatherv
 * always into TMP, where they are contiguous). Every rank knows its size. */
static void gather(const stretto_running *r, const stretto_action *a, int n, int me) {
    static char nothing;
    const size_t stride = (size_t)r->e->stride;
    const stretto_piece src = stretto_locate(r, a->src), dst = stretto_locate(r, a->dst);
    size_t *from = numbers(r->c, n, 3), *bytes = from + n, *to = bytes + n;
    bytes[a->peer] = src.n * stride;
    for (int l = 0; me == a->peer && l < n; l++) {
        const stretto_piece part = share(r, a->dst, n, l);
        to[l] = part.n ? (size_t)(part.at - dst.at) : 0;
    }
    stretto_node_alltoallv(r->c->node, src.at ? src.at : &nothing, from, bytes,
                           dst.at ? dst.at : &nothing, to, NULL);
}

static void reduce_scatter(const stretto_running *r, const stretto_action *a, int n) {
    const stretto_piece src = stretto_locate(r, a->src), dst = stretto_locate(r, a->dst);
    size_t *counts = numbers(r->c, n, 1);
    for (int l = 0; l < n; l++)
        counts[l] = share(r, a->src, n, l).n;
    stretto_node_reduce_scatter(r->c->node, src.at, dst.at, counts, (size_t)r->e->stride,
                                r->e->reduce);
}

void stretto_node_action(const stretto_running *r, const stretto_action *a) {
    stretto_node *node = r->c->node;
    const stretto_plan *p = &r->cached->plan;
    const stretto_piece src = stretto_locate(r, a->src), dst = stretto_locate(r, a->dst);
    const size_t stride = (size_t)r->e->stride;
    if (!node) { /* alone on its node */
        if (a->kind != STRETTO_NODE_BARRIER && a->kind != STRETTO_NODE_BCAST &&
            a->kind != STRETTO_NODE_EXSCAN)
            stretto_copy_piece(r, src, dst);
        return;
    }
    const stretto_layout *layout = &r->c->layout;
    const int mine = layout->node_of[r->c->rank], me = layout->local_of[r->c->rank];
    const int n = layout->node_start[mine + 1] - layout->node_start[mine];
    switch (a->kind) {
    case STRETTO_NODE_BARRIER: stretto_node_barrier(node); break;
    case STRETTO_NODE_BCAST: stretto_node_bcast(node, dst.at, dst.n * stride, a->peer); break;
    case STRETTO_NODE_REDUCE:
        stretto_node_reduce(node, src.at, dst.at, src.n, stride, r->e->reduce, a->peer);
        break;
    case STRETTO_NODE_ALLREDUCE:
        stretto_node_allreduce(node, src.at, dst.at, src.n, stride, r->e->reduce);
        break;
    case STRETTO_NODE_ALLGATHER: /* which of the two depends on the collective only */
        if (p->shape.collective == STRETTO_ALLGATHER)
            stretto_node_allgather(node, src.at, dst.at, src.n * stride);
        else
            allgather(r, a, n);
        break;
    case STRETTO_NODE_GATHER: /* which of the two depends on the collective only */
        if (p->vector_blocks || p->shape.collective == STRETTO_GATHERV)
            gather(r, a, n, me);
        else
            stretto_node_gather(node, src.at, dst.at, src.n * stride, a->peer);
        break;
    case STRETTO_NODE_SCATTER:
        if (p->shape.collective == STRETTO_REDUCE_SCATTER ||
            p->shape.collective == STRETTO_SCATTERV) {
            scatter(r, a, n, me);
        } else {
            const size_t bytes = (me == a->peer ? src.n / (size_t)n : dst.n) * stride;
            char *to = dst.at ? dst.at : src.at + (size_t)me * bytes; /* its share stays there */
            stretto_node_scatter(node, src.at, to, bytes, a->peer);
        }
        break;
    case STRETTO_NODE_ALLTOALL:
        stretto_node_alltoall(node, src.at == dst.at ? NULL : src.at, dst.at,
                              src.n / (size_t)n * stride);
        break;
    case STRETTO_NODE_REDUCE_SCATTER: reduce_scatter(r, a, n); break;
    case STRETTO_NODE_SCAN:
    case STRETTO_NODE_EXSCAN:
        stretto_node_scan(node, src.at, dst.at, src.n, stride, r->e->reduce,
                          a->kind == STRETTO_NODE_EXSCAN);
        break;
    default: /* a plan that was proven has no other */
        fprintf(stderr, "stretto: a plan has an action of unknown kind %d\n", (int)a->kind);
        abort();
    }
}
