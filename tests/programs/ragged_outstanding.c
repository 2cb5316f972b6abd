/* Many exchanges of blocks of different sizes under way at once on three communicators, blocking
 * ones of the same kinds between them.
 *
 *   ragged_outstanding STEPS [SEED [cut]]
 *
 * Every rank issues the same sequence; when it completes which request, in which way, and whether
 * it takes a break is its own affair. Sizes repeat for a while and then do not (what alltoallv
 * remembers must not leak from one exchange into another). cut: now and then a rank has too little
 * room for what comes: it gets MPI_ERR_TRUNCATE, nobody else does, and what comes after is as good
 * as ever (by itself Open MPI 4 hangs there, and PyPI's MPICH tells nobody).
 */
#include <mpi.h>

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { RANKS = 32, COMMS = 3, OPEN = 24, GUARD = 4, UNTOUCHED = -77, KINDS = 4 };

typedef struct {
    MPI_Request request;
    int kind, comm, id, root, cut; /* cut: this rank had too little room */
    int *in, *out, *memory;        /* memory: counts and places */
    int out_size;
} exchange;

static MPI_Comm comms[COMMS];
static int ranks[COMMS], sizes[COMMS], wrong, world_rank;
static exchange open_ones[OPEN];
static int nopen;
static uint64_t together = 20261122, alone = 1;

static int below(uint64_t *state, int n) {
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (int)((*state >> 33) % (unsigned)n);
}

static int value(int id, int from, int to, int i) {
    return ((id * 37 + from) * 41 + to) * 131 + i;
}

/* The same sizes come back: after two, three or five exchanges, or never. */
static int length(int id, int from, int to) {
    static const int most[] = {4, 30, 400, 3000};
    const int phase = id / 40 % 4, pattern = phase == 3 ? id : id % (phase == 2 ? 5 : phase + 2);
    const uint64_t h = ((uint64_t)pattern * 1009 + (uint64_t)from * 31 + (uint64_t)to) *
                       UINT64_C(0x9e3779b97f4a7c15);
    return h >> 60 < 4 ? 0 : (int)((h >> 20) % (uint64_t)most[pattern % 4]);
}

static void fault(const exchange *x, const char *what) {
    static const char *const names[KINDS] = {"alltoallv", "gatherv", "scatterv", "allgatherv"};
    if (wrong++ < 5)
        fprintf(stderr, "rank %d, exchange %d (%s on communicator %d, root %d): %s\n", world_rank,
                x->id, names[x->kind], x->comm, x->root, what);
}

/* Blocks that come from r and go to r. */
static int comes(const exchange *x, int r) {
    const int me = ranks[x->comm];
    if (x->kind == 0)
        return length(x->id, r, me);
    if (x->kind == 1)
        return me == x->root ? length(x->id, r, 0) : 0;
    if (x->kind == 2)
        return r == x->root ? length(x->id, 0, me) : 0;
    return length(x->id, r, 0);
}

static int goes(const exchange *x, int r) {
    const int me = ranks[x->comm];
    if (x->kind == 0)
        return length(x->id, me, r);
    if (x->kind == 2)
        return me == x->root ? length(x->id, 0, r) : 0;
    return r == (x->kind == 1 ? x->root : 0) ? length(x->id, me, 0) : 0; /* one block */
}

static int marked(const exchange *x, int from, int to, int i) {
    return value(x->id, x->kind == 2 ? 0 : from, x->kind == 0 || x->kind == 2 ? to : 0, i);
}

static void judge(exchange *x, int rc) {
    const int size = sizes[x->comm], me = ranks[x->comm];
    const int *got = x->memory + 2 * size, *at = x->memory + 3 * size;
    int class = MPI_SUCCESS, well = 1;
    if (rc != MPI_SUCCESS)
        MPI_Error_class(rc, &class);
    if (class != (x->cut ? MPI_ERR_TRUNCATE : MPI_SUCCESS))
        fault(x, class ? "an error" : "no error");
    for (int r = 0; r < size && !x->cut; r++)
        for (int i = 0; i < got[r]; i++)
            well &= x->out[at[r] + i] == marked(x, r, me, i);
    if (!well)
        fault(x, "other data");
    well = 1;
    for (int r = 0, i = 0; r <= size; r++) {
        for (; i < (r < size ? at[r] : x->out_size); i++)
            well &= x->out[i] == UNTOUCHED;
        i += r < size ? got[r] : 0;
    }
    if (!well)
        fault(x, "written beside its place");
    free(x->in);
    free(x->out);
    free(x->memory);
}

