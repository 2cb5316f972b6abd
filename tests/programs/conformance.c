/* Calls each collective twice, as MPI_X (Stretto's when preloaded) and as PMPI_X (the MPI's own),
 * with the same random arguments, and compares every byte of the results, buffers' surroundings
 * included.
 *
 * Up to 64 ranks. Usage: conformance [seed [rounds [largest count [bottom]]]]. Prints the number of
 * comparisons and of differences; exit status 1 when there are any (conformance_choices.h: choices
 * and shapes from files). Values are small integers, so that floating-point results are exact in
 * any order; non-commutative operations (2x2 integer matrices) show a wrong order.
 */
#include <mpi.h>

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { GUARD = 64 };

static uint64_t state;
static int rank, size, differences, comparisons;
static long largest;

static uint32_t next(void) { /* the same sequence on all ranks */
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(state >> 33);
}

static int below(int n) {
    return (int)(next() % (uint32_t)n);
}

static int random_count(void) {
    static const int edges[] = {0, 1, 2, 3, 5, 7, 8, 16, 31, 64, 127, 128, 255, 1000, 1024, 4096};
    int kind = below(8);
    if (kind < 5)
        return edges[below((int)(sizeof edges / sizeof *edges))];
    if (kind < 7)
        return below(3000);
    return below((int)largest);
}

/* Matrices [a b; c d] of int64 modulo 2^64: associative, not commutative. */
static void multiply(void *in, void *inout, int *n, MPI_Datatype *type) {
    uint64_t *a = in, *b = inout;
    (void)type;
    for (int i = 0; i < *n; i++, a += 4, b += 4) {
        uint64_t r[4] = {a[0] * b[0] + a[1] * b[2], a[0] * b[1] + a[1] * b[3],
                         a[2] * b[0] + a[3] * b[2], a[2] * b[1] + a[3] * b[3]};
        memcpy(b, r, sizeof r);
    }
}

/* Adds the first of three ints, the type has a gap: the other two are not part of it. */
static void add_first(void *in, void *inout, int *n, MPI_Datatype *type) {
    int *a = in, *b = inout;
    (void)type;
    for (int i = 0; i < *n; i++)
        b[3 * i] += a[3 * i];
}

static MPI_Aint offsets[2];

static void add_absolute(void *in, void *inout, int *n, MPI_Datatype *type) {
    (void)n, (void)type;
    for (int i = 0; i < 2; i++)
        *(int *)((char *)inout + offsets[i]) += *(int *)((char *)in + offsets[i]);
}

typedef struct {
    const char *name;
    MPI_Datatype type;
    size_t extent;
    int kind; /* 0 integer, 1 floating, 2 pair, 3 matrix, 4 gapped int, 5 complex, 6 bool */
} datatype;

static MPI_Op matrix_op, first_op;
static datatype types[32];
static int ntypes;

static void add_type(const char *name, MPI_Datatype type, size_t extent, int kind) {
    types[ntypes++] = (datatype){name, type, extent, kind};
}

static void make_types(void) {
    add_type("MPI_INT", MPI_INT, sizeof(int), 0);
    add_type("MPI_DOUBLE", MPI_DOUBLE, sizeof(double), 1);
    add_type("MPI_FLOAT", MPI_FLOAT, sizeof(float), 1);
    add_type("MPI_SIGNED_CHAR", MPI_SIGNED_CHAR, 1, 0);
    add_type("MPI_SHORT", MPI_SHORT, sizeof(short), 0);
    add_type("MPI_LONG", MPI_LONG, sizeof(long), 0);
    add_type("MPI_UNSIGNED", MPI_UNSIGNED, sizeof(unsigned), 0);
    add_type("MPI_UINT8_T", MPI_UINT8_T, 1, 0);
    add_type("MPI_INT64_T", MPI_INT64_T, 8, 0);
    add_type("MPI_C_DOUBLE_COMPLEX", MPI_C_DOUBLE_COMPLEX, 16, 5);
    add_type("MPI_C_BOOL", MPI_C_BOOL, 1, 6);
    add_type("MPI_2INT", MPI_2INT, 8, 2);
    add_type("MPI_DOUBLE_INT", MPI_DOUBLE_INT, 16, 2);
    MPI_Datatype matrix, gapped, resized;
    MPI_Type_contiguous(4, MPI_INT64_T, &matrix);
    MPI_Type_commit(&matrix);
    add_type("matrix", matrix, 32, 3);
    gapped = MPI_INT;
    MPI_Type_create_resized(gapped, 0, 12, &resized);
    MPI_Type_commit(&resized);
    add_type("gapped", resized, 12, 4);
    MPI_Op_create(multiply, 0, &matrix_op);
    MPI_Op_create(add_first, 1, &first_op);
}

