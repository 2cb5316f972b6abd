/* Two threads, each on a communicator of its own, call bcast and reduce with changing roots;
 * results are checked. Usage: rooted_threads CALLS. */
#include <mpi.h>
#include <pthread.h>

#include <stdio.h>
#include <stdlib.h>

static int rank, size, calls, wrong[2];
static MPI_Comm of_thread[2];

static void *work(void *argument) {
    const int me = argument != NULL;
    for (int i = 0; i < calls; i++) {
        int given = rank == i % size ? i : -1, one = i + rank, sum = -1;
        MPI_Bcast(&given, 1, MPI_INT, i % size, of_thread[me]);
        MPI_Reduce(&one, &sum, 1, MPI_INT, MPI_SUM, i % size, of_thread[me]);
        wrong[me] += given != i;
        wrong[me] += rank == i % size && sum != size * i + size * (size - 1) / 2;
    }
    return NULL;
}

int main(int argc, char **argv) {
    int provided, mine, all = 0;
    pthread_t other;
    calls = argc > 1 ? atoi(argv[1]) : 1000;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int i = 0; i < 2; i++)
        MPI_Comm_dup(MPI_COMM_WORLD, &of_thread[i]);
    pthread_create(&other, NULL, work, &other);
    work(NULL);
    pthread_join(other, NULL);
    for (int i = 0; i < 2; i++)
        MPI_Comm_free(&of_thread[i]);
    mine = wrong[0] + wrong[1];
    MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0)
        printf("%d wrong\n", all);
    MPI_Finalize();
    return all != 0;
}
