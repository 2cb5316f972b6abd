/* The program of the neighbourhood collectives with every call in its nonblocking form, or built
 * with -DPERSISTENT in its persistent one: started with another one on the same communicator, in an
 * order of each rank's own, and twice, since nothing is in place. With -DAT_ONCE nonblocking, on
 * communicators that see nothing else. */
#include <mpi.h>

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static unsigned long calls;

static void fail(const char *what) {
    fprintf(stderr, "neighbors_started: %s\n", what);
    MPI_Abort(MPI_COMM_WORLD, 3);
}

static int sum, ranks;

#ifdef PERSISTENT
static int go_through(MPI_Request mine, MPI_Comm comm) {
    int rank;
    MPI_Request r[2] = {mine};
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &ranks);
    MPI_Allreduce_init(MPI_IN_PLACE, &sum, 1, MPI_INT, MPI_SUM, comm, MPI_INFO_NULL, &r[1]);
    for (int i = 0; i < 2; i++) {
        sum = 1 + i;
        MPI_Start(&r[(rank + i) % 2]);
        MPI_Start(&r[(rank + i + 1) % 2]);
        MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
        if (sum != (1 + i) * ranks)
            fail("a sum beside another collective is wrong");
    }
    MPI_Request_free(&r[0]);
    MPI_Request_free(&r[1]);
    return MPI_SUCCESS;
}
#define FORM(name, suffix, ...)                                                                    \
    ({                                                                                             \
        MPI_Request mine_;                                                                         \
        MPI_Neighbor_##name##_init##suffix(__VA_ARGS__, MPI_INFO_NULL, &mine_);                    \
        go_through(mine_, t->comm);                                                                \
    })
#else
/* What a blocking call sets up: the communicator, and what its ranks know of its graph. Every time:
 * a handle may come again. Open MPI's own nonblocking forms give other blocks than its blocking
 * ones where edges are repeated. */
static void set_up(MPI_Comm comm) {
    char nothing;
    calls++;
#ifdef AT_ONCE /* nothing blocking is ever called on it (STRETTO_AFTER=0) */
    return;
#endif
    MPI_Neighbor_alltoall(&nothing, 0, MPI_CHAR, &nothing, 0, MPI_CHAR, comm);
}

static int go_through(MPI_Request mine, MPI_Comm comm) {
    MPI_Request r[2] = {mine};
    sum = 1;
    MPI_Comm_size(comm, &ranks);
    MPI_Iallreduce(MPI_IN_PLACE, &sum, 1, MPI_INT, MPI_SUM, comm, &r[1]);
    if (calls % 2)
        MPI_Wait(&r[0], MPI_STATUS_IGNORE);
    MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
    if (sum != ranks)
        fail("a sum beside another collective is wrong");
    return MPI_SUCCESS;
}
#define FORM(name, suffix, ...)                                                                    \
    ({                                                                                             \
        MPI_Request mine_;                                                                         \
        set_up(t->comm);                                                                           \
        MPI_Ineighbor_##name##suffix(__VA_ARGS__, &mine_);                                         \
        go_through(mine_, t->comm);                                                                \
    })
#endif
#define MPI_Neighbor_allgather(...) FORM(allgather, , __VA_ARGS__)
#define MPI_Neighbor_allgatherv(...) FORM(allgatherv, , __VA_ARGS__)
#define MPI_Neighbor_alltoall(...) FORM(alltoall, , __VA_ARGS__)
#define MPI_Neighbor_alltoallv(...) FORM(alltoallv, , __VA_ARGS__)
#define MPI_Neighbor_alltoallw(...) FORM(alltoallw, , __VA_ARGS__)
#define MPI_Neighbor_allgather_c(...) FORM(allgather, _c, __VA_ARGS__)
#define MPI_Neighbor_allgatherv_c(...) FORM(allgatherv, _c, __VA_ARGS__)
#define MPI_Neighbor_alltoall_c(...) FORM(alltoall, _c, __VA_ARGS__)
#define MPI_Neighbor_alltoallv_c(...) FORM(alltoallv, _c, __VA_ARGS__)
#define MPI_Neighbor_alltoallw_c(...) FORM(alltoallw, _c, __VA_ARGS__)

#ifdef AT_ONCE /* it does not see them otherwise before they are used */
#define PMPI_Cart_create MPI_Cart_create
#define PMPI_Graph_create MPI_Graph_create
#define PMPI_Dist_graph_create MPI_Dist_graph_create
#define PMPI_Dist_graph_create_adjacent MPI_Dist_graph_create_adjacent
#endif
#include "neighbors.c"
