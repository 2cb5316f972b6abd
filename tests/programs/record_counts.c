/* Known numbers of known calls, for the tests of the recorder. Any number of ranks from 2 up.
 * test_record.py holds the same numbers. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static int rank, size;

static void collectives(void) {
    double in[1024] = {0}, out[1024];
    for (int i = 0; i < 1000; i++)
        MPI_Allreduce(in, out, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    for (int i = 0; i < 7; i++)
        MPI_Allreduce(MPI_IN_PLACE, out, 1024, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    for (int i = 0; i < 11; i++)
        MPI_Bcast(in, 100, MPI_INT, size - 1, MPI_COMM_WORLD);
    for (int i = 0; i < 5; i++)
        MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < 3; i++)
        MPI_Reduce(in, out, 4, MPI_FLOAT, MPI_MIN, 0, MPI_COMM_WORLD);
    char *blocks = calloc((size_t)size, 64), *all = calloc((size_t)size, 64);
    for (int i = 0; i < 6; i++)
        MPI_Alltoall(blocks, 64, MPI_CHAR, all, 64, MPI_CHAR, MPI_COMM_WORLD);
    for (int i = 0; i < 4; i++)
        MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, all, 8, MPI_CHAR, MPI_COMM_WORLD);
    for (int i = 0; i < 2; i++)
        MPI_Gather(blocks, 16, MPI_CHAR, all, 16, MPI_CHAR, 1, MPI_COMM_WORLD);
    int sizes[64], at[64] = {0}, one[64] = {0}; /* rank r: r x 100 bytes; the next rank: 1000 */
    char *out_of[2] = {calloc((size_t)size, 1000), calloc((size_t)size, 1000)};
    for (int i = 0; i < size; i++) {
        sizes[i] = 25 * i;
        at[i] = i ? at[i - 1] + sizes[i - 1] : 0;
    }
    for (int i = 0; i < 3; i++)
        MPI_Allgatherv(out_of[0], sizes[rank], MPI_INT, out_of[1], sizes, at, MPI_INT,
                       MPI_COMM_WORLD);
    for (int i = 0; i < 3; i++)
        MPI_Reduce_scatter(out_of[0], out_of[1], sizes, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    one[(rank + 1) % size] = 250;
    int from[64] = {0};
    from[(rank + size - 1) % size] = 250;
    for (int i = 0; i < size; i++)
        at[i] = 0;
    for (int i = 0; i < 9; i++)
        MPI_Alltoallv(out_of[0], one, at, MPI_INT, out_of[1], from, at, MPI_INT, MPI_COMM_WORLD);
    MPI_Datatype ints[64]; /* all to rank 0, which sends nothing; then nobody anything */
    int none[64] = {0}, to[64] = {rank ? 2 : 0}, by[64];
    for (int i = 0; i < size; i++) {
        ints[i] = MPI_INT;
        by[i] = rank || !i ? 0 : 2;
    }
    for (int i = 0; i < 2; i++)
        MPI_Alltoallw(out_of[0], to, at, ints, out_of[1], by, at, ints, MPI_COMM_WORLD);
    for (int i = 0; i < 3; i++)
        MPI_Alltoallw(out_of[0], none, at, ints, out_of[1], none, at, ints, MPI_COMM_WORLD);
    free(out_of[0]);
    free(out_of[1]);
    MPI_Datatype pair;
    MPI_Type_contiguous(2, MPI_DOUBLE, &pair);
    MPI_Type_commit(&pair);
    MPI_Bcast(in, 3, pair, 0, MPI_COMM_WORLD);
    MPI_Type_free(&pair);
    free(blocks);
    free(all);
}

static void nonblocking(void) {
    MPI_Request requests[3];
    double in = 1, out[2];
    for (int i = 0; i < 9; i++) {
        MPI_Iallreduce(&in, out, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &requests[0]);
        MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    }
    MPI_Ibarrier(MPI_COMM_WORLD, &requests[0]);
    MPI_Iallreduce(&in, out, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &requests[1]);
    MPI_Ibcast(out + 1, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD, &requests[2]);
    MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
}

