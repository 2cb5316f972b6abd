/* Makes each topology twice, by MPI_X with reorder (Stretto's when preloaded, STRETTO_REORDER=1)
 * and by PMPI_X without (native), and compares all that the MPI then reports of them: the same
 * topology, on the same processes in another order, with no more between nodes.
 *
 * Usage: reorder SEED CASES PPN. Every PPN ranks of MPI_COMM_WORLD are a node (STRETTO_FAKE_PPN).
 * Communicators of some or all ranks in a random order; grids, also with fewer processes than
 * ranks; graphs; distributed graphs, weighted or not, with repeated edges and edges to oneself;
 * wrong arguments; ranks that do not agree on reorder. Prints the cases, how many had another
 * order, what is between nodes before and after, how many grids reached the optimum, and the
 * differences; exit status 1 when there are any.
 */
#include <mpi.h>

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef OPEN_MPI /* the others hang by themselves where ranks do not agree on reorder */
#define MAY_DIFFER 1
#else
#define MAY_DIFFER 0
#endif

enum { MOST = 12, ROW = 512, CART = 0, GRAPH, ADJACENT, CREATE, KINDS };

static uint64_t state;
static int world_rank, world_size, ppn, differences, copied;
static int changed, grids, best_grids;
static long long before, after;
static MPI_Errhandler handler;
static MPI_Group world_group;

static int below(int n) { /* the same sequence on all ranks */
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (int)((state >> 33) % (uint64_t)n);
}

static void differ(const char *what, int number) {
    if (differences++ < 10)
        fprintf(stderr, "rank %d, case %d: %s\n", world_rank, number, what);
}

static void on_error(MPI_Comm *comm, int *code, ...) {
    (void)comm, (void)code;
}

static int on_copy(MPI_Comm comm, int key, void *extra, void *in, void *out, int *flag) {
    (void)comm, (void)key, (void)extra, (void)in, (void)out;
    copied++;
    *flag = 0;
    return MPI_SUCCESS;
}

/* ---- arguments ------------------------------------------------------------------------------- */

typedef struct {
    int kind, nranks, rank, reorder;
    MPI_Comm comm;
    int ndims, dims[4], periods[4];
    int nnodes, indx[MOST], edges[MOST * MOST * 3];
    bool weighted, unequal; /* some ranks do not ask for another order */
    int nin, in[ROW], in_weights[ROW], nout, out[ROW], out_weights[ROW];
    int sources[MOST], degrees[MOST], to[ROW], to_weights[ROW], nsources;
} arguments;

static void choose_grid(arguments *a) {
    const int ranks = below(4) ? a->nranks : 1 + below(a->nranks);
    a->ndims = 1 + below(3);
    memset(a->dims, 0, sizeof a->dims);
    MPI_Dims_create(ranks, a->ndims, a->dims);
    for (int d = 0; d < a->ndims; d++)
        a->periods[d] = below(3) == 0;
}

/* weight[from][to], 0: no edge; the same edge up to three times */
static void choose_edges(int n, bool both, int times[MOST][MOST], int weight[MOST][MOST]) {
    memset(times, 0, MOST * sizeof *times);
    for (int i = below(3 * n); i > 0; i--) {
        const int from = below(n), to = below(3) ? (from + 1 + below(2)) % n : below(n);
        times[from][to] = 1 + (below(4) == 0) * below(3);
        weight[from][to] = below(1000);
        if (both) {
            times[to][from] = times[from][to];
            weight[to][from] = weight[from][to];
        }
    }
}

static void choose_graph(arguments *a) {
    int times[MOST][MOST], weight[MOST][MOST], n = 0;
    a->nnodes = below(4) ? a->nranks : 1 + below(a->nranks);
    choose_edges(a->nnodes, true, times, weight);
    for (int v = 0; v < a->nnodes; v++) {
        for (int u = 0; u < a->nnodes; u++)
            for (int k = 0; k < times[v][u]; k++)
                a->edges[n++] = u;
        a->indx[v] = n;
    }
}

