/* Communicators that come and go, over the same ranks, in another order, over parts of them, with
 * every result checked: what they used is used again by the next ones.
 *
 *   short_lived STEPS [THREADS [pending]]
 *       each thread has a duplicate of MPI_COMM_WORLD to make others of; pending: some are freed
 * with a nonblocking collective going on, at which Open MPI's own (4.1.4, 5.0.11) crash short_lived
 * memory N KiB that each of N communicators takes once its collectives are Stretto's: "memory: X
 * KiB"; and pages that each of N further ones, of which one is there at a time, touches for the
 *       first time: "faults: X"
 */
#include <mpi.h>

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum { LIVE = 6, LARGEST = 3000, THREADS = 4, CALLS = 12, ROOM = 64 };

static int steps, pauses, frees_pending;

/* One thread's sequence; `same` goes on alike on all ranks, `own` does not. */
typedef struct {
    MPI_Comm base, live[LIVE]; /* MPI_COMM_NULL: this rank is not in it */
    int there[LIVE];
    uint64_t same, own;
    long *in, *out;
} sequence;

static int below(uint64_t *state, int n) {
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (int)((*state >> 33) % (unsigned)n);
}

static void must(int right, const char *what) {
    if (!right) {
        printf("short_lived: %s is wrong\n", what);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
}

static void pause_now_and_then(sequence *s) {
    if (pauses && below(&s->own, 16) == 0)
        usleep((useconds_t)below(&s->own, 300));
}

typedef struct {
    double value;
    int place;
} pair;

static void pairs(sequence *s, MPI_Comm comm, int count, int me, int n) {
    pair *in = (pair *)(void *)s->in, *out = (pair *)(void *)s->out;
    count = count > LARGEST / 2 ? LARGEST / 2 : count;
    for (int i = 0; i < count; i++)
        in[i] = (pair){(me + i) % n, me};
    MPI_Allreduce(in, out, count, MPI_DOUBLE_INT, MPI_MAXLOC, comm);
    for (int i = 0; i < count; i++)
        must(out[i].value == n - 1 && (out[i].place + i) % n == n - 1, "allreduce of pairs");
}

/* Unequal ones: none for rank 0. */
static void blocks(sequence *s, MPI_Comm comm, int count, int me, int n) {
    int counts[n], before = 0;
    for (int r = 0; r < n; r++)
        counts[r] = r ? count : 0;
    for (int r = 0; r < me; r++)
        before += counts[r];
    for (int i = 0; i < n * count; i++)
        s->in[i] = me + i;
    MPI_Reduce_scatter(s->in, s->out, counts, MPI_LONG, MPI_SUM, comm);
    for (int i = 0; i < counts[me]; i++)
        must(s->out[i] == (long)n * (n - 1) / 2 + (long)n * (before + i), "reduce_scatter");
}

/* The parts of MPI_COMM_WORLD have other sizes: what is drawn alike there must not depend on them.
 */
static void call(sequence *s, MPI_Comm comm, int kind, int count, int which) {
    int me, n;
    MPI_Comm_rank(comm, &me);
    MPI_Comm_size(comm, &n);
    const int root = which % n;
    long *in = s->in, *out = s->out;
    const long sum = (long)n * (n - 1) / 2;
    for (int i = 0; i < count; i++)
        in[i] = me + i;
    switch (kind) {
    case 0:
        MPI_Allreduce(in, out, count, MPI_LONG, MPI_SUM, comm);
        for (int i = 0; i < count; i++)
            must(out[i] == sum + (long)n * i, "allreduce");
        break;
    case 1:
        for (int i = 0; i < count; i++)
            out[i] = me == root ? which + i : -1;
        MPI_Bcast(out, count, MPI_LONG, root, comm);
        for (int i = 0; i < count; i++)
            must(out[i] == which + i, "bcast");
        break;
    case 2:
        MPI_Reduce(in, out, count, MPI_LONG, MPI_MAX, root, comm);
        for (int i = 0; me == root && i < count; i++)
            must(out[i] == n - 1 + i, "reduce");
        break;
    case 3:
        MPI_Allgather(in, count, MPI_LONG, out, count, MPI_LONG, comm);
        for (int i = 0; i < n * count; i++)
            must(out[i] == i / count + i % count, "allgather");
        break;
    case 4:
        MPI_Gather(in, count, MPI_LONG, out, count, MPI_LONG, root, comm);
        for (int i = 0; me == root && i < n * count; i++)
            must(out[i] == i / count + i % count, "gather");
        break;
    case 5:
        for (int i = 0; me == root && i < n * count; i++)
            in[i] = which + i;
        MPI_Scatter(in, count, MPI_LONG, out, count, MPI_LONG, root, comm);
        for (int i = 0; i < count; i++)
            must(out[i] == which + me * count + i, "scatter");
        break;
    case 6:
        for (int i = 0; i < n * count; i++)
            in[i] = 1000L * me + i;
        MPI_Alltoall(in, count, MPI_LONG, out, count, MPI_LONG, comm);
        for (int i = 0; i < n * count; i++)
            must(out[i] == 1000L * (i / count) + me * count + i % count, "alltoall");
        break;
    case 7:
        MPI_Scan(in, out, count, MPI_LONG, MPI_SUM, comm);
        for (int i = 0; i < count; i++)
            must(out[i] == (long)me * (me + 1) / 2 + (long)(me + 1) * i, "scan");
        break;
    case 8: /* twelve bytes that take the place of sixteen */ pairs(s, comm, count, me, n); break;
    case 9: blocks(s, comm, count, me, n); break;
    default: MPI_Barrier(comm);
    }
}

static void use(sequence *s, MPI_Comm comm) {
    static const int counts[] = {1, 4, 2, 7, 8, 40, 500, LARGEST};
    const int calls = below(&s->same, CALLS), longs = below(&s->same, 3);
    const int ahead = below(&s->same, 10) == 0; /* a root that runs ahead, past the short ring */
    for (int i = 0; i < (ahead ? 150 : calls); i++) {
        const int kind = ahead ? 1 : below(&s->same, 11);
        const int count = counts[ahead ? 0 : below(&s->same, longs ? 4 : 8)];
        const int which = ahead ? 1 : below(&s->same, 100);
        pause_now_and_then(s);
        if (comm != MPI_COMM_NULL)
            call(s, comm, kind, count, which);
    }
}

/* Both halves, and the intercommunicator between them, are gone before it is used. */
static void merge(MPI_Comm base, int me, int n, MPI_Comm *comm) {
    MPI_Comm half, both;
    const int high = me >= n / 2;
    int one = 1, sum;
    MPI_Comm_split(base, high, me, &half);
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, half);
    must(sum == (high ? n - n / 2 : n / 2), "a half");
    MPI_Intercomm_create(half, 0, base, high ? 0 : n / 2, 1, &both);
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, both);
    must(sum == (high ? n / 2 : n - n / 2), "the other half");
    MPI_Intercomm_merge(both, high, comm);
    MPI_Comm_disconnect(&both);
    MPI_Comm_free(&half);
}

