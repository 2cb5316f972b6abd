/* The process topology of a communicator, gathered once, when a neighbourhood collective on it is
 * to be ours for the first time (so inside a blocking one, or stretto_choose): every rank then has
 * the whole graph, and what is decided from it is the same on all.
 *
 * Where several edges lead from one rank to another (periodic dimensions of one or two ranks,
 * repeated neighbours) MPIs differ in which of the blocks ends in which slot, and some follow the
 * standard only in part. So the MPI itself is asked, by sending along each edge its number.
 */
#include "run/engine.h"
#include "run/outstanding.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_SLOTS = 1 << 18 }; /* of all ranks, each way: 2 MiB for each rank */

/* This rank's neighbours in slot order; -1: none. */
typedef struct {
    int nout, nin;
    int *out, *in;
} slots;

/* Room for the slots, zeroed, and one more; twice, for the weights that some MPIs give as well. */
static bool make_room(slots *s, int nout, int nin) {
    s->nout = nout;
    s->nin = nin;
    s->out = calloc(2 * ((size_t)nout + (size_t)nin + 1), sizeof *s->out);
    s->in = s->out ? s->out + nout : NULL;
    return s->out != NULL;
}

static bool cartesian(MPI_Comm comm, slots *s) {
    int ndims = 0;
    if (PMPI_Cartdim_get(comm, &ndims) != MPI_SUCCESS || !make_room(s, 2 * ndims, 2 * ndims))
        return false;
    for (int d = 0; d < ndims; d++) {
        int below, above;
        if (PMPI_Cart_shift(comm, d, 1, &below, &above) != MPI_SUCCESS)
            return false;
        s->out[2 * d] = s->in[2 * d] = below;
        s->out[2 * d + 1] = s->in[2 * d + 1] = above;
    }
    return true;
}

static bool graph(MPI_Comm comm, int rank, slots *s) {
    int n = 0;
    if (PMPI_Graph_neighbors_count(comm, rank, &n) != MPI_SUCCESS || !make_room(s, n, n) ||
        PMPI_Graph_neighbors(comm, rank, n, s->out) != MPI_SUCCESS)
        return false;
    memcpy(s->in, s->out, (size_t)n * sizeof *s->in);
    return true;
}

static bool dist_graph(MPI_Comm comm, slots *s) {
    int nin = 0, nout = 0, weighted = 0;
    if (PMPI_Dist_graph_neighbors_count(comm, &nin, &nout, &weighted) != MPI_SUCCESS ||
        !make_room(s, nout, nin))
        return false;
    int *weights = s->in + nin + 1; /* MPI_UNWEIGHTED is a variable in some libmpi */
    return PMPI_Dist_graph_neighbors(comm, nin, s->in, weights, nout, s->out, weights + nin) ==
           MPI_SUCCESS;
}

/* false: this rank cannot tell its neighbours. topology: as MPI_Topo_test has it. */
static bool own_slots(MPI_Comm comm, int rank, int topology, slots *s) {
    bool well = topology == MPI_CART    ? cartesian(comm, s)
                : topology == MPI_GRAPH ? graph(comm, rank, s)
                                        : dist_graph(comm, s);
    for (int i = 0; well && i < s->nout + s->nin; i++)
        if (s->out[i] == MPI_PROC_NULL)
            s->out[i] = -1;
    return well;
}

/* Does any rank have several edges to the same one? -1: no memory. */
static int has_repeated(const stretto_graph *g) {
    int *seen = malloc((size_t)g->nranks * sizeof *seen), found = 0;
    if (!seen)
        return -1;
    memset(seen, 0xff, (size_t)g->nranks * sizeof *seen);
    for (int r = 0; r < g->nranks; r++)
        for (int e = g->out_start[r]; e < g->out_start[r + 1]; e++) {
            if (g->out_to[e] < 0)
                continue;
            found = found || seen[g->out_to[e]] == r;
            seen[g->out_to[e]] = r;
        }
    free(seen);
    return found;
}

/* The only edge from each neighbour. */
static bool match_by_rank(const stretto_graph *g, int rank, const slots *s, int *edges) {
    for (int i = 0; i < s->nin; i++) {
        edges[i] = -1;
        if (s->in[i] < 0)
            continue;
        if (s->in[i] >= g->nranks)
            return false;
        for (int e = g->out_start[s->in[i]]; e < g->out_start[s->in[i] + 1]; e++)
            if (g->out_to[e] == rank)
                edges[i] = e;
        if (edges[i] < 0)
            return false;
    }
    return true;
}

