/* Allreduce between nodes in rounds of fan k, in which all ranks of a node share.
 *
 * Idea: the node reduces so that each of its ranks has the node's value. The nodes are a tree of
 * runs: all of them are cut into f even runs, each of those again, in as many levels as k needs. In
 * a round a node has the sum of its run and hears the sum of each sibling from one node of it;
 * these messages are dealt out to the local ranks. Where there are at least as many siblings as
 * ranks, each rank folds its share of them in order and a node allreduce folds the shares; where
 * there are fewer, a node allgather hands round what has come and each rank folds it alone. A
 * leader that hears from k nodes pays k overheads one after another; here every rank pays ceil(f /
 * L).
 *
 * Source: ours; several leaders a node are an idea of Kandalla et al., "Designing
 * multi-leader-based Allgather algorithms for multi-core clusters", 2009, and rounds of fan k of
 * every k-ary exchange. Cost: N nodes of L ranks, r = ceil(log_k N) rounds of f = ceil(N^(1/r)), S
 * a node phase: S + r (S + alpha + ceil(f / L) (o + n beta + n gamma)), and f - 1 messages in and
 * out of each NIC in a round. Memory: max(L, ceil(f / L)) vectors. Limits: as many ranks on every
 * node; shortest vectors, and NICs with a high message rate. */
#include "coll/coll.h"

enum { LEVELS_MOST = 31 };

/* A run of nodes that is cut into parts. */
typedef struct {
    int first, nodes, parts;
} run;

static int start_of(const run *r, int part) {
    return r->first + (int)((long long)part * r->nodes / r->parts);
}

/* Which of `parts` even shares of n things holds thing i. */
static int share_with(int i, int n, int parts) {
    return (int)(((long long)(i + 1) * parts - 1) / n);
}

static int part_of(const run *r, int node) {
    return share_with(node - r->first, r->nodes, r->parts);
}

/* The smallest f with f^levels >= n. */
static int fan_of(int n, int levels) {
    for (int f = 1;; f++) {
        long long reach = 1;
        for (int l = 0; l < levels && reach < n; l++)
            reach *= f;
        if (reach >= n)
            return f;
    }
}

/* The runs that a node is in, the largest first; returns how many. */
static int runs_of(run runs[LEVELS_MOST], int nnodes, int k, int node) {
    int levels = 1;
    for (long long reach = k; reach < nnodes; reach *= k)
        levels++;
    run whole = {0, nnodes, 0};
    for (int l = 0; l < levels; l++) {
        runs[l] = whole;
        runs[l].parts = fan_of(whole.nodes, levels - l);
        const int part = part_of(&runs[l], node);
        whole.first = start_of(&runs[l], part);
        whole.nodes = start_of(&runs[l], part + 1) - whole.first;
    }
    return levels;
}

typedef struct {
    stretto_plan *plan;
    const stretto_layout *layout;
    int node, me, lanes; /* my node, my place on it, and how many ranks each node has */
    int tmp;
} spreading;

static int rank_at(const spreading *s, int node, int lane) {
    return s->layout->node_ranks[s->layout->node_start[node] + lane];
}

/* One sibling: its sum comes to TMP block `at`, mine goes to whoever hears my part from me. */
static void exchange(const spreading *s, const run *r, int sibling, int at) {
    const int mine = part_of(r, s->node), q = s->node - start_of(r, mine);
    const int nodes = start_of(r, mine + 1) - start_of(r, mine);
    const int first = start_of(r, sibling), others = start_of(r, sibling + 1) - first;
    const int lane = share_with(mine, r->parts, s->lanes);
    stretto_plan_recv(s->plan, rank_at(s, first + q % others, lane),
                      stretto_span_of(STRETTO_TMP, at, 1));
    for (int p = q; p < others; p += nodes)
        stretto_plan_send(s->plan, rank_at(s, first + p, lane), stretto_span_of(STRETTO_OUT, 0, 1));
}

/* At most one message a rank: handed round, and folded by each. */
static void few(const spreading *s, const run *r, int part, bool busy) {
    const stretto_span value = stretto_span_of(STRETTO_OUT, 0, 1);
    const bool hears = busy && part != part_of(r, s->node);
    if (hears)
        exchange(s, r, part, s->tmp + s->me);
    stretto_plan_fence(s->plan);
    /* a rank that has nothing to say says something */
    stretto_plan_node(s->plan, STRETTO_NODE_ALLGATHER, 0,
                      hears ? stretto_span_of(STRETTO_TMP, s->tmp + s->me, 1) : value,
                      stretto_span_of(STRETTO_TMP, s->tmp, s->lanes));
    for (int p = 0; p < r->parts; p++) {
        const int lane = share_with(p, r->parts, s->lanes);
        const stretto_span came = stretto_span_of(STRETTO_TMP, s->tmp + lane, 1);
        if (p == 0)
            stretto_plan_copy(s->plan, came, value);
        else
            stretto_plan_reduce(s->plan, came, value, STRETTO_SRC_RIGHT);
    }
}

/* At least one part a rank: its share folded, then the shares. */
static void many(const spreading *s, const run *r, int part, int n) {
    const stretto_span value = stretto_span_of(STRETTO_OUT, 0, 1);
    const stretto_span folded = stretto_span_of(STRETTO_TMP, s->tmp, 1);
    const int mine = part_of(r, s->node);
    for (int i = 0; i < n; i++) { /* not all nodes to the same one first */
        const int k = (i + s->node) % n;
        if (part + k != mine)
            exchange(s, r, part + k, s->tmp + k);
        else if (n > 1)
            stretto_plan_copy(s->plan, value, stretto_span_of(STRETTO_TMP, s->tmp + k, 1));
    }
    stretto_plan_fence(s->plan);
    for (int i = 1; i < n; i++)
        stretto_plan_reduce(s->plan, stretto_span_of(STRETTO_TMP, s->tmp + i, 1), folded,
                            STRETTO_SRC_RIGHT);
    if (s->lanes > 1)
        stretto_plan_node(s->plan, STRETTO_NODE_ALLREDUCE, 0,
                          n == 1 && part == mine ? value : folded, value);
    else
        stretto_plan_copy(s->plan, folded, value);
}

int stretto_build_allreduce_spread(stretto_plan *plan, const stretto_shape *shape) {
    const stretto_layout *layout = shape->layout;
    const spreading s = {plan,
                         layout,
                         layout->node_of[shape->rank],
                         layout->local_of[shape->rank],
                         layout->node_start[1],
                         plan->tmp_blocks};
    const stretto_span value = stretto_span_of(STRETTO_OUT, 0, 1);
    run runs[LEVELS_MOST];
    const int levels = runs_of(runs, layout->nnodes, shape->radix, s.node);
    if (s.lanes > 1)
        stretto_plan_node(plan, STRETTO_NODE_ALLREDUCE, 0, stretto_plan_mine(plan, 0, 1), value);
    else
        stretto_plan_load(plan);
    for (int l = levels - 1; l >= 0; l--) {
        const run *r = &runs[l];
        const int part = (int)((long long)s.me * r->parts / s.lanes);
        const int n = (int)((long long)(s.me + 1) * r->parts / s.lanes) - part;
        const bool shared = r->parts < s.lanes;
        for (int need = shared ? s.lanes : n; plan->tmp_blocks - s.tmp < need && !plan->failed;)
            stretto_plan_tmp(plan, 0);
        if (r->parts > 1 && shared)
            few(&s, r, part, n > 0);
        else if (r->parts > 1)
            many(&s, r, part, n);
    }
    return 0;
}
