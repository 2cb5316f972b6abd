/* Calls of a few shapes, often: what an application looks like to STRETTO_LEARN. On the world, on a
 * half of it, on communicators that are made and freed. Usage: learning CALLS [BRIEF]: in the end
 * so many communicators that live for 20 calls. Prints how many results were wrong.
 */
#include <mpi.h>

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>

static long wrong;
static int rank, size;

/* The root alone makes a call that the MPI refuses, and then makes it rightly: the first one counts
 * nowhere, or ranks would change their choices in different calls. */
static void refused(MPI_Comm comm, const int *blocks, int *two, int root) {
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    wrong += MPI_Scatter(blocks, 2, MPI_INT, two, 2, MPI_DATATYPE_NULL, root, comm) == MPI_SUCCESS;
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_ARE_FATAL);
}

static jmp_buf back;

static void leave(MPI_Comm *comm, int *code, ...) {
    (void)comm, (void)code;
    longjmp(back, 1);
}

/* The same on a communicator that is not set up yet: the calls until then are counted. By turns
 * with an error handler that never returns. */
static void refused_early(MPI_Comm comm, int leaves) {
    MPI_Errhandler handler;
    int value = 0;
    MPI_Comm_create_errhandler(leave, &handler);
    MPI_Comm_set_errhandler(comm, leaves ? handler : MPI_ERRORS_RETURN);
    if (!setjmp(back))
        wrong += MPI_Bcast(&value, 1, MPI_INT, size, comm) == MPI_SUCCESS || leaves;
    MPI_Comm none = MPI_COMM_NULL;
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_ARE_FATAL);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
    if (leaves && !setjmp(back))
        wrong += 1 + MPI_Comm_free(&none);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    MPI_Errhandler_free(&handler);
}

/* By roots in turn: the others hurry on in two of them, the root in the other two. */
static void rooted(MPI_Comm comm, int me, int n, long i, int root) {
    static int blocks[2 * 64];
    int value = me == root ? (int)i : -1, sum = -1, two[2], counts[64];
    MPI_Bcast(&value, 1, MPI_INT, root, comm);
    wrong += value != (int)i;
    MPI_Reduce(&value, &sum, 1, MPI_INT, MPI_SUM, root, comm);
    wrong += me == root && sum != n * (int)i;
    two[0] = me, two[1] = (int)i;
    MPI_Gather(two, 2, MPI_INT, blocks, 2, MPI_INT, root, comm);
    for (int r = 0; me == root && r < n; r++)
        wrong += blocks[2 * r] != r || blocks[2 * r + 1] != (int)i;
    if (me == root && i % 50 == 13)
        refused(comm, blocks, two, root);
    MPI_Scatter(blocks, 2, MPI_INT, two, 2, MPI_INT, root, comm);
    wrong += two[0] != me || two[1] != (int)i;
    for (int r = 0; r < n; r++)
        counts[r] = i % 4 ? 1 + r % 2 : r % 2; /* now and then some have nothing: not learned */
    int displs[64] = {0};
    for (int r = 1; r < n; r++)
        displs[r] = displs[r - 1] + counts[r - 1];
    two[0] = two[1] = value;
    MPI_Allgatherv(two, counts[me], MPI_INT, blocks, counts, displs, MPI_INT, comm);
    wrong += n > 1 && blocks[0] != (int)i;
    for (int r = 0; r < 2 * n; r++)
        blocks[r] = r;
    MPI_Reduce_scatter(blocks, two, counts, MPI_INT, MPI_SUM, comm);
    wrong += counts[me] && two[0] != n * displs[me];
}

/* On a ring of ranks: sizes that no rank knows of the others, some of them 0; and scans. */
static void loose(MPI_Comm comm, long i) {
    static int mine[64 * 8], all[64 * 8], counts[64], displs[64], back[64];
    int me, n, x, upto = -1, few[2] = {-1, -1}, around[2] = {-1, -1}, root;
    MPI_Comm_rank(comm, &me);
    MPI_Comm_size(comm, &n);
    root = (int)(i % n);
    for (int r = 0; r < n; r++) {
        counts[r] = (int)((me + r + i) % 4); /* the same both ways */
        displs[r] = 8 * r;
        mine[8 * r] = mine[8 * r + 7] = 100 * me + r;
        all[8 * r] = -1;
    }
    MPI_Alltoallv(mine, counts, displs, MPI_INT, all, counts, displs, MPI_INT, comm);
    for (int r = 0; r < n; r++)
        wrong += all[8 * r] != (counts[r] ? 100 * r + me : -1);
    for (int r = 0; r < n; r++) {
        back[r] = (int)((r + i) % 3);
        all[8 * r] = -1;
    }
    MPI_Gatherv(mine, back[me], MPI_INT, all, back, displs, MPI_INT, root, comm);
    for (int r = 0; me == root && r < n; r++)
        wrong += all[8 * r] != (back[r] ? 100 * r : -1);
    MPI_Scatterv(mine, back, displs, MPI_INT, few, back[me], MPI_INT, root, comm);
    wrong += few[0] != (back[me] ? 100 * root + me : -1);
    x = me + 1;
    MPI_Scan(&x, &upto, 1, MPI_INT, MPI_SUM, comm);
    wrong += upto != (me + 1) * (me + 2) / 2;
    MPI_Exscan(&x, &upto, 1, MPI_INT, MPI_SUM, comm);
    wrong += me && upto != me * (me + 1) / 2;
    x = 10 * me + (int)(i % 5);
    MPI_Neighbor_allgather(&x, 1, MPI_INT, around, 1, MPI_INT, comm);
    wrong += around[0] != 10 * ((me + n - 1) % n) + (int)(i % 5) ||
             around[1] != 10 * ((me + 1) % n) + (int)(i % 5);
}

