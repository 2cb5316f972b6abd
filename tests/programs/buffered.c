/* Rounds of buffered sends from rank 0 to rank 1, a barrier after each. The buffer has room for the
 * messages of one round: those of the round before have all arrived when the next one begins.
 *
 * Usage: buffered ROUNDS [start|startall]. The messages are sent by MPI_Bsend and MPI_Ibsend in
 * turn, or by persistent requests, started one by one or together. Prints "buffered: done"; the MPI
 * ends the job where it finds no room.
 */
#include <mpi.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MESSAGES = 32, COUNT = 4096 };

static MPI_Request requests[MESSAGES];

static void send_each(const int *data) {
    for (int i = 0; i < MESSAGES; i++) {
        if (i % 2 == 0) {
            MPI_Bsend(data, COUNT, MPI_INT, 1, i, MPI_COMM_WORLD);
        } else {
            MPI_Request request;
            MPI_Ibsend(data, COUNT, MPI_INT, 1, i, MPI_COMM_WORLD, &request);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
        }
    }
}

static void start(int together) {
    if (together)
        MPI_Startall(MESSAGES, requests);
    for (int i = 0; i < MESSAGES && !together; i++)
        MPI_Start(&requests[i]);
    MPI_Waitall(MESSAGES, requests, MPI_STATUSES_IGNORE);
}

int main(int argc, char **argv) {
    int rank, size = MESSAGES * (int)(COUNT * sizeof(int) + MPI_BSEND_OVERHEAD);
    int rounds = argc > 1 ? atoi(argv[1]) : 50, *data = calloc(COUNT, sizeof *data);
    const int persistent = argc > 2, together = persistent && strcmp(argv[2], "startall") == 0;
    void *buffer = malloc((size_t)size);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (!data || !buffer)
        MPI_Abort(MPI_COMM_WORLD, 2);
    MPI_Buffer_attach(buffer, size);
    for (int i = 0; i < MESSAGES && persistent && rank == 0; i++)
        MPI_Bsend_init(data, COUNT, MPI_INT, 1, i, MPI_COMM_WORLD, &requests[i]);
    for (int round = 0; round < rounds; round++) {
        if (rank == 0 && persistent)
            start(together);
        else if (rank == 0)
            send_each(data);
        for (int i = 0; i < MESSAGES && rank == 1; i++)
            MPI_Recv(data, COUNT, MPI_INT, 0, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    for (int i = 0; i < MESSAGES && persistent && rank == 0; i++)
        MPI_Request_free(&requests[i]);
    MPI_Buffer_detach(&buffer, &size);
    free(buffer), free(data);
    if (rank == 0)
        printf("buffered: done\n");
    MPI_Finalize();
    return 0;
}
