/* Many collectives of all kinds and many communicators, while memory, file descriptors and mappings
 * are watched.
 *
 * Usage: soak COLLECTIVES COMMUNICATORS [growth of memory allowed in KiB, 2048]. Collectives are
 * called on the world with changing kinds, sizes, roots, datatypes and operations, and their
 * results checked; communicators are made by dup, split and create and freed in another order,
 * every other one after collectives on it. Any rank's figures after the first quarter of either
 * part may not grow any more until its end. Prints the figures of rank 0 at every tenth, the
 * largest growth of all ranks, and "soak: done"; exit status 1 when something grew or a result was
 * wrong.
 */
#include <mpi.h>

#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LARGEST = 6000, LIVE = 24, KINDS = 17, WARM = 4, STEPS = 10 };

static int rank, size;
static uint64_t state = 20261122;
static long allowed = 2048;
static int *in, *out, counts[256], displs[256];
static int failed;

static int below(int n) { /* the same on all ranks */
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (int)((state >> 33) % (unsigned)n);
}

static long lines_of(const char *path, const char *containing) {
    char line[1024];
    long n = 0;
    FILE *stream = fopen(path, "r");
    while (stream && fgets(line, sizeof line, stream))
        n += !containing || strstr(line, containing) != NULL;
    if (stream)
        fclose(stream);
    return n;
}

static long entries(const char *folder, const char *containing) {
    DIR *dir = opendir(folder);
    long n = 0;
    for (struct dirent *entry; dir && (entry = readdir(dir));)
        n += !containing || strstr(entry->d_name, containing) != NULL;
    if (dir)
        closedir(dir);
    return n;
}

static long kib(const char *what) {
    char line[256];
    long value = 0;
    FILE *stream = fopen("/proc/self/status", "r");
    while (stream && fgets(line, sizeof line, stream))
        if (strncmp(line, what, strlen(what)) == 0)
            value = atol(line + strlen(what));
    if (stream)
        fclose(stream);
    return value;
}

typedef struct {
    long memory; /* KiB of this process alone */
    long shared; /* KiB of shared mappings touched: the node's arena, and the MPI's segments */
    long descriptors, mappings, segments;
} figures;

static figures look(void) {
    figures f = {kib("RssAnon:"), kib("RssShmem:"), entries("/proc/self/fd", NULL),
                 lines_of("/proc/self/maps", NULL), entries("/dev/shm", "stretto")};
    return f;
}

/* What `now` has more than `then`, the most of all ranks; beyond what is allowed it fails. */
static void judge(const char *part, figures then, figures now) {
    const char *names[] = {"memory KiB", "shared KiB", "descriptors", "mappings", "segments"};
    long grown[] = {now.memory - then.memory, now.shared - then.shared,
                    now.descriptors - then.descriptors, now.mappings - then.mappings,
                    now.segments - then.segments};
    long limits[] = {allowed, allowed, 0, 8, 0}; /* mappings: of malloc's own */
    long most[5];
    PMPI_Allreduce(grown, most, 5, MPI_LONG, MPI_MAX, MPI_COMM_WORLD);
    if (rank == 0)
        printf("%s: grown by", part);
    for (int i = 0; i < 5; i++) {
        if (rank == 0)
            printf("%s %ld %s", i ? "," : "", most[i], names[i]);
        failed |= most[i] > limits[i];
    }
    if (rank == 0)
        printf("\n");
}

static void show(const char *part, long done, figures f) {
    if (rank == 0) {
        printf(
            "%s %ld: memory %ld KiB, shared %ld KiB, %ld descriptors, %ld mappings, %ld segments\n",
            part, done, f.memory, f.shared, f.descriptors, f.mappings, f.segments);
        fflush(stdout);
    }
}

