/* Node actions in the run: all ranks of a node come to the same one, then it happens at once. */
#include "plan/verify_run.h"

#include <stdlib.h>

typedef struct {
    const int *ranks; /* of the node */
    int n;
} node_group;

static const stretto_action *action_of(const verify_state *v, int rank) {
    return &v->ranks[rank].plan->actions[v->ranks[rank].at];
}

/* What a node action does with the spans of one local rank, in units of c blocks. */
typedef struct {
    int reads, writes;  /* blocks of src, of dst; 0: none */
    int src_at, dst_at; /* where src may lie in dst, or dst in src, from its start; -1: nowhere */
} role;

static role role_of(stretto_action_kind kind, int n, int c, bool root, int l) {
    switch (kind) {
    case STRETTO_NODE_BCAST: return (role){0, c, -1, -1}; /* the root reads dst */
    case STRETTO_NODE_REDUCE: return (role){c, root ? c : 0, 0, -1};
    case STRETTO_NODE_ALLREDUCE:
    case STRETTO_NODE_SCAN: return (role){c, c, 0, -1};
    case STRETTO_NODE_EXSCAN: return (role){c, l == 0 ? 0 : c, 0, -1};
    case STRETTO_NODE_ALLGATHER: return (role){c, n * c, l * c, -1};
    case STRETTO_NODE_GATHER: return (role){c, root ? n * c : 0, l * c, -1};
    case STRETTO_NODE_SCATTER: return (role){root ? n * c : 0, c, -1, l * c};
    case STRETTO_NODE_ALLTOALL: return (role){n * c, n * c, 0, -1};
    case STRETTO_NODE_REDUCE_SCATTER: return (role){n * c, c, -1, -1};
    default: return (role){0, 0, -1, -1};
    }
}

/* The unit c, as the first rank of the node sees it, or the root that scatters. */
static int unit_of(const verify_state *v, node_group g) {
    const stretto_action *first = action_of(v, g.ranks[0]);
    switch (first->kind) {
    case STRETTO_NODE_BCAST:
    case STRETTO_NODE_REDUCE_SCATTER: return first->dst.count;
    case STRETTO_NODE_SCATTER:
        return first->peer >= 0 && first->peer < g.n
                   ? action_of(v, g.ranks[first->peer])->src.count / g.n
                   : 0;
    case STRETTO_NODE_ALLTOALL: return first->src.count / g.n;
    default: return first->src.count;
    }
}

static int check_overlap(verify_state *v, int rank, const stretto_action *a, role is) {
    bool apart = is.reads == 0 || is.writes == 0 || a->src.buffer != a->dst.buffer ||
                 a->src.first >= a->dst.first + a->dst.count ||
                 a->dst.first >= a->src.first + a->src.count;
    if (apart || (is.src_at >= 0 && a->src.first == a->dst.first + is.src_at) ||
        (is.dst_at >= 0 && a->dst.first == a->src.first + is.dst_at))
        return 0;
    return stretto_verify_fail(v, rank, v->ranks[rank].at, "source and destination overlap");
}

/* The root of a scatter may leave its own share where it is. */
static bool keeps_share(const stretto_action *a, int l) {
    return a->kind == STRETTO_NODE_SCATTER && l == a->peer && a->dst.count == 0;
}

static int agree(verify_state *v, node_group g) {
    const stretto_action *first = action_of(v, g.ranks[0]);
    const int c = unit_of(v, g);
    for (int l = 0; l < g.n; l++) {
        int rank = g.ranks[l], at = v->ranks[rank].at;
        const stretto_action *a = action_of(v, rank);
        if (a->kind != first->kind)
            return stretto_verify_fail(v, rank, at, "but rank %d of its node does %s", g.ranks[0],
                                       stretto_action_name(first->kind));
        bool rooted = stretto_action_rooted(a->kind);
        if (rooted && (a->peer != first->peer || a->peer < 0 || a->peer >= g.n))
            return stretto_verify_fail(v, rank, at, "root %d, on rank %d %d, of %d local ranks",
                                       a->peer, g.ranks[0], first->peer, g.n);
        role is = role_of(a->kind, g.n, c, rooted && l == a->peer, l);
        if (keeps_share(a, l))
            is.writes = 0;
        if ((is.writes && a->dst.count != is.writes) || (is.reads && a->src.count != is.reads))
            return stretto_verify_fail(v, rank, at, "%d -> %d blocks, on rank %d %d -> %d",
                                       a->src.count, a->dst.count, g.ranks[0], first->src.count,
                                       first->dst.count);
        bool from_dst = a->kind == STRETTO_NODE_BCAST && l == a->peer;
        if ((is.reads && stretto_verify_read_blocks(v, rank, at, a->src) != 0) ||
            (from_dst && stretto_verify_read_blocks(v, rank, at, a->dst) != 0) ||
            check_overlap(v, rank, a, is) != 0)
            return -1;
    }
    return 0;
}

