/* The conformance program with every collective called in its persistent form: made, completed
 * while inactive, started, completed in each way there is together with a second one on the same
 * communicator and persistent messages of the program's own, started again where that gives the
 * same, and freed. Ranks start the two collectives in different orders. */
#include <mpi.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RECEIVE, MINE, SEND, OTHER, REQUESTS };

static unsigned long turn, calls; /* turn: each rank's own; calls: the same on all ranks */

static void fail(const char *what) {
    fprintf(stderr, "persistent: %s\n", what);
    MPI_Abort(MPI_COMM_WORLD, 3);
}

static void all_there(const MPI_Request *r) {
    for (int i = 0; i < REQUESTS; i++)
        if (r[i] == MPI_REQUEST_NULL)
            fail("completing a persistent request freed it");
}

/* MPICH 5.0.2 itself waits for ever for a persistent collective of its own that was never started,
 * and its Testall returns an error for every one. Some shapes are its own with Stretto, too;
 * persistent_cases.c has ours alone. */
static int has_own_errors(void) {
    char version[MPI_MAX_LIBRARY_VERSION_STRING];
    int length;
    MPI_Get_library_version(version, &length);
    return strstr(version, "MPICH") != NULL;
}

/* Nothing is started: every way of completing returns at once. */
static void complete_inactive(MPI_Request *r) {
    int flag = 0, index = 0, n = 0, indices[REQUESTS], count = -1;
    MPI_Status status, statuses[REQUESTS];
    switch (turn % 6) {
    case 0: MPI_Wait(&r[MINE], &status); break;
    case 1: MPI_Waitall(REQUESTS, r, statuses); break;
    case 2: MPI_Waitany(REQUESTS, r, &index, &status); break;
    case 3: MPI_Testsome(REQUESTS, r, &n, indices, statuses); break;
    case 4: MPI_Test(&r[MINE], &flag, &status); break;
    default: MPI_Request_get_status(r[MINE], &flag, &status); break;
    }
    switch (turn % 6) {
    case 2: flag = index == MPI_UNDEFINED; break;
    case 3: flag = n == MPI_UNDEFINED; break;
    case 0:
    case 4:
    case 5:
        MPI_Get_count(&status, MPI_INT, &count);
        flag = (flag || turn % 6 == 0) && count == 0 && status.MPI_SOURCE == MPI_ANY_SOURCE;
        break;
    default: flag = 1;
    }
    if (!flag)
        fail("an inactive request is not complete with an empty status");
    all_there(r);
}

/* How one completes is one's own affair. */
static void complete(MPI_Request *r) {
    int flag = 0, n, indices[REQUESTS], index, done[REQUESTS] = {0};
    MPI_Status statuses[REQUESTS];
    unsigned long way = turn++ % 9;
    if (way == 3 && has_own_errors())
        way = 2;
    switch (way) {
    case 0: MPI_Wait(&r[MINE], MPI_STATUS_IGNORE); break;
    case 1:
        while (!flag)
            MPI_Test(&r[MINE], &flag, &statuses[0]);
        break;
    case 2: MPI_Waitall(REQUESTS, r, statuses); break;
    case 3:
        while (!flag)
            MPI_Testall(REQUESTS, r, &flag, MPI_STATUSES_IGNORE);
        break;
    case 4:
    case 5:
        do {
            if (way == 4)
                MPI_Waitany(REQUESTS, r, &index, &statuses[0]);
            else
                for (flag = 0; !flag;)
                    MPI_Testany(REQUESTS, r, &index, &flag, MPI_STATUS_IGNORE);
            if (index != MPI_UNDEFINED && done[index]++)
                fail("a request completed twice");
        } while (index != MPI_UNDEFINED);
        break;
    case 6:
    case 7:
        do {
            if (way == 6)
                MPI_Waitsome(REQUESTS, r, &n, indices, statuses);
            else
                MPI_Testsome(REQUESTS, r, &n, indices, MPI_STATUSES_IGNORE);
            for (int i = 0; n != MPI_UNDEFINED && i < n; i++)
                if (done[indices[i]]++)
                    fail("a request completed twice");
        } while (n != MPI_UNDEFINED);
        break;
    default:
        while (!flag)
            MPI_Request_get_status(r[MINE], &flag, MPI_STATUS_IGNORE);
        break;
    }
    for (int i = 0; way >= 4 && way <= 7 && i < REQUESTS; i++)
        if (done[i] != 1)
            fail("a started request was not told of");
    MPI_Waitall(REQUESTS, r, MPI_STATUSES_IGNORE);
    all_there(r);
}

static void start(MPI_Request *r, int rank) {
    MPI_Request backwards[REQUESTS] = {r[3], r[2], r[1], r[0]};
    if ((rank + turn) % 3 == 0) {
        MPI_Startall(REQUESTS, r);
    } else if ((rank + turn) % 3 == 1) {
        MPI_Startall(REQUESTS, backwards);
    } else {
        MPI_Start(&r[OTHER]);
        MPI_Start(&r[SEND]);
        MPI_Start(&r[MINE]);
        MPI_Start(&r[RECEIVE]);
    }
}

