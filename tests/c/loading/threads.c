/* Many threads make the process's first MPI call at once. */
#include "abi/host.h"

#include <pthread.h>
#include <stdio.h>

enum { THREADS = 16 };
static pthread_barrier_t start;

static void *first_call(void *arg) {
    (void)arg;
    int version = 0, subversion = 0;
    pthread_barrier_wait(&start);
    PMPI_Get_version(&version, &subversion);
    /* whoever sees a function sees the predefined handles */
    return version >= 3 && MPI_COMM_WORLD != MPI_COMM_NULL && MPI_INT != MPI_DATATYPE_NULL ? NULL
                                                                                           : &start;
}

int main(void) {
    pthread_t thread[THREADS];
    void *bad;
    int failed = 0;
    pthread_barrier_init(&start, NULL, THREADS);
    for (int i = 0; i < THREADS; i++)
        pthread_create(&thread[i], NULL, first_call, NULL);
    for (int i = 0; i < THREADS; i++) {
        pthread_join(thread[i], &bad);
        failed += bad != NULL;
    }
    printf("%d %s\n", failed, stretto_host_path());
    return failed;
}