static void choose_distributed(arguments *a) {
    int times[MOST][MOST], weight[MOST][MOST], given = 0;
    const int n = a->nranks, by = below(3); /* who names the edges of a process */
    choose_edges(n, false, times, weight);
    a->weighted = below(2);
    a->nin = a->nout = a->nsources = 0;
    for (int v = 0; v < n; v++) {
        const bool mine = (by == 0 ? v : by == 1 ? (v + 1) % n : 0) == a->rank;
        int degree = 0;
        for (int u = n; u-- > 0;)
            for (int k = 0; k < times[v][u]; k++) {
                if (v == a->rank) {
                    a->out_weights[a->nout] = weight[v][u] + k;
                    a->out[a->nout++] = u;
                }
                if (u == a->rank) {
                    a->in_weights[a->nin] = weight[v][u] + k;
                    a->in[a->nin++] = v;
                }
                if (mine) {
                    a->to_weights[given + degree] = weight[v][u] + k;
                    a->to[given + degree++] = u;
                }
            }
        if (mine) {
            a->sources[a->nsources] = v;
            a->degrees[a->nsources++] = degree;
            given += degree;
        }
    }
}

#define WEIGHTS(a, n, numbers)                                                                     \
    (!(a)->weighted ? MPI_UNWEIGHTED : (n) ? (numbers) : MPI_WEIGHTS_EMPTY)

#define MAKE(X, a, again, made)                                                                    \
    ((a)->kind == CART                                                                             \
         ? X##_Cart_create((a)->comm, (a)->ndims, (a)->dims, (a)->periods, again, made)            \
     : (a)->kind == GRAPH                                                                          \
         ? X##_Graph_create((a)->comm, (a)->nnodes, (a)->indx, (a)->edges, again, made)            \
     : (a)->kind == ADJACENT                                                                       \
         ? X##_Dist_graph_create_adjacent(                                                         \
               (a)->comm, (a)->nin, (a)->in, WEIGHTS(a, (a)->nin, (a)->in_weights), (a)->nout,     \
               (a)->out, WEIGHTS(a, (a)->nout, (a)->out_weights), MPI_INFO_NULL, again, made)      \
         : X##_Dist_graph_create((a)->comm, (a)->nsources, (a)->sources, (a)->degrees, (a)->to,    \
                                 WEIGHTS(a, (a)->nsources, (a)->to_weights), MPI_INFO_NULL, again, \
                                 made))

/* ---- what the MPI says ----------------------------------------------------------------------- */

typedef struct {
    int nin, nout, said[ROW - 2];
} row;

static int compare_pairs(const void *a, const void *b) {
    return memcmp(a, b, 2 * sizeof(int));
}

/* All that is to be known of this process's place. The order of the neighbours of
 * MPI_Dist_graph_create is the MPI's own affair. */
static row ask(const arguments *a, MPI_Comm comm) {
    row r = {0};
    int rank, topology, n = 0, in[ROW], out[ROW], in_weights[ROW], out_weights[ROW], weighted;
    MPI_Comm_rank(comm, &rank);
    MPI_Topo_test(comm, &topology);
    r.said[n++] = topology;
    if (a->kind == CART) {
        int dims[4], periods[4], coords[4], there;
        MPI_Cart_get(comm, a->ndims, dims, periods, coords);
        MPI_Cart_rank(comm, coords, &there);
        r.said[n++] = there == rank;
        for (int d = 0; d < a->ndims; d++) {
            r.said[n++] = dims[d];
            r.said[n++] = periods[d];
            r.said[n++] = coords[d];
            MPI_Cart_shift(comm, d, 1, &in[2 * d], &in[2 * d + 1]);
            memcpy(&out[2 * d], &in[2 * d], 2 * sizeof *in);
        }
        r.nin = r.nout = 2 * a->ndims;
    } else if (a->kind == GRAPH) {
        MPI_Graph_neighbors_count(comm, rank, &r.nin);
        MPI_Graph_neighbors(comm, rank, r.nin, in);
        r.nout = r.nin;
        memcpy(out, in, (size_t)r.nin * sizeof *in);
    } else {
        MPI_Dist_graph_neighbors_count(comm, &r.nin, &r.nout, &weighted);
        MPI_Dist_graph_neighbors(comm, r.nin, in, in_weights, r.nout, out, out_weights);
        r.said[n++] = weighted;
    }
    int *begin = r.said + n;
    for (int i = 0; i < r.nin; i++) {
        r.said[n++] = in[i];
        r.said[n++] = a->kind >= ADJACENT && weighted ? in_weights[i] : 1;
    }
    for (int i = 0; i < r.nout; i++) {
        r.said[n++] = out[i];
        r.said[n++] = a->kind >= ADJACENT && weighted ? out_weights[i] : 1;
    }
    if (a->kind == CREATE) {
        qsort(begin, (size_t)r.nin, 2 * sizeof *begin, compare_pairs);
        qsort(begin + 2 * r.nin, (size_t)r.nout, 2 * sizeof *begin, compare_pairs);
    }
    return r;
}

