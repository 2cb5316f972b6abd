/* More shapes are issued while a neighbourhood collective waits for its neighbours than a
 * communicator keeps plans for: the one that is being carried out must stay.
 *
 * Usage: many_plans. A broadcast of k segments has a plan of its own for each k. Prints "many_plans
 * done" on rank 0.
 */
#include <mpi.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BLOCK = 1 << 16, SHAPES = 100, SEGMENT = 256 };

static int rank, size;

static void check(int good, const char *what) {
    if (!good) {
        fprintf(stderr, "many_plans: wrong %s on rank %d\n", what, rank);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
}

int main(int argc, char **argv) {
    static int out[2 * BLOCK], in[2 * BLOCK];
    static char told[SHAPES][SHAPES * SEGMENT];
    MPI_Request requests[1 + SHAPES];
    MPI_Comm ring;
    int period = 1;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Cart_create(MPI_COMM_WORLD, 1, &size, &period, 0, &ring);
    MPI_Neighbor_alltoall(out, 1, MPI_INT, in, 1, MPI_INT, ring); /* sets it up */
    for (int early = 0; early < size; early++) {
        for (int i = 0; i < 2 * BLOCK; i++)
            out[i] = early + 10 * rank + 1000 * i, in[i] = -1;
        for (int k = 0; k < SHAPES; k++)
            memset(told[k], rank == 0 ? early + k : -1, sizeof told[k]);
        MPI_Barrier(MPI_COMM_WORLD);
        if (rank != early) /* so that it is under way there */
            usleep(100000);
        MPI_Ineighbor_alltoall(out, BLOCK, MPI_INT, in, BLOCK, MPI_INT, ring, &requests[0]);
        for (int k = 0; k < SHAPES; k++)
            MPI_Ibcast(told[k], (k + 1) * SEGMENT, MPI_CHAR, 0, ring, &requests[1 + k]);
        MPI_Waitall(1 + SHAPES, requests, MPI_STATUSES_IGNORE);
        const int below = (rank + size - 1) % size, above = (rank + 1) % size;
        for (int i = 0; i < BLOCK; i++) {
            check(in[i] == early + 10 * below + 1000 * (BLOCK + i), "block from below");
            check(in[BLOCK + i] == early + 10 * above + 1000 * i, "block from above");
        }
        for (int k = 0; k < SHAPES; k++)
            for (int i = 0; i < (k + 1) * SEGMENT; i++)
                check(told[k][i] == (char)(early + k), "broadcast");
    }
    MPI_Comm_free(&ring);
    if (rank == 0)
        printf("many_plans done\n");
    MPI_Finalize();
}
