/* Legal calls in which ranks describe the same data by other counts and types, or give ignored
 * arguments of their own in place; a line for each call: right or wrong.
 *
 *     described SECONDS COUNT,COUNT,... CALL...
 *
 * A call that takes longer ends the job by a signal. Odd ranks send (and receive, where they have
 * but one block) one element of a contiguous type, the others as many integers; in bcast the root
 * alone does. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST = 64 };

static int rank, size, count, counts[MOST], places[MOST];
static int *mine, *all, *sent;
static MPI_Datatype whole; /* of `count` integers */

static int value(int from, int i) {
    return from * 100003 + i + 1;
}

static int one(void) {
    return rank % 2 ? 1 : count;
}

static MPI_Datatype one_type(void) {
    return rank % 2 ? whole : MPI_INT;
}

static int wrong_in_all(int ragged) {
    int wrong = 0;
    for (int r = 0; r < size; r++)
        for (int i = 0; i < (ragged ? counts[r] : count); i++)
            wrong += all[(ragged ? places[r] : r * count) + i] != value(r, i);
    return wrong;
}

static int wrong_in_mine(int from, int offset) {
    int wrong = 0;
    for (int i = 0; i < count; i++)
        wrong += mine[i] != value(from, offset + i);
    return wrong;
}

static int bcast(void) {
    for (int i = 0; i < count; i++)
        mine[i] = rank == 0 ? value(0, i) : 0;
    MPI_Bcast(mine, rank == 0 ? 1 : count, rank == 0 ? whole : MPI_INT, 0, MPI_COMM_WORLD);
    return wrong_in_mine(0, 0);
}

static int gather(void) {
    MPI_Gather(mine, one(), one_type(), all, count, MPI_INT, 0, MPI_COMM_WORLD);
    return rank == 0 ? wrong_in_all(0) : 0;
}

static int scatter(void) {
    for (int i = 0; i < size * count; i++)
        sent[i] = value(0, i);
    memset(mine, 0, sizeof(int) * (size_t)count);
    MPI_Scatter(sent, count, MPI_INT, mine, one(), one_type(), 0, MPI_COMM_WORLD);
    return wrong_in_mine(0, rank * count);
}

static int allgather(void) {
    MPI_Allgather(mine, one(), one_type(), all, count, MPI_INT, MPI_COMM_WORLD);
    return wrong_in_all(0);
}

static int allgather_in_place(void) {
    memcpy(all + rank * count, mine, sizeof(int) * (size_t)count);
    MPI_Allgather(MPI_IN_PLACE, rank % 2 ? count : 0, rank % 2 ? MPI_INT : MPI_DATATYPE_NULL, all,
                  count, MPI_INT, MPI_COMM_WORLD);
    return wrong_in_all(0);
}

static void blocks(int ragged) {
    for (int r = 0, at = 0; r < size; r++) {
        counts[r] = ragged ? count / 2 + count % 2 + r % 2 * (count / 2) : count;
        places[r] = at;
        at += counts[r];
    }
}

static int allgatherv(void) {
    blocks(0);
    MPI_Allgatherv(mine, one(), one_type(), all, counts, places, MPI_INT, MPI_COMM_WORLD);
    return wrong_in_all(1);
}

static int allgatherv_ragged(void) {
    MPI_Datatype block;
    blocks(1);
    MPI_Type_contiguous(counts[rank], MPI_INT, &block);
    MPI_Type_commit(&block);
    MPI_Allgatherv(mine, 1, block, all, counts, places, MPI_INT, MPI_COMM_WORLD);
    MPI_Type_free(&block);
    return wrong_in_all(1);
}

static int allgatherv_in_place(void) {
    blocks(0);
    memcpy(all + rank * count, mine, sizeof(int) * (size_t)count);
    MPI_Allgatherv(MPI_IN_PLACE, 0, rank % 2 ? MPI_INT : MPI_DATATYPE_NULL, all, counts, places,
                   MPI_INT, MPI_COMM_WORLD);
    return wrong_in_all(1);
}

static void to_each(int *buffer) {
    for (int r = 0; r < size; r++)
        for (int i = 0; i < count; i++)
            buffer[r * count + i] = value(rank, r * count + i);
}

static int wrong_from_each(void) {
    int wrong = 0;
    for (int r = 0; r < size; r++)
        for (int i = 0; i < count; i++)
            wrong += all[r * count + i] != value(r, rank * count + i);
    return wrong;
}

static int alltoall(void) {
    to_each(sent);
    MPI_Alltoall(sent, one(), one_type(), all, count, MPI_INT, MPI_COMM_WORLD);
    return wrong_from_each();
}

static int alltoall_in_place(void) {
    to_each(all);
    MPI_Alltoall(MPI_IN_PLACE, rank % 2 ? count : 0, rank % 2 ? MPI_INT : MPI_DATATYPE_NULL, all,
                 count, MPI_INT, MPI_COMM_WORLD);
    return wrong_from_each();
}

static const struct {
    const char *name;
    int (*run)(void);
} calls[] = {
    {"bcast", bcast},
    {"gather", gather},
    {"scatter", scatter},
    {"allgather", allgather},
    {"allgather_in_place", allgather_in_place},
    {"allgatherv", allgatherv},
    {"allgatherv_ragged", allgatherv_ragged},
    {"allgatherv_in_place", allgatherv_in_place},
    {"alltoall", alltoall},
    {"alltoall_in_place", alltoall_in_place},
};

static void call(int which, unsigned seconds) {
    for (int i = 0; i < count; i++)
        mine[i] = value(rank, i);
    memset(all, 0, sizeof(int) * (size_t)(size * count));
    alarm(seconds);
    int wrong = calls[which].run(), most = 0;
    MPI_Reduce(&wrong, &most, 1, MPI_INT, MPI_MAX, 0, MPI_COMM_WORLD);
    alarm(0);
    if (rank == 0) {
        printf("%s %d %s\n", calls[which].name, count, most ? "wrong" : "right");
        fflush(stdout);
    }
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (char *at = argv[2]; argc > 3 && at != NULL; at = strchr(at, ',')) {
        at += *at == ',';
        count = atoi(at);
        size_t bytes = sizeof(int) * (size_t)count;
        mine = malloc(bytes);
        all = malloc(bytes * (size_t)size);
        sent = malloc(bytes * (size_t)size);
        MPI_Type_contiguous(count, MPI_INT, &whole);
        MPI_Type_commit(&whole);
        for (int i = 3; i < argc; i++)
            for (int which = 0; which < (int)(sizeof calls / sizeof *calls); which++)
                if (strcmp(argv[i], calls[which].name) == 0)
                    call(which, (unsigned)atoi(argv[1]));
        MPI_Type_free(&whole);
        free(mine);
        free(all);
        free(sent);
    }
    MPI_Finalize();
    return 0;
}
