/* Persistent collectives in the ways that programs use them and a careless library gets wrong.
 *
 * Usage: persistent_cases [STARTS [ours]]: so many starts (default 1000) where memory must not
 * grow; with `ours` Stretto must have carried out collectives in each case. Prints "CASE done" for
 * each, by rank 0. Only with `ours`: the errors of misuse, in which the MPIs differ; datatypes that
 * are freed before the start (Open MPI 5.0 then crashes), and communicators (MPICH frees their
 * requests).
 */
#include <mpi.h>

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MANY = 24, LENGTH = 600 };

static int rank, size, ours;
static MPI_Comm const W = MPI_COMM_WORLD;

static void check(int good, const char *what) {
    if (!good) {
        fprintf(stderr, "persistent_cases: wrong %s on rank %d\n", what, rank);
        MPI_Abort(W, 1);
    }
}

/* Starts of a collective on comm that were Stretto's; -1 without Stretto. */
static long started(MPI_Comm comm, const char *collective) {
    typedef int counters_fn(MPI_Comm, const char *, unsigned long long *, unsigned long long *);
    void *symbol = dlsym(RTLD_DEFAULT, "stretto_counters");
    unsigned long long found = 0;
    counters_fn *counters;
    memcpy(&counters, &symbol, sizeof counters);
    return counters && counters(comm, collective, &found, NULL) == 0 ? (long)found : -1;
}

static unsigned random_state;
static int below(int n) {
    random_state = random_state * 1664525u + 1013904223u;
    return (int)(random_state >> 8) % n;
}

/* Each rank's own order. */
static void shuffle(int *order, int n) {
    for (int i = 0; i < n; i++)
        order[i] = i;
    for (int i = n - 1; i > 0; i--) {
        int j = below(i + 1), other = order[i];
        order[i] = order[j];
        order[j] = other;
    }
}

/* ---- many on one communicator, in any order -------------------------------------------------- */

typedef struct {
    int in[LENGTH], out[LENGTH];
    MPI_Request request;
} one;

static void make(one *o, int i, MPI_Comm comm) {
    switch (i % 4) {
    case 0:
        MPI_Allreduce_init(o->in, o->out, LENGTH, MPI_INT, MPI_SUM, comm, MPI_INFO_NULL,
                           &o->request);
        break;
    case 1:
        MPI_Bcast_init(o->out, LENGTH, MPI_INT, i % size, comm, MPI_INFO_NULL, &o->request);
        break;
    case 2:
        MPI_Alltoall_init(o->in, 2, MPI_INT, o->out, 2, MPI_INT, comm, MPI_INFO_NULL, &o->request);
        break;
    default: MPI_Barrier_init(comm, MPI_INFO_NULL, &o->request); break;
    }
}

static void load(one *o, int i, int round) {
    for (int j = 0; j < LENGTH; j++) {
        o->in[j] = round + 100 * rank + i + j;
        o->out[j] = i % 4 == 1 && rank == i % size ? round + i * j : -1;
    }
}

static void judge(const one *o, int i, int round) {
    for (int j = 0; j < LENGTH; j++)
        if (i % 4 == 0)
            check(o->out[j] == size * (round + i + j) + 100 * size * (size - 1) / 2, "sum");
        else if (i % 4 == 1)
            check(o->out[j] == round + i * j, "broadcast");
        else if (i % 4 == 2 && j < 2 * size)
            check(o->out[j] == round + 100 * (j / 2) + i + 2 * rank + j % 2, "block");
}

static void orders(void) {
    static one all[MANY];
    int order[MANY];
    random_state = 77u + (unsigned)rank;
    for (int i = 0; i < MANY; i++)
        make(&all[i], i, W);
    for (int round = 0; round < 20; round++) {
        for (int i = 0; i < MANY; i++)
            load(&all[i], i, round);
        shuffle(order, MANY);
        for (int i = 0; i < MANY; i++)
            MPI_Start(&all[order[i]].request);
        shuffle(order, MANY);
        for (int i = 0; i < MANY; i++) {
            MPI_Wait(&all[order[i]].request, MPI_STATUS_IGNORE);
            judge(&all[order[i]], order[i], round);
        }
    }
    for (int i = 0; i < MANY; i++)
        MPI_Request_free(&all[i].request);
}

