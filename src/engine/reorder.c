/* See engine/reorder.h; src/reorder computes the order.
 *
 * The MPI makes the topology without reorder, of a communicator whose ranks stand in the new order:
 * whatever it then says of coordinates, neighbours and weights is right by itself. Rank 0 computes
 * the order from the whole graph and sends it to all. What one rank alone knows is agreed: its
 * arguments of a distributed graph, that something is wrong with them, whether it has threads that
 * make communicators. Each call is collective over comm_old, so that collectives may be used here.
 * All of them are carried out whatever `reorder` says: a rank that says something else than the
 * others then waits for nobody.
 */
#include "engine/reorder.h"

#include "engine/engine.h"
#include "engine/memory.h"
#include "reorder/reorder.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Edges that rank 0 holds at most: 48 MiB, and twice that while it sorts them. */
static const int64_t MOST_EDGES = 1 << 22;

enum { LISTS_TAG = 1 };

/* NATIVE: the MPI's call as it is. KEPT: without reorder, so that the MPI finds nothing worse. */
typedef enum { NATIVE, KEPT, PERMUTED } outcome;

typedef struct {
    const char *function;
    char shape[64]; /* of a grid, in words */
    MPI_Comm comm;
    bool well;       /* this rank's arguments have nothing wrong, and it wants another order */
    bool local;      /* arguments differ from rank to rank: edges are gathered */
    uint64_t digest; /* of arguments that are the same on all ranks */
    int rank, nranks, *world;
    int n; /* processes of the topology: the first ranks, the others get MPI_COMM_NULL */
    int ndims;
    const int *dims, *periods;
    int64_t nedges;
    int *edges;        /* from, to, weight */
    int *rank_of;      /* [n] rank in comm of each process, when PERMUTED */
    MPI_Comm permuted; /* then */
    int *lists;        /* memory of what was exchanged on it */
} order;

static bool wanted(void) {
    return stretto_config.reorder && stretto_the_world.active != STRETTO_OFF;
}

static void *need(size_t number, size_t size) {
    void *memory = calloc(number + 1, size);
    if (!memory)
        stretto_no_memory();
    return memory;
}

static const char left[] = "left to the MPI";

static void say(const order *o, const char *what, const char *why) {
    if (stretto_config.verbose && o->rank == 0)
        stretto_say("%s of %s%d ranks: %s: %s", o->function, o->shape, o->n, what, why);
}

/* What is known without the other ranks, and is the same on all of them. False: no business of
 * ours. */
static bool describe(order *o, const char *function, MPI_Comm comm) {
    int inter = 1;
    o->function = function;
    o->comm = comm;
    if (!wanted() || comm == MPI_COMM_NULL || PMPI_Comm_test_inter(comm, &inter) != MPI_SUCCESS ||
        inter || PMPI_Comm_size(comm, &o->nranks) != MPI_SUCCESS ||
        PMPI_Comm_rank(comm, &o->rank) != MPI_SUCCESS)
        return false;
    o->n = o->nranks;
    o->world = need((size_t)o->nranks, sizeof *o->world);
    if (stretto_comm_world_ranks(comm, o->nranks, o->world))
        return true;
    say(o, left, "it has ranks of another MPI_COMM_WORLD");
    return false;
}

static void done_with(order *o) {
    free(o->world);
    free(o->edges);
    free(o->rank_of);
    free(o->lists);
}

static void add_to_digest(order *o, int number) {
    o->digest = (o->digest ^ (unsigned)number) * 1099511628211u;
}

static void add_edge(order *o, int from, int to, int weight) {
    int *edge = o->edges + 3 * o->nedges++;
    edge[0] = from;
    edge[1] = to;
    edge[2] = weight;
}

/* Whether all ranks want another order and none has a reason against it. */
static bool all_agree(const order *o) {
    const uint64_t mine[4] = {!o->well, stretto_threads_make_communicators(), o->digest,
                              ~o->digest};
    uint64_t most[4];
    if (PMPI_Allreduce(mine, most, 4, MPI_UINT64_T, MPI_MAX, o->comm) != MPI_SUCCESS)
        return false;
    const char *why =
        most[1] ? "several threads make communicators, which Open MPI does not get through when "
                  "Stretto makes some, too"
        : most[0] || most[2] != ~most[3] ? "not all ranks ask for reorder, with arguments that fit"
                                         : NULL;
    if (why && o->well)
        say(o, left, why);
    return !why;
}

