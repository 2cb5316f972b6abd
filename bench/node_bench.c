/* Times the node phases without MPI: 2..N pinned processes over a shared mapping, next to the floor
 * (a flag one way, a copy). Batches of calls back to back; of each batch the slowest rank's time
 * per call counts; the least and the median over the batches are printed. See bench/README.md.
 *
 *   node_bench [ranks] [phases] [batches] [off|cma|attach] [KiB]   e.g.  node_bench 2 allreduce
 *
 * KiB: single calls instead of batches, and before each every rank adds to so much memory of its
 * own, as an application that computes does: what the caches hold then is not the rings.
 */
#include "cores/flag.h"
#include "node/copy.h"
#include "node/node.h"
#include "node/tuning.h"
#include "node/xpmem.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

enum { MAX_RANKS = 256, MAX_BATCHES = 1000 };

typedef struct {
    stretto_flags flags;
    double times[MAX_BATCHES][MAX_RANKS];
    int pids[MAX_RANKS];
    _Atomic int ready;
} shared_state;

typedef enum {
    BARRIER,
    BCAST,
    REDUCE,
    ALLREDUCE,
    ALLGATHER,
    ALLGATHERV,
    ALLTOALL,
    ALLTOALLV,
    GATHER,
    SCATTER,
    REDUCE_SCATTER,
    SCAN,
    PHASES
} phase;
static const char *const phase_name[PHASES] = {
    "barrier",  "bcast",     "reduce", "allreduce", "allgather",      "allgatherv",
    "alltoall", "alltoallv", "gather", "scatter",   "reduce_scatter", "scan"};
static const size_t sizes[] = {8,    64,    256,   1024,   2048,    4096,
                               8192, 16384, 65536, 262144, 1048576, 4194304};

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void no_progress(void *arg) {
    (void)arg;
}

static int compare(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* For "attach": XPMEM as it would be once everything is attached. All ranks have their buffers in
 * memory that they share at the same addresses. */
static int version(void) {
    return 0x00026005;
}
static int64_t make(void *address, size_t bytes, int type, void *permit) {
    (void)address, (void)bytes, (void)type, (void)permit;
    return 1;
}
static int64_t get(int64_t segid, int flags, int type, void *permit) {
    (void)flags, (void)type, (void)permit;
    return segid;
}
static int ignore(int64_t id) {
    (void)id;
    return 0;
}
static void *attach_here(stretto_xpmem_address from, size_t bytes, void *at) {
    (void)bytes, (void)at;
    return (void *)(uintptr_t)from.offset;
}
static int detach(void *at) {
    (void)at;
    return 0;
}
static bool stand_in(int ranks) {
    int64_t offers[MAX_RANKS];
    stretto_xpmem =
        (stretto_xpmem_library){version, make, ignore, get, ignore, attach_here, detach};
    for (int r = 0; r < ranks; r++)
        offers[r] = stretto_xpmem_offer();
    return stretto_xpmem_join(ranks, offers);
}

/* Time of one batch: the slowest rank's. */
static void report(const char *name, size_t bytes, shared_state *shared, int ranks, int batches) {
    static double slowest[MAX_BATCHES];
    for (int b = 0; b < batches; b++) {
        slowest[b] = 0;
        for (int r = 0; r < ranks; r++)
            if (shared->times[b][r] > slowest[b])
                slowest[b] = shared->times[b][r];
    }
    qsort(slowest, (size_t)batches, sizeof *slowest, compare);
    printf("%-14s %9zu B  least %9.3f  median %9.3f us", name, bytes, slowest[0] * 1e6,
           slowest[batches / 2] * 1e6);
    if (bytes >= 4096)
        printf("  %6.1f GB/s", (double)bytes / slowest[0] * 1e-9);
    printf("\n");
    fflush(stdout);
}

static void floor_flag(shared_state *shared, int rank) {
    unsigned count = 0;
    double took = stretto_flag_trip(&shared->flags, rank, &count, 100, 4000);
    if (rank == 0)
        printf("floor: flag one way %.1f ns\n", took * 1e9);
}

/* What glibc's memcpy comes to in the middle of its range, where the machine says that it is quick;
 * a virtual one may not say so. */
static void string_instruction(void *to, const void *from, size_t bytes) {
#ifdef __x86_64__
    __asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(bytes) : : "memory");
#else
    memcpy(to, from, bytes);
#endif
}

