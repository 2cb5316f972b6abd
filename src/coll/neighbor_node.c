/* `node_aware` of all neighbourhood collectives: one message from node to node.
 *
 * Idea: of the ranks of a node one gathers what goes to a given other node, sends it as one
 * message, and one there hands it out; each rank of a node does so for its share of the other
 * nodes. What stays on the node goes directly, and so does what would travel alone. In an allgather
 * the block of a rank travels to each node once, however many of that node's ranks want it; in an
 * alltoall the blocks for ranks of one node travel together.
 *
 * Source: A. Bienz, W. D. Gropp, L. N. Olson, "Reducing Communication in Algebraic Multigrid with
 * Multi-step Node Aware Communication", IJHPCA 34(5), 2020 (three-step); G. Collom, R. P. Li, A.
 * Bienz, "Optimizing Irregular Communication with Neighborhood Collectives and Locality-Aware
 * Parallelism", SC-W 2023.
 * Cost: between nodes alpha + e n beta for e blocks between two nodes, instead of e alpha; in the
 * node three messages more, the first with the sizes. Memory: the blocks that a rank gathers and
 * hands out. Limits: none; without a layout each rank is a node of its own, which is `direct`.
 *
 * Two nodes with more than one edge from the one to the other are a pair; its blocks are a run, in
 * the order of their sources. The sender of a pair is one of the ranks of its first node, its
 * receiver one of the second; a node's pairs are dealt out to its ranks evenly. Each message of a
 * rank is started before it waits for any but those with sizes, runs only wait for what goes to
 * their senders, and what is handed out for runs: nothing waits in a circle. */
#include "coll/neighbor.h"

#include <stdlib.h>
#include <string.h>

typedef struct {
    int from, to;         /* nodes */
    int edges;            /* from the one to the other */
    int sender, receiver; /* ranks */
    int nitems, item_at;  /* mine only: its run, in the items below */
    int span;        /* mine only: where I have the run, or the part of it that concerns me; -1:
                        it is one block of mine, and stays in IN */
    int first, last; /* messages to wait for; first = 0: none */
} pair;

/* One block of a run. */
typedef struct {
    int name;   /* as tmp_shape has it */
    int source; /* rank */
} item;

typedef struct {
    stretto_plan *plan;
    const stretto_shape *shape;
    const stretto_layout *layout;
    const stretto_graph *graph;
    bool gathers;
    int me, node;
    pair *pairs;
    int npairs;
    item *items;
    int nitems, item_capacity;
    int *local_blocks; /* [ranks of my node] scratch */
} aware;

static int node_of(const aware *w, int rank) {
    return w->layout->node_of[rank];
}

static int ranks_on(const aware *w, int node) {
    return w->layout->node_start[node + 1] - w->layout->node_start[node];
}

static int by_nodes(const void *a, const void *b) {
    const pair *x = a, *y = b;
    return x->from != y->from ? (x->from > y->from) - (x->from < y->from)
                              : (x->to > y->to) - (x->to < y->to);
}

/* Rank of a node that has the position-th of n pairs. */
static int dealt(const aware *w, int node, int position, int n) {
    const int local = (int)((long)position * ranks_on(w, node) / n);
    return w->layout->node_ranks[w->layout->node_start[node] + local];
}