/* World ranks of comm's ranks. */
static void members(MPI_Comm comm, int n, int *world) {
    MPI_Group group;
    int own[MOST];
    for (int r = 0; r < n; r++)
        own[r] = r;
    MPI_Comm_group(comm, &group);
    MPI_Group_translate_ranks(group, n, own, world_group, world);
    MPI_Group_free(&group);
}

static void check_collectives(const arguments *a, MPI_Comm comm, int number) {
    int in[ROW], out[ROW], rank, nin, nout, got[ROW], sent[ROW], weights[ROW];
    MPI_Comm_rank(comm, &rank);
    if (a->kind == CART) {
        nin = nout = 2 * a->ndims;
        for (int d = 0; d < a->ndims; d++)
            MPI_Cart_shift(comm, d, 1, &in[2 * d], &in[2 * d + 1]);
        memcpy(out, in, sizeof out);
    } else if (a->kind == GRAPH) {
        MPI_Graph_neighbors_count(comm, rank, &nin);
        MPI_Graph_neighbors(comm, rank, nin, in);
        nout = nin;
        memcpy(out, in, sizeof out);
    } else {
        int weighted;
        MPI_Dist_graph_neighbors_count(comm, &nin, &nout, &weighted);
        MPI_Dist_graph_neighbors(comm, nin, in, weights, nout, out, weights);
    }
    memset(got, 0xff, sizeof got);
    MPI_Neighbor_allgather(&rank, 1, MPI_INT, got, 1, MPI_INT, comm);
    for (int i = 0; i < nin; i++)
        if (got[i] != (in[i] == MPI_PROC_NULL ? -1 : in[i]))
            differ("neighbor_allgather", number);
    for (int i = 0; i < nout; i++)
        sent[i] = 1000 * rank + out[i];
    memset(got, 0xff, sizeof got);
    MPI_Neighbor_alltoall(sent, 1, MPI_INT, got, 1, MPI_INT, comm);
    for (int i = 0; i < nin; i++)
        if (got[i] != (in[i] == MPI_PROC_NULL ? -1 : 1000 * in[i] + rank))
            differ("neighbor_alltoall", number);
}

/* ---- what is between nodes ------------------------------------------------------------------- */

static long long between(int n, long long weight[MOST][MOST], const int *world) {
    long long sum = 0;
    for (int v = 0; v < n; v++)
        for (int u = 0; u < n; u++)
            sum += world[v] / ppn == world[u] / ppn ? 0 : weight[v][u];
    return sum;
}

static long long least(int n, long long weight[MOST][MOST], int *room, int *node, int v,
                       long long sum, long long best) {
    if (sum >= best || v == n)
        return sum < best ? sum : best;
    for (int a = 0; a < MOST; a++) {
        if (!room[a])
            continue;
        long long more = 0;
        for (int u = 0; u < v; u++)
            more += node[u] == a ? 0 : weight[u][v] + weight[v][u];
        node[v] = a;
        room[a]--;
        best = least(n, weight, room, node, v + 1, sum + more, best);
        room[a]++;
    }
    return best;
}