static void plain(void *to, const void *from, size_t bytes) {
    memcpy(to, from, bytes);
}

static void pieces(void *to, const void *from, size_t bytes) {
    stretto_copy(to, from, bytes);
}

/* Copies in the cache: the target at the same place modulo a page as the source, and 16 bytes
 * behind it. */
static void floor_copy(unsigned char *to, const unsigned char *from) {
    static const struct {
        const char *name;
        void (*copy)(void *to, const void *from, size_t bytes);
    } ways[] = {{"memcpy", plain}, {"stretto_copy", pieces}, {"rep movsb", string_instruction}};
    static const size_t lengths[] = {1024, 4096, 16384, 65536, 1048576};
    for (int i = 0; i < 5; i++)
        for (size_t w = 0; w < sizeof ways / sizeof *ways; w++)
            for (size_t behind = 0; behind <= 16; behind += 16) {
                double least = 1;
                for (int b = 0; b < 30; b++) {
                    double t = now();
                    for (int k = 0; k < 10; k++) {
                        ways[w].copy(to + behind, from, lengths[i]);
                        __asm__ volatile("" ::: "memory");
                    }
                    t = (now() - t) / 10;
                    least = t < least ? t : least;
                }
                printf("floor: %-12s %7zu B %2zu behind %8.3f us, %5.1f GB/s\n", ways[w].name,
                       lengths[i], behind, least * 1e6, (double)lengths[i] / least * 1e-9);
            }
}

/* What an application does between two calls. */
static void compute(uint64_t *own, size_t bytes) {
    for (size_t i = 0; i < bytes / sizeof *own; i++)
        own[i] += i;
    __asm__ volatile("" ::: "memory");
}

/* bytes: of the vector, or of one pair's or rank's block (MPI's message size). */
static void call(stretto_node *node, phase p, int ranks, void *src, void *dst, size_t bytes,
                 stretto_reduce_fn sum) {
    size_t at[MAX_RANKS], sizes[MAX_RANKS];
    for (int r = 0; r < ranks && p > ALLGATHER; r++) {
        at[r] = (size_t)r * bytes;
        sizes[r] = p == REDUCE_SCATTER ? bytes / 8 : bytes;
    }
    switch (p) {
    case ALLGATHERV: stretto_node_allgatherv(node, src, dst, at, sizes); break;
    case ALLTOALL: stretto_node_alltoall(node, src, dst, bytes); break;
    case ALLTOALLV: stretto_node_alltoallv(node, src, at, sizes, dst, at, sizes); break;
    case GATHER: stretto_node_gather(node, src, dst, bytes, 0); break;
    case SCATTER: stretto_node_scatter(node, src, dst, bytes, 0); break;
    case REDUCE_SCATTER: stretto_node_reduce_scatter(node, src, dst, sizes, 8, sum); break;
    case SCAN: stretto_node_scan(node, src, dst, bytes / 8, 8, sum, false); break;
    case BARRIER: stretto_node_barrier(node); break;
    case BCAST: stretto_node_bcast(node, src, bytes, 0); break;
    case REDUCE: stretto_node_reduce(node, src, dst, bytes / 8, 8, sum, 0); break;
    case ALLREDUCE: stretto_node_allreduce(node, src, dst, bytes / 8, 8, sum); break;
    default: stretto_node_allgather(node, src, dst, bytes);
    }
}

