/* Ways for a program to end half way, for the tests of the recorder: record_ends HOW COUNT, where
 * HOW is kill (rank 1 kills itself with SIGKILL), abort (MPI_Abort(…, 7)), exit (no MPI_Finalize),
 * stay (says "ready" and waits), threads (COUNT threads send and receive at once,
 * MPI_THREAD_MULTIPLE, and all is well) or limit (the same after no file may become longer than it
 * is). */
#include <mpi.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

static int rank, size;

static void *talk(void *arg) {
    int tag = *(int *)arg, out = tag, in = -1, peer = rank ^ 1;
    for (int i = 0; i < 500; i++) {
        MPI_Sendrecv(&out, 1, MPI_INT, peer, tag, &in, 1, MPI_INT, peer, tag, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
        if (in != tag)
            MPI_Abort(MPI_COMM_WORLD, 3);
    }
    return NULL;
}

static void threads(int n) {
    pthread_t all[64];
    int tags[64];
    for (int round = 0; round < 3;
         round++) { /* later threads take over the parts of earlier ones */
        for (int i = 0; i < n; i++) {
            tags[i] = i;
            pthread_create(&all[i], NULL, talk, &tags[i]);
        }
        for (int i = 0; i < n; i++)
            pthread_join(all[i], NULL);
    }
}

/* A launcher ends the others when one leaves so: rank 1 leaves first, undisturbed. */
static void leave(void) {
    int pid = getpid();
    PMPI_Bcast(&pid, 1, MPI_INT, 1, MPI_COMM_WORLD);
    if (rank == 0) {
        struct pollfd gone = {(int)syscall(SYS_pidfd_open, pid, 0), POLLIN, 0};
        if (gone.fd >= 0)
            poll(&gone, 1, -1);
    }
    exit(0);
}

int main(int argc, char **argv) {
    int provided, count = atoi(argv[2]);
    double one = 1, sum;
    const char *how = argv[1];
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (!strcmp(how, "limit")) {
        struct rlimit none = {100000, 100000};
        setrlimit(RLIMIT_FSIZE, &none);
        how = "threads";
    }
    if (!strcmp(how, "threads")) {
        if (provided < MPI_THREAD_MULTIPLE)
            return 4;
        threads(count);
        MPI_Finalize();
        return 0;
    }
    for (int i = 0; i < count; i++)
        MPI_Allreduce(&one, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    PMPI_Barrier(MPI_COMM_WORLD); /* both have counted all of theirs; not counted itself */
    if (!strcmp(how, "kill") && rank == 1)
        raise(SIGKILL);
    if (!strcmp(how, "abort") && rank == 1)
        MPI_Abort(MPI_COMM_WORLD, 7);
    if (!strcmp(how, "exit"))
        leave();
    MPI_Barrier(MPI_COMM_WORLD);
    if (!strcmp(how, "stay") && rank == 0) {
        printf("ready\n");
        fflush(stdout);
    }
    sleep(60);
    MPI_Finalize();
    return 0;
}
