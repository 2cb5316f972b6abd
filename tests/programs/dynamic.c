/* Processes that come later, and sessions: collectives on every kind of communicator that they
 * make, results checked.
 *
 *   dynamic spawn CHILDREN     spawns so many, with Stretto as we have it and then without;
 * collectives on both worlds at the same time, on the inter-communicator, on the merged one, on
 * parts of it dynamic connect            two halves of the world connect through a port dynamic
 * session            communicators of three sessions, the world initialised as well dynamic only of
 * one, without MPI_Init
 *
 * Prints how many collectives on intra-communicators Stretto carried out, of all its children as
 * well, those on communicators across two worlds apart; exit status 1 when a result was wrong.
 */
#define _GNU_SOURCE
#include <mpi.h>

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#if MPI_VERSION >= 4 || (defined OMPI_MAJOR_VERSION && OMPI_MAJOR_VERSION >= 5)
#define SESSIONS 1
#endif

enum { MOST = 40, LARGEST = 5000, TIMES = 6, MOST_WORDS = 200 };

static int wrong;

static void expect(int well, const char *what, const char *where) {
    if (!well && wrong++ < 10)
        fprintf(stderr, "dynamic: wrong %s on %s\n", what, where);
}

static int value(int rank, int i, int call) {
    return rank * 1009 + i * 3 + call;
}

typedef int counters(MPI_Comm, const char *, unsigned long long *, unsigned long long *);

/* Calls that Stretto says it has carried out on comm; 0 where it is not. */
static long ours(MPI_Comm comm) {
    static const char *const names[] = {"allreduce", "bcast",    "allgather", "alltoallv",
                                        "gatherv",   "scatterv", "scan",      "barrier"};
    counters *ask = NULL;
    void *found = dlsym(RTLD_DEFAULT, "stretto_counters");
    long sum = 0;
    memcpy(&ask, &found, sizeof ask);
    for (size_t i = 0; ask && i < sizeof names / sizeof *names; i++) {
        unsigned long long mine = 0;
        if (ask(comm, names[i], &mine, NULL) == 0)
            sum += (long)mine;
    }
    return sum;
}

static void sums(MPI_Comm comm, int rank, int size, int call, const char *where) {
    static int in[LARGEST], out[LARGEST];
    const int n = call % 2 ? LARGEST : 1 + call;
    int well = 1;
    for (int i = 0; i < n; i++)
        in[i] = value(rank, i, call);
    MPI_Allreduce(in, out, n, MPI_INT, MPI_SUM, comm);
    for (int i = 0; i < n; i++)
        well &= out[i] == size * (size - 1) / 2 * 1009 + size * (i * 3 + call);
    expect(well, "allreduce", where);
    MPI_Scan(in, out, n, MPI_INT, MPI_MAX, comm);
    well = memcmp(in, out, (size_t)n * sizeof *in) == 0;
    expect(well, "scan", where);
    for (int i = 0; i < n; i++)
        in[i] = value(call % size, i, call) * (rank == call % size);
    MPI_Bcast(in, n, MPI_INT, call % size, comm);
    well = 1;
    for (int i = 0; i < n; i++)
        well &= in[i] == value(call % size, i, call);
    expect(well, "bcast", where);
    MPI_Barrier(comm);
}

/* Blocks of rank + 1 numbers, or none. */
static int length(int rank, int call) {
    return (rank + call) % 4 == 3 ? 0 : rank + 1 + 50 * (call % 2);
}

static void blocks(MPI_Comm comm, int rank, int size, int call, const char *where) {
    static int in[MOST * 100], out[MOST * 100];
    int n[MOST], at[MOST], mine[MOST], from[MOST];
    const int root = (call + 1) % size;
    int end = 0, well = 1;
    for (int r = 0; r < size; r++) {
        n[r] = length(r, call);
        at[r] = end;
        end += n[r];
        mine[r] = length(rank, call);
        from[r] = 0;
    }
    for (int i = 0; i < n[rank]; i++)
        in[i] = value(rank, i, call);
    memset(out, 0, sizeof out);
    MPI_Alltoallv(in, mine, from, MPI_INT, out, n, at, MPI_INT, comm);
    for (int r = 0; r < size; r++)
        for (int i = 0; i < n[r]; i++)
            well &= out[at[r] + i] == value(r, i, call);
    expect(well, "alltoallv", where);
    memset(out, 0, sizeof out);
    MPI_Gatherv(in, n[rank], MPI_INT, out, n, at, MPI_INT, root, comm);
    for (int r = 0; rank == root && r < size; r++)
        for (int i = 0; i < n[r]; i++)
            well &= out[at[r] + i] == value(r, i, call);
    expect(well, "gatherv", where);
    memset(in, 0, sizeof in);
    MPI_Scatterv(out, n, at, MPI_INT, in, n[rank], MPI_INT, root, comm);
    for (int i = 0; i < n[rank]; i++)
        well &= in[i] == value(rank, i, call);
    expect(well, "scatterv", where);
    in[0] = rank;
    MPI_Allgather(in, 1, MPI_INT, out, 1, MPI_INT, comm);
    for (int r = 0; r < size; r++)
        well &= out[r] == r;
    expect(well, "allgather", where);
}

