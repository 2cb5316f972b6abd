/* Programs that are correct under the MPI's progress rule and hang under a careless library: each
 * leaves something pending that only this process can push on, and then waits in a collective.
 *
 * Usage: progress CASE... (see run). Prints "progress CASE: done" for each. Any number of ranks
 * from 2; large messages, so that they need the sender's help.
 */
#include <mpi.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LARGE = 4 << 20, WARM = 8 };

static int rank, size;
static char *data;

static void warm(MPI_Comm comm) { /* past the set-up of the communicator */
    for (int i = 0; i < WARM; i++)
        MPI_Barrier(comm);
}

static void check(int good, const char *what) {
    if (!good) {
        fprintf(stderr, "progress: wrong %s on rank %d\n", what, rank);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
}

/* Rank 0 has a large send under way and sits in a collective; rank 1 receives before it comes. */
static void isend_then(int collective) {
    for (int i = 0; i < 5; i++) {
        MPI_Request request = MPI_REQUEST_NULL;
        int one = 1, sum = 0, all[1024];
        if (rank == 0)
            MPI_Isend(data, LARGE, MPI_CHAR, 1, 1, MPI_COMM_WORLD, &request);
        if (rank == 1) {
            usleep(20000);
            MPI_Recv(data, LARGE, MPI_CHAR, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
        switch (collective) {
        case 0: MPI_Barrier(MPI_COMM_WORLD); break;
        case 1:
            MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
            check(sum == size, "sum");
            break;
        case 2: /* the root of a reduction and the receivers of a broadcast wait, too */
            MPI_Reduce(&one, &sum, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
            break;
        case 3: MPI_Bcast(&one, 1, MPI_INT, 1, MPI_COMM_WORLD); break;
        case 4: MPI_Allgather(&one, 1, MPI_INT, all, 1, MPI_INT, MPI_COMM_WORLD); break;
        case 5: { /* large vectors go another way than small ones */
            static int in[1 << 18], out[1 << 18];
            MPI_Allreduce(in, out, 1 << 18, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
            break;
        }
        default: {
            static int vector[1 << 18];
            MPI_Bcast(vector, 1 << 18, MPI_INT, 1, MPI_COMM_WORLD);
        }
        }
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
}

/* Rank 1 reads rank 0's window while rank 0 waits for it in a barrier. */
static void rma(void) {
    MPI_Win win;
    int *memory, got = 0;
    MPI_Win_allocate(1 << 20, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
    memory[0] = 42 + rank;
    warm(MPI_COMM_WORLD);
    if (rank == 1) {
        usleep(20000);
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
        MPI_Get(&got, 1, MPI_INT, 0, 0, 1, MPI_INT, win);
        MPI_Win_unlock(0, win);
        check(got == 42, "value");
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_free(&win);
}

/* A nonblocking collective that rank 0 has started and rank 1 must see end before it joins the
 * barrier. */
static void nonblocking(void) {
    for (int i = 0; i < 5; i++) {
        MPI_Request request;
        static int in[1 << 16], out[1 << 16];
        MPI_Iallreduce(in, out, 1 << 16, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
        if (rank == 1)
            MPI_Wait(&request, MPI_STATUS_IGNORE);
        MPI_Barrier(MPI_COMM_WORLD);
        if (rank != 1)
            MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
}

/* Rank 0 waits on one communicator for rank 1, which waits on another for the last rank, which
 * needs rank 0's message first. */
static void chain(void) {
    MPI_Comm front, back;
    if (size < 3)
        return;
    MPI_Comm_split(MPI_COMM_WORLD, rank < 2 ? 0 : MPI_UNDEFINED, rank, &front);
    MPI_Comm_split(MPI_COMM_WORLD, rank == 1 || rank == size - 1 ? 0 : MPI_UNDEFINED, rank, &back);
    if (front != MPI_COMM_NULL)
        warm(front);
    if (back != MPI_COMM_NULL)
        warm(back);
    MPI_Request request = MPI_REQUEST_NULL;
    if (rank == 0) {
        MPI_Isend(data, LARGE, MPI_CHAR, size - 1, 1, MPI_COMM_WORLD, &request);
        MPI_Barrier(front);
    } else if (rank == 1) {
        MPI_Barrier(back);
        MPI_Barrier(front);
    } else if (rank == size - 1) {
        MPI_Recv(data, LARGE, MPI_CHAR, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Barrier(back);
    }
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    if (front != MPI_COMM_NULL)
        MPI_Comm_free(&front);
    if (back != MPI_COMM_NULL)
        MPI_Comm_free(&back);
}

/* Two threads, each with its own communicator, start in opposite order on odd ranks. */
static MPI_Comm thread_comm[2];

static void *run_thread(void *arg) {
    MPI_Comm comm = *(MPI_Comm *)arg;
    if ((comm == thread_comm[0]) == (rank % 2 == 0))
        usleep(10000);
    for (int i = 0; i < 500; i++) {
        double in = rank + i, out = 0, expected = 0;
        MPI_Allreduce(&in, &out, 1, MPI_DOUBLE, MPI_SUM, comm);
        for (int r = 0; r < size; r++)
            expected += r + i;
        check(out == expected, "sum in a thread");
    }
    return NULL;
}

static void threads(void) {
    pthread_t other;
    MPI_Comm_dup(MPI_COMM_WORLD, &thread_comm[0]);
    MPI_Comm_dup(MPI_COMM_WORLD, &thread_comm[1]);
    pthread_create(&other, NULL, run_thread, &thread_comm[1]);
    run_thread(&thread_comm[0]);
    pthread_join(other, NULL);
    MPI_Comm_free(&thread_comm[0]);
    MPI_Comm_free(&thread_comm[1]);
}

/* Communicators made and dropped by the thousand, each used past its set-up. */
static void communicators(void) {
    for (int i = 0; i < 3000; i++) {
        MPI_Comm comm;
        int n, sum = 0, one = 1;
        if (i % 3 == 0)
            MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        else
            MPI_Comm_split(MPI_COMM_WORLD, i % 3 == 1 ? 0 : rank % 2, -rank, &comm);
        MPI_Comm_size(comm, &n);
        for (int j = 0; j < 5; j++)
            MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm);
        check(sum == n, "sum");
        MPI_Comm_free(&comm);
    }
}

/* More communicators alive at once than Stretto sets up. */
static void many(void) {
    enum { MANY = 400 };
    static MPI_Comm comms[MANY];
    for (int i = 0; i < MANY; i++)
        MPI_Comm_split(MPI_COMM_WORLD, 0, rank, &comms[i]);
    for (int j = 0; j < 5; j++)
        for (int i = 0; i < MANY; i++) {
            int sum = 0, one = 1;
            MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comms[i]);
            check(sum == size, "sum");
        }
    for (int i = 0; i < MANY; i++)
        MPI_Comm_free(&comms[i]);
}

static const struct {
    const char *name;
    void (*run)(void);
} cases[] = {{"rma", rma},         {"nonblocking", nonblocking},     {"chain", chain},
             {"threads", threads}, {"communicators", communicators}, {"many", many}};

static int run(const char *name) {
    static const char *collectives[] = {"barrier",   "allreduce",       "reduce",     "bcast",
                                        "allgather", "large_allreduce", "large_bcast"};
    for (int i = 0; i < 7; i++)
        if (!strcmp(name, collectives[i]))
            return isend_then(i), 1;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (!strcmp(name, cases[i].name))
            return cases[i].run(), 1;
    return 0;
}

int main(int argc, char **argv) {
    int wanted = MPI_THREAD_SINGLE, provided, known = 1;
    for (int i = 1; i < argc; i++)
        if (!strcmp(argv[i], "threads"))
            wanted = MPI_THREAD_MULTIPLE;
    MPI_Init_thread(&argc, &argv, wanted, &provided);
    if (provided < wanted)
        MPI_Abort(MPI_COMM_WORLD, 1);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    data = calloc(LARGE, 1);
    warm(MPI_COMM_WORLD);
    for (int i = 1; i < argc && known; i++) {
        known = run(argv[i]);
        MPI_Barrier(MPI_COMM_WORLD);
        if (rank == 0 && known) {
            printf("progress %s: done\n", argv[i]);
            fflush(stdout);
        }
    }
    free(data);
    MPI_Finalize();
    return !known;
}
