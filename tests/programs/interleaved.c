/* Reductions of a datatype whose elements lie between one another: columns of a row-major matrix of
 * 2 x N ints, resized to one int. Every reduction of n columns as MPI_X and as PMPI_X.
 *
 * Usage: interleaved. Prints the number of comparisons and of differences; exit status 1 when there
 * are any.
 */
#include <mpi.h>

#include <stdio.h>
#include <string.h>

enum { COLUMNS = 12, MOST = 2 * COLUMNS };

static int rank, size, comparisons, differences;

/* Element i has ints i and i + COLUMNS. */
static void add(void *in, void *inout, int *n, MPI_Datatype *type) {
    int *a = in, *b = inout;
    (void)type;
    for (int i = 0; i < *n; i++) {
        b[i] += a[i];
        b[i + COLUMNS] += a[i + COLUMNS];
    }
}

static void same(const char *what, const int *ours, const int *theirs) {
    comparisons++;
    if (memcmp(ours, theirs, MOST * sizeof *ours) == 0)
        return;
    differences++;
    fprintf(stderr, "interleaved: rank %d: %s differs\n", rank, what);
}

int main(int argc, char **argv) {
    static int in[MOST], ours[MOST], theirs[MOST];
    MPI_Datatype pair, column;
    MPI_Op op;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Type_vector(2, 1, COLUMNS, MPI_INT, &pair);
    MPI_Type_create_resized(pair, 0, sizeof(int), &column);
    MPI_Type_commit(&column);
    for (int commutes = 0; commutes < 2; commutes++) {
        MPI_Op_create(add, commutes, &op);
        for (int n = 1; n <= COLUMNS; n++) {
            for (int i = 0; i < MOST; i++)
                in[i] = (rank + 1) * 1000 + i;
#define BOTH(name, ...)                                                                            \
    memset(ours, 0, sizeof ours), memset(theirs, 0, sizeof theirs);                                \
    MPI_##name(in, ours, __VA_ARGS__, MPI_COMM_WORLD);                                             \
    PMPI_##name(in, theirs, __VA_ARGS__, MPI_COMM_WORLD);                                          \
    same(#name, ours, theirs)
            BOTH(Allreduce, n, column, op);
            BOTH(Reduce, n, column, op, n % size);
            BOTH(Scan, n, column, op);
            if (rank == 0) /* what MPI_Exscan leaves there is not said */
                MPI_Exscan(in, ours, n, column, op, MPI_COMM_WORLD),
                    PMPI_Exscan(in, ours, n, column, op, MPI_COMM_WORLD);
            else {
                BOTH(Exscan, n, column, op);
            }
            if (n * size <= COLUMNS) {
                BOTH(Reduce_scatter_block, n, column, op);
            }
        }
        MPI_Op_free(&op);
    }
    MPI_Type_free(&column);
    MPI_Type_free(&pair);
    MPI_Allreduce(MPI_IN_PLACE, &differences, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0)
        printf("%d comparisons, %d differences\n", comparisons, differences);
    MPI_Finalize();
    return differences != 0;
}
