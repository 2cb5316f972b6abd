/* Calls that fail on one rank alone: what comes later goes on as if they had not been.
 *
 * Usage: refusals free | init | leave | taken | agree. "free": an attribute's delete callback
 * fails, and the error handler never returns. "init": a persistent collective with wrong arguments,
 * which is then made rightly; "leave": with such a handler, too. "taken": the MPI does not mind
 * them. "agree": an allreduce tells all ranks, which give it up. Prints "refusals done" on rank 0.
 */
#include <mpi.h>

#include <setjmp.h>
#include <stdio.h>
#include <string.h>

static int rank, size, wrong, raised;
static jmp_buf back;

static void leave(MPI_Comm *comm, int *code, ...) {
    (void)comm, (void)code;
    raised++;
    longjmp(back, 1);
}

static int fail(MPI_Comm comm, int key, void *value, void *extra) {
    (void)comm, (void)key, (void)value, (void)extra;
    return rank == 0 ? MPI_ERR_OTHER : MPI_SUCCESS;
}

static void sums_on(MPI_Comm comm) {
    for (int i = 0; i < 5; i++) {
        int mine = rank + i, all = -1;
        MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_SUM, comm);
        wrong += all != size * (size - 1) / 2 + size * i;
    }
}

static void free_that_fails(MPI_Errhandler handler) {
    MPI_Comm earlier, comm, later;
    int key;
    MPI_Comm_dup(MPI_COMM_WORLD, &earlier);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    sums_on(comm);
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, fail, &key, NULL);
    MPI_Comm_set_attr(comm, key, NULL);
    MPI_Comm_set_errhandler(comm, handler);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler); /* which MPICH raises it on */
    if (!setjmp(back))
        MPI_Comm_free(&comm);
    wrong += raised != (rank == 0);
    sums_on(earlier);
    MPI_Comm_dup(MPI_COMM_WORLD, &later);
    sums_on(later);
    MPI_Comm_free(&earlier);
    MPI_Comm_free(&later);
}

#if MPI_VERSION >= 4 || OMPI_MAJOR_VERSION >= 5
static void init_that_fails(MPI_Errhandler handler, int leaves) {
    for (int again = 0; again < 4; again++) {
        int value = rank == 1 ? 7 : 0;
        MPI_Request request;
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, leaves && again % 2 ? handler : MPI_ERRORS_RETURN);
        if (rank == 0 && !setjmp(back))
            wrong += MPI_Bcast_init(&value, 1, MPI_INT, size, MPI_COMM_WORLD, MPI_INFO_NULL,
                                    &request) == MPI_SUCCESS;
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
        MPI_Bcast_init(&value, 1, MPI_INT, 1, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
        MPI_Start(&request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        wrong += value != 7;
        MPI_Request_free(&request);
    }
    wrong += raised != (leaves && rank == 0 ? 2 : 0);
}

/* Ranks agree after the call that it failed somewhere, and give it up where it did not fail. */
static void init_that_is_agreed_on(void) {
    int value = 0, failed, any = 0;
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    failed = MPI_Bcast_init(&value, 1, MPI_INT, rank == 0 ? size : 1, MPI_COMM_WORLD, MPI_INFO_NULL,
                            &request) != MPI_SUCCESS;
    MPI_Allreduce(&failed, &any, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    wrong += !any || failed != (rank == 0);
    if (!failed)
        MPI_Request_free(&request);
    sums_on(MPI_COMM_WORLD);
}

static void init_that_is_taken(void) {
    int value = 0;
    MPI_Request request;
    wrong += MPI_Bcast_init(&value, 1, MPI_INT, rank == 0 ? size : 1, MPI_COMM_WORLD, MPI_INFO_NULL,
                            &request) != MPI_SUCCESS;
    MPI_Request_free(&request);
    sums_on(MPI_COMM_WORLD);
}
#endif

int main(int argc, char **argv) {
    MPI_Errhandler handler;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_create_errhandler(leave, &handler);
    const char *what = argc > 1 ? argv[1] : "";
    if (strcmp(what, "free") == 0)
        free_that_fails(handler);
#if MPI_VERSION >= 4 || OMPI_MAJOR_VERSION >= 5
    else if (strcmp(what, "taken") == 0)
        init_that_is_taken();
    else if (strcmp(what, "agree") == 0)
        init_that_is_agreed_on();
    else
        init_that_fails(handler, strcmp(what, "leave") == 0);
#endif
    if (wrong)
        printf("refusals: rank %d: %d wrong\n", rank, wrong);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        printf("refusals done\n");
    MPI_Finalize();
    return wrong != 0;
}
