/* The order in which an MPI adds, as a digest of rounded sums: fingerprint BYTES... prints a line
 * "RANKS BYTES DIGEST" for an allreduce on the world and on all but its last rank. */
#include <mpi.h>

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static void show(MPI_Comm comm, size_t bytes) {
    int rank, size, n = (int)(bytes / sizeof(float));
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    float *in = malloc(bytes), *out = malloc(bytes);
    if (!in || !out)
        MPI_Abort(comm, 1);
    uint64_t state = 88172645463325252u + 7919u * (uint64_t)rank;
    for (int i = 0; i < n; i++) { /* xorshift; magnitudes far apart */
        state ^= state << 13, state ^= state >> 7, state ^= state << 17;
        in[i] = (float)((double)(state >> 40) * (state & 1 ? 1e3 : 1e-3));
    }
    MPI_Allreduce(in, out, n, MPI_FLOAT, MPI_SUM, comm);
    uint64_t digest = 14695981039346656037u;
    for (size_t i = 0; i < bytes; i++)
        digest = (digest ^ ((unsigned char *)out)[i]) * 1099511628211u;
    if (rank == 0)
        printf("%d %zu %016llx\n", size, bytes, (unsigned long long)digest);
    free(in);
    free(out);
}

int main(int argc, char **argv) {
    int rank, size;
    MPI_Comm fewer;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_split(MPI_COMM_WORLD, rank < size - 1 ? 0 : MPI_UNDEFINED, rank, &fewer);
    for (int i = 1; i < argc; i++) {
        show(MPI_COMM_WORLD, strtoull(argv[i], NULL, 10));
        if (fewer != MPI_COMM_NULL)
            show(fewer, strtoull(argv[i], NULL, 10));
    }
    if (fewer != MPI_COMM_NULL)
        MPI_Comm_free(&fewer);
    MPI_Finalize();
    return 0;
}
