/* The process topology of a communicator, gathered once, when a neighbourhood collective on it is
 * to be ours for the first time (so inside a blocking one, or stretto_choose): every rank then has
 * the whole graph, and what is decided from it is the same on all.
 *
 * What the MPI reports may be nonsense: MPI_Graph_create takes graphs whose ends do not match, and
 * Open MPI's MPI_Comm_create_group hands the parent's topology on to a part of its ranks. So the
 * ranks first compare what was reported, by collectives of the whole communicator, and nothing goes
 * along an edge before all have agreed that every edge has its two ends.
 *
 * Where several edges lead from one rank to another (periodic dimensions of one or two ranks,
 * repeated neighbours) MPIs differ in which of the blocks ends in which slot, and some follow the
 * standard only in part. So the MPI itself is asked, by sending along each edge its number.
 */
#include "engine/engine.h"
#include "engine/memory.h"
#include "engine/outstanding.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_SLOTS = 1 << 18 }; /* of all ranks, each way: 2 MiB for each rank */

static const char *const mpi_failed = "the MPI failed";

/* This rank's neighbours in slot order; -1: none. */
typedef struct {
    int nout, nin;
    int *out, *in;
} slots;

/* Room for the slots, zeroed, and one more; twice, for the weights that some MPIs give as well. */
static bool make_room(slots *s, long long nout, long long nin) {
    if (nout < 0 || nin < 0 || nout > MOST_SLOTS || nin > MOST_SLOTS)
        return false;
    s->nout = (int)nout;
    s->nin = (int)nin;
    s->out = calloc(2 * ((size_t)nout + (size_t)nin + 1), sizeof *s->out);
    s->in = s->out ? s->out + nout : NULL;
    return s->out != NULL;
}

/* Do the dimensions hold all ranks, and are the coordinates this rank's? */
static bool is_grid(int ndims, const int *dims, const int *coords, int nranks, int rank) {
    long long ranks = 1, here = 0;
    for (int d = 0; d < ndims; d++) {
        if (dims[d] < 1 || dims[d] > nranks || coords[d] < 0 || coords[d] >= dims[d])
            return false;
        ranks *= dims[d];
        here = here * dims[d] + coords[d];
        if (ranks > nranks)
            return false;
    }
    return ranks == nranks && here == rank;
}

static bool cartesian(const stretto_comm *c, slots *s) {
    int ndims = 0;
    if (PMPI_Cartdim_get(c->comm, &ndims) != MPI_SUCCESS || !make_room(s, 2LL * ndims, 2LL * ndims))
        return false;
    int *dims = calloc(3 * (size_t)ndims + 1, sizeof *dims);
    if (!dims)
        return false;
    int *periods = dims + ndims, *coords = periods + ndims;
    bool well = PMPI_Cart_get(c->comm, ndims, dims, periods, coords) == MPI_SUCCESS &&
                is_grid(ndims, dims, coords, c->nranks, c->rank);
    free(dims);
    for (int d = 0; well && d < ndims; d++) {
        int below, above;
        well = PMPI_Cart_shift(c->comm, d, 1, &below, &above) == MPI_SUCCESS;
        s->out[2 * d] = s->in[2 * d] = below;
        s->out[2 * d + 1] = s->in[2 * d + 1] = above;
    }
    return well;
}

static bool graph(const stretto_comm *c, slots *s) {
    int n = 0;
    if (PMPI_Graph_neighbors_count(c->comm, c->rank, &n) != MPI_SUCCESS || !make_room(s, n, n) ||
        PMPI_Graph_neighbors(c->comm, c->rank, n, s->out) != MPI_SUCCESS)
        return false;
    memcpy(s->in, s->out, (size_t)n * sizeof *s->in);
    return true;
}

static bool dist_graph(const stretto_comm *c, slots *s) {
    int nin = 0, nout = 0, weighted = 0;
    if (PMPI_Dist_graph_neighbors_count(c->comm, &nin, &nout, &weighted) != MPI_SUCCESS ||
        !make_room(s, nout, nin))
        return false;
    int *weights = s->in + nin + 1; /* MPI_UNWEIGHTED is a variable in some libmpi */
    return PMPI_Dist_graph_neighbors(c->comm, nin, s->in, weights, nout, s->out, weights + nin) ==
           MPI_SUCCESS;
}

