/* See engine/reorder.h; reordering.c finds the order.
 *
 * The MPI makes the topology without reorder, of a communicator whose ranks stand in the new order:
 * whatever it then says of coordinates, neighbours and weights is right by itself. Each call is
 * collective over comm_old, so that collectives may be used here.
 */
#include "engine/reorder.h"

#include "engine/memory.h"
#include "engine/reordering.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LISTS_TAG = 1 };

/* Where the calls end: the MPI's function, with the communicator and the reorder that fit. */
#define FINISH(o, found, reorder, call)                                                            \
    do {                                                                                           \
        MPI_Comm comm = (found) == STRETTO_ORDER_PERMUTED ? (o)->permuted : (o)->comm;             \
        const int again = (found) == STRETTO_ORDER_NATIVE ? (reorder) : 0;                         \
        if ((found) == STRETTO_ORDER_PERMUTED)                                                     \
            stretto_order_take_handler(o);                                                         \
        const int rc = call;                                                                       \
        if ((found) == STRETTO_ORDER_PERMUTED)                                                     \
            PMPI_Comm_free(&(o)->permuted);                                                        \
        stretto_order_end(o);                                                                      \
        return rc;                                                                                 \
    } while (0)

/* ---- grids and graphs that all ranks know ---------------------------------------------------- */

static void add_to_digest(stretto_order *o, int number) {
    o->digest = (o->digest ^ (unsigned)number) * 1099511628211u;
}

/* False: the MPI is to say what is wrong with it, or that there is nothing in it. */
static bool take_grid(stretto_order *o, int ndims, const int *dims, const int *periods) {
    long long n = 1;
    int used = 0;
    if (ndims < 1 || !dims || !periods)
        return false;
    add_to_digest(o, ndims);
    for (int d = 0; d < ndims; d++) {
        add_to_digest(o, dims[d]);
        add_to_digest(o, periods[d] != 0);
        if (dims[d] < 1 || (n *= dims[d]) > o->nranks)
            return false;
        if (used < (int)sizeof o->shape - 16)
            used += snprintf(o->shape + used, sizeof o->shape - (size_t)used, "%s%d", d ? "x" : "",
                             dims[d]);
    }
    snprintf(o->shape + used, sizeof o->shape - (size_t)used, "%s on ",
             used < (int)sizeof o->shape - 16 ? "" : "...");
    o->n = (int)n;
    o->ndims = ndims;
    o->dims = dims;
    o->periods = periods;
    return true;
}

int stretto_cart_create(MPI_Comm comm_old, int ndims, const int dims[], const int periods[],
                        int reorder, MPI_Comm *comm_cart) {
    stretto_order o = {0};
    stretto_outcome found = STRETTO_ORDER_NATIVE;
    if (stretto_order_begin(&o, "MPI_Cart_create", comm_old)) {
        o.well = take_grid(&o, ndims, dims, periods) && reorder && comm_cart;
        found = stretto_order_find(&o);
    }
    FINISH(&o, found, reorder, PMPI_Cart_create(comm, ndims, dims, periods, again, comm_cart));
}

static bool take_graph(stretto_order *o, int nnodes, const int *indx, const int *edges) {
    if (nnodes < 1 || nnodes > o->nranks || !indx || (!edges && indx[nnodes - 1]))
        return false;
    add_to_digest(o, nnodes);
    for (int v = 0; v < nnodes; v++) {
        if (indx[v] < (v ? indx[v - 1] : 0))
            return false;
        add_to_digest(o, indx[v]);
    }
    const int nedges = indx[nnodes - 1];
    for (int e = 0; e < nedges; e++) {
        if (edges[e] < 0 || edges[e] >= nnodes)
            return false;
        add_to_digest(o, edges[e]);
    }
    o->n = nnodes;
    if (o->rank == 0 && nedges <= STRETTO_MOST_EDGES) {
        o->edges = stretto_order_room(3 * (size_t)nedges, sizeof *o->edges);
        for (int v = 0, e = 0; v < nnodes; v++)
            for (; e < indx[v]; e++)
                stretto_order_add_edge(o, v, edges[e], 1);
    }
    o->nedges = nedges;
    return true;
}

