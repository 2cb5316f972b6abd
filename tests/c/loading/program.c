/* An ordinary MPI program: each collective that Stretto takes, several times, with MPI_IN_PLACE, on
 * MPI_COMM_WORLD and on a communicator of its own. Rank 0 prints what came out. */
#include <mpi.h>
#include <stdio.h>

enum { N = 100, TIMES = 6 };

static long long checksum(const double *x, int n) {
    long long sum = 0;
    for (int i = 0; i < n; i++)
        sum = sum * 31 % 1000003 + (long long)x[i];
    return sum;
}

static void collectives(MPI_Comm comm, const char *name) {
    int world_rank, rank, size;
    double in[N], out[N], all[64 * N];
    MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    for (int t = 0; t < TIMES; t++) {
        for (int i = 0; i < N; i++)
            in[i] = i + rank * (t + 1);
        MPI_Allreduce(in, out, N, MPI_DOUBLE, MPI_SUM, comm);
        long long a = checksum(out, N);
        MPI_Allreduce(MPI_IN_PLACE, in, N, MPI_DOUBLE, MPI_MAX, comm);
        long long b = checksum(in, N);
        if (rank == size - 1)
            out[0] = t;
        MPI_Bcast(out, N, MPI_DOUBLE, size - 1, comm);
        long long c = checksum(out, N);
        MPI_Reduce(rank == 0 ? MPI_IN_PLACE : out, out, N, MPI_DOUBLE, MPI_SUM, 0, comm);
        MPI_Allgather(in, N, MPI_DOUBLE, all, N, MPI_DOUBLE, comm);
        long long d = checksum(all, N * size);
        MPI_Barrier(comm);
        if (world_rank == 0)
            printf("%s %d: %lld %lld %lld %lld %lld\n", name, t, a, b, c, checksum(out, N), d);
    }
}

int main(int argc, char **argv) {
    int flag, provided, rank;
    MPI_Comm half;
    MPI_Initialized(&flag);
    if (flag)
        return 3;
    if (MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided))
        return 4;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    collectives(MPI_COMM_WORLD, "world");
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
    collectives(half, "half");
    MPI_Comm_free(&half);
    if (half != MPI_COMM_NULL)
        return 5;
    MPI_Finalize();
    return 0;
}