/* Blocking and nonblocking ones of the same communicator before or after the start: each rank as it
 * likes. */
static void among_others(void) {
    int one = 1, sum = 0, beside = 0, blocks[64], got[64];
    MPI_Request p, n;
    MPI_Allreduce_init(&one, &sum, 1, MPI_INT, MPI_SUM, W, MPI_INFO_NULL, &p);
    for (int i = 0; i < size; i++)
        blocks[i] = 100 * rank + i;
    for (int round = 0; round < 50; round++) {
        one = round;
        sum = beside = 0;
        if ((rank + round) % 3 == 0)
            MPI_Start(&p);
        MPI_Ibcast(&beside, 1, MPI_INT, 0, W, &n);
        if ((rank + round) % 3 == 1)
            MPI_Start(&p);
        MPI_Alltoall(blocks, 1, MPI_INT, got, 1, MPI_INT, W);
        if ((rank + round) % 3 == 2)
            MPI_Start(&p);
        if (round % 2)
            MPI_Wait(&n, MPI_STATUS_IGNORE);
        MPI_Wait(&p, MPI_STATUS_IGNORE);
        MPI_Wait(&n, MPI_STATUS_IGNORE);
        check(sum == round * size && beside == 0, "sum beside others");
        for (int i = 0; i < size; i++)
            check(got[i] == 100 * i + rank, "block beside others");
    }
    MPI_Request_free(&p);
}

/* Made and freed while others are started; what is freed may come again as another one. */
static void made_between(void) {
    int one = 1, sum, told;
    MPI_Request first, second;
    MPI_Allreduce_init(&one, &sum, 1, MPI_INT, MPI_SUM, W, MPI_INFO_NULL, &first);
    for (int round = 0; round < 60; round++) {
        sum = 0;
        told = rank == round % size ? round : -1;
        MPI_Start(&first);
        if (round % 2)
            MPI_Bcast_init(&told, 1, MPI_INT, round % size, W, MPI_INFO_NULL, &second);
        else
            MPI_Scan_init(&one, &told, 1, MPI_INT, MPI_SUM, W, MPI_INFO_NULL, &second);
        MPI_Start(&second);
        MPI_Wait(&second, MPI_STATUS_IGNORE);
        MPI_Wait(&first, MPI_STATUS_IGNORE);
        if (rank % 2)
            usleep(200);
        MPI_Request_free(&second);
        check(sum == size && told == (round % 2 ? round : rank + 1), "result between others");
    }
    MPI_Request_free(&first);
}

/* Of two, each rank frees another one before a third is made: what one rank has done with, others
 * have not. */
static void freed_in_turn(void) {
    int one = 1, sums[3];
    MPI_Request r[3];
    for (int i = 0; i < 2; i++)
        MPI_Allreduce_init(&one, &sums[i], 1, MPI_INT, MPI_SUM, W, MPI_INFO_NULL, &r[i]);
    for (int round = 0; round < 30; round++) {
        const int goes = (rank + round) % 2, stays = 1 - goes;
        MPI_Startall(2, r);
        MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
        MPI_Request_free(&r[goes]);
        MPI_Allreduce_init(&one, &sums[2], 1, MPI_INT, MPI_SUM, W, MPI_INFO_NULL, &r[2]);
        sums[2] = 0;
        MPI_Start(&r[2]);
        MPI_Wait(&r[2], MPI_STATUS_IGNORE);
        check(sums[0] == size && sums[1] == size && sums[2] == size, "sum of three");
        MPI_Request_free(&r[stays]);
        MPI_Request_free(&r[2]);
        for (int i = 0; i < 2; i++)
            MPI_Allreduce_init(&one, &sums[i], 1, MPI_INT, MPI_SUM, W, MPI_INFO_NULL, &r[i]);
    }
    MPI_Request_free(&r[0]);
    MPI_Request_free(&r[1]);
}