/* false: this rank has no neighbours that the MPI can name. topology: as MPI_Topo_test has it. */
static bool own_slots(const stretto_comm *c, int topology, slots *s) {
    bool well = topology == MPI_CART         ? cartesian(c, s)
                : topology == MPI_GRAPH      ? graph(c, s)
                : topology == MPI_DIST_GRAPH ? dist_graph(c, s)
                                             : false;
    for (int i = 0; well && i < s->nout + s->nin; i++) {
        if (s->out[i] == MPI_PROC_NULL)
            s->out[i] = -1;
        else if (s->out[i] < 0 || s->out[i] >= c->nranks)
            well = false;
    }
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

/* Does this rank have exactly as many in-slots from each rank as that one has edges to it? What is
 * sent along an edge is received then. */
static bool fits(const stretto_graph *g, int rank, const slots *s) {
    int *missing = calloc((size_t)g->nranks, sizeof *missing);
    if (!missing)
        stretto_no_memory(); /* the others compare already */
    for (int r = 0; r < g->nranks; r++)
        for (int e = g->out_start[r]; e < g->out_start[r + 1]; e++)
            missing[r] += g->out_to[e] == rank;
    for (int i = 0; i < s->nin; i++)
        if (s->in[i] >= 0)
            missing[s->in[i]]--;
    bool well = true;
    for (int r = 0; r < g->nranks; r++)
        well = well && missing[r] == 0;
    free(missing);
    return well;
}

/* The only edge from each neighbour; they fit. */
static void match_by_rank(const stretto_graph *g, int rank, const slots *s, int *edges) {
    for (int i = 0; i < s->nin; i++) {
        edges[i] = -1;
        for (int e = 0; s->in[i] >= 0 && e < stretto_graph_outdegree(g, s->in[i]); e++)
            if (g->out_to[g->out_start[s->in[i]] + e] == rank)
                edges[i] = g->out_start[s->in[i]] + e;
    }
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

/* A slot array of all ranks, from each rank's own. */
static bool gather(MPI_Comm comm, const int *mine, int n, int *all, const int *start, int nranks,
                   int *counts) {
    for (int r = 0; r < nranks; r++)
        counts[r] = start[r + 1] - start[r];
    return PMPI_Allgatherv(mine, n, MPI_INT, all, counts, start, MPI_INT, comm) == MPI_SUCCESS;
}

/* What each rank reports of itself, in one message. */
typedef struct {
    int topology, told, nout, nin;
} report;

/* NULL, and the first slot of every rank, where all ranks report neighbours; otherwise why not.
 * Judged from the same data on all ranks. */
static const char *compare_reports(const report *all, int nranks, stretto_graph_store *store) {
    long long outs = 0, ins = 0;
    bool one = true, none = true;
    for (int r = 0; r < nranks; r++) {
        one = one && all[r].told && all[r].topology == all[0].topology;
        none = none && all[r].topology == MPI_UNDEFINED;
        outs += all[r].nout;
        ins += all[r].nin;
    }
    if (none)
        return "the communicator has no topology";
    if (!one)
        return "the MPI reports a topology that does not fit the communicator's ranks";
    if (outs > MOST_SLOTS || ins > MOST_SLOTS)
        return "the topology has too many edges to store all of them on every rank";
    if (!stretto_graph_reserve(store, nranks, (int)outs, (int)ins))
        stretto_no_memory();
    int *out_start = (int *)store->graph.out_start, *in_start = (int *)store->graph.in_start;
    for (int r = 0; r < nranks; r++) {
        out_start[r + 1] = out_start[r] + all[r].nout;
        in_start[r + 1] = in_start[r] + all[r].nin;
    }
    return NULL;
}

/* The edge that ends in each in-slot of this rank; NULL, or why not, agreed. */
static const char *match(const stretto_comm *c, const stretto_graph *g, const slots *s,
                         int *edges) {
    if (!stretto_agree(c->comm, fits(g, c->rank, s)))
        return "the neighbour lists of two ranks do not match";
    const int repeated = has_repeated(g);
    if (repeated < 0)
        stretto_no_memory();
    if (!repeated)
        match_by_rank(g, c->rank, s, edges);
    else if (!stretto_agree(c->comm, match_by_asking(c, g, s, edges)))
        return "the MPI orders repeated edges differently in different functions";
    return NULL;
}

/* From what was reported to the whole graph. counts: room for nranks, edges: for the in-slots. */
static const char *assemble(const stretto_comm *c, const report *all, const slots *s,
                            stretto_graph_store *store, int *counts, int *edges) {
    const char *why = compare_reports(all, c->nranks, store);
    const stretto_graph *g = &store->graph;
    if (why)
        return why;
    if (!gather(c->comm, s->out, s->nout, (int *)g->out_to, g->out_start, c->nranks, counts))
        return mpi_failed;
    why = match(c, g, s, edges);
    if (why)
        return why;
    if (!gather(c->comm, edges, s->nin, (int *)g->in_edge, g->in_start, c->nranks, counts))
        return mpi_failed;
    return stretto_graph_check(g); /* of the same data on all ranks */
}

static const char *set_up(stretto_comm *c, stretto_graph_store *store) {
    slots s = {0};
    report mine = {.topology = MPI_UNDEFINED};
    if (PMPI_Topo_test(c->comm, &mine.topology) != MPI_SUCCESS)
        mine.topology = MPI_UNDEFINED;
    mine.told = own_slots(c, mine.topology, &s);
    mine.nout = mine.told ? s.nout : 0;
    mine.nin = mine.told ? s.nin : 0;
    report *all = malloc((size_t)c->nranks * sizeof *all);
    int *counts = malloc((size_t)c->nranks * sizeof *counts);
    int *edges = calloc((size_t)mine.nin + 1, sizeof *edges);
    if (!all || !counts || !edges)
        stretto_no_memory();
    const char *why = mpi_failed;
    const int length = sizeof mine / sizeof(int);
    if (PMPI_Allgather(&mine, length, MPI_INT, all, length, MPI_INT, c->comm) == MPI_SUCCESS)
        why = assemble(c, all, &s, store, counts, edges);
    if (why && strcmp(why, "out of memory") == 0)
        stretto_no_memory();
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
    MPI_Errhandler before = stretto_be_quiet(c->comm);
    c->no_graph = set_up(c, store);
    stretto_be_as_before(c->comm, before);
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
