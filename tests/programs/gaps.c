/* Reductions of pairs with a gap, MPI_DOUBLE_INT, MPI_LONG_INT and MPI_SHORT_INT: what lies in the
 * gap, between the members or behind them, is the program's own. Every collective, in place and
 * not, blocking and not, as MPI_X and as PMPI_X.
 *
 * Usage: gaps. Prints the number of comparisons, of differences and of calls that went to the MPI;
 * exit status 1 when there are differences. What the MPIs themselves do to gaps is not compared.
 */
#include <dlfcn.h>
#include <mpi.h>

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 300, WIDEST = 16 };

static int rank, size, comparisons, differences;
static MPI_Comm comm;

typedef struct {
    const char *name;
    MPI_Datatype type;
    size_t extent, value, index, gap; /* gap: of 4 bytes or 2 */
    size_t value_size, gap_size;
} pair;

static void fill(const pair *t, char *to, int n, int salt) {
    for (int i = 0; i < n; i++, to += t->extent) {
        const long value = (salt * 7 + i * 5) % 11;
        const double real = (double)value;
        const short small = (short)value;
        const int index = salt, mine = salt * 1000 + i + 1;
        memcpy(to + t->value,
               t->type == MPI_DOUBLE_INT ? (const void *)&real
               : t->type == MPI_LONG_INT ? (const void *)&value
                                         : (const void *)&small,
               t->value_size);
        memcpy(to + t->index, &index, sizeof index);
        memcpy(to + t->gap, &mine, t->gap_size);
    }
}

/* results: members are to be as the MPI's; all else as it was. */
static void compare(const pair *t, const char *what, int results, const char *ours,
                    const char *theirs, const char *before) {
    int wrong = 0, touched = 0;
    for (int i = 0; i < MOST; i++) {
        const size_t at = (size_t)i * t->extent;
        if (i < results) {
            wrong += memcmp(ours + at + t->value, theirs + at + t->value, t->value_size) != 0;
            wrong += memcmp(ours + at + t->index, theirs + at + t->index, sizeof(int)) != 0;
            touched += memcmp(ours + at + t->gap, before + at + t->gap, t->gap_size) != 0;
        } else {
            touched += memcmp(ours + at, before + at, t->extent) != 0;
        }
    }
    comparisons++;
    if (wrong + touched == 0)
        return;
    differences++;
    fprintf(stderr, "gaps: rank %d: %s of %s: %d members wrong, %d places touched\n", rank, what,
            t->name, wrong, touched);
}

static char in[MOST * WIDEST], before[MOST * WIDEST], ours[MOST * WIDEST], theirs[MOST * WIDEST];

static void begin(const pair *t) {
    fill(t, in, MOST, rank + 1);
    fill(t, before, MOST, 50 + rank);
    memcpy(ours, before, sizeof ours);
    memcpy(theirs, before, sizeof theirs);
}

/* The arguments behind the buffers; results: the pairs that this rank gets. */
#define ALIKE(what, results, name, ...)                                                            \
    begin(t);                                                                                      \
    MPI_##name(in, ours, __VA_ARGS__, comm);                                                       \
    PMPI_##name(in, theirs, __VA_ARGS__, comm);                                                    \
    compare(t, what, results, ours, theirs, before)
#define IN_PLACE(what, results, name, ...)                                                         \
    begin(t);                                                                                      \
    MPI_##name(MPI_IN_PLACE, ours, __VA_ARGS__, comm);                                             \
    PMPI_##name(MPI_IN_PLACE, theirs, __VA_ARGS__, comm);                                          \
    compare(t, what, results, ours, theirs, before)
#define STARTED(what, results, name, ...)                                                          \
    begin(t);                                                                                      \
    MPI_##name(in, ours, __VA_ARGS__, comm, &request);                                             \
    MPI_Wait(&request, MPI_STATUS_IGNORE);                                                         \
    PMPI_##name(in, theirs, __VA_ARGS__, comm, &request);                                          \
    PMPI_Wait(&request, MPI_STATUS_IGNORE);                                                        \
    compare(t, what, results, ours, theirs, before)