/* Where the MPI puts what goes along each edge; false when its functions do not agree on that. */
static bool match_by_asking(const stretto_comm *c, const stretto_graph *g, const slots *s,
                            int *edges) {
    const size_t most = (size_t)(s->nout > s->nin ? s->nout : s->nin) + 1;
    int *memory = malloc(5 * most * sizeof *memory);
    MPI_Aint *places = malloc(most * sizeof *places);
    MPI_Datatype *types = malloc(most * sizeof *types);
    if (!memory || !places || !types)
        stretto_no_memory(); /* the others ask already */
    int *numbers = memory, *counts = numbers + most, *displs = counts + most;
    int *heard = displs + most;
    for (size_t i = 0; i < most; i++) {
        numbers[i] = g->out_start[c->rank] + (int)i;
        counts[i] = 1;
        displs[i] = (int)i;
        places[i] = (MPI_Aint)(i * sizeof(int));
        types[i] = MPI_INT;
        edges[i < (size_t)s->nin ? i : 0] = -1;
    }
    bool well =
        PMPI_Neighbor_alltoall(numbers, 1, MPI_INT, edges, 1, MPI_INT, c->comm) == MPI_SUCCESS;
    for (int form = 0; form < 2; form++) {
        for (int i = 0; i < s->nin; i++)
            heard[i] = -1;
        int rc = form ? PMPI_Neighbor_alltoallw(numbers, counts, places, types, heard, counts,
                                                places, types, c->comm)
                      : PMPI_Neighbor_alltoallv(numbers, counts, displs, MPI_INT, heard, counts,
                                                displs, MPI_INT, c->comm);
        well =
            well && rc == MPI_SUCCESS && memcmp(heard, edges, (size_t)s->nin * sizeof *heard) == 0;
    }
    free(memory);
    free(places);
    free(types);
    return well;
}

static bool agreed(MPI_Comm comm, bool mine) {
    int in = mine, out = 0;
    return PMPI_Allreduce(&in, &out, 1, MPI_INT, MPI_MIN, comm) == MPI_SUCCESS && out;
}

/* A slot array of all ranks, from each rank's own. */
static bool gather(MPI_Comm comm, const int *mine, int n, int *all, const int *start, int nranks,
                   int *counts) {
    for (int r = 0; r < nranks; r++)
        counts[r] = start[r + 1] - start[r];
    return PMPI_Allgatherv(mine, n, MPI_INT, all, counts, start, MPI_INT, comm) == MPI_SUCCESS;
}

static const char *set_up(stretto_comm *c, stretto_graph_store *store) {
    int topology = MPI_UNDEFINED;
    if (PMPI_Topo_test(c->comm, &topology) != MPI_SUCCESS ||
        (topology != MPI_CART && topology != MPI_GRAPH && topology != MPI_DIST_GRAPH))
        return "the communicator has no topology";
    const char *why = "the MPI does not tell a rank's neighbours";
    slots s = {0};
    const bool told = own_slots(c->comm, c->rank, topology, &s);
    int mine[3] = {told, told ? s.nout : 0, told ? s.nin : 0};
    int(*all)[3] = malloc((size_t)c->nranks * sizeof *all);
    int *counts = malloc((size_t)c->nranks * sizeof *counts);
    int *edges = calloc((size_t)mine[2] + 1, sizeof *edges);
    if (!all || !counts || !edges)
        stretto_no_memory();
    long long outs = 0, ins = 0;
    bool well = PMPI_Allgather(mine, 3, MPI_INT, all, 3, MPI_INT, c->comm) == MPI_SUCCESS;
    for (int r = 0; well && r < c->nranks; r++) {
        well = all[r][0];
        outs += all[r][1];
        ins += all[r][2];
    }
    if (!well)
        goto out;
    if (outs > MOST_SLOTS || ins > MOST_SLOTS) {
        why = "the topology has too many edges for every rank to know all";
        goto out;
    }
    if (!stretto_graph_reserve(store, c->nranks, (int)outs, (int)ins))
        stretto_no_memory();
    const stretto_graph *g = &store->graph;
    int *out_start = (int *)g->out_start, *in_start = (int *)g->in_start;
    for (int r = 0; r < c->nranks; r++) {
        out_start[r + 1] = out_start[r] + all[r][1];
        in_start[r + 1] = in_start[r] + all[r][2];
    }
    if (!gather(c->comm, s.out, s.nout, (int *)g->out_to, out_start, c->nranks, counts))
        goto out;
    const int repeated = has_repeated(g);
    if (repeated < 0)
        stretto_no_memory();
    well = repeated ? match_by_asking(c, g, &s, edges) : match_by_rank(g, c->rank, &s, edges);
    if (!agreed(c->comm, well)) {
        why = repeated ? "the MPI's functions differ in what repeated edges mean"
                       : "a rank's neighbours do not have it for theirs";
        goto out;
    }
    if (!gather(c->comm, edges, s.nin, (int *)g->in_edge, in_start, c->nranks, counts))
        goto out;
    why = stretto_graph_check(g); /* of the same data on all ranks */
    if (why && strcmp(why, "out of memory") == 0)
        stretto_no_memory();
out:
    free(s.out);
    free(all);
    free(counts);
    free(edges);
    return why;
}

STRETTO_COLD const char *stretto_comm_graph(stretto_comm *c) {
    if (c->graph_asked)
        return c->no_graph;
    stretto_graph_store *store = calloc(1, sizeof *store);
    if (!store)
        stretto_no_memory();
    c->graph_asked = true;
    stretto_outstanding_lend();
    c->no_graph = set_up(c, store);
    stretto_outstanding_return();
    if (c->no_graph) {
        stretto_graph_release(store);
        free(store);
        store = NULL;
    }
    c->graph = store;
    return c->no_graph;
}

void stretto_comm_graph_forget(stretto_comm *c) {
    if (c->graph)
        stretto_graph_release(c->graph);
    free(c->graph);
    c->graph = NULL;
    c->graph_asked = false;
}
