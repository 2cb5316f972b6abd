/* Nonblocking against blocking collectives in one process, batch by batch in turn:
 *
 *   nonblocking [BATCHES]      us per call, medians over batches of the slowest rank
 *
 *   blocking 8      MPI_Allreduce of 8 bytes
 *   nonblocking 8   MPI_Iallreduce and MPI_Wait of the same
 *   persistent 8    MPI_Start and MPI_Wait of the same, where the MPI has persistent collectives
 *   alone N         MPI_Iallreduce and MPI_Wait of N bytes
 *   compute N       a computation that takes about as long
 *   overlap N       both: begun, computed in ten pieces with an MPI_Test after each, waited for
 *   hidden N        the share of the shorter of the two that overlapping saved, in percent
 */
#include <mpi.h>

#include <stdio.h>
#include <stdlib.h>

enum { MOST = 1000, CALLS = 2000, LONG_CALLS = 20, PIECES = 10 };
enum { BLOCKING, NONBLOCKING, PERSISTENT, ALONE, COMPUTE, OVERLAP, KINDS };

#if MPI_VERSION >= 4 || (defined(OMPI_MAJOR_VERSION) && OMPI_MAJOR_VERSION >= 5)
#define HAS_PERSISTENT 1
#else
#define HAS_PERSISTENT 0
#endif

static MPI_Request again;
static double times[KINDS][MOST];
static double *in, *out;
static volatile double sink;

static void compute(long steps) {
    double x = sink;
    for (long i = 0; i < steps; i++)
        x = x * 0.999999 + 1e-6;
    sink = x;
}

static void sum(int n) {
    MPI_Request request;
    MPI_Iallreduce(in, out, n, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void overlapped(int n, long steps) {
    MPI_Request request;
    int done;
    MPI_Iallreduce(in, out, n, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &request);
    for (int i = 0; i < PIECES; i++) {
        compute(steps / PIECES);
        MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    }
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static double batch(int kind, int n, long steps) {
    const int calls = kind <= PERSISTENT ? CALLS : LONG_CALLS;
    PMPI_Barrier(MPI_COMM_WORLD);
    double begin = MPI_Wtime(), mine, slowest;
    for (int i = 0; i < calls; i++)
        switch (kind) {
        case BLOCKING: MPI_Allreduce(in, out, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD); break;
        case NONBLOCKING: sum(1); break;
        case PERSISTENT:
            MPI_Start(&again);
            MPI_Wait(&again, MPI_STATUS_IGNORE);
            break;
        case ALONE: sum(n); break;
        case COMPUTE: compute(steps); break;
        default: overlapped(n, steps);
        }
    mine = (MPI_Wtime() - begin) / calls;
    PMPI_Allreduce(&mine, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return 1e6 * slowest;
}

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(int kind, int batches) {
    qsort(times[kind], (size_t)batches, sizeof(double), ascending);
    return times[kind][batches / 2];
}

int main(int argc, char **argv) {
    const int n = (1 << 20) / (int)sizeof(double);
    int batches = argc > 1 ? atoi(argv[1]) : 60, rank;
    if (batches < 1 || batches > MOST)
        return 2;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    in = calloc((size_t)n, sizeof *in);
    out = calloc((size_t)n, sizeof *out);
    if (!in || !out)
        MPI_Abort(MPI_COMM_WORLD, 1);
    for (int i = 0; i < 10; i++) { /* sets the communicator up */
        MPI_Allreduce(in, out, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        sum(n);
    }
#if HAS_PERSISTENT
    MPI_Allreduce_init(in, out, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &again);
#endif
    long steps = 100000;
    double alone = batch(ALONE, n, 0), step = batch(COMPUTE, n, steps) / (double)steps;
    steps = (long)(alone / step);
    MPI_Bcast(&steps, 1, MPI_LONG, 0, MPI_COMM_WORLD);
    for (int b = 0; b < batches; b++)
        for (int kind = 0; kind < KINDS; kind++)
            if (kind != PERSISTENT || HAS_PERSISTENT)
                times[kind][b] = batch(kind, n, steps);
#if HAS_PERSISTENT
    MPI_Request_free(&again);
#endif
    if (rank == 0) {
        double t[KINDS];
        for (int kind = 0; kind < KINDS; kind++)
            t[kind] = median(kind, batches);
        double shorter = t[ALONE] < t[COMPUTE] ? t[ALONE] : t[COMPUTE];
        printf("blocking8 %.4f\nnonblocking8 %.4f\nalone %.3f\ncompute %.3f\noverlap %.3f\n"
               "hidden %.1f\n",
               t[BLOCKING], t[NONBLOCKING], t[ALONE], t[COMPUTE], t[OVERLAP],
               100 * (t[ALONE] + t[COMPUTE] - t[OVERLAP]) / shorter);
        if (HAS_PERSISTENT)
            printf("persistent8 %.4f\n", t[PERSISTENT]);
    }
    free(in);
    free(out);
    MPI_Finalize();
    return 0;
}