/* All pairs of the graph, with their senders and receivers; false without memory. */
static bool find_pairs(aware *w) {
    const stretto_graph *g = w->graph;
    const int nnodes = w->layout->nnodes;
    w->pairs = calloc((size_t)g->out_start[g->nranks] + 1, sizeof *w->pairs);
    int *counts = calloc(4 * (size_t)nnodes, sizeof *counts);
    if (!w->pairs || !counts) {
        free(counts);
        return false;
    }
    int n = 0;
    for (int r = 0; r < g->nranks; r++)
        for (int e = g->out_start[r]; e < g->out_start[r + 1]; e++)
            if (g->out_to[e] >= 0 && node_of(w, g->out_to[e]) != node_of(w, r))
                w->pairs[n++] =
                    (pair){.from = node_of(w, r), .to = node_of(w, g->out_to[e]), .edges = 1};
    qsort(w->pairs, (size_t)n, sizeof *w->pairs, by_nodes);
    for (int i = 0; i < n; i++) {
        pair *last = w->npairs ? &w->pairs[w->npairs - 1] : NULL;
        if (last && by_nodes(last, &w->pairs[i]) == 0)
            last->edges++;
        else
            w->pairs[w->npairs++] = w->pairs[i];
    }
    n = w->npairs;
    w->npairs = 0;
    for (int i = 0; i < n; i++)
        if (w->pairs[i].edges > 1)
            w->pairs[w->npairs++] = w->pairs[i];
    int *outs = counts, *ins = outs + nnodes, *out = ins + nnodes, *in = out + nnodes;
    for (int i = 0; i < w->npairs; i++) {
        outs[w->pairs[i].from]++;
        ins[w->pairs[i].to]++;
    }
    for (int i = 0; i < w->npairs; i++) {
        pair *p = &w->pairs[i];
        p->sender = dealt(w, p->from, out[p->from]++, outs[p->from]);
        p->receiver = dealt(w, p->to, in[p->to]++, ins[p->to]);
    }
    free(counts);
    return true;
}

/* The pair between the ends of an edge; NULL: it goes by itself. */
static pair *pair_of(const aware *w, int source, int target) {
    const pair key = {.from = node_of(w, source), .to = node_of(w, target)};
    return w->npairs ? bsearch(&key, w->pairs, (size_t)w->npairs, sizeof key, by_nodes) : NULL;
}

static bool goes_to(const aware *w, int edge, int node) {
    return w->graph->out_to[edge] >= 0 && node_of(w, w->graph->out_to[edge]) == node;
}

/* Lists the run of a pair of this node's. */
static void list_items(aware *w, pair *p) {
    p->item_at = w->nitems;
    for (int i = w->layout->node_start[p->from]; i < w->layout->node_start[p->from + 1]; i++) {
        const int source = w->layout->node_ranks[i];
        bool has = false;
        for (int e = w->graph->out_start[source]; e < w->graph->out_start[source + 1]; e++) {
            if (!goes_to(w, e, p->to) || (w->gathers && has))
                continue;
            has = true;
            if (w->nitems == w->item_capacity) {
                const int larger = 2 * w->item_capacity + 64;
                item *items = realloc(w->items, (size_t)larger * sizeof *items);
                if (!items) {
                    w->plan->failed = true;
                    return;
                }
                w->items = items;
                w->item_capacity = larger;
            }
            w->items[w->nitems++] = (item){w->gathers ? source : e, source};
        }
    }
    p->nitems = w->nitems - p->item_at;
}

/* Does a block of a run go to this rank? */
static bool is_for(const aware *w, const item *it, int target) {
    const stretto_graph *g = w->graph;
    if (!w->gathers)
        return g->out_to[it->name] == target;
    for (int e = g->out_start[it->source]; e < g->out_start[it->source + 1]; e++)
        if (g->out_to[e] == target)
            return true;
    return false;
}

/* Brings a block to all slots of OUT that it is for. */
static void hand_over(const aware *w, const item *it, stretto_span from) {
    const stretto_graph *g = w->graph;
    const int first = g->in_start[w->me];
    for (int slot = 0; slot < stretto_graph_indegree(g, w->me); slot++) {
        const int edge = g->in_edge[first + slot];
        const stretto_span to = stretto_span_of(STRETTO_OUT, slot, 1);
        if (edge >= 0 && (w->gathers ? stretto_graph_source(g, edge) : edge) == it->name &&
            !(from.buffer == STRETTO_OUT && from.first == slot))
            stretto_plan_copy(w->plan, from, to);
    }
}