int main(int argc, char **argv) {
    int ranks = argc > 1 ? atoi(argv[1]) : 2, batches = argc > 3 ? atoi(argv[3]) : 60;
    const char *filter = argc > 2 ? argv[2] : "";
    int cores = (int)sysconf(_SC_NPROCESSORS_ONLN);
    if (ranks < 2 || ranks > MAX_RANKS || batches < 1 || batches > MAX_BATCHES) {
        fprintf(stderr, "node_bench: 2..%d ranks, 1..%d batches\n", MAX_RANKS, MAX_BATCHES);
        return 2;
    }
    const long level2 = sysconf(_SC_LEVEL2_CACHE_SIZE);
    const size_t area =
        stretto_node_area(ranks, stretto_node_ring(level2 > 0 ? (size_t)level2 : 0));
    size_t memory_bytes = stretto_node_bytes(ranks, area);
    shared_state *shared =
        mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    void *memory =
        mmap(NULL, memory_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED || memory == MAP_FAILED) {
        perror("node_bench: mmap");
        return 1;
    }
    size_t largest = sizes[sizeof sizes / sizeof *sizes - 1], room = largest * (size_t)ranks;
    bool attach = argc > 4 && strcmp(argv[4], "attach") == 0;
    size_t between = argc > 5 ? (size_t)atol(argv[5]) * 1024 : 0;
    uint64_t *own = calloc(1, between + 1);
    unsigned char *buffers =
        mmap(NULL, 2 * room * (size_t)ranks, PROT_READ | PROT_WRITE,
             (attach ? MAP_SHARED : MAP_PRIVATE) | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (buffers == MAP_FAILED || !own || (attach && !stand_in(ranks))) {
        perror("node_bench: buffers");
        return 1;
    }
    printf("%d ranks on %d cores, %zu KiB shared\n", ranks, cores, memory_bytes / 1024);
    fflush(stdout);
    int rank = 0;
    while (rank < ranks - 1 && fork())
        rank++;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(rank % cores, &set);
    if (sched_setaffinity(0, sizeof set, &set))
        perror("node_bench: not pinned");
    shared->pids[rank] = (int)getpid();
    atomic_fetch_add(&shared->ready, 1);
    while (atomic_load(&shared->ready) < ranks)
        sched_yield();

    stretto_wait wait = {.spins = ranks > cores ? 5 : 1000,
                         .yield = ranks > cores,
                         .progress = no_progress,
                         .cma = argc <= 4 || strcmp(argv[4], "cma") == 0};
    stretto_node *node = stretto_node_attach(memory, ranks, rank, area, shared->pids, &wait);
    stretto_reduce_fn sum = stretto_reduce_kernel(STRETTO_OP_SUM, STRETTO_DOUBLE);
    int peers[MAX_RANKS];
    for (int r = 0; r < ranks; r++)
        peers[r] = r;
    if (attach && !stretto_node_use_xpmem(node, peers))
        return 1;
    unsigned char *src = buffers + 2 * room * (size_t)rank, *dst = src + room;
    memset(src, 0, room);
    memset(dst, 0, room);
    if (ranks == 2)
        floor_flag(shared, rank);
    if (rank == 0)
        floor_copy(dst, src);

    for (phase p = BARRIER; p < PHASES; p++) {
        if (!strstr(phase_name[p], filter) && !strstr(filter, phase_name[p]))
            continue;
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
            size_t bytes = p == BARRIER ? 0 : sizes[i];
            int calls = (int)(2e-4 / (1e-7 + (double)bytes * 1e-10) / (ranks > cores ? 10 : 1)) + 2;
            if (between) {
                calls = 1;
                /* the rings' pages touched, as in a job that has run for a while */
                for (size_t done = 0; bytes && done < 2 * STRETTO_NODE_AREA; done += bytes)
                    call(node, p, ranks, src, dst, bytes, sum);
            }
            for (int b = -2; b < batches; b++) {
                compute(own, between);
                stretto_node_barrier(node);
                double t = now();
                for (int k = 0; k < calls; k++)
                    call(node, p, ranks, src, dst, bytes, sum);
                t = (now() - t) / calls;
                shared->times[b < 0 ? 0 : b][rank] = t;
            }
            stretto_node_barrier(node);
            if (rank == 0)
                report(phase_name[p], bytes, shared, ranks, batches);
            stretto_node_barrier(node);
            if (p == BARRIER)
                break;
        }
    }
    stretto_node_detach(node);
    free(own);
    if (rank == ranks - 1)
        while (wait4(-1, NULL, 0, NULL) > 0) {
        }
    return 0;
}
