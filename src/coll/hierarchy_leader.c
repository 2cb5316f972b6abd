/* shm+X of allreduce, reduce, bcast, allgather(v) and barrier.
 *
 * The rank that takes part in X for its node is the leader, or on the root's node the root itself,
 * which saves a phase. Allgather where nodes do not hold consecutive ranks works in a TMP copy of
 * OUT that is grouped by node, and sorts it at the end. */
#include "coll/network.h"

#include <stdio.h>
#include <stdlib.h>

typedef struct {
    const stretto_layout *layout;
    const stretto_shape *shape;
    stretto_plan *plan;
    stretto_plan network;         /* X, over the nodes */
    int node, nlocal;             /* mine */
    stretto_block_place gathered; /* allgather: where the blocks lie grouped by node */
    int *index_of;                /* [network.nactions] its place in plan, for WAIT */
    int *tmp_of;                  /* [network.tmp_blocks + 1] its place in plan's TMP */
    int *spread_at; /* [X's OUT blocks] X's action before which the node gets the block */
} composition;

/* Local index of the rank that stands for the node in the network phase. */
static int delegate(const composition *c, int node) {
    bool has_root = stretto_collective_rooted(c->shape->collective) &&
                    c->layout->node_of[c->shape->root] == node;
    return has_root ? c->layout->local_of[c->shape->root] : 0;
}

static bool gathers(const composition *c) {
    return c->shape->collective == STRETTO_ALLGATHER || c->shape->collective == STRETTO_ALLGATHERV;
}

static stretto_span whole(const stretto_plan *plan) {
    return stretto_span_of(STRETTO_OUT, 0, stretto_plan_blocks_of(plan, STRETTO_OUT));
}

static stretto_span own_block(const stretto_shape *shape) {
    return shape->in_place ? stretto_span_of(STRETTO_OUT, shape->rank, 1)
                           : stretto_span_of(STRETTO_IN, 0, 1);
}

/* A span of X (blocks are nodes for allgather, else pieces of the vector) in terms of the plan. */
static stretto_span translate_span(const composition *c, stretto_span span) {
    if (span.buffer == STRETTO_TMP)
        return stretto_span_of(STRETTO_TMP, c->tmp_of[span.first],
                               c->tmp_of[span.first + span.count] - c->tmp_of[span.first]);
    if (gathers(c)) {
        const int *start = c->layout->node_start;
        return stretto_span_of(c->gathered.buffer, c->gathered.first + start[span.first],
                               start[span.first + span.count] - start[span.first]);
    }
    /* After a node phase the node's contribution lies in OUT. */
    if (span.buffer == STRETTO_IN && c->nlocal > 1)
        span.buffer = STRETTO_OUT;
    return span;
}

/* Reserves X's TMP blocks in the plan; -1 when X's TMP does not say which blocks it is for. */
static int translate_tmp(composition *c) {
    const stretto_plan *x = &c->network;
    bool gather = gathers(c);
    c->tmp_of[0] = c->plan->tmp_blocks;
    for (int j = 0; j < x->tmp_blocks; j++) {
        int node = x->tmp_shape[j];
        if (!gather)
            stretto_plan_tmp(c->plan, x->tmp_shape[j]);
        else if (node == STRETTO_SHAPE_LARGEST)
            return -1;
        else
            for (int i = c->layout->node_start[node]; i < c->layout->node_start[node + 1]; i++)
                stretto_plan_tmp(c->plan, c->layout->node_ranks[i]);
        c->tmp_of[j + 1] = c->plan->tmp_blocks;
    }
    return 0;
}

static bool same_span(stretto_span a, stretto_span b) {
    return a.buffer == b.buffer && a.first == b.first && a.count == b.count;
}

/* A block can go to the ranks of the node as soon as X neither writes nor sends it any more; it
 * goes where X would begin to wait next, so that the network works meanwhile. */
static void plan_spread(composition *c) {
    const stretto_plan *x = &c->network;
    const int blocks = stretto_plan_blocks_of(x, STRETTO_OUT);
    for (int b = 0; b < blocks; b++)
        c->spread_at[b] = -1;
    for (int i = 0; i < x->nactions; i++) {
        const stretto_action *a = &x->actions[i];
        stretto_span span = a->kind == STRETTO_SEND ? a->src : a->dst;
        if (a->kind == STRETTO_WAIT || a->kind == STRETTO_FENCE || span.buffer != STRETTO_OUT)
            continue;
        int last = a->kind == STRETTO_RECV ? i + 1 : i;
        while (a->kind == STRETTO_RECV && x->actions[last].kind != STRETTO_FENCE &&
               !(x->actions[last].kind == STRETTO_WAIT && x->actions[last].peer == i))
            last++;
        for (int b = span.first; b < span.first + span.count; b++)
            if (last > c->spread_at[b])
                c->spread_at[b] = last;
    }
    for (int b = 0; b < blocks; b++) {
        int at = c->spread_at[b] + 1;
        while (at < x->nactions && x->actions[at].kind != STRETTO_WAIT &&
               x->actions[at].kind != STRETTO_FENCE)
            at++;
        /* the node's own block of an allgather was there before X */
        bool own = gathers(c) && b == c->node;
        c->spread_at[b] = own ? -1 : at;
    }
}

/* Gives the node the blocks whose turn it is before X's action i, neighbours together. */
static void spread_before(composition *c, int i) {
    const int blocks = stretto_plan_blocks_of(&c->network, STRETTO_OUT);
    const stretto_span none = stretto_span_of(STRETTO_OUT, 0, 0);
    for (int b = 0, n; b < blocks; b += n) {
        n = 1;
        if (c->spread_at[b] != i)
            continue;
        while (b + n < blocks && c->spread_at[b + n] == i)
            n++;
        stretto_plan_node(c->plan, STRETTO_NODE_BCAST, delegate(c, c->node), none,
                          translate_span(c, stretto_span_of(STRETTO_OUT, b, n)));
    }
}