int stretto_graph_create(MPI_Comm comm_old, int nnodes, const int indx[], const int edges[],
                         int reorder, MPI_Comm *comm_graph) {
    stretto_order o = {0};
    stretto_outcome found = STRETTO_ORDER_NATIVE;
    if (stretto_order_begin(&o, "MPI_Graph_create", comm_old)) {
        o.well = take_graph(&o, nnodes, indx, edges) && reorder && comm_graph;
        found = stretto_order_find(&o);
    }
    FINISH(&o, found, reorder, PMPI_Graph_create(comm, nnodes, indx, edges, again, comm_graph));
}

/* ---- distributed graphs ---------------------------------------------------------------------- */

/* How weights can be given. */
typedef enum { NUMBERS, UNWEIGHTED, NO_EDGES, NOTHING } kind;

#ifdef STRETTO_ABI_MPICH /* variables of libmpi */
static const int *special(const char *name) {
    int *const *variable = stretto_host_symbol(name);
    return variable ? *variable : NULL;
}
#define MPI_UNWEIGHTED special("MPI_UNWEIGHTED")
#define MPI_WEIGHTS_EMPTY special("MPI_WEIGHTS_EMPTY")
#endif

static kind kind_of(const int *weights) {
    return !weights                       ? NOTHING
           : weights == MPI_UNWEIGHTED    ? UNWEIGHTED
           : weights == MPI_WEIGHTS_EMPTY ? NO_EDGES
                                          : NUMBERS;
}

static const int *weights_of(kind k, const int *numbers) {
    return k == UNWEIGHTED ? MPI_UNWEIGHTED
           : k == NO_EDGES ? MPI_WEIGHTS_EMPTY
           : k == NOTHING  ? NULL
                           : numbers;
}

/* A list of neighbours as a call has it. */
static bool fits(const stretto_order *o, int n, const int *ranks, const int *weights) {
    const kind k = kind_of(weights);
    if (n < 0 || n > STRETTO_MOST_EDGES || (n && (!ranks || k == NO_EDGES || k == NOTHING)))
        return false;
    for (int i = 0; i < n; i++)
        if (ranks[i] < 0 || ranks[i] >= o->nranks || (k == NUMBERS && weights[i] < 0))
            return false;
    return true;
}

static bool take_edges(stretto_order *o, int n, const int *sources, const int *degrees,
                       const int *destinations, const int *weights) {
    long long nedges = 0;
    if (n < 0 || (n && (!sources || !degrees)))
        return false;
    for (int i = 0; i < n; i++) {
        if (sources[i] < 0 || sources[i] >= o->nranks || degrees[i] < 0)
            return false;
        nedges += degrees[i];
    }
    if (nedges > STRETTO_MOST_EDGES || !fits(o, (int)nedges, destinations, weights))
        return false;
    const bool weighted = nedges && kind_of(weights) == NUMBERS;
    o->edges = stretto_order_room(3 * (size_t)nedges, sizeof *o->edges);
    for (int i = 0, e = 0; i < n; i++)
        for (int k = 0; k < degrees[i]; k++, e++)
            stretto_order_add_edge(o, sources[i], destinations[e], weighted ? weights[e] : 1);
    return true;
}

int stretto_dist_graph_create(MPI_Comm comm_old, int n, const int sources[], const int degrees[],
                              const int destinations[], const int *weights, MPI_Info info,
                              int reorder, MPI_Comm *comm_dist_graph) {
    stretto_order o = {.local = true};
    stretto_outcome found = STRETTO_ORDER_NATIVE;
    if (stretto_order_begin(&o, "MPI_Dist_graph_create", comm_old)) {
        o.well = take_edges(&o, n, sources, degrees, destinations, weights) && reorder &&
                 comm_dist_graph;
        found = stretto_order_find(&o);
    }
    FINISH(&o, found, reorder,
           PMPI_Dist_graph_create(comm, n, sources, degrees, destinations, weights, info, again,
                                  comm_dist_graph));
}

/* The neighbours of one process, as MPI_Dist_graph_create_adjacent takes them. */
typedef struct {
    int indegree, outdegree;
    int kind_in, kind_out;
} degrees;

typedef struct {
    degrees d;
    const int *sources, *sourceweights, *destinations, *destweights;
} lists;