/* The first slot of OUT that a block is for. */
static int slot_for(const aware *w, const item *it) {
    const stretto_graph *g = w->graph;
    const int first = g->in_start[w->me], degree = stretto_graph_indegree(g, w->me);
    int slot = 0;
    for (; slot < degree; slot++) {
        const int edge = g->in_edge[first + slot];
        if (edge >= 0 && (w->gathers ? stretto_graph_source(g, edge) : edge) == it->name)
            break;
    }
    return slot;
}

/* Marks, in local_blocks, the ranks of the node that take part in a pair at this end. */
static void mark(const aware *w, const pair *p) {
    const int first = w->layout->node_start[w->node], n = ranks_on(w, w->node);
    memset(w->local_blocks, 0, (size_t)n * sizeof *w->local_blocks);
    for (int i = p->item_at; i < p->item_at + p->nitems; i++) {
        const item *it = &w->items[i];
        if (p->from == w->node)
            w->local_blocks[w->layout->local_of[it->source]]++;
        else
            for (int l = 0; l < n; l++)
                w->local_blocks[l] += is_for(w, it, w->layout->node_ranks[first + l]);
    }
}

static bool is_mine(const aware *w, const pair *p) {
    return p->from == w->node || p->to == w->node;
}

/* The rank of this node that has the pair's run. */
static int holder(const aware *w, const pair *p) {
    return p->from == w->node ? p->sender : p->receiver;
}

/* Whoever gathers or hands out blocks of others hears their sizes first. */
static bool tell_sizes(const aware *w) {
    const int n = ranks_on(w, w->node), first = w->layout->node_start[w->node];
    const int me = w->layout->local_of[w->me];
    const stretto_span none = stretto_span_of(STRETTO_TMP, 0, 0);
    bool *hears = calloc(2 * (size_t)n, sizeof *hears), *tells = hears + n;
    if (!hears)
        return false;
    for (int i = 0; i < w->npairs; i++) {
        const pair *p = &w->pairs[i];
        if (!is_mine(w, p))
            continue;
        mark(w, p);
        for (int l = 0; l < n && holder(w, p) == w->me; l++)
            hears[l] = hears[l] || (l != me && w->local_blocks[l]);
        if (holder(w, p) != w->me && w->local_blocks[me])
            tells[w->layout->local_of[holder(w, p)]] = true;
    }
    for (int l = 0; l < n; l++)
        if (hears[l])
            stretto_plan_recv(w->plan, w->layout->node_ranks[first + l], none);
    for (int l = 0; l < n; l++)
        if (tells[l])
            stretto_plan_send(w->plan, w->layout->node_ranks[first + l], none);
    stretto_plan_fence(w->plan);
    free(hears);
    return true;
}

static int by_edge(const void *a, const void *b) {
    const stretto_neighbor_edge *x = a, *y = b;
    return (x->edge > y->edge) - (x->edge < y->edge);
}

/* Edges within the node, and those that are alone between two nodes. */
static bool go_directly(const aware *w) {
    const int degree = stretto_graph_outdegree(w->graph, w->me);
    const int indegree = stretto_graph_indegree(w->graph, w->me);
    stretto_neighbor_edge *edges =
        calloc((size_t)(degree > indegree ? degree : indegree) + 1, sizeof *edges);
    if (!edges)
        return false;
    stretto_neighbor_self(w->plan, w->shape);
    for (int out = 0; out < 2; out++) {
        const int n = stretto_neighbor_edges(w->shape, out, edges);
        qsort(edges, (size_t)n, sizeof *edges,
              by_edge); /* of one source in the order it sends in */
        for (int i = 0; i < n; i++) {
            const stretto_neighbor_edge *e = &edges[i];
            if (pair_of(w, out ? w->me : e->peer, out ? e->peer : w->me))
                continue;
            if (out)
                stretto_plan_send(w->plan, e->peer, stretto_neighbor_source(w->shape, e->edge));
            else
                stretto_plan_recv(w->plan, e->peer, stretto_span_of(STRETTO_OUT, e->slot, 1));
        }
    }
    free(edges);
    return true;
}

