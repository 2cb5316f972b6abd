/* How long a collective takes from the arrival of the last rank to the departure of the last one,
 * when the ranks come at the same time and when one of them comes later, each in turn.
 *
 *   apart [allreduce|iallreduce|allgather|alltoall|bcast] [BYTES]   e.g.  mpirun -n 2 apart
 * allgather 1024
 *
 * Calls back to back, as in most benchmarks, are calls in lockstep: every rank has just been let go
 * by the same call. An application's ranks come apart, and then it matters what those do who wait.
 * Printed for each delay: the quartiles over all calls, in ns. One machine, whose cores' time stamp
 * counters agree (x86-64, invariant): entries and exits of all ranks are put side by side.
 */
#include <mpi.h>

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <x86intrin.h>

enum { CALLS = 200, BATCHES = 60, MOST = 1 << 16 };

static const int delays_ns[] = {0, 50, 100, 150, 250, 500, 2000};
static const char *const names[] = {"allreduce", "iallreduce", "allgather", "alltoall", "bcast"};

static double ticks_per_ns(void) {
    struct timespec a, b;
    clock_gettime(CLOCK_MONOTONIC, &a);
    uint64_t begin = __rdtsc();
    do
        clock_gettime(CLOCK_MONOTONIC, &b);
    while ((b.tv_sec - a.tv_sec) * 1000000000L + b.tv_nsec - a.tv_nsec < 50000000L);
    uint64_t ticks = __rdtsc() - begin;
    return (double)ticks /
           ((double)(b.tv_sec - a.tv_sec) * 1e9 + (double)b.tv_nsec - (double)a.tv_nsec);
}

static void call(int which, void *in, void *out, int n) {
    MPI_Request request;
    switch (which) {
    case 0: MPI_Allreduce(in, out, n, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD); break;
    case 1:
        MPI_Iallreduce(in, out, n, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        break;
    case 2: MPI_Allgather(in, n, MPI_DOUBLE, out, n, MPI_DOUBLE, MPI_COMM_WORLD); break;
    case 3: MPI_Alltoall(in, n, MPI_DOUBLE, out, n, MPI_DOUBLE, MPI_COMM_WORLD); break;
    default: MPI_Bcast(in, n, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    }
}

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

int main(int argc, char **argv) {
    int rank, ranks, which = 0, bytes = argc > 2 ? atoi(argv[2]) : 8;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    while (argc > 1 && which < 5 && strcmp(argv[1], names[which]) != 0)
        which++;
    if (which == 5 || bytes < 8 || bytes > MOST) {
        if (rank == 0)
            fprintf(stderr,
                    "usage: apart [allreduce|iallreduce|allgather|alltoall|bcast] [8 to %d]\n",
                    MOST);
        MPI_Finalize();
        return 2;
    }
    const int n = bytes / (int)sizeof(double);
    double *in = calloc((size_t)n * (size_t)ranks, sizeof *in);
    double *out = calloc((size_t)n * (size_t)ranks, sizeof *out);
    double *times = malloc(sizeof *times * CALLS * BATCHES);
    uint64_t mine[2 * CALLS], *all = malloc(sizeof mine * (size_t)ranks);
    if (!in || !out || !times || !all)
        MPI_Abort(MPI_COMM_WORLD, 1);
    const double per_ns = ticks_per_ns();
    for (int i = 0; i < 50; i++) /* sets the communicator up */
        call(which, in, out, n);
    for (size_t d = 0; d < sizeof delays_ns / sizeof *delays_ns; d++) {
        int found = 0;
        for (int b = 0; b < BATCHES; b++) {
            PMPI_Barrier(MPI_COMM_WORLD);
            for (int i = -3; i < CALLS; i++) {
                const double delay = (i + 3) % ranks == rank ? delays_ns[d] : 0;
                const uint64_t begin = __rdtsc() + (uint64_t)((800 + delay) * per_ns);
                while (__rdtsc() < begin) {
                }
                const uint64_t entry = __rdtsc();
                call(which, in, out, n);
                if (i >= 0) {
                    mine[2 * i] = entry;
                    mine[2 * i + 1] = __rdtsc();
                }
            }
            PMPI_Gather(mine, 2 * CALLS, MPI_UINT64_T, all, 2 * CALLS, MPI_UINT64_T, 0,
                        MPI_COMM_WORLD);
            for (int i = 0; rank == 0 && i < CALLS; i++) {
                uint64_t entry = 0, end = 0;
                for (int r = 0; r < ranks; r++) {
                    const uint64_t *his = all + (size_t)r * 2 * CALLS + 2 * i;
                    entry = his[0] > entry ? his[0] : entry;
                    end = his[1] > end ? his[1] : end;
                }
                times[found++] = (double)(end - entry) / per_ns;
            }
        }
        if (rank == 0) {
            qsort(times, (size_t)found, sizeof *times, ascending);
            printf("%s %d B, %d ns apart: %.0f %.0f %.0f\n", names[which], bytes, delays_ns[d],
                   times[found / 4], times[found / 2], times[3 * found / 4]);
        }
    }
    free(in);
    free(out);
    free(times);
    free(all);
    MPI_Finalize();
    return 0;
}