static void make(sequence *s, MPI_Comm *comm) {
    int me, n;
    MPI_Comm_rank(s->base, &me);
    MPI_Comm_size(s->base, &n);
    switch (below(&s->same, n > 1 ? 6 : 5)) {
    case 5: merge(s->base, me, n, comm); break;
    case 0: MPI_Comm_split(s->base, 0, -me, comm); break;
    case 1: MPI_Comm_split(s->base, me % 2, me, comm); break;
    case 2: MPI_Comm_split(s->base, me ? 1 : MPI_UNDEFINED, -me, comm); break;
    case 3: MPI_Comm_split(s->base, me / 2, me, comm); break;
    default: MPI_Comm_dup(s->base, comm);
    }
}

/* With a call on it that is still going on, at times; or by another name. */
static void leave(sequence *s, MPI_Comm *comm) {
    const int way = below(&s->same, 6);
    int n;
    MPI_Request going;
    pause_now_and_then(s);
    if (*comm == MPI_COMM_NULL)
        return;
    MPI_Comm_size(*comm, &n);
    s->in[0] = 3;
    const int pending = way == 0 && frees_pending && n > 1;
    if (pending)
        MPI_Iallreduce(s->in, s->out, 1, MPI_LONG, MPI_SUM, *comm, &going);
    if (way == 1)
        MPI_Comm_disconnect(comm);
    else
        MPI_Comm_free(comm);
    if (pending) {
        MPI_Wait(&going, MPI_STATUS_IGNORE);
        must(s->out[0] == 3L * n, "iallreduce");
    }
}