static int source_value(const verify_state *v, node_group g, int l, int block) {
    verify_rank *r = &v->ranks[g.ranks[l]];
    const stretto_action *a = &r->plan->actions[r->at];
    stretto_span span = a->kind == STRETTO_NODE_BCAST ? a->dst : a->src;
    return stretto_verify_blocks(r, span)[block].value;
}

/* Block `block` of local ranks 0..last, folded. */
static int fold(verify_state *v, node_group g, int last, int block) {
    int value = source_value(v, g, 0, block);
    for (int l = 1; l <= last && value >= 0; l++)
        value = stretto_verify_combine(v, g.ranks[l], v->ranks[g.ranks[l]].at, value,
                                       source_value(v, g, l, block), true);
    return value;
}

/* What block b of the result of local rank l is; -1 when it cannot be. */
static int node_value(verify_state *v, node_group g, int l, int b) {
    const stretto_action *first = action_of(v, g.ranks[0]);
    const int c = unit_of(v, g);
    switch (first->kind) {
    case STRETTO_NODE_BCAST: return source_value(v, g, first->peer, b);
    case STRETTO_NODE_ALLGATHER:
    case STRETTO_NODE_GATHER: return source_value(v, g, b / c, b % c);
    case STRETTO_NODE_SCATTER: return source_value(v, g, first->peer, l * c + b);
    case STRETTO_NODE_ALLTOALL: return source_value(v, g, b / c, l * c + b % c);
    case STRETTO_NODE_REDUCE_SCATTER: return fold(v, g, g.n - 1, l * c + b);
    case STRETTO_NODE_SCAN: return fold(v, g, l, b);
    case STRETTO_NODE_EXSCAN: return fold(v, g, l - 1, b);
    default: return fold(v, g, g.n - 1, b);
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

static int written(const verify_state *v, node_group g, int l) {
    const stretto_action *a = action_of(v, g.ranks[l]);
    bool root = stretto_action_rooted(a->kind) && l == a->peer;
    if ((root && a->kind == STRETTO_NODE_BCAST) || keeps_share(a, l))
        return 0; /* has it */
    return role_of(a->kind, g.n, unit_of(v, g), root, l).writes;
}

/* All ranks of the node stand at their node action. All values are taken before any is written. */
static int node_action(verify_state *v, node_group g) {
    if (agree(v, g) != 0)
        return -1;
    if (action_of(v, g.ranks[0])->kind == STRETTO_NODE_BARRIER)
        hear_node(v, g);
    int total = 0, status = 0;
    for (int l = 0; l < g.n; l++)
        total += written(v, g, l);
    int *values = malloc(((size_t)total + 1) * sizeof *values);
    if (!values)
        return stretto_verify_fail(v, -1, -1, "out of memory");
    total = 0;
    for (int l = 0; l < g.n && status == 0; l++)
        for (int b = 0; b < written(v, g, l) && status == 0; b++)
            if ((values[total++] = node_value(v, g, l, b)) < 0)
                status = -1;
    total = 0;
    for (int l = 0; l < g.n && status == 0; l++) {
        verify_rank *r = &v->ranks[g.ranks[l]];
        verify_block *dst = stretto_verify_blocks(r, r->plan->actions[r->at].dst);
        for (int b = 0; b < written(v, g, l) && status == 0; b++)
            status = stretto_verify_write_block(v, g.ranks[l], r->at, &dst[b], values[total++]);
    }
    free(values);
    for (int l = 0; l < g.n && status == 0; l++) {
        v->ranks[g.ranks[l]].at++;
        v->ranks[g.ranks[l]].at_node = false;
        stretto_verify_wake(v, g.ranks[l]);
    }
    return status;
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