/* again: the call reads only what it does not write. */
static int go_through(MPI_Request mine, MPI_Comm comm, int again) {
    int rank, size, word = 41, got = 0, sum, all;
    MPI_Request r[REQUESTS] = {[MINE] = mine};
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    /* in place on the root alone, say: all start it as often */
    PMPI_Allreduce(&again, &all, 1, MPI_INT, MPI_MIN, comm);
    MPI_Recv_init(&got, 1, MPI_INT, 0, 5, MPI_COMM_SELF, &r[RECEIVE]);
    MPI_Send_init(&word, 1, MPI_INT, 0, 5, MPI_COMM_SELF, &r[SEND]);
    MPI_Allreduce_init(MPI_IN_PLACE, &sum, 1, MPI_INT, MPI_SUM, comm, MPI_INFO_NULL, &r[OTHER]);
    if (!has_own_errors())
        complete_inactive(r);
    for (int i = 0; i < (all ? 3 : 1); i++) {
        got = 0, sum = i + 1;
        start(r, rank);
        complete(r);
        if (sum != (i + 1) * size)
            fail("a sum beside another collective is wrong");
        if (got != 41)
            fail("a message was lost");
        complete_inactive(r);
    }
    for (int i = 0; i < REQUESTS; i++) {
        MPI_Request_free(&r[i]);
        if (r[i] != MPI_REQUEST_NULL)
            fail("a freed request is not null");
    }
    return MPI_SUCCESS;
}

#define FIRST(first, ...) (first)
/* comm is the last argument. */
#define CALL(X, comm, ...)                                                                         \
    ({                                                                                             \
        MPI_Request mine_;                                                                         \
        if (calls++ % 7 == 0)                                                                      \
            (MPI_Barrier)(comm);                                                                   \
        MPI_##X##_init(__VA_ARGS__, MPI_INFO_NULL, &mine_);                                        \
        go_through(mine_, comm, (const void *)FIRST(__VA_ARGS__, 0) != MPI_IN_PLACE);              \
    })
#define MPI_Allreduce(...) CALL(Allreduce, comm, __VA_ARGS__)
#define MPI_Reduce(...) CALL(Reduce, comm, __VA_ARGS__)
#define MPI_Bcast(...) CALL(Bcast, comm, __VA_ARGS__)
#define MPI_Barrier(c)                                                                             \
    ({                                                                                             \
        MPI_Request mine_;                                                                         \
        MPI_Barrier_init(c, MPI_INFO_NULL, &mine_);                                                \
        go_through(mine_, c, 1);                                                                   \
    })
#define MPI_Allgather(...) CALL(Allgather, comm, __VA_ARGS__)
#define MPI_Allgatherv(...) CALL(Allgatherv, comm, __VA_ARGS__)
#define MPI_Alltoall(...) CALL(Alltoall, comm, __VA_ARGS__)
#define MPI_Alltoallv(...) CALL(Alltoallv, comm, __VA_ARGS__)
#define MPI_Alltoallw(...) CALL(Alltoallw, comm, __VA_ARGS__)
#define MPI_Gather(...) CALL(Gather, comm, __VA_ARGS__)
#define MPI_Gatherv(...) CALL(Gatherv, comm, __VA_ARGS__)
#define MPI_Scatter(...) CALL(Scatter, comm, __VA_ARGS__)
#define MPI_Scatterv(...) CALL(Scatterv, comm, __VA_ARGS__)
#define MPI_Reduce_scatter_block(...) CALL(Reduce_scatter_block, comm, __VA_ARGS__)
#define MPI_Reduce_scatter(...) CALL(Reduce_scatter, comm, __VA_ARGS__)
#define MPI_Scan(...) CALL(Scan, comm, __VA_ARGS__)
#define MPI_Exscan(...) CALL(Exscan, comm, __VA_ARGS__)
#define LARGE(X, ...)                                                                              \
    ({                                                                                             \
        MPI_Request mine_;                                                                         \
        MPI_##X##_init_c(__VA_ARGS__, MPI_INFO_NULL, &mine_);                                      \
        go_through(mine_, comm, (const void *)FIRST(__VA_ARGS__, 0) != MPI_IN_PLACE);              \
    })
#define MPI_Allgatherv_c(...) LARGE(Allgatherv, __VA_ARGS__)
#define MPI_Alltoall_c(...) LARGE(Alltoall, __VA_ARGS__)
#define MPI_Alltoallv_c(...) LARGE(Alltoallv, __VA_ARGS__)
#define MPI_Alltoallw_c(...) LARGE(Alltoallw, __VA_ARGS__)
#define MPI_Gather_c(...) LARGE(Gather, __VA_ARGS__)
#define MPI_Gatherv_c(...) LARGE(Gatherv, __VA_ARGS__)
#define MPI_Scatter_c(...) LARGE(Scatter, __VA_ARGS__)
#define MPI_Scatterv_c(...) LARGE(Scatterv, __VA_ARGS__)
#define MPI_Reduce_scatter_block_c(...) LARGE(Reduce_scatter_block, __VA_ARGS__)
#define MPI_Reduce_scatter_c(...) LARGE(Reduce_scatter, __VA_ARGS__)
#define MPI_Scan_c(...) LARGE(Scan, __VA_ARGS__)
#define MPI_Exscan_c(...) LARGE(Exscan, __VA_ARGS__)

#include "conformance.c"
