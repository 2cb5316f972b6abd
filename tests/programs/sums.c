/* Twenty sums over all ranks; rank 0 prints the last one. */
#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    int rank, nranks;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &nranks);
    double mine = rank, sum = 0;
    for (int i = 0; i < 20; i++)
        MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0)
        printf("ranks=%d sum=%g\n", nranks, sum);
    fflush(stdout);
    MPI_Finalize();
    return 0;
}
