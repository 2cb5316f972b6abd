/* Collectives of blocks: alltoall(v, w), gather(v), scatter(v), allgatherv, and those reductions
 * whose result is not the same on all ranks. Included by conformance.c.
 *
 * What is only moved has the signature of pairs of ints, in a datatype that each rank, each side
 * and (alltoallw) each block chooses for itself: dense, with gaps, backwards, with a negative lower
 * bound. Results are compared with all that lies between and around them.
 */
#if MPI_VERSION >= 4
#define HAVE_LARGE 1
#endif

enum { SHAPES = 5, UNIT = 16 }; /* bytes that a pair takes at the most */

typedef struct {
    MPI_Datatype type;
    int per_unit; /* elements of the type that make a pair */
    int extent;   /* of a pair */
} shape;

static shape shapes[SHAPES];

static MPI_Datatype pair_type(MPI_Aint first, MPI_Aint second, MPI_Aint lb, MPI_Aint extent) {
    MPI_Datatype pair, resized;
    MPI_Type_create_hindexed(2, (int[]){1, 1}, (MPI_Aint[]){first, second}, MPI_INT, &pair);
    MPI_Type_create_resized(pair, lb, extent, &resized);
    MPI_Type_commit(&resized);
    MPI_Type_free(&pair);
    return resized;
}

static void make_shapes(void) {
    shapes[0] = (shape){MPI_INT, 2, 8};
    MPI_Type_contiguous(2, MPI_INT, &shapes[1].type);
    MPI_Type_commit(&shapes[1].type);
    shapes[1].per_unit = 1, shapes[1].extent = 8;
    shapes[2] = (shape){pair_type(0, 8, 0, 16), 1, 16};
    shapes[3] = (shape){pair_type(-4, 4, -8, 16), 1, 16};
    shapes[4] = (shape){pair_type(4, 0, 0, 8), 1, 8};
    /* Intel MPI 2021.18 damages the heap by itself in MPI_Gather of types with a lower bound that
     * is not 0 */
    char library[8192];
    int length;
    MPI_Get_library_version(library, &length);
    if (strstr(library, "Intel")) {
        MPI_Type_free(&shapes[3].type);
        shapes[3].type = pair_type(0, 12, 0, 16);
    }
}

static void free_shapes(void) {
    for (int i = 1; i < SHAPES; i++)
        MPI_Type_free(&shapes[i].type);
}

static unsigned hash(unsigned a, unsigned b, unsigned c) {
    unsigned h = a * 2654435761u ^ (b + 0x9e3779b9u) * 40503u ^ (c + 77u) * 2246822519u;
    return h ^ h >> 13 ^ h >> 7;
}

static void noise(char *data, size_t bytes, unsigned seed) {
    uint64_t x = seed * 2654435761u + 12345u;
    for (size_t i = 0; i < bytes; i++) {
        x = x * 6364136223846793005u + 1442695040888963407u;
        data[i] = (char)(x >> 56);
    }
}

/* The layout of n blocks on one rank's side: counts, displacements, one datatype or many. */
typedef struct {
    int n;
    size_t bytes; /* of the buffer */
    const shape *s;
    int counts[64], displs[64], byte_displs[64];
    MPI_Datatype types[64];
#ifdef HAVE_LARGE
    MPI_Count large_counts[64];
    MPI_Aint large_displs[64], large_byte_displs[64];
#endif
} side;

/* units(r): pairs of block r. Blocks lie one after another, or backwards, or apart. */
static void lay_out(side *b, int n, const int *units, unsigned seed, int packed, int derived) {
    int at = 0, apart = packed ? 0 : (int)(hash(seed, 1, 2) % 3),
        backwards = !packed && seed % 3 == 1;
    b->n = n;
    b->s = &shapes[derived + (int)(hash(seed, 5, 6) % (unsigned)(SHAPES - derived))];
    for (int i = 0; i < n; i++) {
        int r = backwards ? n - 1 - i : i;
        const shape *own = &shapes[hash(seed, 9, (unsigned)r) % SHAPES];
        b->counts[r] = units[r] * b->s->per_unit;
        b->displs[r] = at * b->s->per_unit;
        b->byte_displs[r] = at * UNIT;
        b->types[r] = own->type;
        at += units[r] + apart;
    }
    b->bytes = (size_t)(at + 1) * UNIT;
#ifdef HAVE_LARGE
    for (int r = 0; r < n; r++) {
        b->large_counts[r] = b->counts[r];
        b->large_displs[r] = b->displs[r];
        b->large_byte_displs[r] = b->byte_displs[r];
    }
#endif
}

