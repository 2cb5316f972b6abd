/* Legal calls in which ranks describe the same data by other counts and types, or give ignored
 * arguments of their own in place; a line for each call: right or wrong.
 *
 *     described SECONDS COUNT,COUNT,... CALL...
 *
 * A call that takes longer ends the job by a signal. Odd ranks send (and receive, where they have
 * but one block) one element of a contiguous type, or of a strided one, the others as many
 * integers; in bcast the root alone does. What has a root is called with the first rank and with
 * the last one. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST = 64 };

static int rank, size, root, count, counts[MOST], places[MOST];
static int *mine, *all, *sent;
static MPI_Datatype whole, spread; /* of `count` integers, side by side and with gaps */

static int value(int from, int i) {
    return from * 100003 + i + 1;
}

static int one(void) {
    return rank % 2 ? 1 : count;
}

static MPI_Datatype one_type(void) {
    return rank % 2 ? whole : MPI_INT;
}

static MPI_Datatype odd_spread(void) {
    return rank % 2 ? spread : MPI_INT;
}

/* every other integer of `mine` is the data on odd ranks, the first `count` on the others */
static int step(void) {
    return rank % 2 ? 2 : 1;
}

static void fill_mine(int by) {
    memset(mine, 0, sizeof(int) * 2 * (size_t)count);
    for (int i = 0; i < count; i++)
        mine[by * i] = value(rank, i);
}

static int wrong_in_all(int ragged) {
    int wrong = 0;
    for (int r = 0; r < size; r++)
        for (int i = 0; i < (ragged ? counts[r] : count); i++)
            wrong += all[(ragged ? places[r] : r * count) + i] != value(r, i);
    return wrong;
}

static int wrong_in_mine(int from, int offset, int by) {
    int wrong = 0;
    for (int i = 0; i < count; i++)
        wrong += mine[by * i] != value(from, offset + i);
    return wrong;
}

static int bcast(void) {
    for (int i = 0; i < count; i++)
        mine[i] = rank == root ? value(root, i) : 0;
    MPI_Bcast(mine, rank == root ? 1 : count, rank == root ? whole : MPI_INT, root, MPI_COMM_WORLD);
    return wrong_in_mine(root, 0, 1);
}

static int bcast_spread(void) {
    memset(mine, 0, sizeof(int) * 2 * (size_t)count);
    for (int i = 0; i < count && rank == root; i++)
        mine[step() * i] = value(root, i);
    MPI_Bcast(mine, one(), odd_spread(), root, MPI_COMM_WORLD);
    return wrong_in_mine(root, 0, step());
}

static int gather(void) {
    MPI_Gather(mine, one(), one_type(), all, count, MPI_INT, root, MPI_COMM_WORLD);
    return rank == root ? wrong_in_all(0) : 0;
}

static int gather_spread(void) {
    fill_mine(step());
    MPI_Gather(mine, one(), odd_spread(), all, count, MPI_INT, root, MPI_COMM_WORLD);
    return rank == root ? wrong_in_all(0) : 0;
}

/* what only the root needs to give others leave out, and it what it has in place */
static int gather_in_place(void) {
    if (rank == root) {
        memcpy(all + rank * count, mine, sizeof(int) * (size_t)count);
        MPI_Gather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, all, count, MPI_INT, root, MPI_COMM_WORLD);
        return wrong_in_all(0);
    }
    MPI_Gather(mine, one(), one_type(), NULL, 0, MPI_DATATYPE_NULL, root, MPI_COMM_WORLD);
    return 0;
}

static void fill_sent(void) {
    for (int i = 0; i < size * count; i++)
        sent[i] = value(root, i);
    memset(mine, 0, sizeof(int) * 2 * (size_t)count);
}

static int scatter(void) {
    fill_sent();
    MPI_Scatter(sent, count, MPI_INT, mine, one(), one_type(), root, MPI_COMM_WORLD);
    return wrong_in_mine(root, rank * count, 1);
}

static int scatter_spread(void) {
    fill_sent();
    MPI_Scatter(sent, count, MPI_INT, mine, one(), odd_spread(), root, MPI_COMM_WORLD);
    return wrong_in_mine(root, rank * count, step());
}

static int scatter_in_place(void) {
    fill_sent();
    if (rank == root) {
        MPI_Scatter(sent, count, MPI_INT, MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, root, MPI_COMM_WORLD);
        return 0;
    }
    MPI_Scatter(NULL, 0, MPI_DATATYPE_NULL, mine, one(), one_type(), root, MPI_COMM_WORLD);
    return wrong_in_mine(root, rank * count, 1);
}

static int allgather(void) {
    MPI_Allgather(mine, one(), one_type(), all, count, MPI_INT, MPI_COMM_WORLD);
    return wrong_in_all(0);
}

