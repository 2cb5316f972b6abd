/* What a program may do in the callbacks of MPI_COMM_SELF's attributes, with which MPI_Finalize
 * begins while all of the MPI is still there (MPI-4.1, 11.2.4): collectives, communicators, and the
 * start of persistent requests that were made long before.
 *
 * Usage: at_the_end [persistent]. Prints "at_the_end done" by rank 0.
 */
#include <mpi.h>

#include <stdio.h>
#include <string.h>

enum { REQUESTS = 4, LENGTH = 3000 };

static int rank, size;
static MPI_Comm kept[2];
static MPI_Request requests[REQUESTS];
static int in[REQUESTS][2 * LENGTH], out[REQUESTS][2 * LENGTH];

static void check(int good, const char *what) {
    if (!good) {
        fprintf(stderr, "at_the_end: wrong %s on rank %d\n", what, rank);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
}

static void sum(MPI_Comm comm) {
    int all = 0;
    MPI_Allreduce(&rank, &all, 1, MPI_INT, MPI_SUM, comm);
    check(all == size * (size - 1) / 2, "sum");
}

/* Request 0: a sum of one; 1: of many; 2: every second number from rank 0; 3: a barrier. The last
 * rank has freed it. */
static void start(void) {
    const int mine = rank == size - 1 ? REQUESTS - 1 : REQUESTS;
    for (int i = 0; i < 2 * LENGTH; i++) {
        in[1][i] = rank + i;
        out[2][i] = rank == 0 ? i : -1;
    }
    in[0][0] = rank;
    MPI_Startall(3, requests);
    if (rank == 0) /* waits for the others elsewhere than in the requests */
        MPI_Barrier(MPI_COMM_WORLD);
    MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
    if (rank != 0)
        MPI_Barrier(MPI_COMM_WORLD);
    check(out[0][0] == size * (size - 1) / 2, "number");
    for (int i = 0; i < LENGTH; i++) {
        check(out[1][i] == size * (size - 1) / 2 + size * i, "vector");
        check(out[2][2 * i] == 2 * i, "column");
        check(out[2][2 * i + 1] == (rank == 0 ? 2 * i + 1 : -1), "gap of a column");
    }
    for (int i = 0; i < mine; i++)
        MPI_Request_free(&requests[i]);
}

static int at_end(MPI_Comm comm, int key, void *persistent, void *extra) {
    MPI_Comm made;
    MPI_Request request;
    (void)comm, (void)key, (void)extra;
    sum(MPI_COMM_WORLD);
    if (persistent)
        start();
    for (int i = 0; i < 2; i++) {
        sum(kept[i]);
        MPI_Comm_free(&kept[i]);
    }
    MPI_Comm_dup(MPI_COMM_WORLD, &made);
    sum(made);
    MPI_Comm_free(&made);
    MPI_Ibarrier(MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    if (rank == 0)
        printf("at_the_end done\n"), fflush(stdout);
    return MPI_SUCCESS;
}

int main(int argc, char **argv) {
    int key, persistent = argc > 1 && strcmp(argv[1], "persistent") == 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, at_end, &key, NULL);
    MPI_Comm_set_attr(MPI_COMM_SELF, key, persistent ? &persistent : NULL);
    for (int i = 0; i < 2; i++) {
        MPI_Comm_dup(MPI_COMM_WORLD, &kept[i]);
        for (int k = 0; k < 5; k++)
            sum(kept[i]);
    }
#if MPI_VERSION >= 4 || OMPI_MAJOR_VERSION >= 5
    if (persistent) {
        MPI_Datatype column;
        const MPI_Info none = MPI_INFO_NULL;
        MPI_Type_vector(LENGTH, 1, 2, MPI_INT, &column);
        MPI_Type_commit(&column);
        MPI_Allreduce_init(in[0], out[0], 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, none, &requests[0]);
        MPI_Allreduce_init(in[1], out[1], LENGTH, MPI_INT, MPI_SUM, kept[0], none, &requests[1]);
        MPI_Bcast_init(out[2], 1, column, 0, kept[1], none, &requests[2]);
        MPI_Barrier_init(MPI_COMM_WORLD, none, &requests[3]);
        if (rank == size - 1)
            MPI_Request_free(&requests[3]);
    }
#endif
    MPI_Finalize();
    return 0;
}