/* TMP for the blocks of a run that `who` has to do with; -1: all. */
static int reserve_blocks(const aware *w, const pair *p, int who) {
    const int first = w->plan->tmp_blocks;
    for (int i = p->item_at; i < p->item_at + p->nitems; i++)
        if (who < 0 ||
            (p->from == w->node ? w->items[i].source == who : is_for(w, &w->items[i], who)))
            stretto_plan_tmp(w->plan, w->items[i].name);
    return first;
}

static stretto_span mine_of(const aware *w, const item *it) {
    return w->gathers ? stretto_span_of(STRETTO_IN, 0, 1)
                      : stretto_neighbor_source(w->shape, it->name);
}

/* A pair that leaves this node: my blocks to its sender, or everybody's to me. */
static void gather_run(const aware *w, pair *p) {
    mark(w, p);
    const int n = ranks_on(w, w->node), first = w->layout->node_start[w->node];
    const int own = w->local_blocks[w->layout->local_of[w->me]];
    if (p->sender != w->me && own == 0)
        return;
    if (p->sender != w->me && own == 1) {
        for (int i = p->item_at; i < p->item_at + p->nitems; i++)
            if (w->items[i].source == w->me)
                stretto_plan_send(w->plan, p->sender, mine_of(w, &w->items[i]));
        return;
    }
    if (p->nitems == 1 && own == 1) {
        p->span = -1;
        return;
    }
    p->span = reserve_blocks(w, p, p->sender == w->me ? -1 : w->me);
    for (int i = p->item_at, at = p->span; i < p->item_at + p->nitems; i++) {
        if (w->items[i].source == w->me)
            stretto_plan_copy(w->plan, mine_of(w, &w->items[i]),
                              stretto_span_of(STRETTO_TMP, at, 1));
        at += p->sender == w->me || w->items[i].source == w->me;
    }
    if (p->sender != w->me) {
        stretto_plan_send(w->plan, p->sender, stretto_span_of(STRETTO_TMP, p->span, own));
        return;
    }
    for (int l = 0, at = p->span; l < n; at += w->local_blocks[l++]) {
        if (w->local_blocks[l] == 0 || w->layout->node_ranks[first + l] == w->me)
            continue;
        p->last = stretto_plan_recv(w->plan, w->layout->node_ranks[first + l],
                                    stretto_span_of(STRETTO_TMP, at, w->local_blocks[l]));
        p->first = p->first ? p->first : p->last; /* never action 0: sizes were told before */
    }
}

/* All blocks of the run are here: sends it on. */
static void send_run(const aware *w, const pair *p) {
    for (int i = p->first; p->first && i <= p->last; i++)
        stretto_plan_wait(w->plan, i);
    stretto_plan_send(w->plan, p->receiver,
                      p->span < 0 ? mine_of(w, &w->items[p->item_at])
                                  : stretto_span_of(STRETTO_TMP, p->span, p->nitems));
}

/* A pair that comes to this node: receives the run, or what its receiver hands out to me. */
static void expect_run(const aware *w, pair *p) {
    if (p->receiver == w->me) {
        p->span = reserve_blocks(w, p, -1);
        p->last =
            stretto_plan_recv(w->plan, p->sender, stretto_span_of(STRETTO_TMP, p->span, p->nitems));
        return;
    }
    int n = 0;
    const item *only = NULL;
    for (int i = p->item_at; i < p->item_at + p->nitems; i++)
        if (is_for(w, &w->items[i], w->me)) {
            only = &w->items[i];
            n++;
        }
    p->last = -1;
    if (n == 1) {
        p->last = stretto_plan_recv(w->plan, p->receiver,
                                    stretto_span_of(STRETTO_OUT, slot_for(w, only), 1));
    } else if (n > 1) {
        p->span = reserve_blocks(w, p, w->me);
        p->last = stretto_plan_recv(w->plan, p->receiver, stretto_span_of(STRETTO_TMP, p->span, n));
    }
}

