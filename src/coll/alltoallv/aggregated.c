/* All-to-all with blocks of any size, one message from node to node.
 *
 * Idea: what the ranks of node a have for the ranks of node b travels in one message, from a's rank
 * for b to b's rank for a. All ranks of a node are such for some other nodes, in turn, so that no
 * leader carries the whole traffic. First the ranks of a node hand each other what each is to send,
 * with the blocks for themselves; then the nodes exchange; then the ranks of a node hand each other
 * what has come. The sizes of others' blocks are told by a first run of the same messages on the
 * sizes (stretto_plan.carries). Without a layout every rank is a node of its own.
 *
 * Source: node-aware aggregation as in A. Bienz, W. Gropp, L. Olson, "Reducing Communication in
 * Algebraic Multigrid with Multi-step Node Aware Communication", IJHPCA 34(5), 2020 (there for
 * point-to-point exchanges).
 * Cost: of N nodes of q ranks 2 (q - 1) alpha_node + (N / q) alpha + (N - 1) q n beta between
 * nodes, n = the mean block; twice the alphas when sizes change. Each block is copied up to three
 * times. Memory: about three times the blocks of a rank. Limits: short blocks, several nodes.
 */
#include "coll/coll.h"

#include <stdlib.h>

typedef struct {
    stretto_plan *plan;
    const stretto_shape *shape;
    int node, local, nlocal, nnodes;
    const int *locals; /* [nlocal] ranks of this node */
    int *kept;         /* [nranks] in place: where the block for a rank was brought; or NULL */
    int *from_local; /* [nlocal] where the message of the first step arrives, in TMP; -1: in OUT */
    int *from_node;  /* [nnodes] where that node's message arrives, in TMP; -1: in OUT or none */
    int *place; /* [nnodes] of nodes that this rank serves: in the messages of the first step */
} state;

static int size_of(const state *s, int node) {
    const stretto_layout *l = s->shape->layout;
    return l ? l->node_start[node + 1] - l->node_start[node] : 1;
}

static int rank_of(const state *s, int node, int local) {
    const stretto_layout *l = s->shape->layout;
    return l ? l->node_ranks[l->node_start[node] + local] : node;
}

static int tmp(state *s, int source, int target) {
    return stretto_plan_tmp(s->plan, stretto_shape_pair(s->shape, source, target));
}

static stretto_span at(int tmp, int count) {
    return stretto_span_of(STRETTO_TMP, tmp, count);
}

/* My block for a rank. */
static stretto_span mine(const state *s, int target) {
    return s->kept ? at(s->kept[target], 1) : stretto_span_of(STRETTO_IN, target, 1);
}

/* Does local rank j of this node exchange with `node`? */
static bool serves(const state *s, int j, int node) {
    return node != s->node && node % s->nlocal == j;
}

/* Blocks that a local rank hands to local rank j: for itself, and for the nodes that it serves. */
static int handed_to(const state *s, int j) {
    int n = 1;
    for (int b = 0; b < s->nnodes; b++)
        n += serves(s, j, b) ? size_of(s, b) : 0;
    return n;
}

static int reserve_handed(state *s, int source, int j) {
    const int first = tmp(s, source, s->locals[j]);
    for (int b = 0; b < s->nnodes; b++)
        for (int t = 0; serves(s, j, b) && t < size_of(s, b); t++)
            tmp(s, source, rank_of(s, b, t));
    return first;
}

static void gather(state *s) {
    for (int i = 1; i < s->nlocal; i++) {
        const int j = (s->local + i) % s->nlocal, from = (s->local - i + s->nlocal) % s->nlocal;
        const int n = handed_to(s, j), expected = handed_to(s, s->local);
        stretto_span message = mine(s, s->locals[j]);
        if (n > 1) {
            int to = reserve_handed(s, s->shape->rank, j);
            message = at(to, n);
            stretto_plan_copy(s->plan, mine(s, s->locals[j]), at(to++, 1));
            for (int b = 0; b < s->nnodes; b++)
                for (int t = 0; serves(s, j, b) && t < size_of(s, b); t++)
                    stretto_plan_copy(s->plan, mine(s, rank_of(s, b, t)), at(to++, 1));
        }
        s->from_local[from] = expected > 1 ? reserve_handed(s, s->locals[from], s->local) : -1;
        stretto_plan_send(s->plan, s->locals[j], message);
        stretto_plan_recv(s->plan, s->locals[from],
                          expected > 1 ? at(s->from_local[from], expected)
                                       : stretto_span_of(STRETTO_OUT, s->locals[from], 1));
    }
    stretto_plan_fence(s->plan);
    for (int j = 0; j < s->nlocal; j++)
        if (j != s->local && s->from_local[j] >= 0)
            stretto_plan_copy(s->plan, at(s->from_local[j], 1),
                              stretto_span_of(STRETTO_OUT, s->locals[j], 1));
}

/* Blocks of all pairs of ranks of two nodes, by source. */
static int reserve_pairs(state *s, int a, int b) {
    const int first = s->plan->tmp_blocks;
    for (int l = 0; l < size_of(s, a); l++)
        for (int t = 0; t < size_of(s, b); t++)
            tmp(s, rank_of(s, a, l), rank_of(s, b, t));
    return first;
}