static void messages(void) {
    int right = (rank + 1) % size, left = (rank + size - 1) % size, buffer[256] = {0}, back[256];
    MPI_Request requests[2];
    MPI_Status status;
    for (int i = 0; i < 50; i++) {
        MPI_Irecv(back, 256, MPI_INT, left, 1, MPI_COMM_WORLD, &requests[0]);
        MPI_Isend(buffer, 100, MPI_INT, right, 1, MPI_COMM_WORLD, &requests[1]);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    }
    for (int i = 0; i < 10; i++) {
        if (rank == 0)
            MPI_Send(buffer, 10, MPI_INT, 1, 2, MPI_COMM_WORLD);
        if (rank == 1)
            MPI_Recv(back, 256, MPI_INT, 0, 2, MPI_COMM_WORLD, i % 2 ? &status : MPI_STATUS_IGNORE);
        MPI_Send(buffer, 10, MPI_INT, MPI_PROC_NULL, 3, MPI_COMM_WORLD);
    }
    for (int i = 0; i < 4; i++)
        MPI_Sendrecv(buffer, 5, MPI_INT, right, 4, back, 5, MPI_INT, left, 4, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
    MPI_Send_init(buffer, 20, MPI_INT, right, 5, MPI_COMM_WORLD, &requests[0]);
    MPI_Recv_init(back, 20, MPI_INT, left, 5, MPI_COMM_WORLD, &requests[1]);
    for (int i = 0; i < 8; i++) {
        MPI_Startall(2, requests);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    }
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);
    if (rank == 0) {
        MPI_Message message;
        MPI_Mprobe(1, 6, MPI_COMM_WORLD, &message, &status);
        MPI_Mrecv(back, 256, MPI_INT, &message, &status);
    } else if (rank == 1)
        MPI_Send(buffer, 3, MPI_INT, 0, 6, MPI_COMM_WORLD);
}

/* Sub-communicators made and freed in a loop; messages there have other rank numbers. */
static void communicators(void) {
    int value = rank, sum;
    for (int i = 0; i < 200; i++) {
        MPI_Comm half, copy;
        MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &half);
        MPI_Comm_dup(half, &copy);
        MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, half);
        MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, copy);
        MPI_Comm_free(&half);
        MPI_Comm_free(&copy);
    }
    MPI_Comm reversed;
    MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &reversed);
    MPI_Comm_set_name(reversed, "reversed");
    if (rank == 0) /* world rank 0 is the last here, world rank 1 the one before */
        MPI_Send(&value, 1, MPI_INT, size - 2, 0, reversed);
    if (rank == 1)
        MPI_Recv(&value, 1, MPI_INT, size - 1, 0, reversed, MPI_STATUS_IGNORE);
    MPI_Comm_free(&reversed);
    int dims[1] = {size}, periods[1] = {1};
    MPI_Comm ring;
    MPI_Cart_create(MPI_COMM_WORLD, 1, dims, periods, 0, &ring);
    int mine[2] = {rank, rank}, theirs[2];
    for (int i = 0; i < 3; i++)
        MPI_Neighbor_alltoall(mine, 1, MPI_INT, theirs, 1, MPI_INT, ring);
    MPI_Comm_free(&ring);
    int next = (rank + 1) % size, last = (rank + size - 1) % size, weight = 1, n = 2, at = 0;
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &last, &weight, 1, &next, &weight,
                                   MPI_INFO_NULL, 0, &ring);
    MPI_Neighbor_alltoallv(mine, &n, &at, MPI_INT, theirs, &n, &at, MPI_INT, ring);
    MPI_Comm_free(&ring);
}

static void one_sided(void) {
    double *memory, value = 1;
    MPI_Win window;
    MPI_Win_allocate(sizeof *memory, sizeof *memory, MPI_INFO_NULL, MPI_COMM_WORLD, &memory,
                     &window);
    MPI_Win_fence(0, window);
    for (int i = 0; i < 12; i++)
        MPI_Put(&value, 1, MPI_DOUBLE, (rank + 1) % size, 0, 1, MPI_DOUBLE, window);
    MPI_Win_fence(0, window);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_free(&window);
}

static void files(const char *name) {
    MPI_File file;
    char line[1000];
    memset(line, 'x', sizeof line);
    MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL, &file);
    for (int i = 0; i < 5; i++)
        MPI_File_write_at_all(file, (MPI_Offset)(i * size + rank) * 1000, line, 1000, MPI_CHAR,
                              MPI_STATUS_IGNORE);
    MPI_File_close(&file);
}

/* 8192 page faults, for the growth of at most 512 pages. */
static void memory(void) {
    for (int i = 0; i < 16; i++) {
        char *pages =
            mmap(NULL, 512 << 12, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        madvise(pages, 512 << 12, MADV_NOHUGEPAGE);
        for (int k = 0; k < 512; k++)
            ((volatile char *)pages)[k << 12] = 1;
        munmap(pages, 512 << 12);
    }
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    collectives();
    nonblocking();
    messages();
    communicators();
    one_sided();
    files(argv[1]);
    memory();
    MPI_Finalize();
    printf("rank %d done\n", rank);
    return 0;
}
