/* Programs that are correct under the MPI's progress rule and hang under a careless library of
 * nonblocking collectives: progress_cases.h tells the pattern.
 *
 * Usage: progress_cases CASE... | all | list. Each case that begins prints "case NAME" on rank 0,
 * so that one that hangs is known, and "NAME done" at its end; "skipped NAME" when there are too
 * few ranks or the MPI lacks what it needs. Built from progress_cases.c and progress_*s.c.
 */
#include "progress_cases.h"

int rank, size, victim, partner;
char *data;

void check(int good, const char *what) {
    if (!good) {
        fprintf(stderr, "progress_cases: wrong %s on rank %d\n", what, rank);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
}

/* Built with -DPERSISTENT, the same collectives are persistent ones that are started. Those on the
 * world are made once. */
#ifdef PERSISTENT
static void make(pending *p, int n, MPI_Comm comm) {
    if (p->made)
        return;
    MPI_Allreduce_init(p->in, p->out, VECTOR, MPI_DOUBLE, MPI_SUM, comm, MPI_INFO_NULL,
                       &p->requests[0]);
    MPI_Barrier_init(comm, MPI_INFO_NULL, &p->requests[1]);
    MPI_Bcast_init(&p->told, 1, MPI_INT, n - 1, comm, MPI_INFO_NULL, &p->requests[2]);
    MPI_Alltoall_init(p->blocks, 1, MPI_INT, p->got, 1, MPI_INT, comm, MPI_INFO_NULL,
                      &p->requests[3]);
    p->made = comm == MPI_COMM_WORLD;
}
#endif

void begin(pending *p, MPI_Comm comm) {
    int n, me;
    MPI_Comm_size(comm, &n);
    MPI_Comm_rank(comm, &me);
    for (int i = 0; i < VECTOR; i++)
        p->in[i] = me + i;
    p->told = me == n - 1 ? 4711 : 0;
    for (int i = 0; i < n; i++)
        p->blocks[i] = 100 * me + i;
#ifdef PERSISTENT
    make(p, n, comm);
    MPI_Startall(4, p->requests);
#else
    MPI_Iallreduce(p->in, p->out, VECTOR, MPI_DOUBLE, MPI_SUM, comm, &p->requests[0]);
    MPI_Ibarrier(comm, &p->requests[1]);
    MPI_Ibcast(&p->told, 1, MPI_INT, n - 1, comm, &p->requests[2]);
    MPI_Ialltoall(p->blocks, 1, MPI_INT, p->got, 1, MPI_INT, comm, &p->requests[3]);
#endif
}

void end(pending *p, MPI_Comm comm) {
    int n, me;
    MPI_Waitall(4, p->requests, MPI_STATUSES_IGNORE);
    MPI_Comm_size(comm, &n);
    MPI_Comm_rank(comm, &me);
    for (int i = 0; i < VECTOR; i++)
        check(p->out[i] == n * (n - 1) / 2 + (double)n * i, "sum");
    check(p->told == 4711, "broadcast");
    for (int i = 0; i < n; i++)
        check(p->got[i] == 100 * i + me, "block");
#ifdef PERSISTENT
    for (int i = 0; !p->made && i < 4; i++)
        MPI_Request_free(&p->requests[i]);
#endif
}

static void turn(int round) {
    victim = round % size;
    partner = (victim + 1) % size;
}

void one_blocks(void (*mine)(void), void (*its)(void)) {
    static pending p;
    for (int round = 0; round < 2; round++) {
        turn(round);
        if (rank != victim)
            usleep(LATE);
        begin(&p, MPI_COMM_WORLD);
        if (rank == victim)
            mine();
        end(&p, MPI_COMM_WORLD);
        if (rank == partner)
            its();
    }
}

void one_is_early(void (*all)(void)) {
    static pending p;
    for (int round = 0; round < 2; round++) {
        turn(round);
        if (rank != victim)
            usleep(LATE);
        begin(&p, MPI_COMM_WORLD);
        if (rank == victim)
            all();
        end(&p, MPI_COMM_WORLD);
        if (rank != victim)
            all();
    }
}

static const progress_case *const lists[] = {message_cases, collective_cases, window_cases,
                                             file_cases, last_cases};
enum { LISTS = sizeof lists / sizeof lists[0] };

/* 1 when there is such a case. */
static int run(const char *name) {
    int known = 0, all = !strcmp(name, "all");
    for (int l = 0; l < LISTS; l++)
        for (const progress_case *c = lists[l]; c->name; c++) {
            /* one that ends the job is run when it is asked for */
            if (all ? !strcmp(c->name, "abort") : strcmp(name, c->name) != 0)
                continue;
            known = 1;
            if (rank == 0)
                printf("%s %s\n", size < c->ranks ? "skipped" : "case", c->name), fflush(stdout);
            if (size < c->ranks)
                continue;
            c->run();
            if (rank == 0)
                printf("%s done\n", c->name), fflush(stdout);
        }
    return known;
}

int main(int argc, char **argv) {
    int provided, well = argc > 1;
    if (argc == 2 && !strcmp(argv[1], "list")) {
        for (int l = 0; l < LISTS; l++)
            for (const progress_case *c = lists[l]; c->name; c++)
                printf("%s %d\n", c->name, c->ranks);
        return 0;
    }
    MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    data = calloc(2 * LARGE, 1);
    for (int i = 0; i < 8; i++) /* past the set-up of the communicator */
        MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 1; i < argc; i++)
        well = run(argv[i]) && well;
    MPI_Barrier(MPI_COMM_WORLD);
    free(data);
    MPI_Finalize();
    return !well;
}
