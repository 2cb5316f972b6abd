/* Lanes of a block a rank: allgather(v) and reduce_scatter(_block).
 *
 * With n lanes each node's blocks are cut into n shares of neighbouring ranks, and share l of all
 * nodes is handled by their lanes l (network.h), which run X on it among themselves, in
 * TMP, where their shares lie together. Allgather: a node phase gathers the node's own blocks, X
 * the shares, and a node phase for each other node puts its shares together in OUT. Reduce_scatter:
 * a node phase for each node reduces its blocks, each share to the rank that handles it, and X
 * reduces and scatters the shares; where every rank is a lane, that is each rank's result.
 * (J. L. Traeff, S. Hunold, "Decomposing MPI Collectives for Exploiting Multi-lane Communication",
 * IEEE CLUSTER 2020; lanes with several ranks' blocks and unequal nodes are ours.) */
#include "coll/network.h"

#include <stdio.h>
#include <stdlib.h>

typedef struct {
    stretto_plan *plan;
    const stretto_shape *shape;
    const stretto_layout *layout;
    stretto_network network;
    stretto_block_place grouped; /* all blocks, by node */
    int lanes, node, nlocal;
    int me;       /* which lane I am; `lanes`: none */
    int *start;   /* [nodes + 1] where a node's share begins among my shares */
    int *carried; /* [nodes + 1] the same in TMP */
    int *ranks;   /* [start[nodes]] whose blocks they are */
    int *local;   /* [nodes] */
} lanes;

static stretto_span none(void) {
    return stretto_span_of(STRETTO_OUT, 0, 0);
}

/* The first local index of a lane's share of a node. */
static int share_at(const lanes *l, int node, int lane) {
    return (int)((long)lane * stretto_ranks_on(l->layout, node) / l->lanes);
}

/* A lane's share of a node's blocks, where they lie by node. */
static stretto_span share(const lanes *l, int node, int lane) {
    const int at = share_at(l, node, lane);
    return stretto_span_of(l->grouped.buffer, l->grouped.first + l->layout->node_start[node] + at,
                           share_at(l, node, lane + 1) - at);
}

static stretto_span carried(const lanes *l, int node) {
    return stretto_span_of(STRETTO_TMP, l->carried[node], l->start[node + 1] - l->start[node]);
}

/* The local index of a lane of my node. */
static int at(const lanes *l, int lane) {
    return stretto_lane_at(l->layout, l->node, lane, l->lanes);
}

/* Are my node's ranks the lanes, with equal shares of that node? */
static bool evenly(const lanes *l, int node) {
    return l->nlocal == l->lanes && stretto_ranks_on(l->layout, node) % l->lanes == 0;
}

/* Room in TMP for my share of every node's blocks; -1 without memory. */
static int reserve(lanes *l) {
    const int nodes = l->layout->nnodes;
    l->start = calloc(3 * ((size_t)nodes + 1), sizeof *l->start);
    l->ranks = calloc((size_t)l->layout->nranks, sizeof *l->ranks);
    if (!l->start || !l->ranks)
        return -1;
    l->carried = l->start + nodes + 1;
    l->local = l->carried + nodes + 1;
    l->carried[0] = l->plan->tmp_blocks;
    for (int n = 0; n < nodes; n++) {
        l->local[n] = stretto_lane_at(l->layout, n, l->me, l->lanes);
        l->start[n + 1] = l->start[n];
        for (int i = share_at(l, n, l->me); i < share_at(l, n, l->me + 1); i++) {
            const int rank = l->layout->node_ranks[l->layout->node_start[n] + i];
            l->ranks[l->start[n + 1]++] = rank;
            stretto_plan_tmp(l->plan, rank);
        }
        l->carried[n + 1] = l->carried[0] + l->start[n + 1];
    }
    return 0;
}

static int run_lane(lanes *l, stretto_map in, stretto_map out) {
    l->network.local = l->local;
    l->network.in = in;
    l->network.out = out;
    l->network.shapes = l->ranks;
    l->network.shape_at = l->start;
    return stretto_network_append(l->plan, &l->network);
}

/* A node's blocks from those who carry them to all ranks of my node. */
static void put_together(const lanes *l, int node) {
    if (evenly(l, node)) {
        stretto_plan_node(l->plan, STRETTO_NODE_ALLGATHER, 0, carried(l, node),
                          stretto_node_run(l->layout, l->grouped, node));
        return;
    }
    for (int lane = 0; lane < l->lanes; lane++)
        stretto_plan_node(l->plan, STRETTO_NODE_BCAST, at(l, lane), none(),
                          lane == l->me ? carried(l, node) : share(l, node, lane));
    if (l->me < l->lanes)
        stretto_plan_copy(l->plan, carried(l, node), share(l, node, l->me));
}

