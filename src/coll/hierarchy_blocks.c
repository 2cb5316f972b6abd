/* shm+X for gather(v), scatter(v) and reduce_scatter(_block): X moves or reduces whole nodes'
 * blocks.
 *
 * The blocks of a node's ranks travel together between the ranks that stand for the nodes: the
 * leader, or on the root's node the root. Where nodes do not hold consecutive ranks, the rank that
 * has all blocks keeps a copy in TMP that is grouped by node; in gatherv and scatterv always, since
 * its own lie where the caller wants them. The sizes of the latter's blocks are told first, by all
 * phases (stretto_plan.carries); so each block in TMP is written, the root's own, too. */
#include "coll/network.h"

#include <stdio.h>
#include <stdlib.h>

typedef struct {
    const stretto_shape *shape;
    const stretto_layout *layout;
    stretto_plan *plan;
    stretto_network network;
    int node, nlocal, me, delegate; /* mine: my local index, and that of whom stands for my node */
    int *local;                     /* [nodes] delegates */
    int *grouped_at;                /* [nodes + 1] where nodes' blocks begin in `grouped` */
    int own_at[2];                  /* my node's run in `own` */
    stretto_block_place ranked, grouped;
    stretto_buffer own;
} blocks;

static stretto_span none(void) {
    return stretto_span_of(STRETTO_OUT, 0, 0);
}

/* All ranks' blocks, grouped by node: where they are if they are so already, else in TMP. */
static void group(blocks *b, stretto_buffer buffer, int first) {
    const stretto_layout *layout = b->layout;
    b->ranked = (stretto_block_place){buffer, first};
    b->grouped = b->plan->carries ? stretto_group_in_tmp(b->plan, layout)
                                  : stretto_group(b->plan, layout, b->ranked);
    for (int n = 0; n <= layout->nnodes; n++)
        b->grouped_at[n] = b->grouped.first + layout->node_start[n];
}

static void sort(const blocks *b, bool into_group, int skip) {
    stretto_regroup(b->plan, b->layout, b->ranked, b->grouped, into_group, skip);
}

/* Room in TMP for the blocks of my node. */
static void own_run(blocks *b) {
    b->own = STRETTO_TMP;
    b->own_at[0] = b->plan->tmp_blocks;
    b->own_at[1] = b->own_at[0] + b->nlocal;
    for (int l = 0; l < b->nlocal; l++)
        stretto_plan_tmp(b->plan, b->layout->node_ranks[b->layout->node_start[b->node] + l]);
}

static stretto_span own_span(const blocks *b) {
    return stretto_span_of(b->own, b->own_at[0], b->own_at[1] - b->own_at[0]);
}

/* The only rank of its node finds its block in IN or OUT. */
static void single_block(blocks *b, stretto_buffer buffer) {
    b->own = buffer;
    b->own_at[0] = 0;
    b->own_at[1] = 1;
}

static stretto_span node_run(const blocks *b) {
    return stretto_node_run(b->layout, b->grouped, b->node);
}

static int run_between(blocks *b, stretto_map in, stretto_map out) {
    b->network.local = b->local;
    b->network.in = in;
    b->network.out = out;
    b->network.shapes = b->layout->node_ranks;
    b->network.shape_at = b->layout->node_start;
    return stretto_network_append(b->plan, &b->network);
}

static int gather(blocks *b) {
    const stretto_shape *s = b->shape;
    const bool stands = b->me == b->delegate, root = s->rank == s->root;
    const stretto_span mine =
        s->in_place ? stretto_span_of(STRETTO_OUT, s->rank, 1) : stretto_span_of(STRETTO_IN, 0, 1);
    if (root)
        group(b, STRETTO_OUT, 0);
    else if (stands && b->nlocal > 1)
        own_run(b);
    else
        single_block(b, STRETTO_IN);
    const stretto_span collected = root ? node_run(b) : own_span(b);
    if (b->nlocal > 1)
        stretto_plan_node(b->plan, STRETTO_NODE_GATHER, b->delegate, mine,
                          stands ? collected : none());
    else if (root && (!s->in_place || b->plan->carries))
        stretto_plan_copy(b->plan, mine, collected);
    if (!stands)
        return 0;
    const int status = run_between(b, (stretto_map){b->own, root ? NULL : b->own_at},
                                   (stretto_map){b->grouped.buffer, root ? b->grouped_at : NULL});
    if (root)
        sort(b, false, s->in_place ? s->rank : -1);
    return status;
}

