/* The reference: messages of a fixed form, timed beside the candidates of every case.
 *
 * Launches of the same program differ by more than candidates in one launch do
 * (bench/launch_noise.py), and some settings of an MPI cannot be changed in a running process, so
 * that candidates have launches apart. What a launch's luck is made of (which cores and pages it
 * got, what runs beside it, the way through the network) reaches messages as it does the
 * collectives that are made of them. So a candidate's time over the reference's of the same launch
 * can be compared with another's of another launch: a control variate (Lavenberg and Welch 1981).
 *
 * Two messages a rank, as long as the case's: one to the next rank, which mostly is on the same
 * node, and one halfway round, which mostly is on another. No collective: no setting of an
 * algorithm changes it. */
#include "bench/bench.h"

#include <stdlib.h>
#include <string.h>

enum { TAG = 7, PAGE = 4096 };
#define MOST ((size_t)1 << 20) /* bytes: longer ones tell no more of a launch */

static size_t length(const stretto_bench_call *call) {
    return call->shape->bytes < MOST ? call->shape->bytes : MOST;
}

int stretto_bench_reference_open(stretto_bench_call *call) {
    size_t bytes = length(call) + 1;
    void *room[2] = {NULL, NULL};
    for (int i = 0; i < 2; i++) {
        if (posix_memalign(&room[i], PAGE, bytes) != 0) {
            free(room[0]);
            return -1;
        }
        memset(room[i], 1, bytes); /* touched before anything is timed */
    }
    call->sent = room[0];
    call->arrived = room[1];
    return 0;
}

void stretto_bench_reference_close(stretto_bench_call *call) {
    free(call->sent);
    free(call->arrived);
    call->sent = call->arrived = NULL;
}

int stretto_bench_reference_run(stretto_bench_call *call, int n) {
    int bytes = (int)length(call), size = call->nranks, rank = call->rank, rc = MPI_SUCCESS;
    int far = size / 2 > 1 ? size / 2 : 0;
    for (int i = 0; i < n && rc == MPI_SUCCESS; i++) {
        rc = MPI_Sendrecv(call->sent, bytes, MPI_BYTE, (rank + 1) % size, TAG, call->arrived, bytes,
                          MPI_BYTE, (rank + size - 1) % size, TAG, call->comm, MPI_STATUS_IGNORE);
        if (rc == MPI_SUCCESS && far)
            rc = MPI_Sendrecv(call->sent, bytes, MPI_BYTE, (rank + far) % size, TAG, call->arrived,
                              bytes, MPI_BYTE, (rank + size - far) % size, TAG, call->comm,
                              MPI_STATUS_IGNORE);
    }
    return rc;
}
