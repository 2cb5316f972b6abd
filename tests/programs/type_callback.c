/* A callback of the application that calls the MPI while a request of Stretto's is freed: in MPICH
 * the attributes of a freed datatype are deleted with the last request that uses it.
 *
 * Usage: type_callback. Prints "type_callback done" and the callbacks within, by rank 0.
 */
#include <mpi.h>

#include <stdio.h>

enum { MOST = 64 };

static int callbacks;

static int deleted(MPI_Datatype type, int keyval, void *value, void *extra) {
    int flag, one = 1, sum = 0;
    MPI_Request r;
    (void)type, (void)keyval, (void)value, (void)extra;
    callbacks++;
    MPI_Iprobe(0, 5, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE);
    MPI_Iallreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &r);
    MPI_Wait(&r, MPI_STATUS_IGNORE);
    return MPI_SUCCESS;
}

int main(int argc, char **argv) {
    int size, rank, keyval, one = 1, sum = 0, in[2 * MOST], out[2 * MOST], n[MOST], at[MOST];
    MPI_Datatype pair;
    MPI_Request moves, sums;
    MPI_Init(&argc, &argv);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Type_contiguous(2, MPI_INT, &pair);
    MPI_Type_commit(&pair);
    MPI_Type_create_keyval(MPI_TYPE_NULL_COPY_FN, deleted, &keyval, NULL);
    MPI_Type_set_attr(pair, keyval, NULL);
    for (int i = 0; i < size; i++)
        n[i] = 1, at[i] = i, in[2 * i] = in[2 * i + 1] = rank;
    MPI_Alltoallv_init(in, n, at, pair, out, n, at, pair, MPI_COMM_WORLD, MPI_INFO_NULL, &moves);
    MPI_Type_free(&pair);
    MPI_Start(&moves);
    MPI_Wait(&moves, MPI_STATUS_IGNORE);
    const int early = callbacks;
    MPI_Iallreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &sums);
    MPI_Request_free(&moves);
    MPI_Wait(&sums, MPI_STATUS_IGNORE);
    for (int i = 0; i < 10 && sum == size; i++) {
        MPI_Iallreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &sums);
        MPI_Wait(&sums, MPI_STATUS_IGNORE);
    }
    for (int i = 0; i < size; i++)
        if (out[2 * i] != i || sum != size || callbacks != 1)
            MPI_Abort(MPI_COMM_WORLD, 1);
    if (rank == 0)
        printf("type_callback done, %d within\n", callbacks - early);
    MPI_Finalize();
    return 0;
}