static MPI_Op pick_op(const datatype *t) {
    static const int integer_ops = 10;
    MPI_Op ints[] = {MPI_SUM, MPI_PROD, MPI_MAX,  MPI_MIN, MPI_LAND,
                     MPI_LOR, MPI_LXOR, MPI_BAND, MPI_BOR, MPI_BXOR};
    MPI_Op floats[] = {MPI_SUM, MPI_PROD, MPI_MAX, MPI_MIN};
    MPI_Op logical[] = {MPI_LAND, MPI_LOR, MPI_LXOR};
    switch (t->kind) {
    case 0: return ints[below(integer_ops)];
    case 1: return floats[below(4)];
    case 2: return below(2) ? MPI_MAXLOC : MPI_MINLOC;
    case 3: return matrix_op;
    case 4: return first_op;
    case 5: return below(2) ? MPI_SUM : MPI_PROD;
    default: return logical[below(3)];
    }
}

static void fill(char *data, const datatype *t, long n, int seed) {
    memset(data, 0x5a, (size_t)n * t->extent);
    for (long i = 0; i < n; i++) {
        int v = (int)((unsigned)(i * 7 + rank * 13 + seed) % 3) + 1;
        char *at = data + (size_t)i * t->extent;
        /* no ties: Intel MPI 2021.18 does not always give the lower index (its own result differs
         * from call to call), as MPI-4.1 section 6.9.4 asks; the kernels' own test has ties */
        if (t->kind == 2)
            v = (int)((unsigned)(i * 7 + rank * 31 + seed) % 97);
        if (t->type == MPI_DOUBLE)
            memcpy(at, &(double){v}, 8);
        else if (t->type == MPI_FLOAT)
            memcpy(at, &(float){(float)v}, 4);
        else if (t->type == MPI_C_DOUBLE_COMPLEX)
            memcpy(at, (double[]){v, v % 2}, 16);
        else if (t->type == MPI_2INT)
            memcpy(at, (int[]){v, (rank * 5 + (int)i) % 7}, 8);
        else if (t->type == MPI_DOUBLE_INT) {
            memset(at, 0, 16);
            memcpy(at, &(double){v}, 8);
            memcpy(at + 8, &(int){(rank * 5 + (int)i) % 7}, 4);
        } else if (t->kind == 3)
            memcpy(at, (uint64_t[]){1, (uint64_t)v, (uint64_t)(rank & 1), 1}, 32);
        else if (t->kind == 6)
            *at = (char)(v & 1);
        else if (t->kind == 4)
            memcpy(at, &v, 4);
        else
            memcpy(at, &(int64_t){v}, t->extent);
    }
}

static char *buffer(size_t bytes) {
    char *b = malloc(bytes + 2 * GUARD);
    if (!b)
        MPI_Abort(MPI_COMM_WORLD, 2);
    memset(b, 0x33, bytes + 2 * GUARD);
    return b;
}