/* ---- handles --------------------------------------------------------------------------------- */

/* What was said at the initialisation may go afterwards, but for buffers and counts. */
static void types_freed(void) {
    int counts[64], displs[64], in[256], out[256];
    MPI_Datatype pair, types[64];
    MPI_Request v, w;
    MPI_Type_vector(2, 1, 2, MPI_INT, &pair); /* two ints of three */
    MPI_Type_create_resized(pair, 0, 4 * sizeof(int), &types[0]);
    MPI_Type_commit(&types[0]);
    MPI_Type_free(&pair);
    pair = types[0];
    for (int i = 0; i < size; i++)
        counts[i] = 1, displs[i] = i, types[i] = pair;
    MPI_Alltoallv_init(in, counts, displs, pair, out, counts, displs, pair, W, MPI_INFO_NULL, &v);
    int bytes[64];
    for (int i = 0; i < size; i++)
        bytes[i] = 4 * (int)sizeof(int) * i;
    MPI_Alltoallw_init(in, counts, bytes, types, out, counts, bytes, types, W, MPI_INFO_NULL, &w);
    MPI_Type_free(&pair);
    for (int round = 0; round < 6; round++) {
        MPI_Request *r = round % 2 ? &v : &w;
        for (int i = 0; i < 4 * size; i++)
            in[i] = 1000 * rank + i + round, out[i] = -1;
        MPI_Start(r);
        MPI_Wait(r, MPI_STATUS_IGNORE);
        for (int i = 0; i < size; i++) {
            check(out[4 * i] == 1000 * i + 4 * rank + round, "block of a freed datatype");
            check(out[4 * i + 2] == 1000 * i + 4 * rank + 2 + round, "block of a freed datatype");
            check(out[4 * i + 1] == -1 && out[4 * i + 3] == -1, "gap of a freed datatype");
        }
    }
    MPI_Request_free(&v);
    MPI_Request_free(&w);
}

static int class_of(int error) {
    int class = MPI_SUCCESS;
    MPI_Error_class(error, &class);
    return class;
}

/* With the error handler that returns. */
static void misuse(void) {
    int one = 1, sum = 0;
    MPI_Request p, other, n, two[2];
    MPI_Comm_set_errhandler(W, MPI_ERRORS_RETURN);
    MPI_Allreduce_init(&one, &sum, 1, MPI_INT, MPI_SUM, W, MPI_INFO_NULL, &p);
    MPI_Barrier_init(W, MPI_INFO_NULL, &other);
    check(class_of(MPI_Cancel(&p)) == MPI_ERR_REQUEST, "cancel of an inactive one");
    if (rank) /* the others' part is missing: it stays active */
        MPI_Start(&p);
    two[0] = other, two[1] = p;
    if (rank) {
        check(class_of(MPI_Start(&p)) == MPI_ERR_REQUEST, "start of an active one");
        check(class_of(MPI_Startall(2, two)) == MPI_ERR_REQUEST, "start of two, one active");
        check(class_of(MPI_Request_free(&p)) == MPI_ERR_REQUEST && p != MPI_REQUEST_NULL,
              "freeing of an active one");
        check(class_of(MPI_Cancel(&p)) == MPI_ERR_REQUEST, "cancel of an active one");
    }
    MPI_Barrier(W);
    if (!rank)
        MPI_Start(&p);
    MPI_Wait(&p, MPI_STATUS_IGNORE);
    check(sum == size, "sum after misuse");
    MPI_Start(&other); /* the refused one was not started in part */
    MPI_Wait(&other, MPI_STATUS_IGNORE);
    MPI_Iallreduce(&one, &sum, 1, MPI_INT, MPI_SUM, W, &n);
    check(class_of(MPI_Start(&n)) == MPI_ERR_REQUEST, "start of a nonblocking one");
    MPI_Wait(&n, MPI_STATUS_IGNORE);
    MPI_Comm_set_errhandler(W, MPI_ERRORS_ARE_FATAL);
    MPI_Request_free(&other);
    MPI_Request_free(&p);
}