/* The run has come: hands out. */
static void hand_out(const aware *w, const pair *p) {
    const int first = w->layout->node_start[w->node];
    stretto_plan_wait(w->plan, p->last);
    for (int l = 0; l < ranks_on(w, w->node); l++) {
        const int target = w->layout->node_ranks[first + l];
        int n = 0, low = -1, high = -1;
        for (int i = 0; i < p->nitems; i++)
            if (is_for(w, &w->items[p->item_at + i], target)) {
                low = low < 0 ? i : low;
                high = i;
                n++;
                if (target == w->me)
                    hand_over(w, &w->items[p->item_at + i],
                              stretto_span_of(STRETTO_TMP, p->span + i, 1));
            }
        if (n == 0 || target == w->me)
            continue;
        stretto_span span = stretto_span_of(STRETTO_TMP, p->span + low, n);
        if (high - low + 1 > n) { /* not one after another: put together */
            span.first = reserve_blocks(w, p, target);
            for (int i = low, at = span.first; i <= high; i++)
                if (is_for(w, &w->items[p->item_at + i], target))
                    stretto_plan_copy(w->plan, stretto_span_of(STRETTO_TMP, p->span + i, 1),
                                      stretto_span_of(STRETTO_TMP, at++, 1));
        }
        stretto_plan_send(w->plan, target, span);
    }
}

/* What was handed out to me has come. */
static void unpack_part(const aware *w, const pair *p) {
    int n = 0, at = p->span;
    const item *only = NULL;
    if (p->last < 0)
        return;
    stretto_plan_wait(w->plan, p->last);
    for (int i = p->item_at; i < p->item_at + p->nitems; i++)
        if (is_for(w, &w->items[i], w->me)) {
            only = &w->items[i];
            n++;
        }
    if (n == 1) {
        hand_over(w, only, stretto_span_of(STRETTO_OUT, slot_for(w, only), 1));
        return;
    }
    for (int i = p->item_at; i < p->item_at + p->nitems; i++)
        if (is_for(w, &w->items[i], w->me))
            hand_over(w, &w->items[i], stretto_span_of(STRETTO_TMP, at++, 1));
}

static void build_aware(aware *w) {
    for (int i = 0; i < w->npairs && !w->plan->failed; i++)
        if (is_mine(w, &w->pairs[i]))
            list_items(w, &w->pairs[i]);
    if (w->plan->failed || !tell_sizes(w) || !go_directly(w)) {
        w->plan->failed = true;
        return;
    }
#define EACH(condition)                                                                            \
    for (pair *p = w->pairs; p < w->pairs + w->npairs; p++)                                        \
        if (condition)
    EACH(p->from == w->node) gather_run(w, p);
    EACH(p->to == w->node) expect_run(w, p);
    EACH(p->from == w->node && p->sender == w->me) send_run(w, p);
    EACH(p->to == w->node && p->receiver == w->me) hand_out(w, p);
    EACH(p->to == w->node && p->receiver != w->me) unpack_part(w, p);
#undef EACH
}

int stretto_build_neighbor_node_aware(stretto_plan *plan, const stretto_shape *shape) {
    if (!shape->layout)
        return stretto_build_neighbor_direct(plan, shape);
    aware w = {.plan = plan,
               .shape = shape,
               .layout = shape->layout,
               .graph = shape->graph,
               .gathers = stretto_collective_neighbor_gathers(shape->collective),
               .me = shape->rank,
               .node = shape->layout->node_of[shape->rank]};
    w.local_blocks = calloc((size_t)ranks_on(&w, w.node), sizeof *w.local_blocks);
    if (w.local_blocks && find_pairs(&w))
        build_aware(&w);
    else
        plan->failed = true;
    free(w.local_blocks);
    free(w.pairs);
    free(w.items);
    return 0;
}