static exchange prepare(int kind, int comm, int id, int root, int cut) {
    exchange x = {MPI_REQUEST_NULL, kind, comm, id, root, 0, NULL, NULL, NULL, GUARD};
    const int size = sizes[comm], me = ranks[comm];
    int total = 0, victim = -1;
    x.memory = calloc((size_t)(4 * size), sizeof *x.memory);
    int *sent = x.memory, *from = sent + size, *got = from + size, *at = got + size;
    for (int r = 0; r < size; r++) {
        sent[r] = goes(&x, r);
        from[r] = total;
        total += sent[r];
        got[r] = comes(&x, r);
        at[r] = x.out_size;
        x.out_size += got[r] + GUARD;
        if (got[r] > 1 && r != me)
            victim = r;
    }
    /* not where every rank knows all sizes */
    x.cut = cut && kind != 3 && victim >= 0;
    if (x.cut)
        got[victim]--;
    x.in = calloc((size_t)total + 1, sizeof *x.in);
    x.out = calloc((size_t)x.out_size, sizeof *x.out);
    for (int r = 0; r < size; r++)
        for (int i = 0; i < sent[r]; i++)
            x.in[from[r] + i] = marked(&x, me, r, i);
    for (int i = 0; i < x.out_size; i++)
        x.out[i] = UNTOUCHED;
    return x;
}

static int sum_of(const int *n, int size) {
    int sum = 0;
    for (int r = 0; r < size; r++)
        sum += n[r];
    return sum;
}

static int issue(exchange *x, int blocking) {
    const MPI_Comm c = comms[x->comm];
    const int size = sizes[x->comm];
    int *sent = x->memory, *from = sent + size, *got = from + size, *at = got + size;
    const int mine = sum_of(sent, size), first = x->kind == 2 ? at[x->root] : 0;
    MPI_Request *q = &x->request;
    switch (2 * x->kind + blocking) {
    case 0: return MPI_Ialltoallv(x->in, sent, from, MPI_INT, x->out, got, at, MPI_INT, c, q);
    case 1: return MPI_Alltoallv(x->in, sent, from, MPI_INT, x->out, got, at, MPI_INT, c);
    case 2: return MPI_Igatherv(x->in, mine, MPI_INT, x->out, got, at, MPI_INT, x->root, c, q);
    case 3: return MPI_Gatherv(x->in, mine, MPI_INT, x->out, got, at, MPI_INT, x->root, c);
    case 4:
        return MPI_Iscatterv(x->in, sent, from, MPI_INT, x->out + first, got[x->root], MPI_INT,
                             x->root, c, q);
    case 5:
        return MPI_Scatterv(x->in, sent, from, MPI_INT, x->out + first, got[x->root], MPI_INT,
                            x->root, c);
    case 6: return MPI_Iallgatherv(x->in, mine, MPI_INT, x->out, got, at, MPI_INT, c, q);
    default: return MPI_Allgatherv(x->in, mine, MPI_INT, x->out, got, at, MPI_INT, c);
    }
}

/* One of those under way, by waiting for it, or if it happens to be over. */
static void complete(int waits) {
    const int i = below(&alone, nopen);
    exchange *x = &open_ones[i];
    int rc, done = 1;
    if (waits)
        rc = MPI_Wait(&x->request, MPI_STATUS_IGNORE);
    else
        rc = MPI_Test(&x->request, &done, MPI_STATUS_IGNORE);
    if (!done)
        return;
    judge(x, rc);
    *x = open_ones[--nopen];
}

int main(int argc, char **argv) {
    const int steps = argc > 1 ? atoi(argv[1]) : 200, may_cut = argc > 3;
    MPI_Init(&argc, &argv);
    together += argc > 2 ? (uint64_t)atoi(argv[2]) : 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
    comms[0] = MPI_COMM_WORLD;
    MPI_Comm_split(MPI_COMM_WORLD, 0, -world_rank, &comms[1]);
    MPI_Comm_split(MPI_COMM_WORLD, world_rank % 2, world_rank, &comms[2]);
    alone += (uint64_t)world_rank;
    for (int c = 0; c < COMMS; c++) {
        MPI_Comm_rank(comms[c], &ranks[c]);
        MPI_Comm_size(comms[c], &sizes[c]);
        MPI_Comm_set_errhandler(comms[c], MPI_ERRORS_RETURN);
        MPI_Barrier(comms[c]); /* sets it up: a nonblocking one does not */
    }
    for (int id = 0; id < steps; id++) {
        const int kind = below(&together, KINDS), comm = below(&together, COMMS),
                  root = below(&together, RANKS), blocking = below(&together, 6) == 0,
                  cut = may_cut && below(&together, 12) == 0 && below(&alone, 2);
        while (nopen == OPEN)
            complete(1);
        exchange x = prepare(kind, comm, id, root % sizes[comm], cut);
        const int rc = issue(&x, blocking);
        if (blocking)
            judge(&x, rc);
        else
            open_ones[nopen++] = x;
        if (below(&alone, 20) == 0)
            usleep(2000);
        for (int n = below(&alone, 4); n > 0 && nopen > 0; n--)
            complete(below(&alone, 3) == 0);
    }
    while (nopen > 0)
        complete(1);
    int all = 0;
    MPI_Allreduce(&wrong, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (world_rank == 0)
        printf("ragged_outstanding: %d exchanges, %d faults\n", steps, all);
    MPI_Comm_free(&comms[1]);
    MPI_Comm_free(&comms[2]);
    MPI_Finalize();
    return all != 0;
}
