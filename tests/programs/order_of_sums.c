/* Reduces numbers whose sum depends on the order of addition, and prints a digest of the bits. */
#include <mpi.h>

#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { MOST = 5000, RANKS = 64 };

static int rank, size;

static void show(const char *what, const double *data, int n, int root) {
    uint64_t digest = 14695981039346656037u, bits, all[RANKS];
    for (int i = 0; i < n; i++) {
        memcpy(&bits, &data[i], sizeof bits);
        digest = (digest ^ bits) * 1099511628211u;
    }
    PMPI_Allgather(&digest, 1, MPI_UINT64_T, all, 1, MPI_UINT64_T, MPI_COMM_WORLD);
    if (root < 0) /* of all ranks: each has a part of its own */
        for (int r = 1; r < size; r++)
            all[0] = all[0] * 31 + all[r];
    if (rank == 0)
        printf("%s: %016llx\n", what, (unsigned long long)all[root < 0 ? 0 : root]);
}

int main(int argc, char **argv) {
    static double in[RANKS * MOST / 8], out[RANKS * MOST / 8];
    int counts[RANKS];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int i = 0; i < MOST; i++)
        in[i] = 1.0 / (1 + i + 37 * rank) * (rank % 2 ? -1e8 : 1.0) + (rank == 3 ? 1e16 : 0);
    for (int r = 0; r < size; r++)
        counts[r] = 10 * r;
    MPI_Allreduce(in, out, MOST, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    show("allreduce", out, MOST, 0);
    MPI_Reduce(in, out, MOST, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    show("reduce to 0", out, MOST, 0);
    MPI_Reduce(in, out, MOST, MPI_DOUBLE, MPI_SUM, 3, MPI_COMM_WORLD);
    show("reduce to 3", out, MOST, 3);
    MPI_Scan(in, out, MOST, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    show("scan", out, MOST, -1);
    MPI_Exscan(in, out, MOST, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    show("exscan", out, rank ? MOST : 0, -1);
    MPI_Reduce_scatter_block(in, out, 50, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    show("reduce_scatter_block", out, 50, -1);
    MPI_Reduce_scatter(in, out, counts, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    show("reduce_scatter", out, counts[rank], -1);
    MPI_Finalize();
    return 0;
}
