/* Calls each neighbourhood collective twice, as MPI_X (Stretto's when preloaded) and as PMPI_X (the
 * MPI's own), on random topologies with the same random arguments, and compares every byte of the
 * results, buffers' surroundings and the gaps in them included.
 *
 * Usage: neighbors [seed [topologies [calls on each]]]. Cartesian (open, periodic, of one and two
 * ranks too), graphs, distributed graphs (weighted or not, asymmetric, repeated edges, edges to
 * oneself, ranks without neighbours), made by MPI_X and by PMPI_X in turn: with STRETTO_AFTER=0
 * Stretto sees the former when they are made, the latter at their first collective. Prints the
 * number of comparisons and of differences; exit status 1 when there are any.
 */
#include <mpi.h>

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if MPI_VERSION >= 4 && !defined OPEN_MPI
#define HAS_LARGE 1
#else
#define HAS_LARGE 0
#endif

enum { GUARD = 64, MOST = 512 };

static uint64_t state;
static int world_rank, world_size, differences, comparisons;
static MPI_Datatype gapped;
static bool unseen; /* the next communicator is made by PMPI_X */

#define MAKE(name, ...) (unseen ? PMPI_##name(__VA_ARGS__) : MPI_##name(__VA_ARGS__))

static uint32_t next(void) { /* the same sequence on all ranks */
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(state >> 33);
}

static int below(int n) {
    return (int)(next() % (uint32_t)n);
}

/* The same for everybody who asks about the same two ranks in the same call. */
static int hash(int a, int b, int seed, int n) {
    uint64_t h = (uint64_t)(a * 131 + b * 7 + 5) * 0x9e3779b97f4a7c15u + (uint64_t)seed * 977u;
    h ^= h >> 29;
    h *= 0xbf58476d1ce4e5b9u;
    return (int)((h >> 33) % (uint64_t)n);
}

typedef struct {
    MPI_Comm comm;
    int rank, size, nin, nout;
    int in[MOST], out[MOST]; /* neighbours, MPI_PROC_NULL too */
    char name[80];
} topology;

static void make_cartesian(topology *t) {
    int ndims = 1 + below(3), dims[3] = {0, 0, 0}, periods[3];
    if (ndims > 1 && below(3) == 0)
        dims[below(ndims)] = 1; /* a periodic dimension of one rank: edges to oneself */
    MPI_Dims_create(world_size, ndims, dims);
    for (int d = 0; d < ndims; d++)
        periods[d] = below(3) > 0;
    MAKE(Cart_create, MPI_COMM_WORLD, ndims, dims, periods, below(2), &t->comm);
    t->nin = t->nout = 2 * ndims;
    for (int d = 0; d < ndims; d++) {
        PMPI_Cart_shift(t->comm, d, 1, &t->in[2 * d], &t->in[2 * d + 1]);
        t->out[2 * d] = t->in[2 * d];
        t->out[2 * d + 1] = t->in[2 * d + 1];
    }
    snprintf(t->name, sizeof t->name, "cartesian %d x %d x %d, %s%s%s", dims[0], dims[1], dims[2],
             periods[0] ? "p" : "o", ndims > 1 && periods[1] ? "p" : "o",
             ndims > 2 && periods[2] ? "p" : "o");
}

/* Symmetric, as MPI_Graph_create wants it; repeated edges where `many`. */
static void make_graph(topology *t) {
    static int index[64], edges[64 * 64 * 4], count[64][64];
    bool many = below(3) == 0;
    memset(count, 0, sizeof count);
    for (int a = 0; a < world_size; a++)
        for (int b = a; b < world_size; b++)
            if (below(3) == 0)
                count[a][b] = count[b][a] = many ? 1 + below(2) : 1;
    int n = 0;
    for (int a = 0; a < world_size; a++) {
        for (int b = 0; b < world_size; b++)
            for (int i = 0; i < count[a][b]; i++)
                edges[n++] = b;
        index[a] = n;
    }
    MAKE(Graph_create, MPI_COMM_WORLD, world_size, index, edges, 0, &t->comm);
    int rank;
    PMPI_Comm_rank(t->comm, &rank);
    PMPI_Graph_neighbors_count(t->comm, rank, &t->nin);
    PMPI_Graph_neighbors(t->comm, rank, t->nin, t->in);
    t->nout = t->nin;
    memcpy(t->out, t->in, sizeof t->in);
    snprintf(t->name, sizeof t->name, "graph%s", many ? " with repeated edges" : "");
}