/* X for the node's delegate, and for all ranks of the node the result, block by block. */
static void append_network(composition *c, bool is_delegate) {
    const stretto_plan *x = &c->network;
    const int base_round = c->plan->round;
    const bool spreads = c->nlocal > 1 && c->shape->collective != STRETTO_REDUCE &&
                         c->shape->collective != STRETTO_BARRIER;
    for (int i = 0; i <= x->nactions; i++) {
        if (spreads)
            spread_before(c, i);
        if (i == x->nactions || !is_delegate)
            continue;
        stretto_action a = x->actions[i];
        a.src = translate_span(c, a.src);
        a.dst = translate_span(c, a.dst);
        if (a.kind == STRETTO_SEND || a.kind == STRETTO_RECV)
            a.peer = c->layout->node_ranks[c->layout->node_start[a.peer] + delegate(c, a.peer)];
        else if (a.kind == STRETTO_WAIT)
            a.peer = c->index_of[a.peer];
        if (a.kind == STRETTO_COPY && same_span(a.src, a.dst))
            continue; /* X's load: it is there already */
        c->plan->round = base_round + x->actions[i].round;
        c->index_of[i] = stretto_plan_append(c->plan, &a);
    }
    stretto_plan_fence(c->plan); /* next round */
}

/* Brings the node's contribution to its delegate. */
static void gather_node(const composition *c) {
    const stretto_span none = stretto_span_of(STRETTO_OUT, 0, 0);
    stretto_plan *plan = c->plan;
    switch (c->shape->collective) {
    case STRETTO_ALLREDUCE:
    case STRETTO_REDUCE:
        if (c->nlocal > 1)
            stretto_plan_node(plan, STRETTO_NODE_REDUCE, delegate(c, c->node),
                              stretto_plan_mine(plan, 0, plan->vector_blocks), whole(plan));
        break;
    case STRETTO_ALLGATHER:
    case STRETTO_ALLGATHERV: {
        stretto_span src = own_block(c->shape);
        const stretto_span dst = stretto_node_run(c->layout, c->gathered, c->node);
        if (c->nlocal > 1)
            stretto_plan_node(plan, STRETTO_NODE_ALLGATHER, 0, src, dst);
        else if (!same_span(src, dst))
            stretto_plan_copy(plan, src, dst);
        break;
    }
    case STRETTO_BARRIER:
        if (c->nlocal > 1)
            stretto_plan_node(plan, STRETTO_NODE_BARRIER, 0, none, none);
        break;
    default: break;
    }
    stretto_plan_fence(plan);
}

static int compose(composition *c, const stretto_choice *choice, size_t bytes, char *error,
                   size_t error_size) {
    stretto_shape over_nodes = *c->shape;
    over_nodes.rank = c->node;
    over_nodes.nranks = c->layout->nnodes;
    over_nodes.root =
        stretto_collective_rooted(c->shape->collective) ? c->layout->node_of[c->shape->root] : 0;
    over_nodes.layout = NULL;
    if (c->nlocal > 1 || gathers(c))
        over_nodes.in_place = true; /* the node phase leaves it in OUT */
    if (stretto_build_flat(&c->network, choice, &over_nodes, bytes, error, error_size) != 0)
        return -1;
    if (!stretto_spans_fit(&c->network)) {
        snprintf(error, error_size, "%s is faulty: it uses blocks that there are not",
                 choice->algorithm->name);
        return -1;
    }
    c->index_of = calloc((size_t)c->network.nactions + 1, sizeof(int));
    c->tmp_of = calloc((size_t)c->network.tmp_blocks + 1, sizeof(int));
    c->spread_at =
        calloc((size_t)stretto_plan_blocks_of(&c->network, STRETTO_OUT) + 1, sizeof(int));
    if (!c->index_of || !c->tmp_of || !c->spread_at) {
        snprintf(error, error_size, "out of memory while building a plan");
        return -1;
    }
    if (c->network.vector_blocks)
        stretto_plan_blocks(c->plan, c->network.vector_blocks);
    const stretto_block_place out = {STRETTO_OUT, 0};
    if (gathers(c))
        c->gathered = stretto_group(c->plan, c->layout, out);

    gather_node(c);
    const bool is_delegate = c->layout->local_of[c->shape->rank] == delegate(c, c->node);
    if (is_delegate && translate_tmp(c) != 0) {
        snprintf(error, error_size, "%s cannot run between nodes", choice->algorithm->name);
        return -1;
    }
    plan_spread(c);
    append_network(c, is_delegate);
    if (c->shape->collective == STRETTO_BARRIER && c->nlocal > 1)
        stretto_plan_node(c->plan, STRETTO_NODE_BARRIER, 0, stretto_span_of(STRETTO_OUT, 0, 0),
                          stretto_span_of(STRETTO_OUT, 0, 0));
    if (gathers(c))
        stretto_regroup(c->plan, c->layout, out, c->gathered, false,
                        c->shape->in_place ? c->shape->rank : -1);
    return 0;
}

int stretto_build_composed(stretto_plan *plan, const stretto_choice *choice,
                           const stretto_shape *shape, size_t bytes, char *error,
                           size_t error_size) {
    composition c = {.layout = shape->layout, .shape = shape, .plan = plan};
    c.node = c.layout->node_of[shape->rank];
    c.nlocal = stretto_ranks_on(c.layout, c.node);
    const int status = compose(&c, choice, bytes, error, error_size);
    free(c.index_of);
    free(c.tmp_of);
    free(c.spread_at);
    stretto_plan_free(&c.network);
    return status;
}