static int scatter(blocks *b) {
    const stretto_shape *s = b->shape;
    const bool stands = b->me == b->delegate, root = s->rank == s->root;
    int status = 0;
    if (root) {
        group(b, STRETTO_IN, 0);
        sort(b, true, b->nlocal == 1 && !b->plan->carries ? s->rank : -1);
    } else if (stands && b->nlocal > 1) {
        own_run(b);
    } else {
        single_block(b, STRETTO_OUT);
    }
    if (stands)
        status = run_between(b, (stretto_map){b->grouped.buffer, root ? b->grouped_at : NULL},
                             (stretto_map){b->own, root ? NULL : b->own_at});
    if (b->nlocal > 1)
        stretto_plan_node(b->plan, STRETTO_NODE_SCATTER, b->delegate,
                          !stands ? none()
                          : root  ? node_run(b)
                                  : own_span(b),
                          s->in_place ? none() : stretto_span_of(STRETTO_OUT, 0, 1));
    else if (root)
        stretto_plan_load(b->plan);
    return status;
}

static int reduce_scatter(blocks *b) {
    const int p = b->shape->nranks;
    const bool stands = b->me == b->delegate;
    const stretto_span in = stretto_span_of(STRETTO_IN, 0, p);
    stretto_span vector = in;
    int status = 0;
    if (b->nlocal > 1) {
        vector = none();
        if (stands) {
            vector = stretto_span_of(STRETTO_TMP, b->plan->tmp_blocks, p);
            for (int r = 0; r < p; r++)
                stretto_plan_tmp(b->plan, r);
        }
        stretto_plan_node(b->plan, STRETTO_NODE_REDUCE, b->delegate, in, vector);
    }
    if (stands) {
        group(b, vector.buffer, vector.first);
        sort(b, true, -1);
        if (b->nlocal > 1)
            own_run(b);
        else
            single_block(b, STRETTO_OUT);
        status = run_between(b, (stretto_map){b->grouped.buffer, b->grouped_at},
                             (stretto_map){b->own, b->own_at});
    }
    if (b->nlocal > 1)
        stretto_plan_node(b->plan, STRETTO_NODE_SCATTER, b->delegate, stands ? own_span(b) : none(),
                          stretto_span_of(STRETTO_OUT, 0, 1));
    return status;
}

static int compose_blocks(blocks *b, const stretto_choice *choice, size_t bytes, char *error,
                          size_t error_size) {
    const stretto_shape *s = b->shape;
    const bool rooted = stretto_collective_rooted(s->collective);
    const int root_node = b->layout->node_of[s->root];
    b->plan->carries = stretto_collective_apart(s->collective);
    b->node = b->layout->node_of[s->rank];
    b->nlocal = stretto_ranks_on(b->layout, b->node);
    b->me = b->layout->local_of[s->rank];
    b->local = calloc((size_t)b->layout->nnodes, sizeof *b->local);
    b->grouped_at = calloc((size_t)b->layout->nnodes + 1, sizeof *b->grouped_at);
    if (!b->local || !b->grouped_at) {
        snprintf(error, error_size, "out of memory while building a plan");
        return -1;
    }
    if (rooted)
        b->local[root_node] = b->layout->local_of[s->root];
    b->delegate = b->local[b->node];
    /* on the root the node's blocks are where X wants them */
    if (stretto_network_build(&b->network, choice, s, rooted ? root_node : 0, true, bytes, error,
                              error_size) != 0)
        return -1;
    int status;
    switch (s->collective) {
    case STRETTO_GATHER:
    case STRETTO_GATHERV: status = gather(b); break;
    case STRETTO_SCATTER:
    case STRETTO_SCATTERV: status = scatter(b); break;
    default: status = reduce_scatter(b); break;
    }
    if (status != 0)
        snprintf(error, error_size, "%s cannot run between nodes", choice->algorithm->name);
    return status;
}

int stretto_build_composed_blocks(stretto_plan *plan, const stretto_choice *choice,
                                  const stretto_shape *shape, size_t bytes, char *error,
                                  size_t error_size) {
    blocks b = {.plan = plan, .shape = shape, .layout = shape->layout};
    const int status = compose_blocks(&b, choice, bytes, error, error_size);
    free(b.local);
    free(b.grouped_at);
    stretto_plan_free(&b.network.x);
    return status;
}
