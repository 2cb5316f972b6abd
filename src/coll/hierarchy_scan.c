/* shm+X for scan and exscan, where nodes hold consecutive ranks.
 *
 * Each node scans its own contributions; its last rank then knows the node's total and stands for
 * the node in X. What X makes of the nodes before is given to the node's ranks, who put it before
 * their own. X of a scan gives a node the fold up to and with itself, which is the result of its
 * last rank and what the next node waits for: it is handed on. */
#include "coll/network.h"

#include <stdio.h>
#include <stdlib.h>

typedef struct {
    const stretto_shape *shape;
    const stretto_layout *layout;
    stretto_plan *plan;
    stretto_network network;
    int node, nlocal, me;
    int *local, *at;
} scan;

static stretto_span vector_in(const scan *s, stretto_buffer buffer, int first) {
    return stretto_span_of(buffer, first, s->plan->vector_blocks);
}

static stretto_span reserve_vector(const scan *s) {
    const int first = s->plan->tmp_blocks;
    for (int b = 0; b < s->plan->vector_blocks; b++)
        stretto_plan_tmp(s->plan, b);
    return vector_in(s, STRETTO_TMP, first);
}

static int run_totals(scan *s, stretto_span in, stretto_span out) {
    const int n = s->plan->vector_blocks + 1;
    int *in_at = s->at, *out_at = s->at + n, *shapes = s->at + 2 * n;
    for (int b = 0; b < n; b++) {
        in_at[b] = in.first + b;
        out_at[b] = out.first + b;
        shapes[b] = b;
    }
    s->network.local = s->local;
    s->network.in = (stretto_map){in.buffer, in_at};
    s->network.out = (stretto_map){out.buffer, out_at};
    s->network.shapes = shapes;
    s->network.shape_at = shapes;
    return stretto_network_append(s->plan, &s->network);
}

/* What the nodes before fold to goes to the node's ranks and before what they have. */
static void put_before(const scan *s, stretto_span before, bool have) {
    const stretto_span result = vector_in(s, STRETTO_OUT, 0);
    if (s->nlocal > 1)
        stretto_plan_node(s->plan, STRETTO_NODE_BCAST, s->nlocal - 1,
                          stretto_span_of(STRETTO_OUT, 0, 0), before);
    if (have)
        stretto_plan_reduce(s->plan, before, result, STRETTO_SRC_LEFT);
    else
        stretto_plan_copy(s->plan, before, result);
}

static int inclusive(scan *s) {
    const stretto_layout *layout = s->layout;
    const stretto_span result = vector_in(s, STRETTO_OUT, 0);
    const stretto_span mine = stretto_plan_mine(s->plan, 0, s->plan->vector_blocks);
    const bool last = s->me == s->nlocal - 1;
    int status = 0;
    if (s->nlocal > 1)
        stretto_plan_node(s->plan, STRETTO_NODE_SCAN, 0, mine, result);
    if (last) {
        status = run_totals(s, s->nlocal > 1 ? result : mine, result);
        const int next = s->node + 1;
        if (next < layout->nnodes && s->local[next] > 0) /* it is not alone there */
            stretto_plan_send(s->plan, layout->node_ranks[layout->node_start[next + 1] - 1],
                              result);
    }
    if (s->node == 0 || s->nlocal == 1)
        return status;
    const stretto_span before = reserve_vector(s);
    if (last)
        stretto_plan_wait(
            s->plan, stretto_plan_recv(s->plan, layout->node_ranks[layout->node_start[s->node] - 1],
                                       before));
    if (last) /* has its result */
        stretto_plan_node(s->plan, STRETTO_NODE_BCAST, s->me, stretto_span_of(STRETTO_OUT, 0, 0),
                          before);
    else
        put_before(s, before, true);
    return status;
}

static int exclusive(scan *s) {
    const stretto_span result = vector_in(s, STRETTO_OUT, 0);
    const stretto_span mine = stretto_plan_mine(s->plan, 0, s->plan->vector_blocks);
    const bool last = s->me == s->nlocal - 1, first = s->me == 0;
    const bool awaited = s->node + 1 < s->layout->nnodes; /* nobody waits for the last total */
    if (s->nlocal == 1)
        return run_totals(s, mine, result);
    stretto_span total = mine, before = result;
    int status = 0;
    if (last && awaited) {
        total = reserve_vector(s);
        stretto_plan_copy(s->plan, mine, total);
    }
    stretto_plan_node(s->plan, STRETTO_NODE_EXSCAN, 0, mine,
                      first ? stretto_span_of(STRETTO_OUT, 0, 0) : result);
    if (last || s->node > 0)
        before = reserve_vector(s);
    if (last && awaited) {
        stretto_plan_copy(s->plan, result, before);
        stretto_plan_reduce(s->plan, before, total, STRETTO_SRC_LEFT);
    }
    if (last)
        status = run_totals(s, total, before);
    if (s->node > 0)
        put_before(s, before, !first);
    return status;
}

static int compose_scan(scan *s, const stretto_choice *choice, size_t bytes, char *error,
                        size_t error_size) {
    const bool is_scan = s->shape->collective == STRETTO_SCAN;
    s->node = s->layout->node_of[s->shape->rank];
    s->nlocal = stretto_ranks_on(s->layout, s->node);
    s->me = s->layout->local_of[s->shape->rank];
    const bool in_place = s->nlocal > 1 ? is_scan : s->shape->in_place;
    if (stretto_network_build(&s->network, choice, s->shape, 0, in_place, bytes, error,
                              error_size) != 0)
        return -1;
    stretto_plan_blocks(s->plan, s->network.x.vector_blocks);
    s->at = calloc(3 * ((size_t)s->plan->vector_blocks + 1), sizeof *s->at);
    s->local = calloc((size_t)s->layout->nnodes, sizeof *s->local);
    if (!s->at || !s->local) {
        snprintf(error, error_size, "out of memory while building a plan");
        return -1;
    }
    for (int n = 0; n < s->layout->nnodes; n++)
        s->local[n] = stretto_ranks_on(s->layout, n) - 1;
    if ((is_scan ? inclusive(s) : exclusive(s)) == 0)
        return 0;
    snprintf(error, error_size, "%s cannot run between nodes", choice->algorithm->name);
    return -1;
}

int stretto_build_composed_scan(stretto_plan *plan, const stretto_choice *choice,
                                const stretto_shape *shape, size_t bytes, char *error,
                                size_t error_size) {
    scan s = {.plan = plan, .shape = shape, .layout = shape->layout};
    const int status = compose_scan(&s, choice, bytes, error, error_size);
    free(s.local);
    free(s.at);
    stretto_plan_free(&s.network.x);
    return status;
}