static void make_distributed(topology *t) {
    static int to[64][MOST];
    int degree[64], weights[MOST], form = below(3);
    const int repeated = below(3) == 0, alone = below(2) ? world_size / 2 : -1;
    t->nin = t->nout = 0;
    for (int r = 0; r < world_size; r++) {
        degree[r] = r == alone ? 0 : below(world_size + 3);
        int n = 0;
        for (int i = 0; i < degree[r]; i++) {
            int target = below(world_size);
            bool had = target == alone;
            for (int j = 0; j < n; j++)
                had = had || (to[r][j] == target && !repeated);
            if (!had)
                to[r][n++] = target;
        }
        degree[r] = n;
    }
    for (int r = 0; r < world_size; r++)
        for (int i = 0; i < degree[r]; i++)
            if (to[r][i] == world_rank)
                t->in[t->nin++] = r;
    for (int i = 0; i < MOST; i++)
        weights[i] = i;
    t->nout = degree[world_rank];
    memcpy(t->out, to[world_rank], sizeof t->out);
    if (form == 0) {
        MAKE(Dist_graph_create_adjacent, MPI_COMM_WORLD, t->nin, t->in, MPI_UNWEIGHTED, t->nout,
             t->out, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &t->comm);
    } else if (form == 1) {
        MAKE(Dist_graph_create_adjacent, MPI_COMM_WORLD, t->nin, t->in,
             t->nin ? weights : MPI_WEIGHTS_EMPTY, t->nout, t->out,
             t->nout ? weights : MPI_WEIGHTS_EMPTY, MPI_INFO_NULL, 0, &t->comm);
    } else {
        int n = t->nout > 0;
        MAKE(Dist_graph_create, MPI_COMM_WORLD, n, &world_rank, &t->nout, t->out,
             n ? weights : MPI_WEIGHTS_EMPTY, MPI_INFO_NULL, 0, &t->comm);
        int w1[MOST], w2[MOST];
        PMPI_Dist_graph_neighbors(t->comm, t->nin, t->in, w1, t->nout, t->out, w2);
    }
    snprintf(t->name, sizeof t->name, "distributed graph, form %d%s", form,
             repeated ? ", repeated edges" : "");
}

/* A buffer of blocks: where they are, in elements of the type (or bytes, in alltoallw). */
typedef struct {
    char *memory;
    size_t bytes;
    int counts[MOST], displs[MOST];
    MPI_Aint places[MOST];
    MPI_Datatype types[MOST];
} side;

static size_t extent_of(MPI_Datatype type) {
    return type == gapped ? 12 : 4;
}

static void lay_out(side *s, const int *counts, int n, MPI_Datatype type, int seed, bool ragged,
                    bool each_its_own) {
    size_t at = 0;
    for (int k = 0; k < n; k++) {
        int i = ragged && seed % 2 ? n - 1 - k : k; /* from the end */
        s->types[i] =
            each_its_own && hash(i, k, seed, 2) ? (type == gapped ? MPI_INT : gapped) : type;
        size_t extent = extent_of(s->types[i]);
        if (ragged && !each_its_own)
            at += extent * (size_t)hash(i, 3, seed, 3);
        s->counts[i] = counts[i];
        s->displs[i] = (int)(at / extent);
        s->places[i] = (MPI_Aint)at;
        at += extent * (size_t)counts[i];
        if (each_its_own)
            at += 4 * (size_t)hash(i, 9, seed, 4);
    }
    s->bytes = at;
    s->memory = malloc(at + 2 * GUARD);
    memset(s->memory, 0x33, at + 2 * GUARD);
}

static void fill(side *s, int seed) {
    for (size_t i = 0; i + 4 <= s->bytes; i += 4)
        memcpy(s->memory + GUARD + i, &(int){(int)i * 31 + world_rank * 7919 + seed}, 4);
}

static const char *const names[] = {"allgather", "allgatherv", "alltoall", "alltoallv",
                                    "alltoallw"};

static void call(const topology *t, int what, bool large, bool bottom, const side *from, void *to,
                 const side *shape, MPI_Datatype send, MPI_Datatype receive, bool own) {
    const char *in = from->memory + GUARD;
    char *out = (char *)to + GUARD;
    static int rcounts[MOST];
    memcpy(rcounts, shape->counts, sizeof rcounts);
    const int scount = from->counts[0], rcount = shape->counts[0];
    MPI_Aint sp[MOST], rp[MOST];
    for (int i = 0; i < MOST; i++) {
        sp[i] = from->places[i] + (bottom ? (MPI_Aint)(uintptr_t)in : 0);
        rp[i] = shape->places[i] + (bottom ? (MPI_Aint)(uintptr_t)out : 0);
    }
#if HAS_LARGE
    MPI_Count sc[MOST], rc[MOST];
    MPI_Aint sd[MOST], rd[MOST];
    for (int i = 0; i < MOST; i++) {
        sc[i] = from->counts[i], rc[i] = rcounts[i];
        sd[i] = from->displs[i], rd[i] = shape->displs[i];
    }
#define EITHER(X, name, arguments, larger)                                                         \
    if (large)                                                                                     \
        X##_Neighbor_##name##_c larger;                                                            \
    else                                                                                           \
        X##_Neighbor_##name arguments
#else
#define EITHER(X, name, arguments, larger) X##_Neighbor_##name arguments
    (void)large;
#endif
#define CALL(X)                                                                                    \
    switch (what) {                                                                                \
    case 0:                                                                                        \
        EITHER(X, allgather, (in, scount, send, out, rcount, receive, t->comm),                    \
               (in, scount, send, out, rcount, receive, t->comm));                                 \
        break;                                                                                     \
    case 1:                                                                                        \
        EITHER(X, allgatherv, (in, scount, send, out, rcounts, shape->displs, receive, t->comm),   \
               (in, scount, send, out, rc, rd, receive, t->comm));                                 \
        break;                                                                                     \
    case 2:                                                                                        \
        EITHER(X, alltoall, (in, scount, send, out, rcount, receive, t->comm),                     \
               (in, scount, send, out, rcount, receive, t->comm));                                 \
        break;                                                                                     \
    case 3:                                                                                        \
        EITHER(                                                                                    \
            X, alltoallv,                                                                          \
            (in, from->counts, from->displs, send, out, rcounts, shape->displs, receive, t->comm), \
            (in, sc, sd, send, out, rc, rd, receive, t->comm));                                    \
        break;                                                                                     \
    default:                                                                                       \
        EITHER(X, alltoallw,                                                                       \
               (bottom ? MPI_BOTTOM : in, from->counts, sp, from->types,                           \
                bottom ? MPI_BOTTOM : out, rcounts, rp, shape->types, t->comm),                    \
               (bottom ? MPI_BOTTOM : in, sc, sp, from->types, bottom ? MPI_BOTTOM : out, rc, rp,  \
                shape->types, t->comm));                                                           \
        break;                                                                                     \
    }
    if (own)
        CALL(PMPI)
    else
        CALL(MPI)
}