static void compare(const char *what, const datatype *t, int count, char *a, const char *b,
                    size_t bytes, MPI_Comm comm) {
    comparisons++;
    if (t->type == MPI_DOUBLE_INT) /* four bytes of padding at the end of the pair mean nothing */
        for (size_t i = 0; i + 16 <= bytes; i += 16)
            memcpy(a + GUARD + i + 12, b + GUARD + i + 12, 4);
    if (memcmp(a, b, bytes + 2 * GUARD) == 0)
        return;
    size_t at = 0;
    while (a[at] == b[at])
        at++;
    int n, r;
    MPI_Comm_size(comm, &n);
    MPI_Comm_rank(comm, &r);
    if (differences++ < 10)
        fprintf(stderr, "rank %d of %d: %s %s count %d: byte %ld of %zu differs\n", r, n, what,
                t->name, count, (long)at - GUARD, bytes);
}

static void one(MPI_Comm comm, MPI_Comm reference) {
    int n, me;
    MPI_Comm_size(comm, &n);
    MPI_Comm_rank(comm, &me);
    const datatype *t = &types[below(ntypes)];
    int count = random_count(), root = below(n), in_place = below(3) == 0, what = below(5);
    int seed = below(1000);
    MPI_Op op = pick_op(t);
    size_t bytes = (size_t)count * t->extent, all = bytes * (size_t)n;
    char *in = buffer(bytes), *a = buffer(all), *b = buffer(all);
    fill(in + GUARD, t, count, seed);
    char name[64];
    switch (what) {
    case 0:
        if (in_place)
            fill(a + GUARD, t, count, seed), fill(b + GUARD, t, count, seed);
        MPI_Allreduce(in_place ? MPI_IN_PLACE : in + GUARD, a + GUARD, count, t->type, op, comm);
        PMPI_Allreduce(in_place ? MPI_IN_PLACE : in + GUARD, b + GUARD, count, t->type, op,
                       reference);
        snprintf(name, sizeof name, "allreduce%s", in_place ? " in place" : "");
        break;
    case 1:
        in_place = in_place && me == root;
        if (in_place)
            fill(a + GUARD, t, count, seed), fill(b + GUARD, t, count, seed);
        MPI_Reduce(in_place ? MPI_IN_PLACE : in + GUARD, a + GUARD, count, t->type, op, root, comm);
        PMPI_Reduce(in_place ? MPI_IN_PLACE : in + GUARD, b + GUARD, count, t->type, op, root,
                    reference);
        snprintf(name, sizeof name, "reduce root %d", root);
        if (me != root)
            memcpy(b, a, all + 2 * GUARD); /* not significant there */
        break;
    case 2:
        if (me == root)
            fill(a + GUARD, t, count, seed), fill(b + GUARD, t, count, seed);
        MPI_Bcast(a + GUARD, count, t->type, root, comm);
        PMPI_Bcast(b + GUARD, count, t->type, root, reference);
        snprintf(name, sizeof name, "bcast root %d", root);
        break;
    case 3:
        if (in_place) {
            fill(a + GUARD + (size_t)me * bytes, t, count, seed);
            fill(b + GUARD + (size_t)me * bytes, t, count, seed);
        }
        MPI_Allgather(in_place ? MPI_IN_PLACE : in + GUARD, count, t->type, a + GUARD, count,
                      t->type, comm);
        PMPI_Allgather(in_place ? MPI_IN_PLACE : in + GUARD, count, t->type, b + GUARD, count,
                       t->type, reference);
        snprintf(name, sizeof name, "allgather%s", in_place ? " in place" : "");
        break;
    default:
        MPI_Barrier(comm);
        snprintf(name, sizeof name, "barrier");
        break;
    }
    compare(name, t, count, a, b, all, comm);
    free(in), free(a), free(b);
}

#include "conformance_blocks.h"
#include "conformance_choices.h"

/* Results at absolute addresses, that is with MPI_BOTTOM (NULL) as buffer, and another layout on
 * each rank. No native reference: MPICH 5.0.2 itself crashes in this allreduce. */
