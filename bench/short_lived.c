/* What a communicator costs that is made, used for a few short allreduces, and freed: us, median of
 * batches.
 *
 *   short_lived BATCHES       "communicator X"
 */
#include <mpi.h>

#include <stdio.h>
#include <stdlib.h>

enum { BATCH = 50, CALLS = 5, WARM = 4 };

static int ascending(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double batch(int me) {
    MPI_Barrier(MPI_COMM_WORLD);
    const double start = MPI_Wtime();
    for (int i = 0; i < BATCH; i++) {
        MPI_Comm comm;
        long one = 1, sum;
        if (i % 2)
            MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        else
            MPI_Comm_split(MPI_COMM_WORLD, 0, -me, &comm);
        for (int k = 0; k < CALLS; k++)
            MPI_Allreduce(&one, &sum, 1, MPI_LONG, MPI_SUM, comm);
        MPI_Comm_free(&comm);
    }
    double mine = (MPI_Wtime() - start) / BATCH * 1e6, most;
    MPI_Allreduce(&mine, &most, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return most;
}

int main(int argc, char **argv) {
    int me;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    const int n = argc > 1 ? atoi(argv[1]) : 40;
    double *times = malloc((size_t)n * sizeof *times);
    for (int i = -WARM; i < n; i++) {
        const double time = batch(me);
        if (i >= 0)
            times[i] = time;
    }
    qsort(times, (size_t)n, sizeof *times, ascending);
    if (me == 0)
        printf("communicator %.2f\n", times[n / 2]);
    free(times);
    MPI_Finalize();
    return 0;
}
