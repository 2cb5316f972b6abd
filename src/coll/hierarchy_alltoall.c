/* Alltoall over nodes: shm+X and lanes+X.
 *
 * lanes+X: what a node has for one other node is exchanged within the node first, so that each of
 * its ranks has all that goes to one rank there, in one piece: P messages of a block become
 * N messages of as many blocks as the node has ranks, and X, an alltoall among the ranks of one
 * local index on all nodes, is carried out in every lane at once. Where a node has more ranks than
 * mine, the ranks c, c + n, c + 2 n, .. there (n: ranks of my node) are served by my rank c, one
 * message each. (J. L. Traeff, S. Hunold, "Decomposing MPI Collectives for Exploiting Multi-lane
 * Communication", IEEE CLUSTER 2020; unequal nodes are ours.)
 *
 * shm+X: the same pieces are then gathered at the leader, and a message a pair of nodes is all that
 * X sends. Cost: N - 1 messages of n^2 blocks a node instead of n (N - 1) of n, but one rank copies
 * all: for the shortest blocks. Memory of the leader: 2 n P blocks.
 *
 * Where nodes have different numbers of ranks, what X carries differs in size from pair to pair, so
 * X must send each block straight to its end. */
#include "coll/network.h"

#include <stdio.h>
#include <stdlib.h>

typedef struct {
    stretto_plan *plan;
    const stretto_shape *shape;
    const stretto_layout *layout;
    stretto_network network;
    stretto_block_place from, to; /* the blocks by the node of their receiver, and sender */
    int node, n, me;              /* n: ranks of my node */
    bool leader, equal;           /* shm+X; all nodes have as many ranks */
    int *at, *got, *local; /* [nodes + 1] where a node's part begins of what X sends and receives */
    int *shapes;
} exchange;

static stretto_span none(void) {
    return stretto_span_of(STRETTO_OUT, 0, 0);
}

static int ranks_on(const exchange *e, int node) {
    return stretto_ranks_on(e->layout, node);
}

static int rank_at(const exchange *e, int node, int local) {
    return e->layout->node_ranks[e->layout->node_start[node] + local];
}

static int reserve(stretto_plan *plan, int blocks) {
    const int first = plan->tmp_blocks;
    for (int i = 0; i < blocks; i++)
        stretto_plan_tmp(plan, 0);
    return first;
}

/* Alone on my node, with my own block where it is to be. */
static bool straight_in_place(const exchange *e) {
    return e->n == 1 && e->shape->in_place;
}

/* The blocks for local indices [first, first + count) of a node. */
static stretto_span blocks_for(const exchange *e, int node, int first, int count) {
    return stretto_span_of(e->from.buffer, e->from.first + e->layout->node_start[node] + first,
                           count);
}

/* Local indices c, c + n, .. that a node has: so many does my rank c serve there. */
static int served(const exchange *e, int node, int c) {
    return (ranks_on(e, node) - c + e->n - 1) / e->n;
}

/* A piece: the blocks of all ranks of my node for one rank of another, in TMP. */
static stretto_span piece(const exchange *e, int first, int number) {
    return stretto_span_of(STRETTO_TMP, first + number * e->n, e->n);
}

/* Brings the pieces for a node's ranks to those of my node who serve them. */
static void stage_lanes(const exchange *e, int node) {
    const int there = ranks_on(e, node);
    int j = 0;
    for (; j + e->n <= there; j += e->n)
        stretto_plan_node(e->plan, STRETTO_NODE_ALLTOALL, 0, blocks_for(e, node, j, e->n),
                          piece(e, e->at[node], j / e->n));
    for (; j < there; j++)
        stretto_plan_node(e->plan, STRETTO_NODE_GATHER, j % e->n, blocks_for(e, node, j, 1),
                          j % e->n == e->me ? piece(e, e->at[node], j / e->n) : none());
}

/* Brings the pieces for a node's ranks to the leader. `own`: room for one of them. */
static void stage_leader(const exchange *e, int node, int own) {
    const int there = ranks_on(e, node);
    const bool leads = e->me == 0;
    int j = 0;
    for (; j + e->n <= there; j += e->n) {
        stretto_plan_node(e->plan, STRETTO_NODE_ALLTOALL, 0, blocks_for(e, node, j, e->n),
                          piece(e, own, 0));
        stretto_plan_node(e->plan, STRETTO_NODE_GATHER, 0, piece(e, own, 0),
                          leads ? stretto_span_of(STRETTO_TMP, e->at[node] + j * e->n, e->n * e->n)
                                : none());
    }
    for (; j < there; j++)
        stretto_plan_node(e->plan, STRETTO_NODE_GATHER, 0, blocks_for(e, node, j, 1),
                          leads ? piece(e, e->at[node], j) : none());
}