static void judge(const arguments *a, int n, const row *rows, const int *given, const int *found,
                  int number) {
    static long long weight[MOST][MOST];
    memset(weight, 0, sizeof weight);
    for (int v = 0; v < n; v++) {
        const row *r = &rows[v];
        const int skip = a->kind == CART ? 2 + 3 * a->ndims : a->kind == GRAPH ? 1 : 2;
        for (int i = 0; i < r->nout; i++) {
            const int *pair = r->said + skip + 2 * (r->nin + i);
            if (pair[0] >= 0)
                weight[v][pair[0]] += pair[1];
        }
    }
    const long long was = between(n, weight, given), is = between(n, weight, found);
    before += was;
    after += is;
    if (is > was)
        differ("more between nodes", number);
    if (is == was && !getenv("STRETTO_FAKE_DOMAINS") &&
        memcmp(given, found, (size_t)n * sizeof *given))
        differ("another order that is no better", number);
    if (a->kind == CART && !a->unequal) {
        int room[MOST] = {0}, node[MOST];
        for (int v = 0; v < n; v++)
            room[given[v] / ppn]++;
        grids++;
        best_grids += least(n, weight, room, node, 0, 0, is + 1) == is;
    }
}

/* ---- cases ----------------------------------------------------------------------------------- */

static void compare(const arguments *a, MPI_Comm theirs, MPI_Comm mine, int number) {
    static row rows[2][MOST];
    int n, size, world[2][MOST], same;
    MPI_Errhandler handlers[2];
    MPI_Comm_size(theirs, &n);
    MPI_Comm_size(mine, &size);
    MPI_Comm_compare(theirs, mine, &same);
    if (n != size || (same != MPI_SIMILAR && same != MPI_CONGRUENT)) {
        differ("other processes", number);
        return;
    }
    row own[2] = {ask(a, theirs), ask(a, mine)};
    MPI_Allgather(&own[0], ROW, MPI_INT, rows[0], ROW, MPI_INT, theirs);
    MPI_Allgather(&own[1], ROW, MPI_INT, rows[1], ROW, MPI_INT, mine);
    for (int v = 0; v < n; v++)
        if (memcmp(&rows[0][v], &rows[1][v], sizeof rows[0][v]))
            differ("the MPI says something else of the topology", number);
    check_collectives(a, mine, number);
    members(theirs, n, world[0]);
    members(mine, n, world[1]);
    changed += same == MPI_SIMILAR;
    if (a->kind == CART && n % ppn == 0 && a->nranks == world_size && world_size % ppn == 0 &&
        n == world_size && world[0][0] != world[1][0] && !getenv("STRETTO_FAKE_DOMAINS"))
        differ("another first process", number);
    judge(a, n, rows[0], world[0], world[1], number);
    MPI_Comm_get_errhandler(theirs, &handlers[0]);
    MPI_Comm_get_errhandler(mine, &handlers[1]);
    if ((handlers[0] == handler) != (handlers[1] == handler))
        differ("another error handler", number);
    MPI_Errhandler_free(&handlers[0]);
    MPI_Errhandler_free(&handlers[1]);
}

/* What is wrong is wrong for the MPI, with the same class of error. (Open MPI 4 hangs where a
 * distributed graph has a negative number of edges.) */
static void go_wrong(arguments *a, int number) {
    MPI_Comm mine = MPI_COMM_NULL, theirs = MPI_COMM_NULL;
    const int how = below(2);
    if (a->kind == CART)
        a->dims[0] = how ? -1 : a->nranks + 1;
    else
        a->nnodes = how ? -1 : a->nranks + 1;
    const int rc = MAKE(MPI, a, 1, &mine), its = MAKE(PMPI, a, 1, &theirs);
    int kind = 0, its_kind = 0;
    MPI_Error_class(rc, &kind);
    MPI_Error_class(its, &its_kind);
    if (kind != its_kind) /* MPICH may find nothing wrong */
        differ("another error", number);
}

