/* Lanes: several ranks of each node carry a share of a long vector each.
 *
 * lanes(n)+X cuts the vector into n shares; share l is the business of the ranks with local index
 * l. Allreduce: the node reduces share l to its rank l, X makes the allreduce of each share among
 * the ranks l of all nodes, all shares at the same time, and the node gets the results. Bcast: the
 * root's node gets everything, X broadcasts each share, the other nodes spread what has come. One
 * core cannot feed a fast NIC, and no one NIC is all that a node with several rails has. */
#include "coll/network.h"

#include <stdio.h>
#include <stdlib.h>

typedef struct {
    stretto_plan *plan;
    const stretto_shape *shape;
    stretto_network network;
    int lanes, nlocal, me; /* me: my local index */
    bool all;              /* every rank of every node is a lane */
    int *local, *at, *identity;
} lanes;

static stretto_span share(const lanes *l, int lane) {
    const int blocks = l->network.x.vector_blocks;
    return stretto_span_of(STRETTO_OUT, lane * blocks, blocks);
}

/* Where X finds and leaves its vector: my share in `buffer`, from block `first` on. */
static int run_lane(lanes *l, stretto_buffer in, int in_first, stretto_buffer out, int out_first) {
    const int blocks = l->network.x.vector_blocks, nodes = l->shape->layout->nnodes;
    /* X's block b is block first + b; in and out differ in `first` only where X is not in place */
    l->at = calloc(3 * ((size_t)blocks + 1), sizeof *l->at);
    l->local = calloc((size_t)nodes, sizeof *l->local);
    if (!l->at || !l->local) {
        l->plan->failed = true;
        return 0;
    }
    int *in_at = l->at, *out_at = in_at + blocks + 1, *shapes = out_at + blocks + 1;
    for (int b = 0; b <= blocks; b++) {
        in_at[b] = in_first + b;
        out_at[b] = out_first + b;
        shapes[b] = l->me * blocks + b;
    }
    for (int node = 0; node < nodes; node++)
        l->local[node] = l->me;
    l->identity = calloc((size_t)blocks + 1, sizeof *l->identity);
    if (!l->identity) {
        l->plan->failed = true;
        return 0;
    }
    for (int b = 0; b <= blocks; b++)
        l->identity[b] = b;
    l->network.local = l->local;
    l->network.in = (stretto_map){in, in_at};
    l->network.out = (stretto_map){out, out_at};
    l->network.shapes = shapes;
    l->network.shape_at = l->identity;
    return stretto_network_append(l->plan, &l->network);
}

static void spread(const lanes *l) {
    for (int lane = 0; lane < l->lanes && l->nlocal > 1; lane++)
        stretto_plan_node(l->plan, STRETTO_NODE_BCAST, lane, stretto_span_of(STRETTO_OUT, 0, 0),
                          share(l, lane));
}

static int allreduce(lanes *l) {
    stretto_plan *plan = l->plan;
    const int blocks = l->network.x.vector_blocks;
    const stretto_span whole = stretto_span_of(STRETTO_OUT, 0, plan->vector_blocks);
    const stretto_span mine = stretto_plan_mine(plan, 0, plan->vector_blocks);
    if (l->nlocal == 1)
        return run_lane(l, STRETTO_IN, 0, STRETTO_OUT, 0);
    if (l->all) {
        stretto_span part = share(l, l->me);
        if (mine.buffer == STRETTO_OUT) { /* its share may not lie in its source */
            part = stretto_span_of(STRETTO_TMP, plan->tmp_blocks, blocks);
            for (int b = 0; b < blocks; b++)
                stretto_plan_tmp(plan, l->me * blocks + b);
        }
        stretto_plan_node(plan, STRETTO_NODE_REDUCE_SCATTER, 0, mine, part);
        int status = run_lane(l, part.buffer, part.first, part.buffer, part.first);
        stretto_plan_node(plan, STRETTO_NODE_ALLGATHER, 0, part, whole);
        return status;
    }
    for (int lane = 0; lane < l->lanes; lane++)
        stretto_plan_node(plan, STRETTO_NODE_REDUCE, lane,
                          stretto_plan_mine(plan, lane * blocks, blocks), share(l, lane));
    int status = 0;
    if (l->me < l->lanes)
        status = run_lane(l, STRETTO_OUT, l->me * blocks, STRETTO_OUT, l->me * blocks);
    spread(l);
    return status;
}

static int bcast(lanes *l) {
    const stretto_layout *layout = l->shape->layout;
    const int blocks = l->network.x.vector_blocks, root = l->shape->root;
    const bool at_root = layout->node_of[l->shape->rank] == layout->node_of[root];
    int status = 0;
    if (at_root && l->nlocal > 1)
        stretto_plan_node(l->plan, STRETTO_NODE_BCAST, layout->local_of[root],
                          stretto_span_of(STRETTO_OUT, 0, 0),
                          stretto_span_of(STRETTO_OUT, 0, l->plan->vector_blocks));
    if (l->me < l->lanes)
        status = run_lane(l, STRETTO_OUT, l->me * blocks, STRETTO_OUT, l->me * blocks);
    if (!at_root)
        spread(l);
    return status;
}

static int carry(lanes *l, const stretto_choice *choice, size_t bytes, char *error,
                 size_t error_size) {
    const stretto_layout *layout = l->shape->layout;
    const bool reduces = l->shape->collective == STRETTO_ALLREDUCE;
    int least = stretto_ranks_on(layout, 0), most = least;
    for (int node = 1; node < layout->nnodes; node++) {
        const int n = stretto_ranks_on(layout, node);
        least = n < least ? n : least;
        most = n > most ? n : most;
    }
    l->nlocal = stretto_ranks_on(layout, layout->node_of[l->shape->rank]);
    l->me = layout->local_of[l->shape->rank];
    l->lanes = choice->lanes == STRETTO_LANES_ALL ? least : choice->lanes;
    l->all = l->lanes == least && least == most;
    if (l->lanes > least) {
        snprintf(error, error_size, "lanes(%d) cannot be used: there are nodes with %d rank%s only",
                 l->lanes, least, least == 1 ? "" : "s");
        return -1;
    }
    /* the number of segments of the whole vector decides, as everywhere: plans are kept by it */
    const size_t segments = (size_t)stretto_choice_segments(choice, bytes);
    const size_t of_share = (segments + (size_t)l->lanes - 1) / (size_t)l->lanes;
    const bool in_place = reduces && (l->nlocal > 1 || l->shape->in_place);
    if (stretto_network_build(&l->network, choice, l->shape,
                              reduces ? 0 : layout->node_of[l->shape->root], in_place,
                              of_share * (size_t)choice->param, error, error_size) != 0)
        return -1;
    stretto_plan_blocks(l->plan, l->lanes * l->network.x.vector_blocks);
    if ((reduces ? allreduce(l) : bcast(l)) == 0)
        return 0;
    snprintf(error, error_size, "%s cannot run between nodes", choice->algorithm->name);
    return -1;
}

int stretto_build_lanes(stretto_plan *plan, const stretto_choice *choice,
                        const stretto_shape *shape, size_t bytes, char *error, size_t error_size) {
    lanes l = {.plan = plan, .shape = shape};
    const int status = carry(&l, choice, bytes, error, error_size);
    free(l.local);
    free(l.at);
    free(l.identity);
    stretto_plan_free(&l.network.x);
    return status;
}
