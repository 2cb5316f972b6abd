/* Node actions in the run: all ranks of a node come to the same one, then it happens at once. */
#include "plan/verify_run.h"

typedef struct {
    const int *ranks; /* of the node */
    int n;
} node_group;

static const stretto_action *action_of(const verify_state *v, int rank) {
    return &v->ranks[rank].plan->actions[v->ranks[rank].at];
}

static bool is_rooted(stretto_action_kind kind) {
    return kind == STRETTO_NODE_BCAST || kind == STRETTO_NODE_REDUCE;
}

static bool reads_src(stretto_action_kind kind) {
    return kind >= STRETTO_NODE_REDUCE;
}

static int agree(verify_state *v, node_group g) {
    const stretto_action *first = action_of(v, g.ranks[0]);
    for (int l = 0; l < g.n; l++) {
        int rank = g.ranks[l], at = v->ranks[rank].at;
        const stretto_action *a = action_of(v, rank);
        if (a->kind != first->kind)
            return stretto_verify_fail(v, rank, at, "but rank %d of its node does %s", g.ranks[0],
                                       stretto_action_name(first->kind));
        if (is_rooted(a->kind) && (a->peer != first->peer || a->peer < 0 || a->peer >= g.n))
            return stretto_verify_fail(v, rank, at, "root %d, on rank %d %d, of %d local ranks",
                                       a->peer, g.ranks[0], first->peer, g.n);
        int expected = a->kind == STRETTO_NODE_BARRIER     ? 0
                       : a->kind == STRETTO_NODE_ALLGATHER ? g.n * first->src.count
                       : a->kind == STRETTO_NODE_BCAST     ? first->dst.count
                                                           : first->src.count;
        bool uses_dst = a->kind != STRETTO_NODE_REDUCE || l == a->peer;
        if ((uses_dst && a->dst.count != expected) ||
            (reads_src(a->kind) && a->src.count != first->src.count))
            return stretto_verify_fail(v, rank, at, "%d -> %d blocks, on rank %d %d -> %d",
                                       a->src.count, a->dst.count, g.ranks[0], first->src.count,
                                       first->dst.count);
        if (reads_src(a->kind) && stretto_verify_read_blocks(v, rank, at, a->src) != 0)
            return -1;
        stretto_span own = a->dst; /* where the source may lie inside the destination */
        if (a->kind == STRETTO_NODE_ALLGATHER)
            own = stretto_span_of(a->dst.buffer, a->dst.first + l * a->src.count, a->src.count);
        bool apart = a->src.buffer != a->dst.buffer ||
                     a->src.first >= a->dst.first + a->dst.count ||
                     a->dst.first >= a->src.first + a->src.count;
        if (reads_src(a->kind) && uses_dst && !apart && a->src.first != own.first)
            return stretto_verify_fail(v, rank, at, "source and destination overlap");
    }
    return 0;
}

/* What block b of the result is. */
static int node_value(verify_state *v, node_group g, int b) {
    const stretto_action *first = action_of(v, g.ranks[0]);
    int value = 0;
    switch (first->kind) {
    case STRETTO_NODE_BCAST: {
        verify_rank *root = &v->ranks[g.ranks[first->peer]];
        return stretto_verify_blocks(root, root->plan->actions[root->at].dst)[b].value;
    }
    case STRETTO_NODE_ALLGATHER: {
        verify_rank *r = &v->ranks[g.ranks[b / first->src.count]];
        stretto_span src = r->plan->actions[r->at].src;
        return stretto_verify_blocks(r, src)[b % first->src.count].value;
    }
    default:
        for (int l = 0; l < g.n && value >= 0; l++) {
            verify_rank *r = &v->ranks[g.ranks[l]];
            int mine = stretto_verify_blocks(r, r->plan->actions[r->at].src)[b].value;
            value = l == 0 ? mine : stretto_verify_combine(v, g.ranks[l], r->at, value, mine, true);
        }
        return value;
    }
}

static void hear_node(verify_state *v, node_group g) {
    for (int w = 0; w < v->words; w++) {
        uint64_t all = 0;
        for (int l = 0; l < g.n; l++)
            all |= v->heard[(size_t)g.ranks[l] * (size_t)v->words + (size_t)w];
        for (int l = 0; l < g.n; l++)
            v->heard[(size_t)g.ranks[l] * (size_t)v->words + (size_t)w] = all;
    }
}

/* All ranks of the node stand at their node action. Destinations never hold a source that is still
 * needed: a block's own source at most. */
static int node_action(verify_state *v, node_group g) {
    const stretto_action first = *action_of(v, g.ranks[0]);
    if (agree(v, g) != 0)
        return -1;
    if (first.kind == STRETTO_NODE_BARRIER)
        hear_node(v, g);
    if (first.kind == STRETTO_NODE_BCAST &&
        stretto_verify_read_blocks(v, g.ranks[first.peer], v->ranks[g.ranks[first.peer]].at,
                                   action_of(v, g.ranks[first.peer])->dst) != 0)
        return -1;
    int count = first.kind == STRETTO_NODE_REDUCE ? first.src.count : first.dst.count;
    for (int b = 0; b < count; b++) {
        int value = node_value(v, g, b);
        if (value < 0)
            return -1;
        for (int l = 0; l < g.n; l++) {
            verify_rank *r = &v->ranks[g.ranks[l]];
            if ((first.kind == STRETTO_NODE_REDUCE && l != first.peer) ||
                (first.kind == STRETTO_NODE_BCAST && l == first.peer))
                continue;
            if (stretto_verify_write_block(
                    v, g.ranks[l], r->at, &stretto_verify_blocks(r, r->plan->actions[r->at].dst)[b],
                    value) != 0)
                return -1;
        }
    }
    for (int l = 0; l < g.n; l++) {
        v->ranks[g.ranks[l]].at++;
        v->ranks[g.ranks[l]].at_node = false;
        stretto_verify_wake(v, g.ranks[l]);
    }
    return 0;
}

int stretto_verify_node(verify_state *v, int rank) {
    const stretto_layout *layout = v->shape->layout;
    int node = layout->node_of[rank];
    node_group g = {layout->node_ranks + layout->node_start[node],
                    layout->node_start[node + 1] - layout->node_start[node]};
    if (!v->ranks[rank].at_node) {
        v->ranks[rank].at_node = true;
        v->arrived[node]++;
    }
    if (v->arrived[node] < g.n)
        return VERIFY_BLOCKED;
    v->arrived[node] = 0;
    return node_action(v, g) == 0 ? VERIFY_BLOCKED
                                  : -1; /* all of the node were woken, this one too */
}