static void at_bottom(MPI_Comm comm) {
    int data[4], n, me;
    MPI_Comm_size(comm, &n);
    MPI_Comm_rank(comm, &me);
    int which = (me + 1) % 3; /* two of the four, elsewhere on each rank */
    for (int i = 0; i < 4; i++)
        data[i] = (me + 1) * (i == 3 ? 4 : 10);
    MPI_Aint addresses[2];
    MPI_Datatype absolute;
    MPI_Op plus;
    MPI_Get_address(&data[which], &addresses[0]);
    MPI_Get_address(&data[3], &addresses[1]);
    MPI_Type_create_hindexed(2, (int[]){1, 1}, addresses, MPI_INT, &absolute);
    MPI_Type_commit(&absolute);
    MPI_Op_create(add_absolute, 1, &plus);
    offsets[0] = addresses[0], offsets[1] = addresses[1];
    MPI_Allreduce(MPI_IN_PLACE, MPI_BOTTOM, 1, absolute, plus,
                  comm); /* sums of 1..n, 10 and 4 fold */
    MPI_Bcast(MPI_BOTTOM, 1, absolute, n - 1, comm);
    MPI_Op_free(&plus);
    MPI_Type_free(&absolute);
    int sum = n * (n + 1) / 2;
    comparisons++;
    for (int i = 0; i < 4; i++) {
        int expected = i == 3 ? 4 * sum : i == which ? 10 * sum : 10 * (me + 1);
        if (data[i] != expected) {
            fprintf(stderr, "rank %d: at MPI_BOTTOM: element %d is %d, not %d\n", me, i, data[i],
                    expected);
            differences++;
        }
    }
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    state = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
    int rounds = argc > 2 ? atoi(argv[2]) : 300;
    largest = argc > 3 ? atol(argv[3]) : 200000;
    make_types();
    make_shapes();
    /* The world, its reverse, and a part of it; references are communicators that Stretto never
     * sees. */
    MPI_Comm comms[3], references[3];
    PMPI_Comm_dup(MPI_COMM_WORLD, &comms[0]);
    MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &comms[1]);
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &comms[2]);
    for (int i = 0; i < 3; i++)
        PMPI_Comm_dup(comms[i], &references[i]);
    lines_of sets, shapes_of_rounds;
    read_lines(&sets, "CONFORMANCE_CHOICES");
    read_lines(&shapes_of_rounds, "CONFORMANCE_SHAPES");
    if (shapes_of_rounds.n)
        rounds = shapes_of_rounds.n;
    long by_set[2][COLLECTIVES] = {{0}}, ours = 0;
    for (int set = 0; set < (sets.n ? sets.n : 1); set++) {
        for (int i = 0; sets.n && i < 3; i++)
            choose_all(comms[i], sets.lines[set]);
        int before = differences;
        for (int i = 0; i < rounds; i++) {
            if (shapes_of_rounds.n)
                state = strtoull(shapes_of_rounds.lines[i], NULL, 10);
            int which = below(3);
            (below(3) ? blocks : one)(comms[which], references[which]);
        }
        if (differences > before && sets.n)
            fprintf(stderr, "rank %d: with %s\n", rank, sets.lines[set]);
        long *now = by_set[(set + 1) % 2];
        memset(now, 0, sizeof *by_set);
        for (int i = 0; i < 3; i++)
            count_ours(comms[i], now);
        if (rank == 0 && sets.n)
            say_left_out(sets.lines[set], by_set[set % 2], now);
    }
    for (int i = 0; i < COLLECTIVES; i++)
        ours += by_set[(sets.n ? sets.n : 1) % 2][i];
    free_lines(&sets), free_lines(&shapes_of_rounds);
    for (int i = 0; argc > 4 && i < 3; i++)
        at_bottom(comms[i]);
    free_shapes();
    int totals[2], mine[2] = {comparisons, differences};
    long all_ours = 0;
    PMPI_Allreduce(mine, totals, 2, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    PMPI_Allreduce(&ours, &all_ours, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    for (int i = 0; i < 3; i++)
        MPI_Comm_free(&comms[i]), MPI_Comm_free(&references[i]);
    if (rank == 0)
        printf("conformance: %d comparisons, %d differences\n"
               "%ld calls carried out by Stretto; choices: %d, refused: %d\n",
               totals[0], totals[1], all_ours, chosen, refused);
    MPI_Finalize();
    return totals[1] != 0;
}