static size_t length_of(const degrees *d) {
    return (size_t)d->indegree * (d->kind_in == NUMBERS ? 2 : 1) +
           (size_t)d->outdegree * (d->kind_out == NUMBERS ? 2 : 1);
}

static int *append(int *at, const int *numbers, int n) {
    if (n)
        memcpy(at, numbers, (size_t)n * sizeof *at);
    return at + n;
}

/* The process that takes this one's place gets its lists: each rank sends one and receives one. */
static bool exchange_lists(stretto_order *o, lists *l) {
    const degrees mine = l->d;
    int *old = stretto_order_room(length_of(&mine), sizeof *old), *end = old, rank = 0, from = 0;
    end = append(end, l->sources, mine.indegree);
    end = append(end, l->sourceweights, mine.kind_in == NUMBERS ? mine.indegree : 0);
    end = append(end, l->destinations, mine.outdegree);
    end = append(end, l->destweights, mine.kind_out == NUMBERS ? mine.outdegree : 0);
    for (int v = 0; v < o->n; v++)
        if (o->rank_of[v] == o->rank)
            rank = v;
    for (int v = 0; v < o->n; v++)
        if (o->rank_of[v] == rank) /* who brings the lists of process `rank` is v now */
            from = v;
    bool well = PMPI_Sendrecv(&mine, 4, MPI_INT, o->rank, LISTS_TAG, &l->d, 4, MPI_INT, from,
                              LISTS_TAG, o->permuted, MPI_STATUS_IGNORE) == MPI_SUCCESS;
    const size_t length = well ? length_of(&l->d) : 0;
    int *at = o->lists = stretto_order_room(length, sizeof *at);
    well = PMPI_Sendrecv(old, (int)length_of(&mine), MPI_INT, o->rank, LISTS_TAG, at, (int)length,
                         MPI_INT, from, LISTS_TAG, o->permuted, MPI_STATUS_IGNORE) == MPI_SUCCESS &&
           well;
    free(old);
    l->sources = at;
    at += l->d.indegree;
    l->sourceweights = weights_of((kind)l->d.kind_in, at);
    at += l->d.kind_in == NUMBERS ? l->d.indegree : 0;
    l->destinations = at;
    at += l->d.outdegree;
    l->destweights = weights_of((kind)l->d.kind_out, at);
    return stretto_agree(o->comm, well);
}

static bool take_lists(stretto_order *o, const lists *l) {
    if (!fits(o, l->d.indegree, l->sources, l->sourceweights) ||
        !fits(o, l->d.outdegree, l->destinations, l->destweights))
        return false;
    const bool weighted = l->d.kind_out == NUMBERS;
    o->edges = stretto_order_room(3 * (size_t)l->d.outdegree, sizeof *o->edges);
    for (int i = 0; i < l->d.outdegree; i++)
        stretto_order_add_edge(o, o->rank, l->destinations[i], weighted ? l->destweights[i] : 1);
    return true;
}

int stretto_dist_graph_create_adjacent(MPI_Comm comm_old, int indegree, const int sources[],
                                       const int *sourceweights, int outdegree,
                                       const int destinations[], const int *destweights,
                                       MPI_Info info, int reorder, MPI_Comm *comm_dist_graph) {
    stretto_order o = {.local = true};
    stretto_outcome found = STRETTO_ORDER_NATIVE;
    const lists given = {
        {indegree, outdegree, NUMBERS, NUMBERS}, sources, sourceweights, destinations, destweights};
    lists l = given;
    if (stretto_order_begin(&o, "MPI_Dist_graph_create_adjacent", comm_old)) {
        l.d.kind_in = kind_of(sourceweights);
        l.d.kind_out = kind_of(destweights);
        o.well = take_lists(&o, &l) && reorder && comm_dist_graph;
        found = stretto_order_find(&o);
    }
    if (found == STRETTO_ORDER_PERMUTED && !exchange_lists(&o, &l)) {
        PMPI_Comm_free(&o.permuted);
        l = given;
        found = STRETTO_ORDER_NATIVE;
    }
    FINISH(&o, found, reorder,
           PMPI_Dist_graph_create_adjacent(comm, l.d.indegree, l.sources, l.sourceweights,
                                           l.d.outdegree, l.destinations, l.destweights, info,
                                           again, comm_dist_graph));
}