/* One ours that is active, one that is not, a message, and MPI_REQUEST_NULL. */
static void asked(void) {
    int one = 1, sum = 0, word = 7, got = 0, flag, count = -1;
    MPI_Status status;
    MPI_Request r[4] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    MPI_Allreduce_init(&one, &sum, 1, MPI_INT, MPI_SUM, W, MPI_INFO_NULL, &r[0]);
    MPI_Barrier_init(W, MPI_INFO_NULL, &r[1]);
    for (int round = 0; round < 3; round++) {
        MPI_Wait(&r[0], &status);
        MPI_Get_count(&status, MPI_INT, &count);
        check(count == 0 && status.MPI_SOURCE == MPI_ANY_SOURCE, "status of an inactive one");
        MPI_Testall(4, r, &flag, MPI_STATUSES_IGNORE);
        check(flag && r[0] != MPI_REQUEST_NULL && r[3] == MPI_REQUEST_NULL,
              "test of inactive ones");
        sum = 0;
        MPI_Start(&r[0]);
        MPI_Irecv(&got, 1, MPI_INT, 0, 3, MPI_COMM_SELF, &r[2]);
        MPI_Request_get_status(r[2], &flag, MPI_STATUS_IGNORE);
        check(!flag, "flag of a message that was not sent");
#if MPI_VERSION > 4 || (MPI_VERSION == 4 && MPI_SUBVERSION >= 1)
        MPI_Status statuses[4];
        int index = -1, n = -1, indices[4];
        MPI_Request_get_status_all(4, r, &flag, statuses);
        check(!flag, "flag of all");
        do /* the reduction, and nothing else, can have ended */
            MPI_Request_get_status_any(4, r, &index, &flag, &status);
        while (!flag);
        check(index == 0, "index of any");
        do
            MPI_Request_get_status_some(4, r, &n, indices, statuses);
        while (n == 0);
        check(n == 1 && indices[0] == 0, "indices of some");
        check(sum == size, "sum that was asked for");
        MPI_Send(&word, 1, MPI_INT, 0, 3, MPI_COMM_SELF);
        do
            MPI_Request_get_status_all(4, r, &flag, statuses);
        while (!flag);
        MPI_Get_count(&statuses[2], MPI_INT, &count);
        check(count == 1 && statuses[2].MPI_TAG == 3, "status of the message");
        MPI_Request_get_status_some(4, r, &n, indices, MPI_STATUSES_IGNORE);
        check(n == 2 && indices[0] + indices[1] == 2, "indices of some of two");
        MPI_Waitall(4, r, MPI_STATUSES_IGNORE);
        MPI_Request_get_status_any(4, r, &index, &flag, &status);
        check(flag && index == MPI_UNDEFINED, "any of inactive ones");
        MPI_Request_get_status_some(4, r, &n, indices, statuses);
        check(n == MPI_UNDEFINED, "some of inactive ones");
#else
        MPI_Send(&word, 1, MPI_INT, 0, 3, MPI_COMM_SELF);
        MPI_Waitall(4, r, MPI_STATUSES_IGNORE);
#endif
        check(sum == size && got == 7, "results");
    }
    MPI_Request_free(&r[0]);
    MPI_Request_free(&r[1]);
}

/* ---- communicators --------------------------------------------------------------------------- */

/* Of one that goes before its requests: started before, and again afterwards. */
static void communicator_freed(void) {
    for (int round = 0; round < 40; round++) {
        int in[2] = {rank, round}, out[2] = {0, 0}, told = rank == 0 ? round : -1;
        MPI_Request r[2];
        MPI_Comm comm;
        MPI_Comm_split(W, 0, round % 2 ? rank : -rank, &comm);
        MPI_Allreduce_init(in, out, 2, MPI_INT, MPI_SUM, comm, MPI_INFO_NULL, &r[0]);
        MPI_Bcast_init(&told, 1, MPI_INT, round % 2 ? 0 : size - 1, comm, MPI_INFO_NULL, &r[1]);
        if (rank % 2)
            MPI_Start(&r[0]);
        MPI_Comm_free(&comm);
        if (rank % 2 == 0)
            MPI_Start(&r[0]);
        MPI_Start(&r[1]);
        MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
        check(out[0] == size * (size - 1) / 2 && out[1] == size * round && told == round,
              "result after the communicator is gone");
        if (rank % 3 == 0)
            MPI_Request_free(&r[1]);
        out[0] = 0;
        MPI_Start(&r[0]);
        MPI_Wait(&r[0], MPI_STATUS_IGNORE);
        check(out[0] == size * (size - 1) / 2, "result long after the communicator is gone");
        if (rank % 3)
            MPI_Request_free(&r[1]);
        MPI_Request_free(&r[0]);
    }
}