static void calls(MPI_Comm comm, long i) {
    static int mine[1024], all[64 * 1024];
    int me, n;
    MPI_Comm_rank(comm, &me);
    MPI_Comm_size(comm, &n);
    double x = me + (double)(i % 7), sum = 0;
    MPI_Allreduce(&x, &sum, 1, MPI_DOUBLE, MPI_SUM, comm);
    wrong += sum != n * (n - 1) / 2.0 + n * (double)(i % 7);
    if (i % 4 == 0) {
        const int count = 1 + (int)(i % 900);
        mine[0] = mine[count - 1] = me + (int)i;
        MPI_Allgather(mine, count, MPI_INT, all, count, MPI_INT, comm);
        for (int r = 0; r < n; r++)
            wrong += all[r * count] != r + (int)i || all[r * count + count - 1] != r + (int)i;
    }
    if (i % 8 == 0)
        MPI_Barrier(comm);
    if (i % 3 == 0)
        rooted(comm, me, n, i, (int)(i / 3) % n);
    if (i % 16 == 0) {
        for (int r = 0; r < n; r++)
            mine[r] = 100 * me + r;
        MPI_Alltoall(mine, 1, MPI_INT, all, 1, MPI_INT, comm);
        for (int r = 0; r < n; r++)
            wrong += all[r] != 100 * r + me;
    }
}

/* One rank names the same data otherwise, and two sizes of one class come in turn. */
static void mixed(MPI_Comm comm, long i, MPI_Datatype four) {
    static int mine[512], all[64 * 512];
    int me, n, ints = i % 8 < 4 ? 256 : 500;
    MPI_Comm_rank(comm, &me);
    MPI_Comm_size(comm, &n);
    mine[0] = mine[ints - 1] = 7 * me + (int)i;
    if (me % 2)
        MPI_Allgather(mine, ints / 4, four, all, ints / 4, four, comm);
    else
        MPI_Allgather(mine, ints, MPI_INT, all, ints, MPI_INT, comm);
    for (int r = 0; r < n; r++)
        wrong += all[r * ints] != 7 * r + (int)i || all[r * ints + ints - 1] != 7 * r + (int)i;
}

int main(int argc, char **argv) {
    long many = argc > 1 ? atol(argv[1]) : 1000, total = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm half, ring, brief = MPI_COMM_NULL;
    const int periodic = 1;
    MPI_Cart_create(MPI_COMM_WORLD, 1, &size, &periodic, 0, &ring);
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
    MPI_Datatype four;
    MPI_Type_contiguous(4, MPI_INT, &four);
    MPI_Type_commit(&four);
    for (long i = 0; i < many; i++) {
        calls(MPI_COMM_WORLD, i);
        if (i % 2)
            mixed(MPI_COMM_WORLD, i, four);
        if (i % 2 == 0)
            loose(ring, i / 2);
        if (i % 10 == 0)
            calls(half, i);
        if (i % (many / 4 + 1) == 0) {
            if (brief != MPI_COMM_NULL)
                MPI_Comm_free(&brief);
            MPI_Comm_dup(MPI_COMM_WORLD, &brief);
        }
        if (i % 5 == 0)
            calls(brief, i);
    }
    MPI_Type_free(&four);
    MPI_Comm_free(&half);
    MPI_Comm_free(&ring);
    MPI_Comm_free(&brief);
    for (int k = argc > 2 ? atoi(argv[2]) : 0; k > 0; k--) {
        MPI_Comm_dup(MPI_COMM_WORLD, &brief);
        if (rank == 0 && k % 10 == 0)
            refused_early(brief, k % 20 == 0);
        for (long i = 1; i <= 20; i++)
            calls(brief, 2 * i - 1);
        MPI_Comm_free(&brief);
    }
    MPI_Reduce(&wrong, &total, 1, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0)
        printf("%ld wrong\n", total);
    MPI_Finalize();
    return total != 0;
}
