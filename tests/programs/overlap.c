/* Calls in which one rank, or all, send from and receive into the same memory, one a run, which
 * STRETTO_CHECK_CALLS=1 is to name; and all calls that look like it and are legal.
 *
 * Usage: overlap CALL, or overlap legal
 */
#include <mpi.h>

#include <stdio.h>
#include <string.h>

static int rank, size, v[512], w[512], counts[64], displs[64], bytes[64];
static MPI_Comm world;

#define IS(name) (!strcmp(call, name))

static int wrong(const char *call) {
    MPI_Datatype ints[64];
    for (int r = 0; r < size; r++)
        ints[r] = MPI_INT;
    int *some = rank == 1 ? v : w; /* the mistake of one rank */
    if (IS("MPI_Allreduce"))
        MPI_Allreduce(some, v, 3, MPI_INT, MPI_SUM, world);
    else if (IS("MPI_Reduce"))
        MPI_Reduce(v, rank == 1 ? v + 1 : w, 3, MPI_INT, MPI_SUM, 1, world); /* a part */
    else if (IS("MPI_Allgather"))
        MPI_Allgather(rank == 1 ? v + rank : w, 1, MPI_INT, v, 1, MPI_INT, world);
    else if (IS("MPI_Allgatherv"))
        MPI_Allgatherv(rank == 1 ? v + displs[1] : w, 1, MPI_INT, v, counts, displs, MPI_INT,
                       world);
    else if (IS("MPI_Alltoall"))
        MPI_Alltoall(some, 1, MPI_INT, v, 1, MPI_INT, world);
    else if (IS("MPI_Alltoallv"))
        MPI_Alltoallv(some, counts, displs, MPI_INT, v, counts, displs, MPI_INT, world);
    else if (IS("MPI_Alltoallw"))
        MPI_Alltoallw(some, counts, bytes, ints, v, counts, bytes, ints, world);
    else if (IS("MPI_Gather"))
        MPI_Gather(v + 1, 1, MPI_INT, v, 1, MPI_INT, 1, world);
    else if (IS("MPI_Gatherv"))
        MPI_Gatherv(v, 1, MPI_INT, v, counts, displs, MPI_INT, 1, world);
    else if (IS("MPI_Scatter"))
        MPI_Scatter(v, 1, MPI_INT, v + 1, 1, MPI_INT, 1, world);
    else if (IS("MPI_Scatterv"))
        MPI_Scatterv(v, counts, displs, MPI_INT, v + displs[1], 1, MPI_INT, 1, world);
    else if (IS("MPI_Reduce_scatter"))
        MPI_Reduce_scatter(some, v, counts, MPI_INT, MPI_SUM, world);
    else if (IS("MPI_Reduce_scatter_block"))
        MPI_Reduce_scatter_block(some, v, 1, MPI_INT, MPI_SUM, world);
    else if (IS("MPI_Scan"))
        MPI_Scan(some, v, 3, MPI_INT, MPI_SUM, world);
    else if (IS("MPI_Exscan"))
        MPI_Exscan(some, v, 3, MPI_INT, MPI_SUM, world);
    else if (IS("MPI_Neighbor_alltoall") || IS("MPI_Neighbor_allgather")) {
        MPI_Comm ring;
        MPI_Cart_create(world, 1, &size, (int[1]){1}, 0, &ring);
        if (IS("MPI_Neighbor_alltoall"))
            MPI_Neighbor_alltoall(some, 1, MPI_INT, v, 1, MPI_INT, ring);
        else
            MPI_Neighbor_allgather(some + 1, 1, MPI_INT, v, 1, MPI_INT, ring);
    } else
        return 0;
    return 1;
}

/* Nothing here overlaps, or it is only insignificant arguments that do. */
static void legal(void) {
    MPI_Datatype even, odd, absolute;
    MPI_Type_create_resized(MPI_INT, 0, 2 * sizeof(int), &even);
    MPI_Type_create_hindexed(1, (int[1]){1}, (MPI_Aint[1]){sizeof(int)}, MPI_INT, &odd);
    MPI_Datatype spread;
    MPI_Type_create_resized(odd, 0, 2 * sizeof(int), &spread);
    MPI_Type_commit(&even), MPI_Type_commit(&spread);
    MPI_Aint at;
    MPI_Get_address(v, &at);
    MPI_Type_create_hindexed(1, (int[1]){1}, &at, MPI_INT, &absolute);
    MPI_Type_commit(&absolute);
    MPI_Allreduce(v, v + 3, 3, MPI_INT, MPI_SUM, world);
    MPI_Allreduce(v, v, 0, MPI_INT, MPI_SUM, world);
    MPI_Allreduce(MPI_IN_PLACE, v, 3, MPI_INT, MPI_SUM, world);
    MPI_Alltoall(v, 2, even, v, 2, spread, world); /* between one another */
    MPI_Alltoall(v, 1, MPI_INT, v + size, 1, MPI_INT, world);
    MPI_Allgather(v + size, 1, MPI_INT, v, 1, MPI_INT, world);
    MPI_Bcast(MPI_BOTTOM, 1, absolute, 0, world);
    MPI_Gather(v, 1, MPI_INT, rank == 1 ? w : v, 1, MPI_INT, 1, world); /* not significant */
    MPI_Scatter(rank == 1 ? w : v, 1, MPI_INT, v, 1, MPI_INT, 1, world);
    MPI_Reduce(v, rank == 1 ? w : v, 1, MPI_INT, MPI_SUM, 1, world);
    MPI_Comm line;
    MPI_Cart_create(world, 1, &size, (int[1]){0}, 0, &line);
    if (rank == 0) /* its first slot leads nowhere */
        MPI_Neighbor_allgather(v, 1, MPI_INT, v, 1, MPI_INT, line);
    else
        MPI_Neighbor_allgather(w, 1, MPI_INT, v, 1, MPI_INT, line);
    MPI_Comm_free(&line);
    MPI_Type_free(&even), MPI_Type_free(&odd), MPI_Type_free(&spread), MPI_Type_free(&absolute);
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_dup(MPI_COMM_WORLD, &world);
    MPI_Comm_rank(world, &rank);
    MPI_Comm_size(world, &size);
    for (int r = 0; r < size; r++)
        counts[r] = 1, displs[r] = 2 * r, bytes[r] = 4 * r;
    MPI_Barrier(world);
    if (argc < 2 || !wrong(argv[1]))
        legal();
    if (rank == 0)
        printf("overlap: came to its end\n");
    MPI_Finalize();
    return 0;
}
