/* One program for each cause of lost time, for the tests of stretto diagnose:
 *     diagnose_cases CASE [FILE]
 * where CASE is imbalance, late_sender, chain, collective, barrier, serial_io, nonblocking,
 * persistent, neighbours, moving, exchange, empty, threads, packed, of reading same_file (all ranks
 * read all of it) or serial_read (one rank reads it and broadcasts); or one without a cause, in
 * most the twin of one that has it: compute, balanced, put, overlap, hidden, started, full, pieces,
 * contiguous, own_part, own_write.
 * With a third argument under MPI_THREAD_MULTIPLE. Ranks that work sleep: who sleeps wants no core,
 * and wakes in time where other programs want all of them. Steps are long beside a slice of the
 * scheduler (3 ms): a call that costs 1 us may then cost a slice, and that would be the cause,
 * which is right but not the case. */
#include <mpi.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static int rank, size;

static void work(double seconds) {
    nanosleep(&(struct timespec){0, (long)(1e9 * seconds)}, NULL);
}

/* Where threads at work are counted, or computing. */
static void compute_for(double seconds) {
    double end = MPI_Wtime() + seconds;
    volatile double x = 1;
    while (MPI_Wtime() < end)
        x = x * 1.0000001;
}

static void allreduce(void) {
    double one = 1, sum;
    MPI_Allreduce(&one, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    if ((int)sum != size)
        MPI_Abort(MPI_COMM_WORLD, 1);
}

/* The last rank has more to do in every step. */
static void imbalance(void) {
    for (int i = 0; i < 40; i++) {
        work(rank == size - 1 ? 40e-3 : 5e-3);
        allreduce();
    }
}

/* The same, with other collectives: started before the work, awaited after it; or of neighbours. */
static void nonblocking(void) {
    double in = 1, out;
    MPI_Request request;
    for (int i = 0; i < 40; i++) {
        work(rank == size - 1 ? 30e-3 : 1e-3);
        MPI_Iallreduce(&in, &out, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &request);
        work(rank == size - 1 ? 10e-3 : 4e-3);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
}

/* Its twin: all have as much to do, and do it meanwhile. */
static void hidden(void) {
    double in = 1, out;
    MPI_Request request;
    for (int i = 0; i < 60; i++) {
        MPI_Iallreduce(&in, &out, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &request);
        work(20e-3);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
}

/* The same as nonblocking, and its twin, made once and started in every step. */
static void persistent(bool late) {
#if MPI_VERSION >= 4 || (defined(OMPI_MAJOR_VERSION) && OMPI_MAJOR_VERSION >= 5)
    double in = 1, out;
    MPI_Request request;
    MPI_Allreduce_init(&in, &out, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
    for (int i = 0; i < 40; i++) {
        work(late && rank == size - 1 ? 30e-3 : 1e-3);
        MPI_Start(&request);
        work(late ? (rank == size - 1 ? 10e-3 : 4e-3) : 20e-3);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    MPI_Request_free(&request);
#else
    MPI_Abort(MPI_COMM_WORLD, late ? 2 : 3);
#endif
}

static void neighbours(void) {
    MPI_Comm ring;
    double in[2] = {1, 2}, out[2];
    MPI_Cart_create(MPI_COMM_WORLD, 1, &size, (int[]){1}, 0, &ring);
    for (int i = 0; i < 40; i++) {
        work(rank == size - 1 ? 40e-3 : 5e-3);
        MPI_Neighbor_alltoall(in, 1, MPI_DOUBLE, out, 1, MPI_DOUBLE, ring);
    }
    MPI_Comm_free(&ring);
}

/* Everyone has the same to do, but starts only when the rank before has sent. */
static void late_sender(void) {
    int token = 0;
    for (int i = 0; i < 20; i++) {
        if (i || rank)
            MPI_Recv(&token, 1, MPI_INT, (rank + size - 1) % size, 0, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
        work(20e-3);
        if (i < 19 || rank < size - 1)
            MPI_Send(&token, 1, MPI_INT, (rank + 1) % size, 0, MPI_COMM_WORLD);
    }
}

/* Ranks work one after another, and what is sent goes one way. */
static void chain(void) {
    int token = 0;
    for (int i = 0; i < 10; i++) {
        if (rank)
            MPI_Recv(&token, 1, MPI_INT, rank - 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        else if (i)
            MPI_Recv(&token, 1, MPI_INT, size - 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        work(20e-3);
        if (rank < size - 1 || i < 9)
            MPI_Send(&token, 1, MPI_INT, (rank + 1) % size, 0, MPI_COMM_WORLD);
    }
}

/* All ranks work at the same time, and pass on what the step before gave. */
static void pieces(void) {
    int next = (rank + 1) % size, last = (rank + size - 1) % size, mine = rank, theirs;
    MPI_Request requests[2];
    PMPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < 60; i++) {
        MPI_Irecv(&theirs, 1, MPI_INT, last, 0, MPI_COMM_WORLD, &requests[0]);
        MPI_Isend(&mine, 1, MPI_INT, next, 0, MPI_COMM_WORLD, &requests[1]);
        work(20e-3);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    }
}

/* A column of a matrix, or as many numbers in one piece that only has a type of its own. */
static void columns(bool scattered) {
    enum { ROWS = 1 << 17, WIDTH = 16 };
    double *matrix = calloc((size_t)2 * ROWS * WIDTH, sizeof *matrix);
    MPI_Datatype column;
    MPI_Request requests[2];
    MPI_Type_vector(ROWS, 1, scattered ? WIDTH : 1, MPI_DOUBLE, &column);
    MPI_Type_commit(&column);
    for (int i = 0; i < (scattered ? 300 : 60); i++) {
        MPI_Irecv(matrix + ROWS * WIDTH, 1, column, size - 1 - rank, 0, MPI_COMM_WORLD,
                  &requests[0]);
        MPI_Isend(matrix, 1, column, size - 1 - rank, 0, MPI_COMM_WORLD, &requests[1]);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        if (!scattered)
            work(40e-3);
    }
    MPI_Type_free(&column);
    free(matrix);
}

static void slow_sum(void *in, void *inout, int *count, MPI_Datatype *type) {
    (void)type;
    for (int i = 0; i < *count; i++)
        ((double *)inout)[i] += ((double *)in)[i];
    work(1e-3);
}

/* The operation is made slow: what a fast one takes beyond the least, some 0.1 us a call, is less
 * than what ranks wait where other programs want the same cores. */
static void collective(void) {
    MPI_Op sum_slowly;
    MPI_Op_create(slow_sum, 1, &sum_slowly);
    for (int i = 0; i < 300; i++) {
        double one = 1, sum;
        MPI_Allreduce(&one, &sum, 1, MPI_DOUBLE, sum_slowly, MPI_COMM_WORLD);
        if ((int)sum != size)
            MPI_Abort(MPI_COMM_WORLD, 1);
    }
    MPI_Op_free(&sum_slowly);
}

/* Who is late alternates: without the barriers it would even out. */
static void barrier(void) {
    for (int i = 0; i < 60; i++) {
        work((i + rank) % 2 ? 40e-3 : 5e-3);
        MPI_Barrier(MPI_COMM_WORLD);
    }
}

/* Rank 0 puts, the others read: of both barriers only rank 0 knows of anything before one of them.
 * Without the second the next value would come while this one is read. */
static void put(void) {
    double *mine, value;
    MPI_Win window;
    MPI_Win_allocate(sizeof *mine, sizeof *mine, MPI_INFO_NULL, MPI_COMM_WORLD, &mine, &window);
    for (int i = 0; i < 30; i++) {
        work(10e-3);
        if (rank == 0) {
            value = i;
            MPI_Win_lock(MPI_LOCK_EXCLUSIVE, size - 1, 0, window);
            MPI_Put(&value, 1, MPI_DOUBLE, size - 1, 0, 1, MPI_DOUBLE, window);
            MPI_Win_unlock(size - 1, window);
        }
        MPI_Barrier(MPI_COMM_WORLD);
        work(rank ? 10e-3 : 0);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    MPI_Win_free(&window);
}

static void serial_io(const char *name) {
    size_t bytes = 16 << 20;
    char *data = malloc(bytes);
    memset(data, 1, bytes);
    for (int i = 0; i < 24; i++) {
        work(2e-3);
        double end = MPI_Wtime() + 40e-3; /* a fast disk is done sooner */
        do {
            FILE *file = rank == 0 ? fopen(name, "wb") : NULL;
            if (rank == 0 && (!file || fwrite(data, 1, bytes, file) != bytes || fflush(file) ||
                              fsync(fileno(file)) || fclose(file)))
                MPI_Abort(MPI_COMM_WORLD, 1);
        } while (rank == 0 && MPI_Wtime() < end);
        allreduce();
    }
    free(data);
}

enum { FILE_BYTES = 8 << 20, TIMES = 30 };

/* Long enough to matter on any machine. */
static void read_all(const char *name, char *data) {
    double end = MPI_Wtime() + 20e-3;
    do {
        FILE *file = fopen(name, "rb");
        if (!file || fread(data, 1, FILE_BYTES, file) != FILE_BYTES || fclose(file))
            MPI_Abort(MPI_COMM_WORLD, 1);
    } while (MPI_Wtime() < end);
}

static void reading(int readers, const char *name) {
    char *data = calloc(1, FILE_BYTES);
    FILE *file = rank == 0 ? fopen(name, "wb") : NULL;
    if (rank == 0 && (!file || fwrite(data, 1, FILE_BYTES, file) != FILE_BYTES || fclose(file)))
        MPI_Abort(MPI_COMM_WORLD, 1);
    PMPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < TIMES; i++) {
        if (rank < readers)
            read_all(name, data);
        if (readers == 1)
            MPI_Bcast(data, FILE_BYTES / 128, MPI_CHAR, 0, MPI_COMM_WORLD);
        work(2e-3);
        allreduce();
    }
    free(data);
}

/* The twin of all reading: each rank reads a part of its own. */
static void own_part(const char *name) {
    char *data = calloc(1, FILE_BYTES);
    int part = FILE_BYTES / size;
    FILE *file = rank == 0 ? fopen(name, "wb") : NULL;
    if (rank == 0 && (!file || fwrite(data, 1, FILE_BYTES, file) != FILE_BYTES || fclose(file)))
        MPI_Abort(MPI_COMM_WORLD, 1);
    PMPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < TIMES; i++) {
        file = fopen(name, "rb");
        if (!file || fseek(file, (long)rank * part, SEEK_SET) ||
            fread(data, 1, (size_t)part / TIMES, file) != (size_t)part / TIMES || fclose(file))
            MPI_Abort(MPI_COMM_WORLD, 1);
        work(40e-3);
        allreduce();
    }
    free(data);
}

/* The twin of one rank writing: each writes a little into a file of its own. */
static void own_write(const char *name) {
    char path[4096], data[4096] = "";
    snprintf(path, sizeof path, "%s.%d", name, rank);
    for (int i = 0; i < TIMES; i++) {
        FILE *file = fopen(path, "ab");
        if (!file || fwrite(data, 1, sizeof data, file) != sizeof data || fclose(file))
            MPI_Abort(MPI_COMM_WORLD, 1);
        work(40e-3);
        allreduce();
    }
}

/* Without a cause: all have as much to do. */
static void balanced(void) {
    PMPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < 60; i++) {
        work(20e-3);
        allreduce();
    }
}

/* The rank that is late alternates: over the run both compute alike. */
static void moving(void) {
    for (int i = 0; i < 40; i++) {
        work((i + rank) % 2 ? 40e-3 : 5e-3);
        allreduce();
    }
}

/* Ranks exchange data in each step, blocking: the second one works when the first has sent. Its
 * twin posts all messages first. */
static void exchange(void) {
    int mine = rank, other = size - 1 - rank, theirs;
    for (int i = 0; i < 20; i++) {
        if (rank % 2)
            MPI_Recv(&theirs, 1, MPI_INT, other, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        work(20e-3);
        MPI_Send(&mine, 1, MPI_INT, other, 0, MPI_COMM_WORLD);
        if (rank % 2 == 0)
            MPI_Recv(&theirs, 1, MPI_INT, other, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
}

static void overlap(void) {
    int mine = rank, other = size - 1 - rank, theirs;
    MPI_Request requests[2];
    PMPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < 100; i++) {
        MPI_Irecv(&theirs, 1, MPI_INT, other, 0, MPI_COMM_WORLD, &requests[0]);
        MPI_Isend(&mine, 1, MPI_INT, other, 0, MPI_COMM_WORLD, &requests[1]);
        compute_for(20e-3);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    }
}

/* Of blocks only rank 0 has one, for itself: the others call all the same. In the twin all have. */
static void blocks(bool all, int times, double seconds) {
    int counts[64] = {0}, at[64] = {0}, in[64] = {0}, out[64];
    counts[0] = rank == 0;
    for (int i = 0; i < size && all; i++) {
        counts[i] = 1;
        at[i] = i;
    }
    PMPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < times; i++) {
        if (seconds > 0)
            compute_for(seconds);
        MPI_Alltoallv(in, counts, at, MPI_INT, out, counts, at, MPI_INT, MPI_COMM_WORLD);
    }
}

/* More threads than the machine has cores, all at work until the process ends. */
static void *thread_works(void *unused) {
    for (;;)
        compute_for(1.0);
    return unused;
}

static void threads(void) {
    pthread_t one;
    for (int i = 0; i < 2 * (int)sysconf(_SC_NPROCESSORS_ONLN) / size + 2; i++)
        pthread_create(&one, NULL, thread_works, NULL);
    for (int i = 0; i < 40; i++) {
        compute_for(40e-3);
        allreduce();
    }
}

/* Ranks leave MPI_Init apart, which is no imbalance of theirs; not recorded. */
static void compute(void) {
    PMPI_Barrier(MPI_COMM_WORLD);
    compute_for(3.0);
    allreduce();
}

int main(int argc, char **argv) {
    int level;
    MPI_Init_thread(&argc, &argv, argc > 3 ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    const char *name = argc > 1 ? argv[1] : "";
    if (!strcmp(name, "imbalance"))
        imbalance();
    else if (!strcmp(name, "late_sender"))
        late_sender();
    else if (!strcmp(name, "collective"))
        collective();
    else if (!strcmp(name, "barrier"))
        barrier();
    else if (!strcmp(name, "put"))
        put();
    else if (!strcmp(name, "serial_io"))
        serial_io(argv[2]);
    else if (!strcmp(name, "nonblocking"))
        nonblocking();
    else if (!strcmp(name, "neighbours"))
        neighbours();
    else if (!strcmp(name, "same_file"))
        reading(size, argv[2]);
    else if (!strcmp(name, "serial_read"))
        reading(1, argv[2]);
    else if (!strcmp(name, "moving"))
        moving();
    else if (!strcmp(name, "balanced"))
        balanced();
    else if (!strcmp(name, "hidden"))
        hidden();
    else if (!strcmp(name, "persistent"))
        persistent(true);
    else if (!strcmp(name, "started"))
        persistent(false);
    else if (!strcmp(name, "chain"))
        chain();
    else if (!strcmp(name, "pieces"))
        pieces();
    else if (!strcmp(name, "packed"))
        columns(true);
    else if (!strcmp(name, "contiguous"))
        columns(false);
    else if (!strcmp(name, "own_part"))
        own_part(argv[2]);
    else if (!strcmp(name, "own_write"))
        own_write(argv[2]);
    else if (!strcmp(name, "exchange"))
        exchange();
    else if (!strcmp(name, "overlap"))
        overlap();
    else if (!strcmp(name, "empty"))
        blocks(false, 400000, 0);
    else if (!strcmp(name, "full"))
        blocks(true, 100, 20e-3);
    else if (!strcmp(name, "threads"))
        threads();
    else if (!strcmp(name, "compute"))
        compute();
    else
        MPI_Abort(MPI_COMM_WORLD, 2);
    MPI_Finalize();
    return 0;
}
