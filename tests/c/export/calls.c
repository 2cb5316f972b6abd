/* Calls that nobody measures, and that native files must not spoil: in place, with blocks of many
 * sizes, with operations of the program's own, with fewer elements than ranks. On MPI_COMM_WORLD
 * and on all ranks but its last; a line for each call: right or wrong. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 16, LARGE = 3000 };

typedef struct {
    MPI_Comm comm;
    int rank, size;
    MPI_Op own; /* adds */
} place;

static void add(void *in, void *inout, int *length, MPI_Datatype *type) {
    (void)type;
    for (int i = 0; i < *length; i++)
        ((int *)inout)[i] += ((int *)in)[i];
}

static int element(int rank, int i) {
    return 1 + (rank + 3) * (i % 1009 + 7);
}

static int sum(const place *p, int i) {
    int out = 0;
    for (int r = 0; r < p->size; r++)
        out += element(r, i);
    return out;
}

static int is_sum(const place *p, const int *got, int from, int count) {
    int good = 1;
    for (int i = 0; i < count; i++)
        good &= got[i] == sum(p, from + i);
    return good;
}

static void say(const place *p, const char *what, int count, int good) {
    int all[MOST];
    MPI_Gather(&good, 1, MPI_INT, all, 1, MPI_INT, 0, p->comm);
    for (int r = 0; p->rank == 0 && r < p->size; r++)
        good &= all[r];
    if (p->rank == 0)
        printf("%s of %d on %d %s\n", what, count, p->size, good ? "right" : "wrong");
    fflush(stdout);
}

static void reductions(const place *p, MPI_Op op, const char *whose, int count) {
    char what[64];
    int send[LARGE], recv[LARGE];
    for (int i = 0; i < count; i++)
        send[i] = recv[i] = element(p->rank, i);
    snprintf(what, sizeof what, "allreduce %s", whose);
    MPI_Allreduce(send, recv, count, MPI_INT, op, p->comm);
    say(p, what, count, is_sum(p, recv, 0, count));
    MPI_Allreduce(MPI_IN_PLACE, send, count, MPI_INT, op, p->comm);
    snprintf(what, sizeof what, "allreduce in place %s", whose);
    say(p, what, count, is_sum(p, send, 0, count));
    for (int i = 0; i < count; i++)
        send[i] = element(p->rank, i);
    MPI_Reduce(send, recv, count, MPI_INT, op, p->size - 1, p->comm);
    snprintf(what, sizeof what, "reduce %s", whose);
    say(p, what, count, p->rank != p->size - 1 || is_sum(p, recv, 0, count));
}

/* The first block has none, each following one more. */
static void scattering(const place *p, MPI_Op op, const char *whose, int step, int least) {
    char what[64];
    int counts[MOST], all = 0, from = 0;
    for (int r = 0; r < p->size; r++) {
        counts[r] = least + step * r;
        from += r < p->rank ? counts[r] : 0;
        all += counts[r];
    }
    int *send = malloc((size_t)(all + 1) * sizeof *send),
        *recv = calloc((size_t)all + 1, sizeof *recv);
    for (int i = 0; i < all; i++)
        send[i] = element(p->rank, i);
    MPI_Reduce_scatter(send, recv, counts, MPI_INT, op, p->comm);
    snprintf(what, sizeof what, "reduce_scatter %s +%d", whose, step);
    say(p, what, least, is_sum(p, recv, from, counts[p->rank]));
    MPI_Reduce_scatter(MPI_IN_PLACE, send, counts, MPI_INT, op, p->comm);
    snprintf(what, sizeof what, "reduce_scatter in place %s +%d", whose, step);
    say(p, what, least, is_sum(p, send, from, counts[p->rank]));
    free(send);
    free(recv);
}

/* Of `each` from and to each rank: rank r's block for s is element(r, s). */
static void in_place(const place *p, int each) {
    int counts[MOST], offsets[MOST], bytes[MOST], n = p->size, good = 1;
    MPI_Datatype types[MOST];
    int *all = malloc((size_t)(n * each + 1) * sizeof *all);
    for (int r = 0; r < n; r++) {
        counts[r] = each, offsets[r] = r * each;
        bytes[r] = offsets[r] * (int)sizeof *all, types[r] = MPI_INT;
    }
    for (int way = 0; way < 3; way++) {
        static const char *const names[] = {"alltoall", "alltoallv", "alltoallw"};
        for (int i = 0; i < n * each; i++)
            all[i] = element(p->rank, i / each);
        if (way == 0)
            MPI_Alltoall(MPI_IN_PLACE, 0, MPI_INT, all, each, MPI_INT, p->comm);
        else if (way == 1)
            MPI_Alltoallv(MPI_IN_PLACE, NULL, NULL, MPI_INT, all, counts, offsets, MPI_INT,
                          p->comm);
        else
            MPI_Alltoallw(MPI_IN_PLACE, NULL, NULL, NULL, all, counts, bytes, types, p->comm);
        good = 1;
        for (int i = 0; i < n * each; i++)
            good &= all[i] == element(i / each, p->rank);
        say(p, names[way], each, good);
    }
    for (int i = 0; i < n * each; i++)
        all[i] = i / each == p->rank ? element(p->rank, i) : 0;
    MPI_Allgather(MPI_IN_PLACE, 0, MPI_INT, all, each, MPI_INT, p->comm);
    for (int i = 0; i < n * each; i++)
        good &= all[i] == element(i / each, i);
    say(p, "allgather", each, good);
    free(all);
}

int main(int argc, char **argv) {
    if (MPI_Init(&argc, &argv) != MPI_SUCCESS)
        return 2;
    place p = {.comm = MPI_COMM_NULL};
    int world, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &world);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Op_create(add, 1, &p.own);
    for (p.size = size; p.size >= size - 1 && p.size > 0; p.size--) {
        MPI_Comm_split(MPI_COMM_WORLD, world < p.size ? 0 : MPI_UNDEFINED, world, &p.comm);
        if (p.comm == MPI_COMM_NULL)
            continue;
        p.rank = world;
        for (int i = 0; i < 6; i++) {
            static const int counts[] = {0, 1, 3, 7, 100, LARGE};
            reductions(&p, MPI_SUM, "built in", counts[i]);
            reductions(&p, p.own, "of its own", counts[i]);
            in_place(&p, counts[i]);
        }
        for (int step = 0; step <= 300; step += 100)
            for (int least = 0; least <= 1; least++) {
                scattering(&p, MPI_SUM, "built in", step, least);
                scattering(&p, p.own, "of its own", step, least);
            }
        MPI_Comm_free(&p.comm);
    }
    MPI_Op_free(&p.own);
    return MPI_Finalize();
}