static int allgather_spread(void) {
    fill_mine(step());
    MPI_Allgather(mine, one(), odd_spread(), all, count, MPI_INT, MPI_COMM_WORLD);
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

/* sums that no integer is too small for */
static void fill_terms(int *terms) {
    for (int i = 0; i < count; i++)
        terms[i] = (rank + 1) * (i % 1000 + 1);
}

static int wrong_in_sums(const int *sums) {
    int wrong = 0;
    for (int i = 0; i < count; i++)
        wrong += sums[i] != size * (size + 1) / 2 * (i % 1000 + 1);
    return wrong;
}

static int reduce_in_place(void) {
    fill_terms(mine);
    MPI_Reduce(rank == root ? MPI_IN_PLACE : mine, rank == root ? mine : NULL, count, MPI_INT,
               MPI_SUM, root, MPI_COMM_WORLD);
    return rank == root ? wrong_in_sums(mine) : 0;
}

static int allreduce_in_place(void) {
    fill_terms(mine);
    MPI_Allreduce(MPI_IN_PLACE, mine, count, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    return wrong_in_sums(mine);
}

/* A handle that is none, as a binding or a struct of zeros has it, where the type is ignored. */
static const MPI_Datatype nothing = (MPI_Datatype)0;

static int gather_nothing(void) {
    if (rank != root)
        return gather();
    memcpy(all + rank * count, mine, sizeof(int) * (size_t)count);
    MPI_Gather(MPI_IN_PLACE, 0, nothing, all, count, MPI_INT, root, MPI_COMM_WORLD);
    return wrong_in_all(0);
}

static int scatter_nothing(void) {
    if (rank == root)
        return scatter();
    memset(mine, 0, sizeof(int) * 2 * (size_t)count);
    MPI_Scatter(NULL, 0, nothing, mine, count, MPI_INT, root, MPI_COMM_WORLD);
    return wrong_in_mine(root, rank * count, 1);
}

static int allgather_nothing(void) {
    memcpy(all + rank * count, mine, sizeof(int) * (size_t)count);
    MPI_Allgather(MPI_IN_PLACE, 0, nothing, all, count, MPI_INT, MPI_COMM_WORLD);
    return wrong_in_all(0);
}

static int allgatherv_nothing(void) {
    blocks(0);
    memcpy(all + rank * count, mine, sizeof(int) * (size_t)count);
    MPI_Allgatherv(MPI_IN_PLACE, 0, nothing, all, counts, places, MPI_INT, MPI_COMM_WORLD);
    return wrong_in_all(1);
}

static int alltoall_nothing(void) {
    to_each(all);
    MPI_Alltoall(MPI_IN_PLACE, 0, nothing, all, count, MPI_INT, MPI_COMM_WORLD);
    return wrong_from_each();
}

static const struct {
    const char *name;
    int (*run)(void);
    int rooted;
} calls[] = {
    {"bcast", bcast, 1},
    {"bcast_spread", bcast_spread, 1},
    {"gather", gather, 1},
    {"gather_spread", gather_spread, 1},
    {"gather_in_place", gather_in_place, 1},
    {"scatter", scatter, 1},
    {"scatter_spread", scatter_spread, 1},
    {"scatter_in_place", scatter_in_place, 1},
    {"reduce_in_place", reduce_in_place, 1},
    {"allreduce_in_place", allreduce_in_place, 0},
    {"allgather", allgather, 0},
    {"allgather_spread", allgather_spread, 0},
    {"allgather_in_place", allgather_in_place, 0},
    {"allgatherv", allgatherv, 0},
    {"allgatherv_ragged", allgatherv_ragged, 0},
    {"allgatherv_in_place", allgatherv_in_place, 0},
    {"alltoall", alltoall, 0},
    {"alltoall_in_place", alltoall_in_place, 0},
    {"gather_nothing", gather_nothing, 1},
    {"scatter_nothing", scatter_nothing, 1},
    {"allgather_nothing", allgather_nothing, 0},
    {"allgatherv_nothing", allgatherv_nothing, 0},
    {"alltoall_nothing", alltoall_nothing, 0},
};

static int run(int which, unsigned seconds) {
    for (int i = 0; i < count; i++)
        mine[i] = value(rank, i);
    memset(all, 0, sizeof(int) * (size_t)(size * count));
    alarm(seconds);
    int wrong = calls[which].run(), most = 0;
    MPI_Reduce(&wrong, &most, 1, MPI_INT, MPI_MAX, 0, MPI_COMM_WORLD);
    alarm(0);
    return most;
}

static void call(int which, unsigned seconds) {
    int wrong = 0;
    for (root = 0; root < size; root += size - 1) {
        wrong += run(which, seconds);
        if (!calls[which].rooted || size == 1)
            break;
    }
    if (rank == 0) {
        printf("%s %d %s\n", calls[which].name, count, wrong ? "wrong" : "right");
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
        mine = malloc(2 * bytes);
        all = malloc(bytes * (size_t)size);
        sent = malloc(bytes * (size_t)size);
        MPI_Type_contiguous(count, MPI_INT, &whole);
        MPI_Type_commit(&whole);
        MPI_Type_vector(count, 1, 2, MPI_INT, &spread);
        MPI_Type_commit(&spread);
        for (int i = 3; i < argc; i++)
            for (int which = 0; which < (int)(sizeof calls / sizeof *calls); which++)
                if (strcmp(argv[i], calls[which].name) == 0)
                    call(which, (unsigned)atoi(argv[1]));
        MPI_Type_free(&whole);
        MPI_Type_free(&spread);
        free(mine);
        free(all);
        free(sent);
    }
    MPI_Finalize();
    return 0;
}
