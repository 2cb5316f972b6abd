/* A solver's loop for bench/learn_alternating.py: two allreduces, a bcast, an allgather, and work
 * in between. Usage: learn_app ITERATIONS [WORK_US]. Prints the seconds of 50 parts of the loop and
 * of all, and with two ranks the nanoseconds that a flag took from one to the other before each
 * part: the cores of a virtual machine may be moved while it runs.
 */
#include <mpi.h>

#include <stdio.h>
#include <stdlib.h>

enum { PARTS = 50, BLOCK = 128, ROUNDS = 200 };

/* The least time, one way, in which one of two ranks sees what the other wrote. */
static double flag_ns(volatile int *flag, int rank) {
    double least = 1;
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 1; i <= ROUNDS; i++) {
        const double begin = MPI_Wtime();
        if (rank == 0)
            *flag = 2 * i;
        while (*flag != 2 * i + (rank == 0))
            ;
        if (rank == 1)
            *flag = 2 * i + 1;
        const double took = MPI_Wtime() - begin;
        least = took < least ? took : least;
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        *flag = 0;
    return 0.5e9 * least;
}

int main(int argc, char **argv) {
    const long parts = PARTS, iterations = argc > 1 ? atol(argv[1]) : 100000;
    const double work = argc > 2 ? 1e-6 * atof(argv[2]) : 5e-6;
    static double block[BLOCK], all[BLOCK * 1024];
    double x[2] = {1, 2}, sum[2], seconds[PARTS], flags[PARTS], all_seconds = 0;
    int rank, size, unit;
    MPI_Win window;
    MPI_Aint length;
    int *flag;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Win_allocate_shared(rank ? 0 : 64, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &flag, &window);
    MPI_Win_shared_query(window, 0, &length, &unit, &flag);
    if (rank == 0)
        *flag = 0;
    for (long part = 0; part < parts; part++) {
        flags[part] = size == 2 ? flag_ns(flag, rank) : 0;
        MPI_Barrier(MPI_COMM_WORLD);
        const double begun = MPI_Wtime();
        for (long i = 0; i < iterations / parts; i++) {
            const double begin = MPI_Wtime();
            while (MPI_Wtime() - begin < work)
                ;
            MPI_Allreduce(x, sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
            MPI_Bcast(block, 8, MPI_DOUBLE, 0, MPI_COMM_WORLD);
            MPI_Allgather(block, BLOCK, MPI_DOUBLE, all, BLOCK, MPI_DOUBLE, MPI_COMM_WORLD);
            MPI_Allreduce(x, sum, 2, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        }
        seconds[part] = MPI_Wtime() - begun;
        all_seconds += seconds[part];
    }
    if (rank == 0) {
        printf("parts:");
        for (long part = 0; part < parts; part++)
            printf(" %.6f", seconds[part]);
        if (size == 2) {
            printf("\nflags:");
            for (long part = 0; part < parts; part++)
                printf(" %.0f", flags[part]);
        }
        printf("\nseconds: %.6f\n", all_seconds);
    }
    MPI_Win_free(&window);
    MPI_Finalize();
    return size > 1024;
}