/* alltoallw counts elements of each block's own type */
static void count_own(side *b, const int *units) {
    for (int r = 0; r < b->n; r++) {
        int per_unit = b->types[r] == MPI_INT ? 2 : 1;
        b->counts[r] = units[r] * per_unit;
#ifdef HAVE_LARGE
        b->large_counts[r] = b->counts[r];
#endif
    }
}

enum {
    DO_ALLTOALL,
    DO_ALLTOALLV,
    DO_ALLTOALLW,
    DO_GATHER,
    DO_GATHERV,
    DO_SCATTER,
    DO_SCATTERV,
    DO_ALLGATHERV,
    DO_MOVES,
    DO_REDUCE_SCATTER_BLOCK = DO_MOVES,
    DO_REDUCE_SCATTER,
    DO_SCAN,
    DO_EXSCAN,
    DO_BLOCKS
};

static const char *const block_names[DO_BLOCKS] = {
    "alltoall",       "alltoallv",  "alltoallw",
    "gather",         "gatherv",    "scatter",
    "scatterv",       "allgatherv", "reduce_scatter_block",
    "reduce_scatter", "scan",       "exscan"};

#ifdef HAVE_LARGE
#define EITHER(plain, large_form) (is_large ? (large_form) : (plain))
#define LARGE_COUNTS(b) (b).large_counts
#else
#define EITHER(plain, large_form) (plain)
#endif

/* One call in both ways; X is MPI or PMPI. */
#define MOVE(X, out, comm)                                                                         \
    switch (what) {                                                                                \
    case DO_ALLTOALL:                                                                              \
        EITHER(                                                                                    \
            X##_Alltoall(in, from.counts[0], from.s->type, out, to.counts[0], to.s->type, comm),   \
            X##_Alltoall_c(in, from.counts[0], from.s->type, out, to.counts[0], to.s->type,        \
                           comm));                                                                 \
        break;                                                                                     \
    case DO_ALLTOALLV:                                                                             \
        EITHER(X##_Alltoallv(in, from.counts, from.displs, from.s->type, out, to.counts,           \
                             to.displs, to.s->type, comm),                                         \
               X##_Alltoallv_c(in, from.large_counts, from.large_displs, from.s->type, out,        \
                               to.large_counts, to.large_displs, to.s->type, comm));               \
        break;                                                                                     \
    case DO_ALLTOALLW:                                                                             \
        EITHER(X##_Alltoallw(in, from.counts, from.byte_displs, from.types, out, to.counts,        \
                             to.byte_displs, to.types, comm),                                      \
               X##_Alltoallw_c(in, from.large_counts, from.large_byte_displs, from.types, out,     \
                               to.large_counts, to.large_byte_displs, to.types, comm));            \
        break;                                                                                     \
    case DO_GATHER:                                                                                \
        EITHER(X##_Gather(in, from.counts[0], from.s->type, out, to.counts[0], to.s->type, root,   \
                          comm),                                                                   \
               X##_Gather_c(in, from.counts[0], from.s->type, out, to.counts[0], to.s->type, root, \
                            comm));                                                                \
        break;                                                                                     \
    case DO_GATHERV:                                                                               \
        EITHER(X##_Gatherv(in, from.counts[0], from.s->type, out, to.counts, to.displs,            \
                           to.s->type, root, comm),                                                \
               X##_Gatherv_c(in, from.counts[0], from.s->type, out, to.large_counts,               \
                             to.large_displs, to.s->type, root, comm));                            \
        break;                                                                                     \
    case DO_SCATTER:                                                                               \
        EITHER(X##_Scatter(from_at, from.counts[0], from.s->type, into(out), to.counts[0],         \
                           to.s->type, root, comm),                                                \
               X##_Scatter_c(from_at, from.counts[0], from.s->type, into(out), to.counts[0],       \
                             to.s->type, root, comm));                                             \
        break;                                                                                     \
    case DO_SCATTERV:                                                                              \
        EITHER(X##_Scatterv(from_at, from.counts, from.displs, from.s->type, into(out),            \
                            to.counts[0], to.s->type, root, comm),                                 \
               X##_Scatterv_c(from_at, from.large_counts, from.large_displs, from.s->type,         \
                              into(out), to.counts[0], to.s->type, root, comm));                   \
        break;                                                                                     \
    default:                                                                                       \
        EITHER(X##_Allgatherv(in, from.counts[0], from.s->type, out, to.counts, to.displs,         \
                              to.s->type, comm),                                                   \
               X##_Allgatherv_c(in, from.counts[0], from.s->type, out, to.large_counts,            \
                                to.large_displs, to.s->type, comm));                               \
        break;                                                                                     \
    }

