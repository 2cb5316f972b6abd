/* A program that sets a rounding mode after MPI_Init: sums are rounded so on every rank, whoever
 * carries them out, and however many wait in front of them.
 *
 * Usage: rounding. Prints "rounding done" on rank 0.
 */
#include <mpi.h>

#include <fenv.h>
#include <stdio.h>
#include <unistd.h>

enum { ROUNDS = 8, AT_ONCE = 3 };

int main(int argc, char **argv) {
    int rank, size, wrong = 0, all = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    fesetround(FE_UPWARD);
    volatile double one = 1, little = 0x1p-60, upward = one + little;
    for (int round = 0; round < ROUNDS; round++) {
        double in = rank == 0 ? 1 : rank == 1 ? 0x1p-60 : 0, out[AT_ONCE];
        MPI_Request requests[AT_ONCE];
        MPI_Barrier(MPI_COMM_WORLD);
        for (int i = 0; i < AT_ONCE; i++)
            MPI_Iallreduce(&in, &out[i], 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &requests[i]);
        if (rank == round % size) /* no call of the MPI meanwhile */
            usleep(20000);
        MPI_Waitall(AT_ONCE, requests, MPI_STATUSES_IGNORE);
        for (int i = 0; i < AT_ONCE; i++)
            wrong += out[i] != upward;
        wrong += one + little != upward; /* the program's own mode is as it was */
    }
    MPI_Allreduce(&wrong, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0)
        printf(all ? "rounding: %d sums are wrong\n" : "rounding done\n", all);
    MPI_Finalize();
    return all != 0;
}
