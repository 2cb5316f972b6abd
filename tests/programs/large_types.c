/* Datatypes made by the large-count constructors, dense and with gaps, in calls that Stretto
 * answers or records: the MPI must not be asked of them in a way that it refuses. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

enum { TYPES = 8, INTS = 64, CALLS = 4 };

static int make(MPI_Datatype *types) {
    int n = 0;
    MPI_Type_contiguous_c(4, MPI_INT, &types[n++]);
    MPI_Type_vector_c(2, 3, 3, MPI_INT, &types[n++]);
    MPI_Type_vector_c(2, 1, 3, MPI_INT, &types[n++]);
    MPI_Type_create_hvector_c(3, 2, 2 * sizeof(int), MPI_INT, &types[n++]);
    MPI_Type_create_hvector_c(3, 2, 3 * sizeof(int), MPI_INT, &types[n++]);
    MPI_Type_create_resized_c(types[0], 0, 4 * sizeof(int), &types[n++]);
    MPI_Type_create_resized_c(types[0], 0, 6 * sizeof(int), &types[n++]);
    MPI_Type_contiguous(2, types[2], &types[n++]);
    for (int i = 0; i < n; i++)
        MPI_Type_commit(&types[i]);
    return n;
}

int main(int argc, char **argv) {
    MPI_Datatype types[TYPES];
    int rank, wrong = 0, all = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    const int n = make(types);
    for (int call = 0; call < CALLS; call++)
        for (int t = 0; t < n; t++) {
            int from[INTS], got[INTS], expected[INTS];
            char packed[INTS * sizeof(int)];
            int at = 0, end = 0;
            for (int i = 0; i < INTS; i++) {
                from[i] = 1000 * call + i;
                got[i] = expected[i] = -1;
            }
            MPI_Pack(from, 2, types[t], packed, sizeof packed, &end, MPI_COMM_SELF);
            MPI_Unpack(packed, end, &at, expected, 2, types[t], MPI_COMM_SELF);
            if (rank == 0)
                MPI_Bcast(from, 2, types[t], 0, MPI_COMM_WORLD);
            else
                MPI_Bcast(got, 2, types[t], 0, MPI_COMM_WORLD);
            wrong += rank && memcmp(got, expected, sizeof got) != 0;
        }
    for (int t = 0; t < n; t++)
        MPI_Type_free(&types[t]);
    MPI_Allreduce(&wrong, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0)
        printf("large types: %d faults\n", all);
    MPI_Finalize();
    return all != 0;
}
