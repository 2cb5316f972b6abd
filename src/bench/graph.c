/* The graphs that neighbourhood collectives are timed on:
 *   torus(4x2), torus(4x2o), grid(4x2)   Cartesian; `o`: this dimension is open, in a grid all are
 *   torus2, grid3                        of 2 and 3 dimensions, divided by MPI_Dims_create
 *   near(-4,-1,1,4)                      directed, from every rank to those so far away, round
 * about What the two ends of an edge have to know of each other is exchanged along it once, by the
 * MPI: MPIs differ in which of several edges between two ranks belongs to which slot. */
#include "bench/bench.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_DIMENSIONS = 4, MOST_NEAR = 64, FACTS = sizeof(stretto_bench_edge) / sizeof(int) };

typedef struct {
    int ndims, dims[MOST_DIMENSIONS], periods[MOST_DIMENSIONS];
    int nnear, near[MOST_NEAR];
} description;

bool stretto_bench_neighborly(stretto_bench_collective c) {
    return c >= STRETTO_BENCH_NEIGHBOR_ALLGATHER && c <= STRETTO_BENCH_NEIGHBOR_ALLTOALLV;
}

static bool at_end(const char *text) {
    return !*text || *text == '/';
}

/* "(4x2o)" */
static bool read_dims(const char *text, bool periodic, description *d) {
    char *end;
    for (const char *at = text; *at != ')'; at = end) {
        if (d->ndims == MOST_DIMENSIONS || *at != (d->ndims ? 'x' : '('))
            return false;
        d->dims[d->ndims] = (int)strtol(at + 1, &end, 10);
        if (end == at + 1 || d->dims[d->ndims] < 1)
            return false;
        d->periods[d->ndims++] = periodic && *end != 'o';
        end += *end == 'o';
        if (*end == ')')
            return at_end(end + 1);
    }
    return false;
}

static bool read_near(const char *text, description *d) {
    char *end;
    for (const char *at = text; d->nnear < MOST_NEAR; at = end + 1) {
        d->near[d->nnear++] = (int)strtol(at, &end, 10);
        if (end == at || (*end != ',' && *end != ')'))
            return false;
        if (*end == ')')
            return at_end(end + 1);
    }
    return false;
}

static bool read_graph(const char *text, description *d) {
    memset(d, 0, sizeof *d);
    if (strncmp(text, "near(", 5) == 0)
        return read_near(text + 5, d);
    const bool torus = strncmp(text, "torus", 5) == 0;
    if (!torus && strncmp(text, "grid", 4) != 0)
        return false;
    text += torus ? 5 : 4;
    if (*text == '(')
        return read_dims(text, torus, d);
    if (*text < '1' || *text > '0' + MOST_DIMENSIONS || !at_end(text + 1))
        return false;
    d->ndims = *text - '0';
    for (int i = 0; i < d->ndims; i++)
        d->periods[i] = torus;
    return true;
}

const char *stretto_bench_graph_problem(const char *pattern, int nranks) {
    description d;
    if (!read_graph(pattern, &d))
        return "the graph is not torus(4x2), grid(4x2), torus2, grid3 or near(-1,1)";
    long long ranks = 1;
    for (int i = 0; i < d.ndims; i++)
        ranks *= d.dims[i] ? d.dims[i] : 1;
    if (d.ndims && d.dims[0] && ranks != nranks)
        return "the graph is of another number of ranks";
    for (int i = 0; i < d.nnear; i++)
        if (d.near[i] <= -nranks || d.near[i] >= nranks)
            return "the graph leads further than there are ranks";
    const char *blocks = strchr(pattern, '/');
    return blocks ? stretto_bench_pattern_problem(blocks + 1) : NULL;
}

int stretto_bench_graph_make(const char *pattern, MPI_Comm comm, MPI_Comm *graph) {
    description d;
    int rank, size, to[MOST_NEAR], from[MOST_NEAR], weights[MOST_NEAR];
    read_graph(pattern, &d);
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    if (d.ndims && !d.dims[0])
        MPI_Dims_create(size, d.ndims, d.dims);
    for (int i = 0; i < d.nnear; i++) {
        to[i] = (rank + d.near[i] + size) % size;
        from[i] = (rank - d.near[i] + size) % size;
        weights[i] = 1;
    }
    int rc = d.ndims ? MPI_Cart_create(comm, d.ndims, d.dims, d.periods, 0, graph)
                     : MPI_Dist_graph_create_adjacent(comm, d.nnear, from, weights, d.nnear, to,
                                                      weights, MPI_INFO_NULL, 0, graph);
    return rc == MPI_SUCCESS ? MPI_Comm_set_errhandler(*graph, MPI_ERRORS_RETURN) : rc;
}

int stretto_bench_graph_degrees(stretto_bench_call *call) {
    int topology = MPI_UNDEFINED, dims = 0, weighted;
    int rc = MPI_Topo_test(call->comm, &topology);
    if (rc == MPI_SUCCESS && topology == MPI_CART) {
        rc = MPI_Cartdim_get(call->comm, &dims);
        call->outs = call->ins = 2 * dims;
    } else if (rc == MPI_SUCCESS)
        rc = MPI_Dist_graph_neighbors_count(call->comm, &call->ins, &call->outs, &weighted);
    return rc;
}

/* Without a pattern all blocks are alike; ragged ones take turns at half as much more and less. */
int stretto_bench_graph_edges(stretto_bench_call *call) {
    const int n = call->outs, more = (int)((call->count + 1) / 2), count = (int)call->count;
    int *lengths = calloc((size_t)n + 1, sizeof *lengths);
    if (!lengths)
        return MPI_ERR_NO_MEM;
    if (call->shape->blocks)
        stretto_bench_deal(call->shape->blocks, call->count, lengths, n);
    for (int i = 0; i < n; i++) {
        const int timed =
            call->shape->blocks ? lengths[(long long)i * stretto_bench_stride(n) % n] : count;
        call->out_edges[i] =
            (stretto_bench_edge){call->rank, i, timed, i % 2 ? count - more : count + more};
    }
    for (int i = 0; i < call->ins; i++)
        call->in_edges[i] = (stretto_bench_edge){.from = -1};
    free(lengths);
    return MPI_Neighbor_alltoall(call->out_edges, FACTS, MPI_INT, call->in_edges, FACTS, MPI_INT,
                                 call->comm);
}
