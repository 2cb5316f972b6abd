/* What ranks tell one another beside what is measured, over single messages.
 *
 * Where a candidate has launches of its own, the environment makes it the MPI's algorithm for all
 * calls of the process. One that gives wrong results must not reach what is known of the launch
 * (how many ranks a node has, whether a result is right), nor one that is slow the rounds; so no
 * collective is called here. Binomial trees and dissemination, as in any MPI's textbook (Thakur,
 * Rabenseifner and Gropp, IJHPCA 19(1), 2005): logarithmic in the number of ranks.
 */
#include "bench/bench.h"

enum { TAG = 4712, PIECE = 64 };

int stretto_bench_control_bcast(void *data, size_t bytes, int root, MPI_Comm comm) {
    int rank = 0, size = 0, bit = 1, rc = MPI_SUCCESS;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    int me = (rank - root + size) % size;
    while (bit < size && !(me & bit))
        bit <<= 1;
    if (me != 0)
        rc = MPI_Recv(data, (int)bytes, MPI_BYTE, (me - bit + root) % size, TAG, comm,
                      MPI_STATUS_IGNORE);
    for (bit >>= 1; bit > 0 && rc == MPI_SUCCESS; bit >>= 1)
        if (me + bit < size)
            rc = MPI_Send(data, (int)bytes, MPI_BYTE, (me + bit + root) % size, TAG, comm);
    return rc;
}

/* On rank 0 the largest of all ranks; at most PIECE values. */
static int largest(double *values, int n, MPI_Comm comm) {
    double other[PIECE];
    int rank = 0, size = 0, rc = MPI_SUCCESS;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    for (int bit = 1; bit < size && rc == MPI_SUCCESS; bit <<= 1) {
        if (rank & bit)
            return MPI_Send(values, n, MPI_DOUBLE, rank - bit, TAG, comm);
        if (rank + bit >= size)
            continue;
        rc = MPI_Recv(other, n, MPI_DOUBLE, rank + bit, TAG, comm, MPI_STATUS_IGNORE);
        for (int i = 0; i < n && rc == MPI_SUCCESS; i++)
            if (other[i] > values[i])
                values[i] = other[i];
    }
    return rc;
}

int stretto_bench_control_max(double *values, int n, MPI_Comm comm) {
    int rc = MPI_SUCCESS;
    for (int at = 0; at < n && rc == MPI_SUCCESS; at += PIECE) {
        int many = n - at < PIECE ? n - at : PIECE;
        rc = largest(values + at, many, comm);
        if (rc == MPI_SUCCESS)
            rc = stretto_bench_control_bcast(values + at, (size_t)many * sizeof *values, 0, comm);
    }
    return rc;
}

int stretto_bench_control_any(bool mine, bool *any, MPI_Comm comm) {
    double value = mine;
    int rc = stretto_bench_control_max(&value, 1, comm);
    *any = value > 0;
    return rc;
}

int stretto_bench_control_barrier(MPI_Comm comm) {
    int rank = 0, size = 0, rc = MPI_SUCCESS;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    for (int far = 1; far < size && rc == MPI_SUCCESS; far <<= 1)
        rc = MPI_Sendrecv(NULL, 0, MPI_BYTE, (rank + far) % size, TAG, NULL, 0, MPI_BYTE,
                          (rank + size - far) % size, TAG, comm, MPI_STATUS_IGNORE);
    return rc;
}
