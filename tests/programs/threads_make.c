/* Threads that make communicators at once, all of MPI_COMM_WORLD and each by a tag of its own
 * (MPI-3.1, 6.4.2: MPI_Comm_create_group), and use them: no rank may wait for ever, whatever a
 * library makes beside them.
 *
 *   threads_make [rounds] */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { THREADS = 4, CALLS = 4 };

static int rank, nranks, rounds, wrong;
static MPI_Group everybody, some;

static void use(MPI_Comm comm) {
    int n;
    MPI_Comm_size(comm, &n);
    for (int i = 0; i < CALLS; i++) {
        int one = 1, sum = 0;
        MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm);
        if (sum != n)
            wrong = 1; /* by any thread, read after all have ended */
        MPI_Barrier(comm);
    }
}

static void *make(void *arg) {
    const int tag = *(int *)arg;
    for (int i = 0; i < rounds; i++) {
        MPI_Comm comm;
        if (rank <= nranks / 2) { /* the others go on */
            MPI_Comm_create_group(MPI_COMM_WORLD, some, tag, &comm);
            use(comm);
            MPI_Comm_free(&comm);
        }
        MPI_Comm_create_group(MPI_COMM_WORLD, everybody, tag, &comm);
        use(comm);
        MPI_Comm_free(&comm);
    }
    return NULL;
}

int main(int argc, char **argv) {
    int provided, tags[THREADS], any = 0;
    pthread_t threads[THREADS];
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &nranks);
    MPI_Comm_group(MPI_COMM_WORLD, &everybody);
    MPI_Group_range_incl(everybody, 1, (int[][3]){{0, nranks / 2, 1}}, &some);
    rounds = argc > 1 ? atoi(argv[1]) : 10;
    if (provided < MPI_THREAD_MULTIPLE) {
        if (rank == 0)
            printf("threads_make: the MPI has no MPI_THREAD_MULTIPLE\n");
        MPI_Finalize();
        return 0;
    }
    for (int i = 0; i < THREADS; i++) {
        tags[i] = i;
        if (pthread_create(&threads[i], NULL, make, &tags[i]))
            MPI_Abort(MPI_COMM_WORLD, 1);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    MPI_Allreduce(&wrong, &any, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    if (rank == 0)
        printf("threads_make: %s\n", any ? "wrong sums" : "every sum is right");
    MPI_Group_free(&some);
    MPI_Group_free(&everybody);
    MPI_Finalize();
    return any;
}
