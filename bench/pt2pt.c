/* Point-to-point measurements for `stretto platform fit`, printed as OSU's benchmarks print theirs.
 *
 *     mpicc -O2 bench/pt2pt.c -o pt2pt
 *     mpirun -n 2 --map-by node ./pt2pt latency    > latency.txt     one pair
 *     mpirun -n 2 --map-by node ./pt2pt bandwidth  > bandwidth.txt
 *     mpirun -n 72 --map-by core ./pt2pt bandwidth > multi_pair.txt  36 pairs at once
 *     mpirun -n 72 --map-by core ./pt2pt latency   > full.txt        what a message takes then
 *
 * Rank i of the first half talks to rank i of the second half. Each figure is the median over five
 * batches of the mean over pairs and repetitions. Bandwidth: windows of 64 messages and an answer.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WINDOW = 64, BATCHES = 5, LARGEST = 1 << 22, LONG = 8192 };

static int rank, pairs, peer, first;
static char *out, *in;

/* Half the time of so many round trips; seconds. */
static double ping_pong(int bytes, int repetitions) {
    const double begin = MPI_Wtime();
    for (int i = 0; i < repetitions; i++) {
        if (first)
            MPI_Send(out, bytes, MPI_CHAR, peer, 1, MPI_COMM_WORLD);
        MPI_Recv(in, bytes, MPI_CHAR, peer, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (!first)
            MPI_Send(out, bytes, MPI_CHAR, peer, 1, MPI_COMM_WORLD);
    }
    return (MPI_Wtime() - begin) / (2.0 * repetitions);
}

/* The time of a message in windows of many; seconds. */
static double windows(int bytes, int repetitions) {
    MPI_Request requests[WINDOW];
    char answer = 0;
    const double begin = MPI_Wtime();
    for (int i = 0; i < repetitions; i++) {
        for (int w = 0; w < WINDOW; w++)
            if (first)
                MPI_Isend(out, bytes, MPI_CHAR, peer, 2, MPI_COMM_WORLD, &requests[w]);
            else
                MPI_Irecv(in, bytes, MPI_CHAR, peer, 2, MPI_COMM_WORLD, &requests[w]);
        MPI_Waitall(WINDOW, requests, MPI_STATUSES_IGNORE);
        if (first)
            MPI_Recv(&answer, 1, MPI_CHAR, peer, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        else
            MPI_Send(&answer, 1, MPI_CHAR, peer, 3, MPI_COMM_WORLD);
    }
    return (MPI_Wtime() - begin) / ((double)repetitions * WINDOW);
}

static int by_value(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The median batch, mean over the pairs; on rank 0. */
static double measured(double (*run)(int, int), int bytes, int repetitions) {
    double batches[BATCHES];
    run(bytes, repetitions / 10 + 1);
    for (int b = 0; b < BATCHES; b++) {
        MPI_Barrier(MPI_COMM_WORLD);
        double own = run(bytes, repetitions), sum = 0;
        if (!first)
            own = 0; /* a pair is timed by its first rank */
        MPI_Reduce(&own, &sum, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
        batches[b] = sum / pairs;
    }
    qsort(batches, BATCHES, sizeof *batches, by_value);
    return batches[BATCHES / 2];
}

int main(int argc, char **argv) {
    int n;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    const int latency = argc > 1 && strcmp(argv[1], "latency") == 0;
    const int most = argc > 2 ? atoi(argv[2]) : LARGEST;
    if (n % 2 || most < 1 || most > LARGEST ||
        (!latency && (argc < 2 || strcmp(argv[1], "bandwidth") != 0))) {
        if (rank == 0)
            fprintf(stderr,
                    "usage: mpirun -n EVEN pt2pt latency|bandwidth [LARGEST, to 4194304]\n");
        MPI_Finalize();
        return 2;
    }
    pairs = n / 2;
    first = rank < pairs;
    peer = first ? rank + pairs : rank - pairs;
    out = calloc(1, LARGEST);
    in = calloc(1, LARGEST);
    if (!out || !in)
        MPI_Abort(MPI_COMM_WORLD, 1);
    if (rank == 0) {
        printf("# Stretto %s%s Test\n", pairs > 1 && !latency ? "Multiple " : "",
               latency ? "Latency" : "Bandwidth");
        printf("# [ pairs: %d ] [ window size: %d ]\n", pairs, WINDOW);
        printf("# Size  %s\n", latency ? "Latency (us)" : "Bandwidth (MB/s)");
    }
    for (int bytes = 1; bytes <= most; bytes *= 2) {
        const int repetitions = (bytes < LONG ? 1000 : 100) / (latency ? 1 : 10);
        const double t = measured(latency ? ping_pong : windows, bytes, repetitions);
        if (rank == 0)
            printf("%-8d %.3f\n", bytes, latency ? 1e6 * t : 1e-6 * pairs * bytes / t);
        fflush(stdout);
    }
    free(out);
    free(in);
    MPI_Finalize();
    return 0;
}