static void one(const topology *t) {
    static const int edges[] = {0, 1, 2, 3, 7, 64, 1000, 5000};
    static side from, to;
    const int what = below(5), seed = below(100000), most = edges[1 + below(7)];
    const bool gathers = what < 2, ragged = what == 1 || what >= 3, large = below(2);
    const int count = edges[below(8)];
    int send_counts[MOST], receive_counts[MOST];
    for (int i = 0; i < t->nout || i == 0; i++)
        send_counts[i] = !ragged         ? count
                         : gathers       ? hash(t->rank, 1, seed, most)
                         : t->out[i] < 0 ? 3 /* whatever */
                                         : hash(t->rank, t->out[i], seed, most);
    for (int i = 0; i < t->nin || i == 0; i++)
        receive_counts[i] = !ragged                       ? count
                            : i >= t->nin || t->in[i] < 0 ? 3
                            : gathers                     ? hash(t->in[i], 1, seed, most)
                                                          : hash(t->in[i], t->rank, seed, most);
    /* each rank its own datatypes */
    const MPI_Datatype send = hash(t->rank, 2, seed, 3) == 0 ? gapped : MPI_INT;
    const MPI_Datatype receive = hash(t->rank, 3, seed, 3) == 0 ? gapped : MPI_INT;
    lay_out(&from, send_counts, gathers ? 1 : t->nout, send, seed, ragged && !gathers, what == 4);
    lay_out(&to, receive_counts, t->nin, receive, seed, ragged, what == 4);
    if (gathers || t->nout == 0)
        from.counts[0] = send_counts[0];
    if (t->nin == 0)
        to.counts[0] = receive_counts[0];
    fill(&from, seed);
    char *again = malloc(to.bytes + 2 * GUARD);
    memcpy(again, to.memory, to.bytes + 2 * GUARD);
    const bool bottom = what == 4 && below(2);
    call(t, what, large, bottom, &from, to.memory, &to, send, receive, false);
    call(t, what, large, bottom, &from, again, &to, send, receive, true);
    comparisons++;
    if (memcmp(to.memory, again, to.bytes + 2 * GUARD) != 0 && differences++ < 10) {
        size_t at = 0;
        while (to.memory[at] == again[at])
            at++;
        fprintf(stderr, "rank %d of %d: neighbor_%s%s on %s: byte %ld of %zu differs\n", t->rank,
                t->size, names[what], large ? "_c" : "", t->name, (long)at - GUARD, to.bytes);
    }
    free(again), free(from.memory), free(to.memory);
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &world_size);
    state = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
    const int topologies = argc > 2 ? atoi(argv[2]) : 12, calls = argc > 3 ? atoi(argv[3]) : 20;
    MPI_Type_create_resized(MPI_INT, 0, 12, &gapped);
    MPI_Type_commit(&gapped);
    for (int i = 0; i < topologies; i++) {
        static topology t;
        const int kind = i % 3;
        unseen = i % 2 == 0;
        (kind == 0 ? make_cartesian : kind == 1 ? make_graph : make_distributed)(&t);
        MPI_Comm_rank(t.comm, &t.rank);
        MPI_Comm_size(t.comm, &t.size);
        for (int k = 0; k < calls; k++)
            one(&t);
        MPI_Comm_free(&t.comm);
    }
    MPI_Type_free(&gapped);
    int totals[2], mine[2] = {comparisons, differences};
    PMPI_Allreduce(mine, totals, 2, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (world_rank == 0)
        printf("neighbors: %d comparisons, %d differences\n", totals[0], totals[1]);
    MPI_Finalize();
    return totals[1] != 0;
}