static void expect(int good, const char *what) {
    if (!good) {
        fprintf(stderr, "soak: wrong %s on rank %d\n", what, rank);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
}

/* One collective of a random kind; every rank contributes rank + 1 everywhere. */
static void one(MPI_Comm comm, int largest) {
    int n, me;
    MPI_Comm_size(comm, &n);
    MPI_Comm_rank(comm, &me);
    static const int sizes[] = {0, 1, 2, 8, 64, 500};
    int kind = below(KINDS), root = below(n);
    int count = below(40) == 0 ? below(largest) : sizes[below(6)];
    MPI_Op op = below(2) ? MPI_SUM : MPI_MAX;
    int total = op == MPI_SUM ? n * (n + 1) / 2 : n;
    int upto = op == MPI_SUM ? (me + 1) * (me + 2) / 2 : me + 1;
    for (int i = 0; i < n; i++)
        counts[i] = count, displs[i] = i * count;
    for (int i = 0; i<count * n; i += count> 64 ? 61 : 1)
        in[i] = me + 1, out[i] = -1;
    if (count > 0)
        in[count * n - 1] = in[count - 1] = me + 1;
    MPI_Datatype types[256];
    for (int i = 0; i < n; i++)
        types[i] = MPI_INT;
    int bytes[256];
    for (int i = 0; i < n; i++)
        bytes[i] = i * count * 4;
    int wanted = total, last = count - 1, looks = 1; /* out[last] is looked at */
    switch (kind) {
    case 0: MPI_Barrier(comm), looks = 0; break;
    case 1: MPI_Allreduce(in, out, count, MPI_INT, op, comm); break;
    case 2: MPI_Reduce(in, out, count, MPI_INT, op, root, comm), looks = me == root; break;
    case 3:
        if (me == root)
            for (int i = 0; i < count; i++)
                out[i] = root + 1;
        MPI_Bcast(out, count, MPI_INT, root, comm), wanted = root + 1;
        break;
    case 4: MPI_Allgather(in, count, MPI_INT, out, count, MPI_INT, comm), wanted = 1; break;
    case 5:
        MPI_Allgatherv(in, count, MPI_INT, out, counts, displs, MPI_INT, comm);
        last = n * count - 1, wanted = n;
        break;
    case 6:
        MPI_Gather(in, count, MPI_INT, out, count, MPI_INT, root, comm);
        looks = me == root, last = n * count - 1, wanted = n;
        break;
    case 7:
        MPI_Gatherv(in, count, MPI_INT, out, counts, displs, MPI_INT, root, comm);
        looks = me == root, last = n * count - 1, wanted = n;
        break;
    case 8: MPI_Scatter(in, count, MPI_INT, out, count, MPI_INT, root, comm), looks = 0; break;
    case 9:
        MPI_Scatterv(in, counts, displs, MPI_INT, out, count, MPI_INT, root, comm), looks = 0;
        break;
    case 10: MPI_Alltoall(in, count, MPI_INT, out, count, MPI_INT, comm), wanted = 1; break;
    case 11:
        MPI_Alltoallv(in, counts, displs, MPI_INT, out, counts, displs, MPI_INT, comm), looks = 0;
        break;
    case 12:
        MPI_Alltoallw(in, counts, bytes, types, out, counts, bytes, types, comm), looks = 0;
        break;
    case 13: MPI_Reduce_scatter_block(in, out, count, MPI_INT, MPI_SUM, comm), looks = 0; break;
    case 14: MPI_Reduce_scatter(in, out, counts, MPI_INT, MPI_SUM, comm), looks = 0; break;
    case 15: MPI_Scan(in, out, count, MPI_INT, op, comm), wanted = upto; break;
    default: MPI_Exscan(in, out, count, MPI_INT, op, comm), looks = 0; break;
    }
    if (looks && last >= 0)
        expect(out[last] == wanted, "result");
}

static void collectives(long n) {
    figures start = look();
    for (long i = 0; i < n; i++) {
        if (i == n / WARM)
            start = look();
        one(MPI_COMM_WORLD, LARGEST);
        if ((i + 1) % (n / STEPS ? n / STEPS : 1) == 0)
            show("collectives", i + 1, look());
    }
    judge("collectives", start, look());
}

static void make(MPI_Comm *comm) {
    MPI_Group group;
    switch (below(4)) {
    case 0: MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, comm); break;
    case 1: MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, comm); break;
    case 2:
        MPI_Comm_group(MPI_COMM_WORLD, &group);
        MPI_Comm_create(MPI_COMM_WORLD, group, comm);
        MPI_Group_free(&group);
        break;
    default: MPI_Comm_dup(MPI_COMM_WORLD, comm); break;
    }
}

static void free_all(MPI_Comm *live) {
    for (int i = 0; i < LIVE; i++)
        if (live[i] != MPI_COMM_NULL)
            MPI_Comm_free(&live[i]);
    PMPI_Barrier(MPI_COMM_WORLD); /* the node's memory is given back by the last to free */
}

static void communicators(long n) {
    MPI_Comm live[LIVE];
    /* As many with rings as there can be later: kept rings are memory that is used again, and a
     * communicator has none before its first longer call. */
    for (int i = 0; i < LIVE; i++) {
        make(&live[i]);
        MPI_Allreduce(in, out, 500, MPI_INT, MPI_SUM, live[i]);
    }
    figures start = look();
    for (long i = 0; i < n; i++) {
        if (i == n / WARM) { /* compared without any alive: how many have memory differs */
            free_all(live);
            start = look();
        }
        int at = below(LIVE);
        if (live[at] != MPI_COMM_NULL)
            MPI_Comm_free(&live[at]);
        make(&live[at]);
        int calls = below(2) ? below(6) : 0;
        for (int k = 0; k < calls; k++)
            one(live[at], 500);
        if ((i + 1) % (n / STEPS ? n / STEPS : 1) == 0)
            show("communicators", i + 1, look());
    }
    free_all(live);
    judge("communicators", start, look());
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (argc < 3 || size > 256)
        MPI_Abort(MPI_COMM_WORLD, 2);
    if (argc > 3)
        allowed = atol(argv[3]);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) { /* for those who wait for it to kill somebody */
        printf("soak: begun\n");
        fflush(stdout);
    }
    in = malloc((size_t)LARGEST * (size_t)size * sizeof *in);
    out = malloc((size_t)LARGEST * (size_t)size * sizeof *out);
    if (!in || !out)
        MPI_Abort(MPI_COMM_WORLD, 2);
    /* touched from the beginning, or they would seem to grow */
    memset(in, 0, (size_t)LARGEST * (size_t)size * sizeof *in);
    memset(out, 0, (size_t)LARGEST * (size_t)size * sizeof *out);
    collectives(atol(argv[1]));
    communicators(atol(argv[2]));
    free(in), free(out);
    if (rank == 0)
        printf("soak: %s\n", failed ? "something grew" : "done");
    MPI_Finalize();
    return failed;
}
