/* A strongly scaling program whose computing does not need a core, so that many ranks can share
 * one: strong MILLISECONDS STEPS; a step sleeps that long over the ranks, then exchanges 4 KiB with
 * both neighbours and reduces a number. */
#include <mpi.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char **argv) {
    int rank, size;
    static char out[4096], in[4096];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    const int work = argc > 2 ? atoi(argv[1]) : 100, steps = argc > 2 ? atoi(argv[2]) : 10;
    for (int i = 0; i < steps; i++) {
        double mine = rank, sum;
        usleep((useconds_t)(1000 * work / size));
        for (int side = -1; side <= 1; side += 2)
            MPI_Sendrecv(out, sizeof out, MPI_BYTE, (rank + side + size) % size, 0, in, sizeof in,
                         MPI_BYTE, (rank - side + size) % size, 0, MPI_COMM_WORLD,
                         MPI_STATUS_IGNORE);
        MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    }
    MPI_Finalize();
    return 0;
}