static void every(const pair *t, int n, MPI_Op op) {
    MPI_Request request;
    const int root = n % size, at_root = rank == root ? n : 0, block = n / size;
    int counts[size];
    for (int r = 0; r < size; r++)
        counts[r] = r == 1 ? 0 : block + r % 2;
    const int mine = counts[rank];
    ALIKE("allreduce", n, Allreduce, n, t->type, op);
    ALIKE("reduce", at_root, Reduce, n, t->type, op, root);
    ALIKE("scan", n, Scan, n, t->type, op);
    ALIKE("exscan", rank ? n : 0, Exscan, n, t->type, op);
    IN_PLACE("allreduce in place", n, Allreduce, n, t->type, op);
    IN_PLACE("scan in place", n, Scan, n, t->type, op);
    IN_PLACE("exscan in place", rank ? n : 0, Exscan, n, t->type, op);
    begin(t);
    MPI_Reduce(rank == root ? MPI_IN_PLACE : in, ours, n, t->type, op, root, comm);
    PMPI_Reduce(rank == root ? MPI_IN_PLACE : in, theirs, n, t->type, op, root, comm);
    compare(t, "reduce in place", at_root, ours, theirs, before);
    if (block) {
        ALIKE("reduce_scatter_block", block, Reduce_scatter_block, block, t->type, op);
        ALIKE("reduce_scatter", mine, Reduce_scatter, counts, t->type, op);
        /* in place: what is behind the result is not said */
        begin(t);
        MPI_Reduce_scatter_block(MPI_IN_PLACE, ours, block, t->type, op, comm);
        PMPI_Reduce_scatter_block(MPI_IN_PLACE, theirs, block, t->type, op, comm);
        memcpy(ours + (size_t)block * t->extent, before + (size_t)block * t->extent,
               (MOST - (size_t)block) * t->extent);
        compare(t, "reduce_scatter_block in place", block, ours, theirs, before);
        begin(t);
        MPI_Reduce_scatter(MPI_IN_PLACE, ours, counts, t->type, op, comm);
        PMPI_Reduce_scatter(MPI_IN_PLACE, theirs, counts, t->type, op, comm);
        memcpy(ours + (size_t)mine * t->extent, before + (size_t)mine * t->extent,
               (MOST - (size_t)mine) * t->extent);
        compare(t, "reduce_scatter in place", mine, ours, theirs, before);
        STARTED("ireduce_scatter_block", block, Ireduce_scatter_block, block, t->type, op);
        STARTED("ireduce_scatter", mine, Ireduce_scatter, counts, t->type, op);
    }
    STARTED("iallreduce", n, Iallreduce, n, t->type, op);
    STARTED("ireduce", at_root, Ireduce, n, t->type, op, root);
    STARTED("iscan", n, Iscan, n, t->type, op);
    STARTED("iexscan", rank ? n : 0, Iexscan, n, t->type, op);
}

/* Calls that Stretto left to the MPI, of all reductions. */
static unsigned long long left(void) {
    static const char *const names[] = {"allreduce",      "reduce", "reduce_scatter_block",
                                        "reduce_scatter", "scan",   "exscan"};
    int (*counters)(MPI_Comm, const char *, unsigned long long *, unsigned long long *);
    void *symbol = dlsym(RTLD_DEFAULT, "stretto_counters");
    unsigned long long all = 0, ran, native;
    memcpy(&counters, &symbol, sizeof counters);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!counters || counters(comm, names[i], &ran, &native) != 0)
            all += 1000000; /* no Stretto: everything */
        else
            all += native + (ran ? 0 : 1000000);
    return all;
}

int main(int argc, char **argv) {
    typedef struct {
        double value;
        int index, mine;
    } double_int;
    typedef struct {
        long value;
        int index, mine;
    } long_int;
    typedef struct {
        short value, mine;
        int index;
    } short_int;
#define TYPE(handle, type)                                                                         \
    {#handle,                                                                                      \
     handle,                                                                                       \
     sizeof(type),                                                                                 \
     offsetof(type, value),                                                                        \
     offsetof(type, index),                                                                        \
     offsetof(type, mine),                                                                         \
     sizeof((type *)0)->value,                                                                     \
     sizeof((type *)0)->mine}
    MPI_Init(&argc, &argv);
    const pair types[] = {TYPE(MPI_DOUBLE_INT, double_int), TYPE(MPI_LONG_INT, long_int),
                          TYPE(MPI_SHORT_INT, short_int)};
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    for (int t = 0; t < 3; t++)
        for (int n = 1; n <= MOST; n *= 17) {
            every(&types[t], n, MPI_MINLOC);
            every(&types[t], n, MPI_MAXLOC);
        }
    int all[2], sums[2] = {comparisons, differences};
    const unsigned long long native = left();
    MPI_Allreduce(sums, all, 2, MPI_INT, MPI_SUM, comm);
    if (rank == 0)
        printf("gaps: %d comparisons, %d differences, %llu calls left to the MPI\n", all[0], all[1],
               native);
    MPI_Comm_free(&comm);
    MPI_Finalize();
    return all[1] != 0;
}