/* ---- growth ---------------------------------------------------------------------------------- */

static long pages(void) {
    long all = 0, resident = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    check(file && fscanf(file, "%ld %ld", &all, &resident) == 2, "statm");
    fclose(file);
    return resident;
}

/* Starts of two, and requests that are made and freed; what is resident at the end of the first
 * fifth is enough for all of them, but for a megabyte of the MPI's own. */
static void growth(int starts) {
    static int in[LENGTH], out[LENGTH];
    MPI_Request r[2], q;
    long before = 0;
    MPI_Allreduce_init(in, out, LENGTH, MPI_INT, MPI_SUM, W, MPI_INFO_NULL, &r[0]);
    MPI_Barrier_init(W, MPI_INFO_NULL, &r[1]);
    for (int i = 0; i < starts; i++) {
        if (i == starts / 5)
            before = pages();
        MPI_Startall(2, r);
        MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
        if (i % 10)
            continue;
        MPI_Allgather_init(in, 1 + i % 7, MPI_INT, out, 1 + i % 7, MPI_INT, W, MPI_INFO_NULL, &q);
        MPI_Start(&q);
        MPI_Wait(&q, MPI_STATUS_IGNORE);
        MPI_Request_free(&q);
    }
    long grown = (pages() - before) * sysconf(_SC_PAGESIZE);
    if (grown > 1 << 20)
        fprintf(stderr, "persistent_cases: %ld bytes more\n", grown);
    check(grown <= 1 << 20, "growth");
    MPI_Request_free(&r[0]);
    MPI_Request_free(&r[1]);
}

/* More than Stretto has channels for: the others are the MPI's, and all are right. */
static void too_many(void) {
    enum { TOO_MANY = 300 };
    static int out[TOO_MANY];
    static MPI_Request r[TOO_MANY];
    for (int i = 0; i < TOO_MANY; i++)
        MPI_Allreduce_init(&rank, &out[i], 1, MPI_INT, MPI_SUM, W, MPI_INFO_NULL, &r[i]);
    MPI_Startall(TOO_MANY, r);
    MPI_Waitall(TOO_MANY, r, MPI_STATUSES_IGNORE);
    for (int i = 0; i < TOO_MANY; i++) {
        check(out[i] == size * (size - 1) / 2, "one of too many");
        MPI_Request_free(&r[i]);
    }
}

int main(int argc, char **argv) {
    const int starts = argc > 1 ? atoi(argv[1]) : 1000;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(W, &rank);
    MPI_Comm_size(W, &size);
    ours = argc > 2 && strcmp(argv[2], "ours") == 0;
#define CASE(name, ...)                                                                            \
    do {                                                                                           \
        const long before = started(W, "allreduce");                                               \
        name(__VA_ARGS__);                                                                         \
        check(!ours || started(W, "allreduce") > before || (void *)name == (void *)types_freed ||  \
                  (void *)name == (void *)communicator_freed,                                      \
              "number of Stretto's own starts");                                                   \
        if (rank == 0)                                                                             \
            printf(#name " done\n"), fflush(stdout);                                               \
    } while (0)
    CASE(orders);
    CASE(among_others);
    CASE(made_between);
    CASE(freed_in_turn);
    CASE(asked);
    CASE(growth, starts);
    if (ours) {
        CASE(types_freed);
        CASE(misuse);
        CASE(communicator_freed);
    }
    CASE(too_many);
    MPI_Finalize();
    return 0;
}
