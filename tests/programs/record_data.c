/* What the recorder looks at beside sizes: packing of derived datatypes, zeros that a rank adds to
 * a sum, persistent collectives. Two ranks. */
#include <mpi.h>

#include <stdlib.h>

enum { CALLS = 40, ROWS = 1 << 14, WIDTH = 64 };

static int rank;

static void columns(int stride) {
    double *matrix = calloc((size_t)2 * ROWS * WIDTH, sizeof *matrix);
    MPI_Datatype column;
    MPI_Type_vector(ROWS, 1, stride, MPI_DOUBLE, &column);
    MPI_Type_commit(&column);
    for (int i = 0; i < CALLS; i++) {
        if (stride > 1 && rank == 0)
            MPI_Send(matrix, 1, column, 1, 0, MPI_COMM_WORLD);
        else if (stride > 1)
            MPI_Recv(matrix, 1, column, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        else
            MPI_Sendrecv(matrix, 1, column, 1 - rank, 0, matrix + ROWS * WIDTH, 1, column, 1 - rank,
                         0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    MPI_Type_free(&column);
    free(matrix);
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    columns(WIDTH);
    columns(1);
    double in[100] = {0}, out[100];
    for (int i = 0; i < CALLS; i++)
        MPI_Reduce(in, out, 100, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    in[99] = rank;
    for (int i = 0; i < CALLS; i++)
        MPI_Reduce(in, out, 100, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
#if MPI_VERSION >= 4 || (defined(OMPI_MAJOR_VERSION) && OMPI_MAJOR_VERSION >= 5)
    MPI_Request requests[2];
    MPI_Allreduce_init(in, out, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL,
                       &requests[0]);
    MPI_Bcast_init(in + 50, 20, MPI_DOUBLE, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[1]);
    for (int i = 0; i < CALLS; i++) {
        MPI_Start(&requests[rank]);
        MPI_Start(&requests[1 - rank]);
        MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
        MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
        MPI_Wait(&requests[1], MPI_STATUS_IGNORE); /* not started */
    }
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);
#endif
    MPI_Finalize();
    return 0;
}
