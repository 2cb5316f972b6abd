/* Neighbourhood collectives along the edges themselves: see neighbor.h.
 *
 * With more edges than messages in flight at a time, a rank takes them in an order that is the same
 * on all ranks (by the distance between the two ends, as alltoall does, then by source): of all
 * edges that are not done the first one in that order has nobody waiting before it, so something
 * always moves, whatever the graph. */
#include "coll/neighbor.h"

#include <stdlib.h>

stretto_span stretto_neighbor_source(const stretto_shape *shape, int edge) {
    const bool one = stretto_collective_neighbor_gathers(shape->collective);
    return stretto_span_of(STRETTO_IN, one ? 0 : edge - shape->graph->out_start[shape->rank], 1);
}

int stretto_neighbor_edges(const stretto_shape *shape, bool out, stretto_neighbor_edge *edges) {
    const stretto_graph *g = shape->graph;
    const int me = shape->rank,
              degree = out ? stretto_graph_outdegree(g, me) : stretto_graph_indegree(g, me);
    int n = 0;
    for (int slot = 0; slot < degree; slot++) {
        const int edge = out ? g->out_start[me] + slot : g->in_edge[g->in_start[me] + slot];
        if (edge < 0 || (out && g->out_to[edge] < 0))
            continue;
        const int peer = out ? g->out_to[edge] : stretto_graph_source(g, edge);
        if (peer != me)
            edges[n++] = (stretto_neighbor_edge){edge, peer, slot};
    }
    return n;
}

void stretto_neighbor_self(stretto_plan *plan, const stretto_shape *shape) {
    const stretto_graph *g = shape->graph;
    const int me = shape->rank, first = g->in_start[me];
    for (int slot = 0; slot < stretto_graph_indegree(g, me); slot++) {
        const int edge = g->in_edge[first + slot];
        if (edge >= 0 && stretto_graph_source(g, edge) == me)
            stretto_plan_copy(plan, stretto_neighbor_source(shape, edge),
                              stretto_span_of(STRETTO_OUT, slot, 1));
    }
}

/* A message of this rank in the common order. */
typedef struct {
    int distance, edge, peer, slot;
    bool sends;
} timed_edge;

static int by_order(const void *a, const void *b) {
    const timed_edge *x = a, *y = b;
    if (x->distance != y->distance)
        return x->distance < y->distance ? -1 : 1;
    return (x->edge > y->edge) - (x->edge < y->edge);
}

static void take(stretto_plan *plan, const stretto_shape *shape, const timed_edge *s) {
    if (s->sends)
        stretto_plan_send(plan, s->peer, stretto_neighbor_source(shape, s->edge));
    else
        stretto_plan_recv(plan, s->peer, stretto_span_of(STRETTO_OUT, s->slot, 1));
}

/* `direct` of all neighbourhood collectives.
 *
 * Idea: a message along each edge of the graph, all at once; where a rank has more than `window`
 * of them, so many at a time, all ranks in the same order of edges.
 *
 * Source: folklore; MPI-4.1 section 8.6 describes the operation so.
 * Cost: alpha + d (o + n beta), d = edges of a rank, o = overhead of a message, n = one block.
 * Memory: none. Limits: none.
 */
int stretto_build_neighbor_direct(stretto_plan *plan, const stretto_shape *shape) {
    const int p = shape->nranks, me = shape->rank;
    const int outs = stretto_graph_outdegree(shape->graph, me);
    const int ins = stretto_graph_indegree(shape->graph, me);
    stretto_neighbor_edge *edges = calloc((size_t)(outs + ins) + 1, sizeof *edges);
    timed_edge *timed = calloc((size_t)(outs + ins) + 1, sizeof *timed);
    if (!edges || !timed) {
        plan->failed = true;
        goto out;
    }
    int n = stretto_neighbor_edges(shape, false, edges);
    const int receives = n;
    n += stretto_neighbor_edges(shape, true, edges + n);
    for (int i = 0; i < n; i++) {
        const stretto_neighbor_edge *e = &edges[i];
        const bool sends = i >= receives;
        const int distance = ((sends ? e->peer - me : me - e->peer) + p) % p;
        timed[i] = (timed_edge){distance, e->edge, e->peer, e->slot, sends};
    }
    qsort(timed, (size_t)n, sizeof *timed, by_order);
    stretto_neighbor_self(plan, shape);
    if (shape->window == 0 || n <= shape->window) { /* all at once, receives first */
        for (int sends = 0; sends < 2; sends++)
            for (int i = 0; i < n; i++)
                if (timed[i].sends == sends)
                    take(plan, shape, &timed[i]);
    } else {
        for (int i = 0; i < n; i++) {
            stretto_plan_limit(plan, shape->window - 1);
            take(plan, shape, &timed[i]);
        }
    }
out:
    free(edges);
    free(timed);
    return 0;
}
