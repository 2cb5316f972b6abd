/* Work that is shared out to all ranks, with an allreduce in each step: scaling STEPS US MORE_US.
 * A step takes US / ranks + MORE_US x ranks: more ranks make it faster at first, then slower.
 * Tells its layout and its threads, and counts its own starts in ./starts (one file a run).
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char **argv) {
    int ranks, rank, steps = argc > 1 ? atoi(argv[1]) : 10;
    double work = argc > 2 ? atof(argv[2]) : 0, more = argc > 3 ? atof(argv[3]) : 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    double sum = 0, begin = MPI_Wtime();
    for (int i = 0; i < steps; i++) {
        double one = 1;
        usleep((useconds_t)(work / ranks + more * ranks));
        MPI_Allreduce(&one, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    }
    if (rank == 0) {
        const char *threads = getenv("OMP_NUM_THREADS");
        FILE *starts = fopen("starts", "a");
        if (!starts || fputs("started\n", starts) < 0 || fclose(starts) != 0)
            MPI_Abort(MPI_COMM_WORLD, 3);
        printf("ranks %d\nthreads %s\n", ranks, threads ? threads : "unset");
        printf("rate: %.6f\n", steps / (MPI_Wtime() - begin + 1e-9));
        printf("modelled: %.3f us\n", steps * (work / ranks + more * ranks));
    }
    MPI_Finalize();
    return steps > 0 && sum != ranks;
}
