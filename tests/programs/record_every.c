/* Every collective of MPI-4 in each of its forms: 2 blocking calls, 3 nonblocking ones, 4 starts of
 * a persistent one, with 2 doubles for each rank or neighbour. -DNO_PERSISTENT for an older MPI. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { MOST = 16 };

static double in[4 * MOST], out[4 * MOST];
static int counts[MOST], places[MOST], bytes_places[MOST];
static MPI_Aint far_places[MOST];
static MPI_Datatype types[MOST];
static MPI_Request request;

#ifdef NO_PERSISTENT
#define PERSISTENT(...)
#else
#define PERSISTENT(...)                                                                            \
    __VA_ARGS__;                                                                                   \
    for (int i = 0; i < 4; i++) {                                                                  \
        MPI_Start(&request);                                                                       \
        MPI_Wait(&request, MPI_STATUS_IGNORE);                                                     \
    }                                                                                              \
    MPI_Request_free(&request)
#endif
#define EVERY(Name, name, comm, ...)                                                               \
    do {                                                                                           \
        for (int i = 0; i < 2; i++)                                                                \
            MPI_##Name(__VA_ARGS__ comm);                                                          \
        for (int i = 0; i < 3; i++) {                                                              \
            MPI_I##name(__VA_ARGS__ comm, &request);                                               \
            MPI_Wait(&request, MPI_STATUS_IGNORE);                                                 \
        }                                                                                          \
        PERSISTENT(MPI_##Name##_init(__VA_ARGS__ comm, MPI_INFO_NULL, &request));                  \
    } while (0)

int main(int argc, char **argv) {
    int rank, size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (size > MOST)
        MPI_Abort(MPI_COMM_WORLD, 1);
    for (int i = 0; i < MOST; i++) {
        counts[i] = 2;
        places[i] = 2 * i;
        bytes_places[i] = 16 * i;
        far_places[i] = 16 * i;
        types[i] = MPI_DOUBLE;
    }
    MPI_Comm w = MPI_COMM_WORLD, ring;
    EVERY(Allgather, allgather, w, in, 2, MPI_DOUBLE, out, 2, MPI_DOUBLE, );
    EVERY(Allgatherv, allgatherv, w, in, 2, MPI_DOUBLE, out, counts, places, MPI_DOUBLE, );
    EVERY(Allreduce, allreduce, w, in, out, 2, MPI_DOUBLE, MPI_SUM, );
    EVERY(Alltoall, alltoall, w, in, 2, MPI_DOUBLE, out, 2, MPI_DOUBLE, );
    EVERY(Alltoallv, alltoallv, w, in, counts, places, MPI_DOUBLE, out, counts, places,
          MPI_DOUBLE, );
    EVERY(Alltoallw, alltoallw, w, in, counts, bytes_places, types, out, counts, bytes_places,
          types, );
    EVERY(Barrier, barrier, w, );
    EVERY(Bcast, bcast, w, in, 2, MPI_DOUBLE, 0, );
    EVERY(Exscan, exscan, w, in, out, 2, MPI_DOUBLE, MPI_SUM, );
    EVERY(Gather, gather, w, in, 2, MPI_DOUBLE, out, 2, MPI_DOUBLE, 0, );
    EVERY(Gatherv, gatherv, w, in, 2, MPI_DOUBLE, out, counts, places, MPI_DOUBLE, 0, );
    EVERY(Reduce, reduce, w, in, out, 2, MPI_DOUBLE, MPI_SUM, 0, );
    EVERY(Reduce_scatter, reduce_scatter, w, in, out, counts, MPI_DOUBLE, MPI_SUM, );
    EVERY(Reduce_scatter_block, reduce_scatter_block, w, in, out, 2, MPI_DOUBLE, MPI_SUM, );
    EVERY(Scan, scan, w, in, out, 2, MPI_DOUBLE, MPI_SUM, );
    EVERY(Scatter, scatter, w, in, 2, MPI_DOUBLE, out, 2, MPI_DOUBLE, 0, );
    EVERY(Scatterv, scatterv, w, in, counts, places, MPI_DOUBLE, out, 2, MPI_DOUBLE, 0, );
    MPI_Cart_create(w, 1, &size, (int[]){1}, 0, &ring);
    EVERY(Neighbor_allgather, neighbor_allgather, ring, in, 2, MPI_DOUBLE, out, 2, MPI_DOUBLE, );
    EVERY(Neighbor_allgatherv, neighbor_allgatherv, ring, in, 2, MPI_DOUBLE, out, counts, places,
          MPI_DOUBLE, );
    EVERY(Neighbor_alltoall, neighbor_alltoall, ring, in, 2, MPI_DOUBLE, out, 2, MPI_DOUBLE, );
    EVERY(Neighbor_alltoallv, neighbor_alltoallv, ring, in, counts, places, MPI_DOUBLE, out, counts,
          places, MPI_DOUBLE, );
    EVERY(Neighbor_alltoallw, neighbor_alltoallw, ring, in, counts, far_places, types, out, counts,
          far_places, types, );
    MPI_Comm_free(&ring);
    if (rank == 0)
        printf("every collective was called\n");
    MPI_Finalize();
    return 0;
}
