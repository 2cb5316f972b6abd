/* Halo exchanges on grids that the program asks the MPI for with reorder: what they send between
 * nodes depends on how the ranks are numbered.
 *
 * Usage: cart_halo DIMxDIM... Each grid holds all ranks, is open, and sends 1,000,000 bytes over
 * each edge, each way. Prints for each what the network cards (eth0) of all nodes sent meanwhile.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { BYTES = 1000000 };
static char out[BYTES], in[BYTES];

static double sent(void) {
    double bytes = 0;
    FILE *file = fopen("/sys/class/net/eth0/statistics/tx_bytes", "r");
    if (file != NULL) {
        if (fscanf(file, "%lf", &bytes) != 1)
            bytes = 0;
        fclose(file);
    }
    return bytes;
}

static int exchange(MPI_Comm grid) {
    int rank, below[2], above[2], wrong = 0;
    MPI_Comm_rank(grid, &rank);
    for (int d = 0; d < 2; d++)
        MPI_Cart_shift(grid, d, 1, &below[d], &above[d]);
    for (int i = 0; i < BYTES; i++)
        out[i] = (char)rank;
    for (int k = 0; k < 4; k++) {
        const int d = k / 2, to = k % 2 ? above[d] : below[d], from = k % 2 ? below[d] : above[d];
        MPI_Sendrecv(out, BYTES, MPI_BYTE, to, 0, in, BYTES, MPI_BYTE, from, 0, grid,
                     MPI_STATUS_IGNORE);
        if (from != MPI_PROC_NULL)
            wrong += in[0] != (char)from || in[BYTES - 1] != (char)from;
    }
    return wrong;
}

int main(int argc, char **argv) {
    const int periods[2] = {0, 0};
    int rank, local;
    double values[2];
    MPI_Comm grid, node;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    MPI_Comm_rank(node, &local);
    for (int i = 1; i < argc; i++) {
        int dims[2] = {1, 1};
        if (sscanf(argv[i], "%dx%d", &dims[0], &dims[1]) != 2)
            MPI_Abort(MPI_COMM_WORLD, 2);
        MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 1, &grid);
        MPI_Barrier(MPI_COMM_WORLD);
        double mine[2] = {local == 0 ? -sent() : 0, 0};
        MPI_Barrier(MPI_COMM_WORLD); /* all have looked */
        mine[1] = exchange(grid);
        MPI_Barrier(MPI_COMM_WORLD);
        mine[0] += local == 0 ? sent() : 0;
        MPI_Reduce(mine, values, 2, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
        if (rank == 0)
            printf("%s: cards sent %.0f, wrong: %.0f\n", argv[i], values[0], values[1]);
        MPI_Comm_free(&grid);
    }
    MPI_Comm_free(&node);
    MPI_Finalize();
    return 0;
}