#define into(out) (in_place && me == root ? MPI_IN_PLACE : (void *)(out))

static void move_blocks(int what, MPI_Comm comm, MPI_Comm reference) {
    int n, me, units[64], out_units[64];
    MPI_Comm_size(comm, &n);
    MPI_Comm_rank(comm, &me);
    unsigned seed = next();
    int root = below(n), in_place = below(3) == 0, is_large = below(2);
    int most = below(6) == 0 ? (int)(largest / 8 / n + 1) : below(2) ? 40 : 700;
    bool equal = what == DO_ALLTOALL || what == DO_GATHER || what == DO_SCATTER;
    bool pairs = what == DO_ALLTOALLV || what == DO_ALLTOALLW;
    bool one_in = what == DO_GATHER || what == DO_GATHERV || what == DO_ALLGATHERV;
    bool one_out = what == DO_SCATTER || what == DO_SCATTERV;
    (void)is_large;
    for (int r = 0; r < n; r++) {
        unsigned u = (unsigned)r, m = (unsigned)me, low = u < m ? u : m, high = u < m ? m : u;
        unsigned there = equal      ? hash(seed, 3, 4)
                         : !pairs   ? hash(seed, 3, u)
                         : in_place ? hash(seed, low, high)
                                    : hash(seed, m, u);
        unsigned back = pairs && !in_place ? hash(seed, u, m) : there;
        units[r] = there % 4 == 0 && !equal ? 0 : (int)(there % (unsigned)most);
        out_units[r] = back % 4 == 0 && !equal ? 0 : (int)(back % (unsigned)most);
    }
    side from, to;
    /* Open MPI takes sendtype's size for recvtype's and so different algorithms on different ranks
     * (coll_tuned_allgatherv): there all types have one size */
    int derived = what == DO_ALLGATHERV;
    lay_out(&from, one_in ? 1 : n, one_in ? &units[me] : units, hash(seed, 21, (unsigned)me),
            equal || one_in, derived);
    unsigned of_to = 22;
#if defined(OPEN_MPI) && OMPI_MAJOR_VERSION < 5
    /* Open MPI 4.1.4 alone gives wrong blocks from 13 ranks on where the two datatypes differ */
    if (what == DO_ALLTOALL && n > 12)
        of_to = 21;
#endif
    lay_out(&to, one_out ? 1 : n, one_out ? &out_units[me] : out_units,
            hash(seed, of_to, (unsigned)me), equal || one_out, derived);
    if (what == DO_ALLTOALLW) {
        count_own(&from, units);
        count_own(&to, out_units);
    }
    char *data = buffer(from.bytes), *a = buffer(to.bytes), *b = buffer(to.bytes);
    noise(data, from.bytes + 2 * GUARD, seed + (unsigned)me);
    noise(a, to.bytes + 2 * GUARD, seed + 1000u + (unsigned)me);
    memcpy(b, a, to.bytes + 2 * GUARD);
    bool taken = in_place && (what == DO_GATHER || what == DO_GATHERV ? me == root : !one_out);
    const void *in = taken ? MPI_IN_PLACE : data + GUARD;
    const char *from_at = data + GUARD;
    MOVE(MPI, a + GUARD, comm)
    MOVE(PMPI, b + GUARD, reference)
    datatype shown = {shapes == from.s ? "pairs of ints" : "pairs, derived", MPI_INT, 4, 0};
    char name[80];
    snprintf(name, sizeof name, "%s root %d%s", block_names[what], root,
             in_place ? " in place" : "");
    compare(name, &shown, to.counts[0], a, b, to.bytes, comm);
    free(data), free(a), free(b);
}