/* Reserves what X sends and, for a leader, receives, and fills the first. */
static void stage(exchange *e) {
    const int nodes = e->layout->nnodes;
    const bool carries = !e->leader || e->me == 0;
    for (int m = 0; m < nodes; m++) {
        const int pieces = e->leader ? ranks_on(e, m) : served(e, m, e->me);
        e->at[m] = reserve(e->plan, carries ? pieces * e->n : 0);
    }
    e->at[nodes] = e->plan->tmp_blocks;
    for (int m = 0; e->leader && m < nodes; m++)
        e->got[m] = reserve(e->plan, carries ? ranks_on(e, m) * e->n : 0);
    e->got[nodes] = e->leader ? e->plan->tmp_blocks : e->got[nodes];
    const int own = e->leader ? reserve(e->plan, e->n) : 0;
    for (int m = 0; m < nodes; m++) {
        if (e->leader)
            stage_leader(e, m, own);
        else
            stage_lanes(e, m);
    }
}

static int run_x(exchange *e) {
    const int nodes = e->layout->nnodes, size = e->leader ? e->n * e->n : e->n;
    const bool alone = e->n == 1;
    e->shapes = calloc((size_t)nodes * (size_t)size + 1, sizeof *e->shapes);
    int *shape_at = calloc((size_t)nodes + 1, sizeof *shape_at);
    if (!e->shapes || !shape_at) {
        e->plan->failed = true;
        free(shape_at);
        return 0;
    }
    for (int m = 0; m < nodes; m++) {
        shape_at[m + 1] = shape_at[m] + size; /* if they differ, X has no TMP */
        e->local[m] = e->leader ? 0 : e->me;
    }
    e->network.local = e->local;
    e->network.in = (stretto_map){alone ? e->from.buffer : STRETTO_TMP, e->at};
    e->network.out = (stretto_map){e->leader && !alone ? STRETTO_TMP : e->to.buffer, e->got};
    e->network.shapes = e->shapes;
    e->network.shape_at = shape_at;
    for (int i = 0; straight_in_place(e) && i < e->network.x.nactions; i++) {
        stretto_action *a = &e->network.x.actions[i];
        if (a->kind == STRETTO_COPY)
            a->src = a->dst; /* the own block is there already */
    }
    const int status = stretto_network_append(e->plan, &e->network);
    free(shape_at);
    return status;
}

/* X in lanes where nodes differ: to each of those that I serve on a node; from one of the node. */
static void run_direct(const exchange *e, int *index_of) {
    const stretto_plan *x = &e->network.x;
    for (int i = 0; i < x->nactions; i++) {
        const stretto_action *a = &x->actions[i];
        const int count = a->kind == STRETTO_SEND ? served(e, a->peer, e->me) : 1;
        const stretto_buffer buffer = e->n == 1 ? e->from.buffer : STRETTO_TMP;
        index_of[i] = e->plan->nactions;
        switch (a->kind) {
        case STRETTO_SEND:
            for (int j = 0; j < count; j++)
                stretto_plan_send(e->plan, rank_at(e, a->peer, e->me + j * e->n),
                                  stretto_span_of(buffer, e->at[a->peer] + j * e->n, e->n));
            break;
        case STRETTO_RECV:
            stretto_plan_recv(e->plan, rank_at(e, a->peer, e->me % ranks_on(e, a->peer)),
                              stretto_node_run(e->layout, e->to, a->peer));
            break;
        case STRETTO_COPY: /* the own block of the node */
            if (!straight_in_place(e))
                stretto_plan_copy(e->plan, stretto_span_of(buffer, e->at[e->node], e->n),
                                  stretto_node_run(e->layout, e->to, e->node));
            break;
        case STRETTO_WAIT: {
            const stretto_action *m = &x->actions[a->peer];
            const int messages = m->kind == STRETTO_SEND ? served(e, m->peer, e->me) : 1;
            for (int j = 0; j < messages; j++)
                stretto_plan_wait(e->plan, index_of[a->peer] + j);
            break;
        }
        default: stretto_plan_fence(e->plan); break;
        }
    }
    stretto_plan_fence(e->plan);
}