/* Why no order of the ranks is better than another; NULL: one may be. */
static const char *settled(const order *o) {
    const stretto_world *w = &stretto_the_world;
    char *seen = need((size_t)w->nranks, 1);
    int nodes = 0, domains = 0;
    for (int r = 0; r < o->n; r++) {
        const int node = w->node_of[o->world[r]], domain = w->domain_of[o->world[r]];
        nodes += !(seen[node] & 1);
        seen[node] |= 1;
        domains += !(seen[domain] & 2);
        seen[domain] |= 2;
    }
    free(seen);
    return o->n == 1         ? "there is one"
           : domains == 1    ? "all ranks are on one node"
           : nodes == o->n   ? "each rank is on a node of its own"
           : domains == o->n ? "each rank is in a domain of its own"
                             : NULL;
}

/* Brings the edges of all ranks to rank 0. False where the MPI fails. */
static bool gather_edges(order *o, int64_t total) {
    int *counts = NULL, *displs = NULL, *all = NULL;
    const int mine = (int)(3 * o->nedges);
    if (o->rank == 0) {
        counts = need((size_t)o->nranks, sizeof *counts);
        displs = need((size_t)o->nranks, sizeof *displs);
        all = need(3 * (size_t)total, sizeof *all);
    }
    bool well = PMPI_Gather(&mine, 1, MPI_INT, counts, 1, MPI_INT, 0, o->comm) == MPI_SUCCESS;
    for (int r = 1; well && o->rank == 0 && r < o->nranks; r++)
        displs[r] = displs[r - 1] + counts[r - 1];
    well = PMPI_Gatherv(o->edges, mine, MPI_INT, all, counts, displs, MPI_INT, 0, o->comm) ==
               MPI_SUCCESS &&
           well;
    free(counts);
    free(displs);
    if (o->rank == 0) {
        free(o->edges);
        o->edges = all;
        o->nedges = total;
    }
    return well;
}

/* On rank 0, which has the whole graph. 1: o->rank_of is better; 0: the order stays. */
static int compute(order *o, stretto_reordering *r) {
    const stretto_world *w = &stretto_the_world;
    int *node = need((size_t)o->n, sizeof *node), *domain = need((size_t)o->n, sizeof *domain);
    for (int i = 0; i < o->n; i++) {
        node[i] = w->node_of[o->world[i]];
        domain[i] = w->domain_of[o->world[i]];
    }
    stretto_traffic t;
    if (o->ndims ? !stretto_traffic_of_grid(&t, o->ndims, o->dims, o->periods)
                 : !stretto_traffic_of_edges(&t, o->n, o->nedges, o->edges))
        stretto_no_memory();
    const int better = stretto_reorder(&t, w->nranks, node, domain, o->rank_of, r);
    if (better < 0)
        stretto_no_memory();
    stretto_traffic_free(&t);
    free(node);
    free(domain);
    return better;
}

static void say_found(const order *o, int better, const stretto_reordering *r) {
    char inside[96] = "", between[64];
    const char *what = o->ndims ? "edges" : "weight";
    const long long before = r->domains_before - r->nodes_before,
                    after = r->domains_after - r->nodes_after;
    if (!stretto_config.verbose || o->rank != 0)
        return;
    if (before || after)
        snprintf(inside, sizeof inside, ", between domains of a node %lld -> %lld", before, after);
    snprintf(between, sizeof between, "%lld -> %lld", (long long)r->nodes_before,
             (long long)r->nodes_after);
    if (!better)
        snprintf(between, sizeof between, "%lld", (long long)r->nodes_before);
    stretto_say("%s of %s%d ranks: %s%s between nodes %s of %lld%s", o->function, o->shape, o->n,
                better ? "" : "the given order stays: ", what, between, (long long)r->total,
                better ? inside : "");
}