static int allgather(lanes *l) {
    const stretto_shape *s = l->shape;
    const stretto_block_place out = {STRETTO_OUT, 0};
    int status = 0;
    l->grouped = stretto_group(l->plan, l->layout, out);
    stretto_plan_node(l->plan, STRETTO_NODE_ALLGATHER, 0,
                      s->in_place ? stretto_span_of(STRETTO_OUT, s->rank, 1)
                                  : stretto_span_of(STRETTO_IN, 0, 1),
                      stretto_node_run(l->layout, l->grouped, l->node));
    if (l->me < l->lanes) {
        const stretto_map mine = {STRETTO_TMP, l->carried};
        stretto_plan_copy(l->plan, share(l, l->node, l->me), carried(l, l->node));
        status = run_lane(l, mine, mine);
    }
    for (int n = 0; n < l->layout->nnodes; n++)
        if (n != l->node)
            put_together(l, n);
    stretto_regroup(l->plan, l->layout, out, l->grouped, false, s->in_place ? s->rank : -1);
    return status;
}

/* The node's contributions to another node's blocks, each share to the rank that handles it. */
static void reduce_for(const lanes *l, int node) {
    const stretto_span mine = l->me < l->lanes ? carried(l, node) : none();
    if (evenly(l, node)) {
        stretto_plan_node(l->plan, STRETTO_NODE_REDUCE_SCATTER, 0,
                          stretto_node_run(l->layout, l->grouped, node), mine);
        return;
    }
    for (int lane = 0; lane < l->lanes; lane++)
        stretto_plan_node(l->plan, STRETTO_NODE_REDUCE, at(l, lane), share(l, node, lane),
                          lane == l->me ? mine : none());
}

/* My share of my node's results to the ranks whose they are. */
static void hand_out(const lanes *l, int first) {
    const int index = l->layout->local_of[l->shape->rank];
    const int from = share_at(l, l->node, l->me), n = share_at(l, l->node, l->me + 1) - from;
    for (int i = 0; l->me < l->lanes && i < n; i++) {
        const stretto_span block = stretto_span_of(STRETTO_TMP, first + i, 1);
        if (from + i == index)
            stretto_plan_copy(l->plan, block, stretto_span_of(STRETTO_OUT, 0, 1));
        else
            stretto_plan_send(
                l->plan, l->layout->node_ranks[l->layout->node_start[l->node] + from + i], block);
    }
    const int lane =
        (int)(((long)(index + 1) * l->lanes - 1) / l->nlocal); /* in whose share I am */
    if (lane != l->me)
        stretto_plan_recv(l->plan,
                          l->layout->node_ranks[l->layout->node_start[l->node] + at(l, lane)],
                          stretto_span_of(STRETTO_OUT, 0, 1));
}

static int reduce_scatter(lanes *l) {
    const stretto_block_place in = {STRETTO_IN, 0};
    int status = 0;
    l->grouped = stretto_group(l->plan, l->layout, in);
    stretto_regroup(l->plan, l->layout, in, l->grouped, true, -1);
    for (int n = 0; n < l->layout->nnodes; n++)
        reduce_for(l, n);
    const bool straight = l->nlocal == l->lanes;
    const int first = straight ? 0 : l->plan->tmp_blocks;
    if (l->me < l->lanes) {
        const int n = l->start[l->node + 1] - l->start[l->node];
        for (int i = 0; !straight && i < n; i++)
            stretto_plan_tmp(l->plan, l->ranks[l->start[l->node] + i]);
        const int at[] = {first, first + n};
        status = run_lane(l, (stretto_map){STRETTO_TMP, l->carried},
                          (stretto_map){straight ? STRETTO_OUT : STRETTO_TMP, at});
    }
    if (!straight)
        hand_out(l, first);
    return status;
}

static int carry(lanes *l, const stretto_choice *choice, size_t bytes, char *error,
                 size_t error_size) {
    l->node = l->layout->node_of[l->shape->rank];
    l->nlocal = stretto_ranks_on(l->layout, l->node);
    l->me = stretto_lane_of(l->layout, l->shape->rank, l->lanes);
    const bool reduces = stretto_collective_reduces(l->shape->collective);
    if (stretto_network_build(&l->network, choice, l->shape, 0, !reduces, bytes, error,
                              error_size) != 0)
        return -1;
    if (l->me < l->lanes && reserve(l) != 0) {
        snprintf(error, error_size, "out of memory while building a plan");
        return -1;
    }
    if ((reduces ? reduce_scatter(l) : allgather(l)) == 0)
        return 0;
    snprintf(error, error_size, "%s cannot run between nodes", choice->algorithm->name);
    return -1;
}

int stretto_build_lanes_blocks(stretto_plan *plan, const stretto_choice *choice,
                               const stretto_shape *shape, int lanes_wanted, size_t bytes,
                               char *error, size_t error_size) {
    lanes l = {.plan = plan, .shape = shape, .layout = shape->layout, .lanes = lanes_wanted};
    const int status = carry(&l, choice, bytes, error, error_size);
    free(l.start);
    free(l.ranks);
    stretto_plan_free(&l.network.x);
    return status;
}
