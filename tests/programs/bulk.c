/* Rank 0 sends 64 messages of 1 MiB to the last rank, and says what its node's eth0 and eth1 sent
 * for that in all ("sent A B"), and how long it took.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static long long sent(int rail) {
    char path[64];
    long long bytes = 0;
    snprintf(path, sizeof path, "/sys/class/net/eth%d/statistics/tx_bytes", rail);
    FILE *file = fopen(path, "r");
    if (file != NULL) {
        if (fscanf(file, "%lld", &bytes) != 1)
            bytes = 0;
        fclose(file);
    }
    return bytes;
}

int main(int argc, char **argv) {
    int rank, size;
    char *data = calloc(1, 1 << 20);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    long long first[2] = {sent(0), sent(1)};
    double start = MPI_Wtime();
    for (int i = 0; i < 64; i++)
        if (rank == 0)
            MPI_Send(data, 1 << 20, MPI_BYTE, size - 1, 0, MPI_COMM_WORLD);
        else if (rank == size - 1)
            MPI_Recv(data, 1 << 20, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        printf("sent %lld %lld\ntime: %g\n", sent(0) - first[0], sent(1) - first[1],
               MPI_Wtime() - start);
    MPI_Finalize();
    free(data);
    return 0;
}
