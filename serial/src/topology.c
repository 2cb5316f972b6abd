/* Topologies: a grid of one rank in each direction, and graphs with edges to oneself. */
#include "internal.h"

#include <limits.h>
#include <stdlib.h>

static int *copied(const int *from, int n) {
    int *to = serial_memory((size_t)(n > 0 ? n : 0) * sizeof *to);
    if (from && n > 0)
        memcpy(to, from, (size_t)n * sizeof *to);
    return to;
}

void serial_topology_copy(serial_topology *to, const serial_topology *from) {
    *to = *from;
    if (from->kind == MPI_UNDEFINED)
        return;
    to->dims = copied(from->dims, from->ndims);
    to->periods = copied(from->periods, from->ndims);
    to->in_weights = copied(from->in_weights, from->in_weights ? from->nsources : 0);
    to->out_weights = copied(from->out_weights, from->out_weights ? from->ntargets : 0);
}

void serial_topology_free(serial_topology *topology) {
    if (topology->kind == MPI_UNDEFINED)
        return;
    free(topology->dims);
    free(topology->periods);
    free(topology->in_weights);
    free(topology->out_weights);
}

static int no_topology(MPI_Comm comm, const char *function) {
    return serial_error(comm, MPI_ERR_TOPOLOGY, function, "the communicator has no such topology");
}

/* ---- grids ----------------------------------------------------------------------------------- */

int MPI_Cart_create(MPI_Comm comm, int ndims, const int *dims, const int *periods, int reorder,
                    MPI_Comm *made) {
    CHECK_COMM(c, comm, "MPI_Cart_create");
    (void)reorder;
    int ranks = 1;
    for (int d = 0; d < ndims; d++)
        ranks *= dims[d];
    if (ranks != 1 && ranks != 0)
        return serial_error(comm, MPI_ERR_DIMS, "MPI_Cart_create",
                            "the grid has %d places, and there is one process", ranks);
    if (ranks == 0)
        return serial_error(comm, MPI_ERR_DIMS, "MPI_Cart_create", "a dimension is 0");
    *made = serial_comm_new(c);
    serial_topology *t = &serial_comm_at(*made)->topology;
    *t = (serial_topology){.kind = MPI_CART,
                           .ndims = ndims,
                           .dims = copied(dims, ndims),
                           .periods = copied(periods, ndims)};
    return MPI_SUCCESS;
}

/* The divisors of a number, rising; to be freed. */
static int *divisors(int n, int *count) {
    int *low = serial_memory(2 * sizeof *low * 1024), *high = low + 1024, nlow = 0, nhigh = 0;
    for (int d = 1; (long long)d * d <= n; d++) /* of an int there are at most 1536 */
        if (n % d == 0) {
            low[nlow++] = d;
            if (d != n / d)
                high[nhigh++] = n / d;
        }
    int *all = serial_memory((size_t)(nlow + nhigh) * sizeof *all);
    memcpy(all, low, (size_t)nlow * sizeof *all);
    for (int i = 0; i < nhigh; i++)
        all[nlow + i] = high[nhigh - 1 - i];
    free(low);
    *count = nlow + nhigh;
    return all;
}

