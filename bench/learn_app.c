/* A solver's loop for bench/learn_alternating.py: two allreduces, a bcast, an allgather, and work
 * in between. Usage: learn_app ITERATIONS [WORK_US]. Prints the seconds of 50 parts of the loop and
 * of all.
 */
#include <mpi.h>

#include <stdio.h>
#include <stdlib.h>

enum { PARTS = 50, BLOCK = 128 };

int main(int argc, char **argv) {
    const long parts = PARTS, iterations = argc > 1 ? atol(argv[1]) : 100000;
    const double work = argc > 2 ? 1e-6 * atof(argv[2]) : 5e-6;
    static double block[BLOCK], all[BLOCK * 1024];
    double x[2] = {1, 2}, sum[2], ended[PARTS + 1];
    int rank, size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Barrier(MPI_COMM_WORLD);
    ended[0] = MPI_Wtime();
    for (long part = 0; part < parts; part++) {
        for (long i = 0; i < iterations / parts; i++) {
            const double begin = MPI_Wtime();
            while (MPI_Wtime() - begin < work)
                ;
            MPI_Allreduce(x, sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
            MPI_Bcast(block, 8, MPI_DOUBLE, 0, MPI_COMM_WORLD);
            MPI_Allgather(block, BLOCK, MPI_DOUBLE, all, BLOCK, MPI_DOUBLE, MPI_COMM_WORLD);
            MPI_Allreduce(x, sum, 2, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        }
        ended[part + 1] = MPI_Wtime();
    }
    if (rank == 0) {
        printf("parts:");
        for (long part = 0; part < parts; part++)
            printf(" %.6f", ended[part + 1] - ended[part]);
        printf("\nseconds: %.6f\n", ended[parts] - ended[0]);
    }
    MPI_Finalize();
    return size > 1024;
}