static void *run(void *arg) {
    sequence *s = arg;
    for (int step = 0; step < steps; step++) {
        const int slot = below(&s->same, LIVE), last = below(&s->same, 2);
        MPI_Comm *comm = &s->live[slot];
        if (!s->there[slot]) {
            make(s, comm);
            s->there[slot] = 1;
        }
        use(s, *comm);
        if (last) {
            leave(s, comm);
            s->there[slot] = 0;
        }
    }
    for (int i = 0; i < LIVE; i++)
        if (s->live[i] != MPI_COMM_NULL)
            MPI_Comm_free(&s->live[i]);
    return NULL;
}

/* Proportional: what several processes share counts once. */
static long kib(void) {
    char line[256];
    long value = 0;
    FILE *stream = fopen("/proc/self/smaps_rollup", "r");
    while (stream && fgets(line, sizeof line, stream))
        if (strncmp(line, "Pss:", 4) == 0)
            value = atol(line + 4);
    if (stream)
        fclose(stream);
    return value;
}

/* Of the world, half as many, before: what comes once does not count. */
static void take(MPI_Comm *comms, int from, int to, int calls) {
    int one = 1, sum;
    for (int i = from; i < to; i++)
        for (int k = 0; k < calls; k++)
            MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comms[i]);
}

static long pages(void) {
    struct rusage used;
    getrusage(RUSAGE_SELF, &used);
    return used.ru_minflt;
}

static void faults(int n) {
    int me;
    long before = 0;
    for (int i = -n; i < n; i++) {
        MPI_Comm comm;
        if (i == 0)
            before = pages();
        MPI_Comm_split(MPI_COMM_WORLD, 0, i, &comm);
        take(&comm, 0, 1, 10);
        MPI_Comm_free(&comm);
    }
    double mine = (double)(pages() - before) / n, most;
    MPI_Reduce(&mine, &most, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    if (me == 0)
        printf("faults: %.2f\n", most);
}

static void memory(int n) {
    MPI_Comm *comms = calloc(2 * (size_t)n, sizeof *comms);
    int me;
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    for (int i = 0; i < 2 * n; i++)
        MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
    take(comms, 0, 2 * n, 2); /* the MPI's, with STRETTO_AFTER=3 */
    take(comms, 0, n, 10);
    MPI_Barrier(MPI_COMM_WORLD);
    const double before = (double)kib();
    MPI_Barrier(MPI_COMM_WORLD);
    take(comms, n, 2 * n, 10);
    MPI_Barrier(MPI_COMM_WORLD);
    double mine = ((double)kib() - before) / n, most;
    MPI_Barrier(MPI_COMM_WORLD); /* what others have left they do not share any more */
    MPI_Reduce(&mine, &most, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    if (me == 0)
        printf("memory: %.2f KiB\n", most);
    for (int i = 0; i < 2 * n; i++)
        MPI_Comm_free(&comms[i]);
    free(comms);
}

int main(int argc, char **argv) {
    const int measure = argc > 2 && strcmp(argv[1], "memory") == 0;
    int provided, me, n, threads = argc > 2 && !measure ? atoi(argv[2]) : 0;
    pthread_t ids[THREADS];
    sequence all[THREADS];
    if (argc < 2)
        return 2;
    MPI_Init_thread(&argc, &argv, threads ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    if (measure) {
        memory(atoi(argv[2]));
        faults(atoi(argv[2]));
        MPI_Finalize();
        return 0;
    }
    steps = atoi(argv[1]);
    pauses = 1;
    frees_pending = argc > 3;
    const int sequences = threads ? threads : 1;
    for (int t = 0; t < sequences; t++) {
        sequence *s = &all[t];
        *s = (sequence){.same = 7 + (uint64_t)t, .own = (uint64_t)(me * THREADS + t + 1)};
        s->in = calloc((size_t)n * LARGEST + ROOM, sizeof *s->in);
        s->out = calloc((size_t)n * LARGEST + ROOM, sizeof *s->out);
        MPI_Comm_dup(MPI_COMM_WORLD, &s->base);
        for (int i = 0; i < LIVE; i++)
            s->live[i] = MPI_COMM_NULL;
    }
    for (int t = 0; threads && t < sequences; t++)
        must(pthread_create(&ids[t], NULL, run, &all[t]) == 0, "a thread");
    if (!threads)
        run(&all[0]);
    for (int t = 0; t < sequences; t++) {
        if (threads)
            pthread_join(ids[t], NULL);
        MPI_Comm_free(&all[t].base);
        free(all[t].in);
        free(all[t].out);
    }
    if (me == 0)
        printf("short_lived: all right\n");
    MPI_Finalize();
    return 0;
}