/* The greatest number whose `n`-th power is not above x. */
static int root(int x, int n) {
    int low = 1, high = x;
    while (low < high) {
        int middle = low + (high - low + 1) / 2;
        long long power = 1;
        for (int i = 0; i < n && power <= x; i++)
            power *= middle;
        if (power <= x)
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

/* Ways to write a number as factors in falling order: the best, whose largest and smallest lie
 * closest (MPI-3.1 section 7.5.2), of equals the one with the largest smallest. */
typedef struct {
    const int *divisors;
    int count, total; /* of divisors; of factors */
    int *now, *best;
    int spread; /* of the best; INT_MAX: none so far */
} layouts;

/* Looks for the last `open` factors, whose product is `left`; each divisor that can be the largest
 * of them, from the one that leaves them equal upwards. */
static void balance(layouts *l, int left, int open) {
    const int n = l->total - open, most = n ? l->now[n - 1] : left;
    if (open == 1) {
        const int spread = l->now[0] - left;
        if (left > most || spread > l->spread || (spread == l->spread && l->now[0] <= l->best[0]))
            return;
        l->now[n] = left;
        l->spread = spread;
        memcpy(l->best, l->now, (size_t)l->total * sizeof *l->best);
        return;
    }
    const int equal = root(left, open);
    for (int i = 0; i < l->count && l->divisors[i] <= most; i++) {
        const int factor = l->divisors[i];
        if (factor < equal || left % factor)
            continue;
        l->now[n] = factor;
        /* the smallest of the rest is at most their root */
        if (l->now[0] - root(left / factor, open - 1) > l->spread) {
            if (n == 0)
                return; /* larger ones only spread further */
            continue;
        }
        balance(l, left / factor, open - 1);
    }
}

int MPI_Dims_create(int nranks, int ndims, int *dims) {
    int left = nranks;
    for (int d = 0; d < ndims; d++) {
        if (dims[d] > 0 && left % dims[d])
            return serial_error(0, MPI_ERR_DIMS, "MPI_Dims_create",
                                "%d ranks cannot be laid out with %d in one direction", nranks,
                                dims[d]);
        left /= dims[d] > 0 ? dims[d] : 1;
    }
    int open = 0, *at = serial_memory((size_t)(ndims > 0 ? ndims : 0) * sizeof *at);
    for (int d = 0; d < ndims; d++)
        if (dims[d] <= 0)
            at[open++] = d;
    if (open) {
        layouts l = {.total = open, .spread = INT_MAX};
        int *all = divisors(left, &l.count);
        l.divisors = all;
        l.now = serial_memory((size_t)open * 2 * sizeof *l.now);
        l.best = l.now + open;
        /* one factor alone has no spread; with more the largest one is always among the divisors */
        if (open == 1)
            l.best[0] = left;
        else
            balance(&l, left, open);
        for (int i = 0; i < open; i++)
            dims[at[i]] = l.best[i];
        free(l.now);
        free(all);
    }
    free(at);
    return left == 1 || open
               ? MPI_SUCCESS
               : serial_error(0, MPI_ERR_DIMS, "MPI_Dims_create",
                              "the dimensions given hold fewer than %d ranks", nranks);
}

int MPI_Cartdim_get(MPI_Comm comm, int *ndims) {
    CHECK_COMM(c, comm, "MPI_Cartdim_get");
    if (c->topology.kind != MPI_CART)
        return no_topology(comm, "MPI_Cartdim_get");
    *ndims = c->topology.ndims;
    return MPI_SUCCESS;
}

int MPI_Cart_get(MPI_Comm comm, int maxdims, int *dims, int *periods, int *coords) {
    CHECK_COMM(c, comm, "MPI_Cart_get");
    if (c->topology.kind != MPI_CART)
        return no_topology(comm, "MPI_Cart_get");
    for (int d = 0; d < c->topology.ndims && d < maxdims; d++) {
        dims[d] = c->topology.dims[d];
        periods[d] = c->topology.periods[d];
        coords[d] = 0;
    }
    return MPI_SUCCESS;
}

int MPI_Cart_rank(MPI_Comm comm, const int *coords, int *rank) {
    CHECK_COMM(c, comm, "MPI_Cart_rank");
    if (c->topology.kind != MPI_CART)
        return no_topology(comm, "MPI_Cart_rank");
    for (int d = 0; d < c->topology.ndims; d++)
        if (coords[d] && !c->topology.periods[d])
            return serial_error(comm, MPI_ERR_RANK, "MPI_Cart_rank",
                                "coordinate %d lies outside direction %d", coords[d], d);
    *rank = 0;
    return MPI_SUCCESS;
}

int MPI_Cart_coords(MPI_Comm comm, int rank, int maxdims, int *coords) {
    CHECK_COMM(c, comm, "MPI_Cart_coords");
    if (c->topology.kind != MPI_CART)
        return no_topology(comm, "MPI_Cart_coords");
    if (rank)
        return serial_error(comm, MPI_ERR_RANK, "MPI_Cart_coords", "there is no rank %d", rank);
    for (int d = 0; d < maxdims && d < c->topology.ndims; d++)
        coords[d] = 0;
    return MPI_SUCCESS;
}

int MPI_Cart_shift(MPI_Comm comm, int direction, int by, int *source, int *target) {
    CHECK_COMM(c, comm, "MPI_Cart_shift");
    if (c->topology.kind != MPI_CART || direction < 0 || direction >= c->topology.ndims)
        return no_topology(comm, "MPI_Cart_shift");
    *source = *target = c->topology.periods[direction] || by == 0 ? 0 : MPI_PROC_NULL;
    return MPI_SUCCESS;
}

int MPI_Cart_sub(MPI_Comm comm, const int *remain, MPI_Comm *made) {
    CHECK_COMM(c, comm, "MPI_Cart_sub");
    if (c->topology.kind != MPI_CART)
        return no_topology(comm, "MPI_Cart_sub");
    int n = 0, *dims = serial_memory((size_t)c->topology.ndims * 2 * sizeof *dims),
        *periods = dims + c->topology.ndims;
    for (int d = 0; d < c->topology.ndims; d++)
        if (remain[d]) {
            dims[n] = c->topology.dims[d];
            periods[n++] = c->topology.periods[d];
        }
    int rc = MPI_Cart_create(comm, n, dims, periods, 0, made);
    free(dims);
    return rc;
}

int MPI_Cart_map(MPI_Comm comm, int ndims, const int *dims, const int *periods, int *rank) {
    CHECK_COMM(c, comm, "MPI_Cart_map");
    (void)c, (void)ndims, (void)dims, (void)periods;
    *rank = 0;
    return MPI_SUCCESS;
}

int MPI_Topo_test(MPI_Comm comm, int *kind) {
    CHECK_COMM(c, comm, "MPI_Topo_test");
    *kind = c->topology.kind;
    return MPI_SUCCESS;
}

/* ---- graphs ---------------------------------------------------------------------------------- */

int MPI_Graph_create(MPI_Comm comm, int n, const int *index, const int *edges, int reorder,
                     MPI_Comm *made) {
    CHECK_COMM(c, comm, "MPI_Graph_create");
    (void)edges, (void)reorder;
    *made = MPI_COMM_NULL;
    if (n == 0)
        return MPI_SUCCESS;
    if (n != 1)
        return serial_error(comm, MPI_ERR_TOPOLOGY, "MPI_Graph_create",
                            "the graph has %d nodes, and there is one process", n);
    *made = serial_comm_new(c);
    serial_comm_at(*made)->topology =
        (serial_topology){.kind = MPI_GRAPH, .nsources = index[0], .ntargets = index[0]};
    return MPI_SUCCESS;
}

int MPI_Graphdims_get(MPI_Comm comm, int *nnodes, int *nedges) {
    CHECK_COMM(c, comm, "MPI_Graphdims_get");
    if (c->topology.kind != MPI_GRAPH)
        return no_topology(comm, "MPI_Graphdims_get");
    *nnodes = 1;
    *nedges = c->topology.ntargets;
    return MPI_SUCCESS;
}

int MPI_Graph_get(MPI_Comm comm, int max_index, int max_edges, int *index, int *edges) {
    CHECK_COMM(c, comm, "MPI_Graph_get");
    if (c->topology.kind != MPI_GRAPH)
        return no_topology(comm, "MPI_Graph_get");
    if (max_index > 0)
        index[0] = c->topology.ntargets;
    for (int i = 0; i < max_edges && i < c->topology.ntargets; i++)
        edges[i] = 0;
    return MPI_SUCCESS;
}

int MPI_Graph_map(MPI_Comm comm, int n, const int *index, const int *edges, int *rank) {
    CHECK_COMM(c, comm, "MPI_Graph_map");
    (void)c, (void)index, (void)edges;
    if (n < 1)
        return serial_error(comm, MPI_ERR_ARG, "MPI_Graph_map", "the graph has %d nodes", n);
    *rank = 0;
    return MPI_SUCCESS;
}

int MPI_Graph_neighbors_count(MPI_Comm comm, int rank, int *n) {
    CHECK_COMM(c, comm, "MPI_Graph_neighbors_count");
    if (c->topology.kind != MPI_GRAPH || rank)
        return no_topology(comm, "MPI_Graph_neighbors_count");
    *n = c->topology.ntargets;
    return MPI_SUCCESS;
}

int MPI_Graph_neighbors(MPI_Comm comm, int rank, int max, int *ranks) {
    CHECK_COMM(c, comm, "MPI_Graph_neighbors");
    if (c->topology.kind != MPI_GRAPH || rank)
        return no_topology(comm, "MPI_Graph_neighbors");
    for (int i = 0; i < max && i < c->topology.ntargets; i++)
        ranks[i] = 0;
    return MPI_SUCCESS;
}

int MPI_Dist_graph_create_adjacent(MPI_Comm comm, int nsources, const int *sources,
                                   const int *in_weights, int ntargets, const int *targets,
                                   const int *out_weights, MPI_Info info, int reorder,
                                   MPI_Comm *made) {
    CHECK_COMM(c, comm, "MPI_Dist_graph_create_adjacent");
    (void)info, (void)reorder;
    for (int i = 0; i < nsources + ntargets; i++)
        if (i < nsources ? sources[i] : targets[i - nsources])
            return serial_error(comm, MPI_ERR_RANK, "MPI_Dist_graph_create_adjacent",
                                "a neighbour is not rank 0, the only one");
    bool weighted = in_weights != MPI_UNWEIGHTED && out_weights != MPI_UNWEIGHTED;
    *made = serial_comm_new(c);
    serial_comm_at(*made)->topology = (serial_topology){
        .kind = MPI_DIST_GRAPH,
        .nsources = nsources,
        .ntargets = ntargets,
        .weighted = weighted,
        .in_weights = weighted && nsources ? copied(in_weights, nsources) : NULL,
        .out_weights = weighted && ntargets ? copied(out_weights, ntargets) : NULL};
    return MPI_SUCCESS;
}

int MPI_Dist_graph_create(MPI_Comm comm, int n, const int *sources, const int *degrees,
                          const int *targets, const int *weights, MPI_Info info, int reorder,
                          MPI_Comm *made) {
    int edges = 0;
    for (int i = 0; i < n; i++)
        edges += sources[i] == 0 ? degrees[i] : 0;
    return MPI_Dist_graph_create_adjacent(comm, edges, targets, weights, edges, targets, weights,
                                          info, reorder, made);
}

int MPI_Dist_graph_neighbors_count(MPI_Comm comm, int *nsources, int *ntargets, int *weighted) {
    CHECK_COMM(c, comm, "MPI_Dist_graph_neighbors_count");
    if (c->topology.kind != MPI_DIST_GRAPH)
        return no_topology(comm, "MPI_Dist_graph_neighbors_count");
    *nsources = c->topology.nsources;
    *ntargets = c->topology.ntargets;
    *weighted = c->topology.weighted;
    return MPI_SUCCESS;
}

int MPI_Dist_graph_neighbors(MPI_Comm comm, int max_in, int *sources, int *in_weights, int max_out,
                             int *targets, int *out_weights) {
    CHECK_COMM(c, comm, "MPI_Dist_graph_neighbors");
    const serial_topology *t = &c->topology;
    if (t->kind != MPI_DIST_GRAPH)
        return no_topology(comm, "MPI_Dist_graph_neighbors");
    for (int i = 0; i < max_in && i < t->nsources; i++) {
        sources[i] = 0;
        if (t->weighted && in_weights != MPI_UNWEIGHTED)
            in_weights[i] = t->in_weights[i];
    }
    for (int i = 0; i < max_out && i < t->ntargets; i++) {
        targets[i] = 0;
        if (t->weighted && out_weights != MPI_UNWEIGHTED)
            out_weights[i] = t->out_weights[i];
    }
    return MPI_SUCCESS;
}

int serial_neighbors(const serial_comm *c, int *nsources, int **in, int *ntargets, int **out) {
    const serial_topology *t = &c->topology;
    if (t->kind == MPI_UNDEFINED)
        return MPI_ERR_TOPOLOGY;
    *nsources = t->kind == MPI_CART ? 2 * t->ndims : t->nsources;
    *ntargets = t->kind == MPI_CART ? 2 * t->ndims : t->ntargets;
    *in = serial_memory((size_t)*nsources * sizeof **in);
    *out = serial_memory((size_t)*ntargets * sizeof **out);
    for (int i = 0; i < *nsources; i++)
        (*in)[i] = t->kind == MPI_CART && !t->periods[i / 2] ? MPI_PROC_NULL : 0;
    for (int i = 0; i < *ntargets; i++)
        (*out)[i] = t->kind == MPI_CART && !t->periods[i / 2] ? MPI_PROC_NULL : 0;
    return MPI_SUCCESS;
}
