/* What the recorder costs: nanoseconds a call, alone and under LD_PRELOAD, where the MPI itself
 * does next to nothing (one rank, or no data). Compile with mpicc; run it without and with the
 * recorder: mpirun -n 2 ./record_overhead mpirun -n 2 -x LD_PRELOAD=libstretto-record-openmpi4.so
 * -x STRETTO_PROFILE_DIR=/tmp/d
 * ./record_overhead Prints one line a function: name, median and least of the batches' means. The
 * difference of the two runs is the cost of a call; bench/record_overhead.sh subtracts. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { BATCHES = 101, CALLS = 20000 };

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static int compare(const void *a, const void *b) {
    double left = *(const double *)a, right = *(const double *)b;
    return (left > right) - (left < right);
}

static void report(const char *name, double *batches) {
    qsort(batches, BATCHES, sizeof *batches, compare);
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (!rank)
        printf("%-28s %8.1f %8.1f ns\n", name, batches[BATCHES / 2], batches[0]);
}

#define MEASURE(name, call)                                                                        \
    for (int b = 0; b < BATCHES; b++) {                                                            \
        double start = now();                                                                      \
        for (int i = 0; i < CALLS; i++)                                                            \
            call;                                                                                  \
        batches[b] = (now() - start) / CALLS;                                                      \
    }                                                                                              \
    report(name, batches);

int main(int argc, char **argv) {
    double batches[BATCHES], in[2] = {1, 2}, out[2];
    MPI_Request request;
    int flag;
    MPI_Init(&argc, &argv);
    MPI_Comm copy;
    MPI_Comm_dup(MPI_COMM_SELF, &copy);
    MPI_Datatype pair;
    MPI_Type_contiguous(2, MPI_DOUBLE, &pair);
    MPI_Type_commit(&pair);
    MEASURE("allreduce 8 B", MPI_Allreduce(in, out, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_SELF))
    MEASURE("barrier", MPI_Barrier(MPI_COMM_SELF))
    MEASURE("bcast 8 B", MPI_Bcast(in, 1, MPI_DOUBLE, 0, MPI_COMM_SELF))
    MEASURE("bcast of a derived type", MPI_Bcast(in, 1, pair, 0, MPI_COMM_SELF))
    MEASURE("allreduce, two comms",
            MPI_Allreduce(in, out, 1, MPI_DOUBLE, MPI_SUM, i & 1 ? copy : MPI_COMM_SELF))
    MEASURE("bcast of a changing size",
            MPI_Bcast(in, i & 1, i & 2 ? MPI_INT : MPI_DOUBLE, 0, i & 4 ? copy : MPI_COMM_SELF))
    MEASURE("send to nobody", MPI_Send(in, 1, MPI_DOUBLE, MPI_PROC_NULL, 0, MPI_COMM_WORLD))
    MEASURE("iprobe", MPI_Iprobe(MPI_PROC_NULL, 0, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE))
    request = MPI_REQUEST_NULL;
    MEASURE("wait for nothing", MPI_Wait(&request, MPI_STATUS_IGNORE))
    /* both MPIs return at once; the recorder keeps events of it, and thins them out */
    MEASURE("bcast of nothing, 2 ranks", MPI_Bcast(in, 0, MPI_DOUBLE, 0, MPI_COMM_WORLD))
    MPI_Type_free(&pair);
    MPI_Comm_free(&copy);
    MPI_Finalize();
    return 0;
}
