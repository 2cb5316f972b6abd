/* The conformance program with every collective called in its nonblocking form, completed in each
 * way there is, alone or mixed with messages of the program's own; every other one together with a
 * second one on the same communicator that is issued before it and completed after it. */
#include <mpi.h>

#include <stdio.h>
#include <stdlib.h>

static unsigned long turn, calls; /* calls: the same on all ranks */

static void fail(const char *what) {
    fprintf(stderr, "nonblocking: %s\n", what);
    MPI_Abort(MPI_COMM_WORLD, 3);
}

/* turn is the same on all ranks only by chance: how one completes is one's own affair. */
static int complete(MPI_Request mine, MPI_Comm comm) {
    int flag = 0, n, indices[4], index, rank, done[4] = {0}, word = 41, got = 0;
    MPI_Request r[4] = {MPI_REQUEST_NULL, mine, MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    MPI_Status statuses[4];
    MPI_Comm_rank(comm, &rank);
    const unsigned long way = turn++ % 9;
    MPI_Irecv(&got, 1, MPI_INT, 0, 5, MPI_COMM_SELF, &r[0]);
    if (way & 1)
        MPI_Iallreduce(MPI_IN_PLACE, &done[3], 0, MPI_INT, MPI_SUM, MPI_COMM_SELF, &r[3]);
    MPI_Isend(&word, 1, MPI_INT, 0, 5, MPI_COMM_SELF, &r[2]);
    switch (way) {
    case 0: MPI_Wait(&r[1], MPI_STATUS_IGNORE); break;
    case 1:
        while (!flag)
            MPI_Test(&r[1], &flag, &statuses[0]);
        break;
    case 2: MPI_Waitall(4, r, statuses); break;
    case 3:
        while (!flag)
            MPI_Testall(4, r, &flag, MPI_STATUSES_IGNORE);
        break;
    case 4:
    case 5:
        do {
            if (way == 4)
                MPI_Waitany(4, r, &index, &statuses[0]);
            else
                for (flag = 0; !flag;)
                    MPI_Testany(4, r, &index, &flag, MPI_STATUS_IGNORE);
            if (index != MPI_UNDEFINED && done[index]++)
                fail("a request completed twice");
        } while (index != MPI_UNDEFINED);
        break;
    case 6:
    case 7:
        do {
            if (way == 6)
                MPI_Waitsome(4, r, &n, indices, statuses);
            else
                MPI_Testsome(4, r, &n, indices, MPI_STATUSES_IGNORE);
            for (int i = 0; n != MPI_UNDEFINED && i < n; i++)
                if (done[indices[i]]++)
                    fail("a request completed twice");
        } while (n != MPI_UNDEFINED);
        break;
    default:
        while (!flag)
            MPI_Request_get_status(r[1], &flag, MPI_STATUS_IGNORE);
        if (r[1] == MPI_REQUEST_NULL)
            fail("asking for the status freed the request");
        break;
    }
    MPI_Waitall(4, r, MPI_STATUSES_IGNORE);
    for (int i = 0; i < 4; i++)
        if (r[i] != MPI_REQUEST_NULL)
            fail("a request is not null at the end");
    if (got != 41)
        fail("a message was lost");
    return MPI_SUCCESS;
}

/* comm is the last argument but for the request. */
#define CALL(function, comm, ...)                                                                  \
    ({                                                                                             \
        MPI_Request first_ = MPI_REQUEST_NULL, mine_;                                              \
        int sum_ = 1, size_;                                                                       \
        const int two_ = __COUNTER__ % 2;                                                          \
        MPI_Comm_size(comm, &size_);                                                               \
        if (calls++ % 7 == 0) /* a blocking one sets the communicator up */                        \
            (MPI_Barrier)(comm);                                                                   \
        if (two_)                                                                                  \
            MPI_Iallreduce(MPI_IN_PLACE, &sum_, 1, MPI_INT, MPI_SUM, comm, &first_);               \
        function(__VA_ARGS__, &mine_);                                                             \
        complete(mine_, comm);                                                                     \
        MPI_Wait(&first_, MPI_STATUS_IGNORE);                                                      \
        if (sum_ != (two_ ? size_ : 1))                                                            \
            fail("a sum beside another collective is wrong");                                      \
        MPI_SUCCESS;                                                                               \
    })
#define MPI_Allreduce(...) CALL(MPI_Iallreduce, comm, __VA_ARGS__)
#define MPI_Reduce(...) CALL(MPI_Ireduce, comm, __VA_ARGS__)
#define MPI_Bcast(...) CALL(MPI_Ibcast, comm, __VA_ARGS__)
#define MPI_Barrier(c) CALL(MPI_Ibarrier, comm, c)
#define MPI_Allgather(...) CALL(MPI_Iallgather, comm, __VA_ARGS__)
#define MPI_Allgatherv(...) CALL(MPI_Iallgatherv, comm, __VA_ARGS__)
#define MPI_Allgatherv_c(...) CALL(MPI_Iallgatherv_c, comm, __VA_ARGS__)
#define MPI_Alltoall(...) CALL(MPI_Ialltoall, comm, __VA_ARGS__)
#define MPI_Alltoall_c(...) CALL(MPI_Ialltoall_c, comm, __VA_ARGS__)
#define MPI_Alltoallv(...) CALL(MPI_Ialltoallv, comm, __VA_ARGS__)
#define MPI_Alltoallv_c(...) CALL(MPI_Ialltoallv_c, comm, __VA_ARGS__)
#define MPI_Alltoallw(...) CALL(MPI_Ialltoallw, comm, __VA_ARGS__)
#define MPI_Alltoallw_c(...) CALL(MPI_Ialltoallw_c, comm, __VA_ARGS__)
#define MPI_Gather(...) CALL(MPI_Igather, comm, __VA_ARGS__)
#define MPI_Gather_c(...) CALL(MPI_Igather_c, comm, __VA_ARGS__)
#define MPI_Gatherv(...) CALL(MPI_Igatherv, comm, __VA_ARGS__)
#define MPI_Gatherv_c(...) CALL(MPI_Igatherv_c, comm, __VA_ARGS__)
#define MPI_Scatter(...) CALL(MPI_Iscatter, comm, __VA_ARGS__)
#define MPI_Scatter_c(...) CALL(MPI_Iscatter_c, comm, __VA_ARGS__)
#define MPI_Scatterv(...) CALL(MPI_Iscatterv, comm, __VA_ARGS__)
#define MPI_Scatterv_c(...) CALL(MPI_Iscatterv_c, comm, __VA_ARGS__)
#define MPI_Reduce_scatter_block(...) CALL(MPI_Ireduce_scatter_block, comm, __VA_ARGS__)
#define MPI_Reduce_scatter_block_c(...) CALL(MPI_Ireduce_scatter_block_c, comm, __VA_ARGS__)
#define MPI_Reduce_scatter(...) CALL(MPI_Ireduce_scatter, comm, __VA_ARGS__)
#define MPI_Reduce_scatter_c(...) CALL(MPI_Ireduce_scatter_c, comm, __VA_ARGS__)
#define MPI_Scan(...) CALL(MPI_Iscan, comm, __VA_ARGS__)
#define MPI_Scan_c(...) CALL(MPI_Iscan_c, comm, __VA_ARGS__)
#define MPI_Exscan(...) CALL(MPI_Iexscan, comm, __VA_ARGS__)
#define MPI_Exscan_c(...) CALL(MPI_Iexscan_c, comm, __VA_ARGS__)

#include "conformance.c"
