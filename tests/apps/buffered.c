/* Rounds of buffered sends from rank 0 to rank 1, a barrier after each. The buffer has room for the
 * messages of one round: those of the round before have all arrived when the next one begins.
 *
 * Usage: buffered ROUNDS. Prints "buffered: done"; the MPI ends the job where it finds no room.
 */
#include <mpi.h>

#include <stdio.h>
#include <stdlib.h>

enum { MESSAGES = 32, COUNT = 4096 };

int main(int argc, char **argv) {
    int rank, size = MESSAGES * (int)(COUNT * sizeof(int) + MPI_BSEND_OVERHEAD);
    int rounds = argc > 1 ? atoi(argv[1]) : 50, *data = calloc(COUNT, sizeof *data);
    void *buffer = malloc((size_t)size);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (!data || !buffer)
        MPI_Abort(MPI_COMM_WORLD, 2);
    MPI_Buffer_attach(buffer, size);
    for (int round = 0; round < rounds; round++) {
        for (int i = 0; i < MESSAGES && rank == 0; i++) {
            if (i % 2 == 0) {
                MPI_Bsend(data, COUNT, MPI_INT, 1, i, MPI_COMM_WORLD);
            } else {
                MPI_Request request;
                MPI_Ibsend(data, COUNT, MPI_INT, 1, i, MPI_COMM_WORLD, &request);
                MPI_Wait(&request, MPI_STATUS_IGNORE);
            }
        }
        for (int i = 0; i < MESSAGES && rank == 1; i++)
            MPI_Recv(data, COUNT, MPI_INT, 0, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    MPI_Buffer_detach(&buffer, &size);
    free(buffer), free(data);
    if (rank == 0)
        printf("buffered: done\n");
    MPI_Finalize();
    return 0;
}