/* All of them a few times; how many of them were Stretto's. */
static long collectives(MPI_Comm comm, const char *where) {
    int rank, size;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    const long before = ours(comm);
    for (int call = 0; call < TIMES; call++) {
        sums(comm, rank, size, call, where);
        blocks(comm, rank, size, call, where);
    }
    return ours(comm) - before;
}

/* Both groups. `first`: this one sends in the collectives with a root. */
static void across(MPI_Comm inter, int first) {
    int rank, size, others, sum = 0, got[MOST];
    MPI_Comm_rank(inter, &rank);
    MPI_Comm_size(inter, &size);
    MPI_Comm_remote_size(inter, &others);
    for (int call = 0; call < TIMES; call++) {
        const int mine = rank + call + 1000 * first;
        MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, inter); /* of the other group */
        expect(sum == others * (others - 1) / 2 + others * (call + 1000 * !first), "allreduce",
               "the inter-communicator");
        MPI_Allgather(&mine, 1, MPI_INT, got, 1, MPI_INT, inter);
        int well = 1, number = first && rank == 0 ? call : -1;
        for (int r = 0; r < others; r++)
            well &= got[r] == r + call + 1000 * !first;
        expect(well, "allgather", "the inter-communicator");
        MPI_Bcast(&number, 1, MPI_INT, !first ? 0 : rank == 0 ? MPI_ROOT : MPI_PROC_NULL, inter);
        expect((first && rank) || number == call, "bcast", "the inter-communicator");
        MPI_Barrier(inter);
    }
}

/* The merged communicator, its duplicate, and halves that both groups are in. */
static long merged(MPI_Comm inter, int first) {
    MPI_Comm all, copy, half;
    int rank;
    MPI_Intercomm_merge(inter, !first, &all);
    MPI_Comm_rank(all, &rank);
    long n = collectives(all, "the merged communicator");
    MPI_Comm_dup(all, &copy);
    n += collectives(copy, "its duplicate");
    MPI_Comm_split(all, rank % 2, -rank, &half);
    n += collectives(half, "a half of it");
    MPI_Comm_free(&half);
    MPI_Comm_free(&copy);
    MPI_Comm_free(&all);
    return n;
}

typedef struct {
    long inside, outside; /* Stretto's calls on communicators of one world, and of two */
    int wrong;
} seen;

static seen both_sides(MPI_Comm inter, int first) {
    seen s = {.inside = collectives(MPI_COMM_WORLD, "a world")};
    across(inter, first);
    s.inside += collectives(MPI_COMM_WORLD, "a world that knows another");
    s.outside = merged(inter, first);
    across(inter, first);
    s.wrong = wrong;
    return s;
}

static void child(MPI_Comm parent) {
    seen s = both_sides(parent, 0);
    long mine[3] = {s.inside, s.outside, s.wrong};
    MPI_Reduce(mine, NULL, 3, MPI_LONG, MPI_SUM, 0, parent);
    MPI_Comm_disconnect(&parent);
    s.inside = collectives(MPI_COMM_WORLD, "the children's world alone");
    if (wrong)
        MPI_Abort(MPI_COMM_WORLD, 1);
}

/* What env makes of it: MPIs differ in whether children get their parents' environment. */
static void command_line(char *program, int with, char **argv) {
    int n = 0;
    if (!with) {
        argv[n++] = "-u";
        argv[n++] = "LD_PRELOAD";
    }
    for (char **word = environ; with && *word && n < MOST_WORDS - 3; word++)
        if (strncmp(*word, "STRETTO_", 8) == 0 || strncmp(*word, "LD_PRELOAD=", 11) == 0)
            argv[n++] = *word;
    argv[n++] = program;
    argv[n++] = "child";
    argv[n] = NULL;
}