static int run_lanes(exchange *e) {
    for (int m = 0; m <= e->layout->nnodes; m++) {
        e->got[m] = e->to.first + e->layout->node_start[m];
        if (e->n == 1)
            e->at[m] = e->from.first + e->layout->node_start[m];
    }
    if (e->n > 1)
        stage(e);
    if (e->equal)
        return run_x(e);
    int *index_of = calloc((size_t)e->network.x.nactions + 1, sizeof *index_of);
    e->plan->failed = e->plan->failed || !index_of;
    if (index_of)
        run_direct(e, index_of);
    free(index_of);
    return 0;
}

static int run_leader(exchange *e) {
    if (e->n == 1) {
        for (int m = 0; m <= e->layout->nnodes; m++) {
            e->at[m] = e->from.first + e->layout->node_start[m];
            e->got[m] = e->to.first + e->layout->node_start[m];
        }
        return run_x(e);
    }
    stage(e);
    const int status = e->me == 0 ? run_x(e) : 0;
    for (int m = 0; m < e->layout->nnodes; m++)
        stretto_plan_node(e->plan, STRETTO_NODE_SCATTER, 0,
                          e->me == 0
                              ? stretto_span_of(STRETTO_TMP, e->got[m], e->got[m + 1] - e->got[m])
                              : none(),
                          stretto_node_run(e->layout, e->to, m));
    return status;
}

static int compose_alltoall(exchange *e, const stretto_choice *choice, size_t bytes, char *error,
                            size_t error_size) {
    const size_t nodes = (size_t)e->layout->nnodes;
    if (choice->lanes > 0) {
        snprintf(error, error_size, "all ranks of a node are lanes in alltoall: write lanes+%s",
                 choice->algorithm->name);
        return -1;
    }
    e->leader = choice->lanes == 0;
    e->node = e->layout->node_of[e->shape->rank];
    e->n = ranks_on(e, e->node);
    e->me = e->layout->local_of[e->shape->rank];
    e->equal = true;
    for (int m = 0; m < e->layout->nnodes; m++)
        e->equal = e->equal && ranks_on(e, m) == ranks_on(e, 0);
    if (stretto_network_build(&e->network, choice, e->shape, 0, false, bytes, error, error_size) !=
        0)
        return -1;
    if (!e->equal && e->network.x.tmp_blocks > 0) {
        snprintf(error, error_size,
                 "%s cannot be used: it hands blocks on, and the nodes differ in their ranks",
                 choice->algorithm->name);
        return -1;
    }
    e->at = calloc(3 * (nodes + 1), sizeof *e->at);
    if (!e->at) {
        snprintf(error, error_size, "out of memory while building a plan");
        return -1;
    }
    e->got = e->at + nodes + 1;
    e->local = e->got + nodes + 1;
    const stretto_block_place mine = {stretto_plan_mine(e->plan, 0, 0).buffer, 0},
                              out = {STRETTO_OUT, 0};
    /* where nothing is staged, what comes must not meet what has still to go */
    const bool apart = straight_in_place(e);
    e->from = apart ? (stretto_block_place){STRETTO_TMP, reserve(e->plan, e->shape->nranks)}
                    : stretto_group(e->plan, e->layout, mine);
    stretto_regroup(e->plan, e->layout, mine, e->from, true, apart ? e->shape->rank : -1);
    e->to = stretto_group(e->plan, e->layout, out);
    const int status = e->leader ? run_leader(e) : run_lanes(e);
    stretto_regroup(e->plan, e->layout, out, e->to, false,
                    e->shape->in_place ? e->shape->rank : -1);
    if (status != 0)
        snprintf(error, error_size, "%s cannot run between nodes", choice->algorithm->name);
    return status;
}

int stretto_build_composed_alltoall(stretto_plan *plan, const stretto_choice *choice,
                                    const stretto_shape *shape, size_t bytes, char *error,
                                    size_t error_size) {
    exchange e = {.plan = plan, .shape = shape, .layout = shape->layout};
    if (e.layout->nnodes == shape->nranks)
        return stretto_build_flat(plan, choice, shape, bytes, error, error_size);
    const int status = compose_alltoall(&e, choice, bytes, error, error_size);
    free(e.at);
    free(e.shapes);
    stretto_plan_free(&e.network.x);
    return status;
}
