/* Large messages from buffers that are freed and made again, each call compared with the MPI's own
 * answer (PMPI). Usage: xpmem_messages [rounds]. Exit status 1 when a byte differs. */
#include <mpi.h>

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int rank, size, differences;

static void fill(int64_t *data, size_t n, int round) {
    for (size_t i = 0; i < n; i++)
        data[i] = (int64_t)(i * 31 + (size_t)rank * 1009 + (size_t)round * 77) % 100003;
}

static void compare(const char *what, int round, const int64_t *a, const int64_t *b, size_t n) {
    if (memcmp(a, b, n * sizeof *a) == 0)
        return;
    differences++;
    fprintf(stderr, "rank %d, round %d: %s of %zu words differs\n", rank, round, what, n);
}

int main(int argc, char **argv) {
    int rounds = argc > 1 ? atoi(argv[1]) : 12, all = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int i = 0; i < 4; i++) /* so that the communicator is set up */
        MPI_Barrier(MPI_COMM_WORLD);
    for (int round = 0; round < rounds; round++) {
        int count = 20000 + 17001 * (round % 7), root = round % size;
        size_t n = (size_t)count, total = n * (size_t)size;
        int64_t *in = malloc(n * 8), *out = malloc(total * 8), *want = malloc(total * 8);
        if (!in || !out || !want)
            MPI_Abort(MPI_COMM_WORLD, 1);
        fill(in, n, round);
        MPI_Allreduce(in, out, count, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
        PMPI_Allreduce(in, want, count, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
        compare("allreduce", round, out, want, n);
        memcpy(out, in, n * 8);
        MPI_Allreduce(MPI_IN_PLACE, out, count, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
        compare("allreduce in place", round, out, want, n);
        memset(out, 1, n * 8);
        memset(want, 1, n * 8);
        MPI_Reduce(in, out, count, MPI_INT64_T, MPI_MAX, root, MPI_COMM_WORLD);
        PMPI_Reduce(in, want, count, MPI_INT64_T, MPI_MAX, root, MPI_COMM_WORLD);
        compare("reduce", round, out, want, n);
        MPI_Allgather(in, count, MPI_INT64_T, out, count, MPI_INT64_T, MPI_COMM_WORLD);
        PMPI_Allgather(in, count, MPI_INT64_T, want, count, MPI_INT64_T, MPI_COMM_WORLD);
        compare("allgather", round, out, want, total);
        memcpy(out, in, n * 8);
        memcpy(want, in, n * 8);
        MPI_Bcast(out, count, MPI_INT64_T, root, MPI_COMM_WORLD);
        PMPI_Bcast(want, count, MPI_INT64_T, root, MPI_COMM_WORLD);
        compare("bcast", round, out, want, n);
        free(in);
        free(out);
        free(want);
    }
    PMPI_Allreduce(&differences, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0)
        printf("%d rounds, %d differences\n", rounds, all);
    MPI_Finalize();
    return all != 0;
}