static void reduce_blocks(int what, MPI_Comm comm, MPI_Comm reference) {
    int n, me, counts[64], all = 0;
    MPI_Comm_size(comm, &n);
    MPI_Comm_rank(comm, &me);
    const datatype *t = &types[below(ntypes)];
    unsigned seed = next();
    int count = random_count(), in_place = below(3) == 0, is_large = below(2);
    MPI_Op op = pick_op(t);
    (void)is_large;
    for (int r = 0; r < n; r++) {
        unsigned h = hash(seed, 31, (unsigned)r);
        counts[r] = h % 4 == 0 ? 0 : (int)(h % (unsigned)(count + 1));
        all += what == DO_REDUCE_SCATTER         ? counts[r]
               : what == DO_REDUCE_SCATTER_BLOCK ? count
               : r == 0                          ? count
                                                 : 0;
    }
    size_t bytes = (size_t)all * t->extent;
    char *data = buffer(bytes), *a = buffer(bytes), *b = buffer(bytes);
    fill(data + GUARD, t, all, (int)(seed % 1000));
    if (in_place) {
        fill(a + GUARD, t, all, (int)(seed % 1000));
        fill(b + GUARD, t, all, (int)(seed % 1000));
    }
    const void *in = in_place ? MPI_IN_PLACE : data + GUARD;
#ifdef HAVE_LARGE
    MPI_Count large[64];
    for (int r = 0; r < n; r++)
        large[r] = counts[r];
#endif
#define REDUCE_BLOCKS(X, out, comm)                                                                \
    switch (what) {                                                                                \
    case DO_REDUCE_SCATTER_BLOCK:                                                                  \
        EITHER(X##_Reduce_scatter_block(in, out, count, t->type, op, comm),                        \
               X##_Reduce_scatter_block_c(in, out, count, t->type, op, comm));                     \
        break;                                                                                     \
    case DO_REDUCE_SCATTER:                                                                        \
        EITHER(X##_Reduce_scatter(in, out, counts, t->type, op, comm),                             \
               X##_Reduce_scatter_c(in, out, large, t->type, op, comm));                           \
        break;                                                                                     \
    case DO_SCAN:                                                                                  \
        EITHER(X##_Scan(in, out, count, t->type, op, comm),                                        \
               X##_Scan_c(in, out, count, t->type, op, comm));                                     \
        break;                                                                                     \
    default:                                                                                       \
        EITHER(X##_Exscan(in, out, count, t->type, op, comm),                                      \
               X##_Exscan_c(in, out, count, t->type, op, comm));                                   \
        break;                                                                                     \
    }
    REDUCE_BLOCKS(MPI, a + GUARD, comm)
    REDUCE_BLOCKS(PMPI, b + GUARD, reference)
    size_t compared = bytes;
    if (what == DO_REDUCE_SCATTER || what == DO_REDUCE_SCATTER_BLOCK) {
        /* in place the rest of the vector may have become anything */
        compared = (size_t)(what == DO_REDUCE_SCATTER ? counts[me] : count) * t->extent;
        if (in_place)
            memcpy(a + GUARD + compared, b + GUARD + compared, bytes - compared);
    }
    if (what == DO_EXSCAN && me == 0) /* undefined */
        memcpy(a + GUARD, b + GUARD, bytes);
    char name[80];
    snprintf(name, sizeof name, "%s%s", block_names[what], in_place ? " in place" : "");
    compare(name, t, count, a, b, bytes, comm);
    free(data), free(a), free(b);
}

static void blocks(MPI_Comm comm, MPI_Comm reference) {
    int what = below(DO_BLOCKS);
    (what < DO_MOVES ? move_blocks : reduce_blocks)(what, comm, reference);
}
