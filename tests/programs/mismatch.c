/* Programs with one mistake each: ranks that do not call the same collective. Stretto is to name
 * what differs (STRETTO_CHECK_CALLS=1); without it they hang or compute nonsense.
 *
 * Usage: mismatch none|root|function|count|op|blocks|pair|gatherv|neighbor|missing
 */
#include <mpi.h>

#include <stdio.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv) {
    int rank, size, data[256] = {0}, result[256] = {0}, counts[64], displs[64];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    const char *what = argc > 1 ? argv[1] : "none";
    for (int r = 0; r < size; r++)
        counts[r] = 2, displs[r] = 2 * r;
    /* correct ones first, so that the mistake is the 17th */
    for (int i = 0; i < 14; i++)
        MPI_Bcast(data, 4, MPI_INT, i % size, MPI_COMM_WORLD);
    MPI_Alltoallv(data, counts, displs, MPI_INT, result, counts, displs, MPI_INT, MPI_COMM_WORLD);
#if MPI_VERSION >= 4 /* the root alone needs large counts */
    MPI_Count large_counts[64];
    MPI_Aint large_displs[64];
    for (int r = 0; r < size; r++)
        large_counts[r] = counts[r], large_displs[r] = displs[r];
    if (rank == 1)
        MPI_Gatherv_c(data, 2, MPI_INT, result, large_counts, large_displs, MPI_INT, 1,
                      MPI_COMM_WORLD);
    else
#endif
        MPI_Gatherv(data, 2, MPI_INT, result, counts, displs, MPI_INT, 1, MPI_COMM_WORLD);
    int wrong = rank == size - 1;
    if (!strcmp(what, "root"))
        MPI_Bcast(data, 4, MPI_INT, wrong, MPI_COMM_WORLD);
    else if (!strcmp(what, "function") && wrong)
        MPI_Barrier(MPI_COMM_WORLD);
    else if (!strcmp(what, "count"))
        MPI_Allreduce(data, result, 4 + wrong, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    else if (!strcmp(what, "op"))
        MPI_Allreduce(data, result, 4, MPI_INT, wrong ? MPI_MAX : MPI_SUM, MPI_COMM_WORLD);
    else if (!strcmp(what, "blocks") || !strcmp(what, "pair") || !strcmp(what, "gatherv")) {
        if (wrong)
            counts[0]++, counts[1] -= *what == 'b';
        if (*what == 'b')
            MPI_Reduce_scatter(data, result, counts, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        else if (*what == 'p')
            MPI_Alltoallv(data, counts, displs, MPI_INT, result, (int[64]){2, 2, 2, 2, 2, 2, 2, 2},
                          displs, MPI_INT, MPI_COMM_WORLD);
        else
            MPI_Gatherv(data, 2 + wrong, MPI_INT, result, (int[64]){2, 2, 2, 2, 2, 2, 2, 2}, displs,
                        MPI_INT, 0, MPI_COMM_WORLD);
    } else if (!strcmp(what, "neighbor")) {
        MPI_Comm line;
        MPI_Cart_create(MPI_COMM_WORLD, 1, &size, (int[1]){0}, 0, &line);
        MPI_Neighbor_alltoall(data, 2 + wrong, MPI_INT, result, 2, MPI_INT, line);
        MPI_Comm_free(&line);
    } else if (!strcmp(what, "missing") && wrong)
        sleep(60);
    else
        MPI_Allreduce(data, result, 4, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Finalize();
    if (rank == 0)
        printf("mismatch: came to its end\n");
    return 0;
}
