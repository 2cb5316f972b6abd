/* Lanes of a vector: several ranks of each node carry a share of a long one each.
 *
 * lanes(n)+X cuts the vector into n shares; share l is handled by lane l, a rank of each
 * node (network.h). Allreduce: the node reduces share l to its lane l, X makes the allreduce of
 * each share among the lanes l of all nodes, all shares at the same time, and the node gets the
 * results. Reduce: X reduces each share to the root's node, which gathers them to the root. Bcast:
 * the root's node gets everything, X broadcasts each share, the other nodes spread what has come.
 * One core cannot feed a fast NIC, and no one NIC is all that a node with several rails has. */
#include "coll/network.h"

#include <stdio.h>
#include <stdlib.h>

typedef struct {
    stretto_plan *plan;
    const stretto_shape *shape;
    stretto_network network;
    int lanes, node, me; /* me: which lane I am; `lanes`: none */
    bool all;            /* every rank of this node is a lane */
    int *local, *at;
} lanes;

static stretto_span none(void) {
    return stretto_span_of(STRETTO_OUT, 0, 0);
}

static stretto_span share(const lanes *l, int lane) {
    const int blocks = l->network.x.vector_blocks;
    return stretto_span_of(STRETTO_OUT, lane * blocks, blocks);
}

/* The local index of a lane of my node. */
static int at(const lanes *l, int lane) {
    return stretto_lane_at(l->shape->layout, l->node, lane, l->lanes);
}

/* X on my share, which lies in `part`, and whose result goes there. */
static int run_lane(lanes *l, stretto_span part) {
    const int n = part.count + 1, nodes = l->shape->layout->nnodes;
    l->at = calloc(3 * (size_t)n, sizeof *l->at);
    l->local = calloc((size_t)nodes, sizeof *l->local);
    if (!l->at || !l->local) {
        l->plan->failed = true;
        return 0;
    }
    int *places = l->at, *shapes = places + n, *identity = shapes + n;
    for (int b = 0; b < n; b++) {
        places[b] = part.first + b;
        shapes[b] = l->me * part.count + b;
        identity[b] = b;
    }
    for (int node = 0; node < nodes; node++)
        l->local[node] = stretto_lane_at(l->shape->layout, node, l->me, l->lanes);
    l->network.local = l->local;
    l->network.in = l->network.out = (stretto_map){part.buffer, places};
    l->network.shapes = shapes;
    l->network.shape_at = identity;
    return stretto_network_append(l->plan, &l->network);
}

static void spread(const lanes *l) {
    for (int lane = 0; lane < l->lanes; lane++)
        stretto_plan_node(l->plan, STRETTO_NODE_BCAST, at(l, lane), none(), share(l, lane));
}

/* The node's sum of share l comes to its lane l; where it lies there. */
static stretto_span reduce_node(const lanes *l) {
    stretto_plan *plan = l->plan;
    const int blocks = l->network.x.vector_blocks;
    const stretto_span mine = stretto_plan_mine(plan, 0, plan->vector_blocks);
    stretto_span part = share(l, l->me);
    if (!l->all) {
        for (int lane = 0; lane < l->lanes; lane++)
            stretto_plan_node(plan, STRETTO_NODE_REDUCE, at(l, lane),
                              stretto_plan_mine(plan, lane * blocks, blocks), share(l, lane));
        return part;
    }
    if (mine.buffer == STRETTO_OUT) { /* its share may not lie in its source */
        part = stretto_span_of(STRETTO_TMP, plan->tmp_blocks, blocks);
        for (int b = 0; b < blocks; b++)
            stretto_plan_tmp(plan, l->me * blocks + b);
    }
    stretto_plan_node(plan, STRETTO_NODE_REDUCE_SCATTER, 0, mine, part);
    return part;
}

static int allreduce(lanes *l) {
    const stretto_span part = reduce_node(l);
    const int status = l->me < l->lanes ? run_lane(l, part) : 0;
    if (l->all)
        stretto_plan_node(l->plan, STRETTO_NODE_ALLGATHER, 0, part,
                          stretto_span_of(STRETTO_OUT, 0, l->plan->vector_blocks));
    else
        spread(l);
    return status;
}

static int reduce(lanes *l) {
    const stretto_layout *layout = l->shape->layout;
    const int root = l->shape->root, node = layout->node_of[root];
    const stretto_span part = reduce_node(l);
    const int status = l->me < l->lanes ? run_lane(l, part) : 0;
    if (layout->node_of[l->shape->rank] != node)
        return status;
    if (l->all) {
        const bool is_root = l->shape->rank == root;
        stretto_plan_node(l->plan, STRETTO_NODE_GATHER, layout->local_of[root], part,
                          stretto_span_of(STRETTO_OUT, 0, is_root ? l->plan->vector_blocks : 0));
        return status;
    }
    /* a gather would want a share of every rank */
    for (int lane = 0; lane < l->lanes; lane++) {
        const int from = layout->node_ranks[layout->node_start[node] + at(l, lane)];
        if (l->shape->rank == root && from != root)
            stretto_plan_recv(l->plan, from, share(l, lane));
        else if (l->shape->rank == from && from != root)
            stretto_plan_send(l->plan, root, part);
    }
    return status;
}

static int bcast(lanes *l) {
    const stretto_layout *layout = l->shape->layout;
    const int root = l->shape->root;
    const bool at_root = layout->node_of[l->shape->rank] == layout->node_of[root];
    if (at_root)
        stretto_plan_node(l->plan, STRETTO_NODE_BCAST, layout->local_of[root], none(),
                          stretto_span_of(STRETTO_OUT, 0, l->plan->vector_blocks));
    const int status = l->me < l->lanes ? run_lane(l, share(l, l->me)) : 0;
    if (!at_root)
        spread(l);
    return status;
}

static int carry(lanes *l, const stretto_choice *choice, size_t bytes, char *error,
                 size_t error_size) {
    const stretto_layout *layout = l->shape->layout;
    const bool rooted = stretto_collective_rooted(l->shape->collective);
    l->node = layout->node_of[l->shape->rank];
    l->me = stretto_lane_of(layout, l->shape->rank, l->lanes);
    l->all = l->lanes == stretto_ranks_on(layout, l->node);
    /* the number of segments of the whole vector decides, as everywhere: plans are kept by it */
    const size_t segments = (size_t)stretto_choice_segments(choice, bytes);
    const size_t of_share = (segments + (size_t)l->lanes - 1) / (size_t)l->lanes;
    if (stretto_network_build(&l->network, choice, l->shape,
                              rooted ? layout->node_of[l->shape->root] : 0, true,
                              of_share * (size_t)choice->param, error, error_size) != 0)
        return -1;
    stretto_plan_blocks(l->plan, l->lanes * l->network.x.vector_blocks);
    int status;
    switch (l->shape->collective) {
    case STRETTO_ALLREDUCE: status = allreduce(l); break;
    case STRETTO_REDUCE: status = reduce(l); break;
    default: status = bcast(l); break;
    }
    if (status != 0)
        snprintf(error, error_size, "%s cannot run between nodes", choice->algorithm->name);
    return status;
}

int stretto_build_lanes(stretto_plan *plan, const stretto_choice *choice,
                        const stretto_shape *shape, int lanes_wanted, size_t bytes, char *error,
                        size_t error_size) {
    lanes l = {.plan = plan, .shape = shape, .lanes = lanes_wanted};
    const int status = carry(&l, choice, bytes, error, error_size);
    free(l.local);
    free(l.at);
    stretto_plan_free(&l.network.x);
    return status;
}