/* The ranks of o->comm in the new order. Agreed. */
static bool split(order *o) {
    int key = o->rank, rank = -1;
    for (int v = 0; v < o->n; v++)
        if (o->rank_of[v] == o->rank)
            key = v;
    const bool made = PMPI_Comm_split(o->comm, 0, key, &o->permuted) == MPI_SUCCESS;
    if (made)
        PMPI_Comm_set_errhandler(o->permuted, MPI_ERRORS_RETURN);
    const bool fits = made && PMPI_Comm_rank(o->permuted, &rank) == MPI_SUCCESS && rank == key;
    if (stretto_agree(o->comm, fits))
        return true;
    if (made)
        PMPI_Comm_free(&o->permuted);
    return false;
}

/* Collective over o->comm, agreed. */
static outcome find(order *o) {
    if (!all_agree(o))
        return NATIVE;
    const char *why = settled(o);
    int64_t total = o->nedges;
    if (why) {
        say(o, "the given order stays", why);
        return KEPT;
    }
    if (o->local &&
        PMPI_Allreduce(&o->nedges, &total, 1, MPI_INT64_T, MPI_SUM, o->comm) != MPI_SUCCESS)
        why = "the MPI failed";
    if (!why && total > MOST_EDGES)
        why = "the graph has too many edges for one rank to know all";
    if (why) {
        say(o, left, why);
        return NATIVE;
    }
    const bool gathered = !o->local || gather_edges(o, total);
    stretto_reordering r;
    int better = 0;
    o->rank_of = need((size_t)o->n, sizeof *o->rank_of);
    if (o->rank == 0 && gathered) {
        better = compute(o, &r);
        say_found(o, better, &r);
    }
    if (PMPI_Bcast(&better, 1, MPI_INT, 0, o->comm) != MPI_SUCCESS || !better)
        return KEPT;
    const bool well = PMPI_Bcast(o->rank_of, o->n, MPI_INT, 0, o->comm) == MPI_SUCCESS;
    return stretto_agree(o->comm, well && gathered) && split(o) ? PERMUTED : NATIVE;
}

static outcome find_quietly(order *o) {
    MPI_Errhandler before = stretto_be_quiet(o->comm);
    const outcome found = find(o);
    stretto_be_as_before(o->comm, before);
    return found;
}

/* What the MPI makes of the permuted communicator has its error handler, as if made of o->comm. */
static void take_handler(const order *o) {
    MPI_Errhandler handler;
    if (PMPI_Comm_get_errhandler(o->comm, &handler) != MPI_SUCCESS)
        return;
    PMPI_Comm_set_errhandler(o->permuted, handler);
    PMPI_Errhandler_free(&handler);
}

/* Where the calls end: the MPI's function, with the communicator and the reorder that fit. */
#define FINISH(o, found, reorder, call)                                                            \
    do {                                                                                           \
        MPI_Comm comm = (found) == PERMUTED ? (o)->permuted : (o)->comm;                           \
        const int again = (found) == NATIVE ? (reorder) : 0;                                       \
        if ((found) == PERMUTED)                                                                   \
            take_handler(o);                                                                       \
        const int rc = call;                                                                       \
        if ((found) == PERMUTED)                                                                   \
            PMPI_Comm_free(&(o)->permuted);                                                        \
        done_with(o);                                                                              \
        return rc;                                                                                 \
    } while (0)

/* ---- grids and graphs that all ranks know ---------------------------------------------------- */

/* False: the MPI is to say what is wrong with it, or that there is nothing in it. */
static bool take_grid(order *o, int ndims, const int *dims, const int *periods) {
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
    order o = {0};
    outcome found = NATIVE;
    if (describe(&o, "MPI_Cart_create", comm_old)) {
        o.well = take_grid(&o, ndims, dims, periods) && reorder && comm_cart;
        found = find_quietly(&o);
    }
    FINISH(&o, found, reorder, PMPI_Cart_create(comm, ndims, dims, periods, again, comm_cart));
}

static bool take_graph(order *o, int nnodes, const int *indx, const int *edges) {
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
    if (o->rank == 0 && nedges <= MOST_EDGES) {
        o->edges = need(3 * (size_t)nedges, sizeof *o->edges);
        for (int v = 0, e = 0; v < nnodes; v++)
            for (; e < indx[v]; e++)
                add_edge(o, v, edges[e], 1);
    }
    o->nedges = nedges;
    return true;
}