/* What the node has for node b. */
static void send_to_node(state *s, int b) {
    const int width = size_of(s, b), n = s->nlocal * width;
    stretto_span message = mine(s, rank_of(s, b, 0));
    if (n > 1) {
        int to = reserve_pairs(s, s->node, b);
        message = at(to, n);
        for (int l = 0; l < s->nlocal; l++, to += width) {
            for (int t = 0; l == s->local && t < width; t++)
                stretto_plan_copy(s->plan, mine(s, rank_of(s, b, t)), at(to + t, 1));
            if (l == s->local)
                continue;
            stretto_plan_copy(s->plan, at(s->from_local[l] + s->place[b], width), at(to, width));
        }
    }
    stretto_plan_send(s->plan, rank_of(s, b, s->node % width), message);
}

static void exchange(state *s) {
    for (int i = 1; i < s->nnodes; i++) { /* to the nodes above, from those below */
        const int b = (s->node + i) % s->nnodes;
        const int a = (s->node - i + s->nnodes) % s->nnodes, n = size_of(s, a) * s->nlocal;
        s->from_node[a] = -1;
        if (serves(s, s->local, a)) {
            if (n > 1)
                s->from_node[a] = reserve_pairs(s, a, s->node);
            stretto_plan_recv(s->plan, rank_of(s, a, s->node % size_of(s, a)),
                              n > 1 ? at(s->from_node[a], n)
                                    : stretto_span_of(STRETTO_OUT, rank_of(s, a, 0), 1));
        }
        if (serves(s, s->local, b))
            send_to_node(s, b);
    }
    stretto_plan_fence(s->plan);
}

/* Blocks that local rank `from` has got from other nodes for each rank of this one. */
static int got_by(const state *s, int from) {
    return handed_to(s, from) - 1;
}

static int reserve_got(state *s, int from, int target) {
    const int first = s->plan->tmp_blocks;
    for (int a = 0; a < s->nnodes; a++)
        for (int l = 0; serves(s, from, a) && l < size_of(s, a); l++)
            tmp(s, rank_of(s, a, l), target);
    return first;
}

/* The block from local rank l of node a for local rank j, as it came. */
static stretto_span arrived(const state *s, int a, int l, int j) {
    return at(s->from_node[a] + l * s->nlocal + j, 1);
}

static void hand_out(state *s) {
    int *got = s->from_local; /* where they arrive now */
    for (int i = 1; i < s->nlocal; i++) {
        const int j = (s->local + i) % s->nlocal, from = (s->local - i + s->nlocal) % s->nlocal;
        const int n = got_by(s, s->local), expected = got_by(s, from);
        if (n > 0) {
            int to = reserve_got(s, s->local, s->locals[j]);
            const stretto_span message = at(to, n);
            for (int a = 0; a < s->nnodes; a++)
                for (int l = 0; serves(s, s->local, a) && l < size_of(s, a); l++)
                    stretto_plan_copy(s->plan, arrived(s, a, l, j), at(to++, 1));
            stretto_plan_send(s->plan, s->locals[j], message);
        }
        if (expected > 0) {
            got[from] = reserve_got(s, from, s->shape->rank);
            stretto_plan_recv(s->plan, s->locals[from], at(got[from], expected));
        }
    }
    stretto_plan_fence(s->plan);
    for (int j = 0; j < s->nlocal; j++)
        for (int a = 0; a < s->nnodes; a++)
            for (int l = 0; serves(s, j, a) && l < size_of(s, a); l++) {
                const stretto_span out = stretto_span_of(STRETTO_OUT, rank_of(s, a, l), 1);
                if (j != s->local)
                    stretto_plan_copy(s->plan, at(got[j]++, 1), out);
                else if (s->from_node[a] >= 0)
                    stretto_plan_copy(s->plan, arrived(s, a, l, j), out);
            }
}

int stretto_build_alltoallv_aggregated(stretto_plan *plan, const stretto_shape *shape) {
    const stretto_layout *layout = shape->layout;
    const int p = shape->nranks, me = shape->rank;
    state s = {.plan = plan, .shape = shape, .nlocal = 1, .locals = &shape->rank, .node = me};
    s.nnodes = layout ? layout->nnodes : p;
    if (layout) {
        s.node = layout->node_of[me];
        s.local = layout->local_of[me];
        s.locals = layout->node_ranks + layout->node_start[s.node];
        s.nlocal = size_of(&s, s.node);
    }
    int *memory = calloc(2 * (size_t)p + 2 * (size_t)s.nnodes, sizeof *memory);
    plan->failed |= !memory;
    if (memory) {
        s.from_local = memory;
        s.from_node = memory + p;
        s.place = s.from_node + s.nnodes;
        for (int b = 0, next = 1; b < s.nnodes; b++) {
            s.place[b] = next;
            next += serves(&s, s.local, b) ? size_of(&s, b) : 0;
        }
        stretto_plan_load(plan);
        if (shape->in_place) {
            s.kept = s.place + s.nnodes;
            for (int t = 0; t < p; t++) {
                if (t == me)
                    continue;
                s.kept[t] = tmp(&s, me, t);
                stretto_plan_copy(plan, stretto_span_of(STRETTO_OUT, t, 1), at(s.kept[t], 1));
            }
        }
        gather(&s);
        exchange(&s);
        hand_out(&s);
    }
    free(memory);
    return 0;
}