static void one(int number) {
    static arguments a;
    int order[MOST], keyval, result[2];
    MPI_Comm mine = MPI_COMM_NULL, theirs = MPI_COMM_NULL;
    for (int r = 0; r < world_size; r++)
        order[r] = r;
    for (int i = world_size - 1; i > 0; i--) {
        const int j = below(i + 1), kept = order[i];
        order[i] = order[j];
        order[j] = kept;
    }
    const int used = below(3) ? world_size : 1 + below(world_size);
    const bool in = order[world_rank] < used, handled = below(2),
               wrong = below(4) == 0 && number % KINDS <= GRAPH;
    a.kind = number % KINDS;
    a.nranks = used;
    a.unequal = below(4) == 0 && a.kind <= GRAPH && MAY_DIFFER;
    PMPI_Comm_split(MPI_COMM_WORLD, in ? 0 : MPI_UNDEFINED, order[world_rank], &a.comm);
    if (a.comm != MPI_COMM_NULL)
        MPI_Comm_rank(a.comm, &a.rank);
    a.reorder = !a.unequal || a.rank % 2;
    (a.kind == CART ? choose_grid : a.kind == GRAPH ? choose_graph : choose_distributed)(&a);
    if (a.comm == MPI_COMM_NULL) {
        if (wrong)
            (void)below(2);
        return;
    }
    MPI_Comm_create_keyval(on_copy, MPI_COMM_NULL_DELETE_FN, &keyval, NULL);
    MPI_Comm_set_attr(a.comm, keyval, NULL);
    MPI_Comm_set_errhandler(a.comm, handled || wrong ? handler : MPI_ERRORS_ARE_FATAL);
    const int start = copied;
    result[0] = MAKE(MPI, &a, a.reorder, &mine);
    const int by_mine = copied - start;
    result[1] = MAKE(PMPI, &a, 0, &theirs);
    if (by_mine > copied - start - by_mine) /* Open MPI 5 calls it by itself */
        differ("the copy callback of an attribute was called", number);
    if (result[0] != MPI_SUCCESS || result[1] != MPI_SUCCESS)
        differ("an error", number);
    if ((mine == MPI_COMM_NULL) != (theirs == MPI_COMM_NULL))
        differ("other ranks left out", number);
    else if (mine != MPI_COMM_NULL)
        compare(&a, theirs, mine, number);
    if (mine != MPI_COMM_NULL)
        MPI_Comm_free(&mine);
    if (theirs != MPI_COMM_NULL)
        MPI_Comm_free(&theirs);
    if (wrong)
        go_wrong(&a, number);
    MPI_Comm_free_keyval(&keyval);
    MPI_Comm_free(&a.comm);
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &world_size);
    MPI_Comm_group(MPI_COMM_WORLD, &world_group);
    MPI_Comm_create_errhandler(on_error, &handler);
    state = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
    const int cases = argc > 2 ? atoi(argv[2]) : 40;
    ppn = argc > 3 ? atoi(argv[3]) : 2;
    if (world_size > MOST)
        MPI_Abort(MPI_COMM_WORLD, 2);
    for (int i = 0; i < cases; i++)
        one(i);
    MPI_Errhandler_free(&handler);
    MPI_Group_free(&world_group);
    long long mine[6] = {changed, before, after, grids, best_grids, differences}, all[6];
    PMPI_Allreduce(mine, all, 6, MPI_LONG_LONG, MPI_SUM, MPI_COMM_WORLD);
    if (world_rank == 0)
        printf("reorder: %d cases, %lld reordered, between nodes %lld -> %lld, optimum in %lld of "
               "%lld grids, %lld differences\n",
               cases, all[0], all[1], all[2], all[4], all[3], all[5]);
    MPI_Finalize();
    return all[5] != 0;
}
