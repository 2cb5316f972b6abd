/* A solver's loop for bench/learn_alternating.py: two allreduces, a bcast, an allgather, and work
 * in between. Usage: learn_app ITERATIONS [WORK_US [CHUNK]]. Prints the seconds of 50 parts of the
 * loop and of all, and with two ranks the nanoseconds that a flag took from one to the other before
 * each part: the cores of a virtual machine may be moved while it runs.
 *
 * CHUNK: every second CHUNK iterations call PMPI_*, which nothing sees that is preloaded. Prints
 * what an iteration of the others gains, in nanoseconds, for each pair of chunks: within one run,
 * on the same cores. The first quarter of a chunk is left out, since the other code has to come
 * into the caches first.
 */
#include <mpi.h>

#include <stdio.h>
#include <stdlib.h>

enum { PARTS = 50, BLOCK = 128, ROUNDS = 200, MOST_PAIRS = 10000 };

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

static double x[2] = {1, 2}, sum[2], block[BLOCK], all[BLOCK * 1024], work;

/* PREFIX: MPI or PMPI. */
#define ITERATION(PREFIX)                                                                          \
    do {                                                                                           \
        const double begin = PREFIX##_Wtime();                                                     \
        while (PREFIX##_Wtime() - begin < work)                                                    \
            ;                                                                                      \
        PREFIX##_Allreduce(x, sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);                        \
        PREFIX##_Bcast(block, 8, MPI_DOUBLE, 0, MPI_COMM_WORLD);                                   \
        PREFIX##_Allgather(block, BLOCK, MPI_DOUBLE, all, BLOCK, MPI_DOUBLE, MPI_COMM_WORLD);      \
        PREFIX##_Allreduce(x, sum, 2, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);                        \
    } while (0)

/* Seconds of an iteration in a chunk of so many, and of the slower rank. */
static double chunk(long iterations, int unseen) {
    double mine = 0, slowest;
    for (long i = 0; i < iterations; i++) {
        if (i == iterations / 4) {
            PMPI_Barrier(MPI_COMM_WORLD);
            mine = MPI_Wtime();
        }
        if (unseen)
            ITERATION(PMPI);
        else
            ITERATION(MPI);
    }
    mine = (MPI_Wtime() - mine) / (double)(iterations - iterations / 4);
    PMPI_Allreduce(&mine, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return slowest;
}

int main(int argc, char **argv) {
    const long parts = PARTS, iterations = argc > 1 ? atol(argv[1]) : 100000,
               length = argc > 3 ? atol(argv[3]) : 0;
    static double seconds[PARTS], flags[PARTS], gains[MOST_PAIRS];
    double all_seconds = 0;
    int rank, size, unit, pairs = 0;
    MPI_Win window;
    MPI_Aint bytes;
    int *flag;
    work = argc > 2 ? 1e-6 * atof(argv[2]) : 5e-6;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Win_allocate_shared(rank ? 0 : 64, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &flag, &window);
    MPI_Win_shared_query(window, 0, &bytes, &unit, &flag);
    if (rank == 0)
        *flag = 0;
    for (long part = 0; part < parts; part++) {
        flags[part] = size == 2 ? flag_ns(flag, rank) : 0;
        MPI_Barrier(MPI_COMM_WORLD);
        const double begun = MPI_Wtime();
        for (long i = 0; i < iterations / parts; i += length ? 2 * length : 1) {
            if (!length) {
                ITERATION(MPI);
                continue;
            }
            const double unseen = chunk(length, 1), seen = chunk(length, 0);
            if (pairs < MOST_PAIRS)
                gains[pairs++] = unseen - seen;
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
        if (length) {
            printf("\ngains:");
            for (int pair = 0; pair < pairs; pair++)
                printf(" %.1f", 1e9 * gains[pair]);
        }
        printf("\nseconds: %.6f\n", all_seconds);
    }
    MPI_Win_free(&window);
    MPI_Finalize();
    return size > 1024;
}