static void spawn(char *program, int children) {
    int rank;
    char *argv[MOST_WORDS];
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < 2; i++) {
        command_line(program, i == 0, argv);
        MPI_Comm inter;
        long theirs[3] = {0, 0, 0}, mine[3], all[3] = {0, 0, 0};
        MPI_Comm_spawn("/usr/bin/env", argv, children, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter,
                       MPI_ERRCODES_IGNORE);
        const seen s = both_sides(inter, 1);
        MPI_Reduce(NULL, theirs, 3, MPI_LONG, MPI_SUM, rank == 0 ? MPI_ROOT : MPI_PROC_NULL, inter);
        MPI_Comm_disconnect(&inter);
        wrong += (int)theirs[2];
        mine[0] = s.inside + collectives(MPI_COMM_WORLD, "the parents' world");
        mine[1] = s.outside;
        mine[2] = wrong;
        MPI_Reduce(mine, all, 3, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
        if (rank == 0)
            printf("spawn %s: %ld calls of the parents, %ld of the children by Stretto, %ld across "
                   "two worlds\n",
                   i ? "without" : "with", all[0], theirs[0], all[1] + theirs[1]);
    }
}

/* The ends of the port are in one world: what they merge to is as good as a part of it. */
static void connect_halves(void) {
    char port[MPI_MAX_PORT_NAME] = "";
    int rank;
    MPI_Comm half, inter;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
    if (rank == 0)
        MPI_Open_port(MPI_INFO_NULL, port);
    MPI_Bcast(port, MPI_MAX_PORT_NAME, MPI_CHAR, 0, MPI_COMM_WORLD);
    if (rank % 2)
        MPI_Comm_connect(port, MPI_INFO_NULL, 0, half, &inter);
    else
        MPI_Comm_accept(port, MPI_INFO_NULL, 0, half, &inter);
    const seen s = both_sides(inter, rank % 2 == 0);
    long mine[2] = {s.inside, s.outside}, all[2];
    MPI_Comm_disconnect(&inter);
    mine[0] += collectives(half, "a half");
    MPI_Comm_free(&half);
    if (rank == 0)
        MPI_Close_port(port);
    MPI_Reduce(mine, all, 2, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0)
        printf("connect: %ld calls by Stretto, %ld on what was connected\n", all[0], all[1]);
}

#ifdef SESSIONS
/* Collectives on communicators of `n` sessions one after the other. */
static long session_collectives(int n) {
    long sum = 0;
    for (int i = 0; i < n; i++) {
        MPI_Session session;
        MPI_Group group;
        MPI_Comm comm, copy;
        char tag[40];
        snprintf(tag, sizeof tag, "dynamic.session.%d", i);
        MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
        MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
        MPI_Comm_create_from_group(group, tag, MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm);
        MPI_Group_free(&group);
        sum += collectives(comm, "a session's communicator");
        MPI_Comm_dup(comm, &copy);
        sum += collectives(copy, "its duplicate");
        MPI_Comm_free(&comm);
        sum += collectives(copy, "the duplicate that is left");
        MPI_Comm_free(&copy);
        MPI_Session_finalize(&session);
    }
    return sum;
}

static void sessions(void) {
    int rank;
    long mine, all = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    mine = session_collectives(3);
    collectives(MPI_COMM_WORLD, "the world");
    MPI_Reduce(&mine, &all, 1, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0)
        printf("session: %ld calls by Stretto on sessions' communicators\n", all);
}
#endif

int main(int argc, char **argv) {
    const char *what = argc > 1 ? argv[1] : "";
    MPI_Comm parent;
#ifdef SESSIONS
    if (strcmp(what, "only") == 0) {
        const long n = session_collectives(1);
        printf("only: %ld calls by Stretto\n", n);
        return wrong != 0;
    }
#endif
    MPI_Init(&argc, &argv);
    MPI_Comm_get_parent(&parent);
    if (parent != MPI_COMM_NULL) {
        child(parent);
    } else if (strcmp(what, "spawn") == 0) {
        spawn(argv[0], argc > 2 ? atoi(argv[2]) : 2);
    } else if (strcmp(what, "connect") == 0) {
        connect_halves();
#ifdef SESSIONS
    } else if (strcmp(what, "session") == 0) {
        sessions();
#endif
    } else {
        fprintf(stderr, "dynamic: no case '%s'\n", what);
        wrong++;
    }
    MPI_Finalize();
    return wrong != 0;
}