int stretto_graph_create(MPI_Comm comm_old, int nnodes, const int indx[], const int edges[],
                         int reorder, MPI_Comm *comm_graph) {
    order o = {0};
    outcome found = NATIVE;
    if (describe(&o, "MPI_Graph_create", comm_old)) {
        o.well = take_graph(&o, nnodes, indx, edges) && reorder && comm_graph;
        found = find_quietly(&o);
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
static bool fits(const order *o, int n, const int *ranks, const int *weights) {
    const kind k = kind_of(weights);
    if (n < 0 || n > MOST_EDGES || (n && (!ranks || k == NO_EDGES || k == NOTHING)))
        return false;
    for (int i = 0; i < n; i++)
        if (ranks[i] < 0 || ranks[i] >= o->nranks || (k == NUMBERS && weights[i] < 0))
            return false;
    return true;
}

static bool take_edges(order *o, int n, const int *sources, const int *degrees,
                       const int *destinations, const int *weights) {
    long long nedges = 0;
    if (n < 0 || (n && (!sources || !degrees)))
        return false;
    for (int i = 0; i < n; i++) {
        if (sources[i] < 0 || sources[i] >= o->nranks || degrees[i] < 0)
            return false;
        nedges += degrees[i];
    }
    if (nedges > MOST_EDGES || !fits(o, (int)nedges, destinations, weights))
        return false;
    const bool weighted = nedges && kind_of(weights) == NUMBERS;
    o->edges = need(3 * (size_t)nedges, sizeof *o->edges);
    for (int i = 0, e = 0; i < n; i++)
        for (int k = 0; k < degrees[i]; k++, e++)
            add_edge(o, sources[i], destinations[e], weighted ? weights[e] : 1);
    return true;
}

int stretto_dist_graph_create(MPI_Comm comm_old, int n, const int sources[], const int degrees[],
                              const int destinations[], const int *weights, MPI_Info info,
                              int reorder, MPI_Comm *comm_dist_graph) {
    order o = {.local = true};
    outcome found = NATIVE;
    if (describe(&o, "MPI_Dist_graph_create", comm_old)) {
        o.well = take_edges(&o, n, sources, degrees, destinations, weights) && reorder &&
                 comm_dist_graph;
        found = find_quietly(&o);
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
static bool exchange_lists(order *o, lists *l) {
    const degrees mine = l->d;
    int *old = need(length_of(&mine), sizeof *old), *end = old, rank = 0, from = 0;
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
    int *at = o->lists = need(length, sizeof *at);
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

static bool take_lists(order *o, const lists *l) {
    if (!fits(o, l->d.indegree, l->sources, l->sourceweights) ||
        !fits(o, l->d.outdegree, l->destinations, l->destweights))
        return false;
    const bool weighted = l->d.kind_out == NUMBERS;
    o->edges = need(3 * (size_t)l->d.outdegree, sizeof *o->edges);
    for (int i = 0; i < l->d.outdegree; i++)
        add_edge(o, o->rank, l->destinations[i], weighted ? l->destweights[i] : 1);
    return true;
}

int stretto_dist_graph_create_adjacent(MPI_Comm comm_old, int indegree, const int sources[],
                                       const int *sourceweights, int outdegree,
                                       const int destinations[], const int *destweights,
                                       MPI_Info info, int reorder, MPI_Comm *comm_dist_graph) {
    order o = {.local = true};
    outcome found = NATIVE;
    const lists given = {
        {indegree, outdegree, NUMBERS, NUMBERS}, sources, sourceweights, destinations, destweights};
    lists l = given;
    if (describe(&o, "MPI_Dist_graph_create_adjacent", comm_old)) {
        l.d.kind_in = kind_of(sourceweights);
        l.d.kind_out = kind_of(destweights);
        o.well = take_lists(&o, &l) && reorder && comm_dist_graph;
        found = find_quietly(&o);
    }
    if (found == PERMUTED && !exchange_lists(&o, &l)) {
        PMPI_Comm_free(&o.permuted);
        l = given;
        found = NATIVE;
    }
    FINISH(&o, found, reorder,
           PMPI_Dist_graph_create_adjacent(comm, l.d.indegree, l.sources, l.sourceweights,
                                           l.d.outdegree, l.destinations, l.destweights, info,
                                           again, comm_dist_graph));
}
