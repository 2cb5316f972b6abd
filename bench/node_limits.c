/* What it takes to move bytes from one core to another: what bounds long collectives on a node.
 *
 *   node_limits [KiB of a message] [KiB of the ring]      e.g.  node_limits 64 1024
 *
 * Two pinned processes. One writes a message into the next place of a ring that both have mapped,
 * then the other copies it out; "both" means that both do so at the same time, "swapping" that each
 * then writes its next lap where it has read the other's. Printed: GB/s of the writing and of the
 * reading, medians, for each way of storing (lines) and of loading (columns); what the kernel
 * copies (CMA) from memory that its owner has just written and from memory that it left alone; and
 * the delay of a flag before and after: near and far cores differ threefold, and a virtual
 * machine's cores move. docs/explanation/node-limits.md has figures. x86-64 only. */
#include "cores/flag.h"
#include "node/copy.h"
#include "node/stores.h"

#include <immintrin.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

enum { REPEATS = 200 };

typedef void mover(void *to, const void *from, size_t bytes);

static void pieces(void *to, const void *from, size_t bytes) {
    stretto_copy(to, from, bytes);
}

static void ahead(void *to, const void *from, size_t bytes) {
    stretto_copy_foreign((stretto_copying){to, from, bytes});
}

/* The lines are asked for as if they were to be written: they leave the other core's cache. */
static void taken(void *to, const void *from, size_t bytes) {
    unsigned char *t = to;
    const unsigned char *f = from;
    for (size_t i = 0; i < STRETTO_NODE_AHEAD && i < bytes; i += 64)
        stretto_own(f + i);
    for (size_t at = 0; at < bytes; at += 256) {
        const size_t piece = bytes - at < 256 ? bytes - at : 256;
        for (size_t i = at + STRETTO_NODE_AHEAD; i < at + STRETTO_NODE_AHEAD + 256 && i < bytes;
             i += 64)
            stretto_own(f + i);
        memcpy(t + at, f + at, piece);
    }
}

static void past(void *to, const void *from, size_t bytes) {
    stretto_stream(to, from, bytes);
}

static void string_instruction(void *to, const void *from, size_t bytes) {
    __asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(bytes) : : "memory");
}

/* Whole multiples of 128 bytes. */
__attribute__((target("avx2"))) static void avx2(void *to, const void *from, size_t bytes) {
    for (size_t i = 0; i < bytes; i += 128) {
        const __m256i *f = (const void *)((const char *)from + i);
        __m256i *t = (void *)((char *)to + i);
        __m256i a = _mm256_loadu_si256(f), b = _mm256_loadu_si256(f + 1),
                c = _mm256_loadu_si256(f + 2), d = _mm256_loadu_si256(f + 3);
        _mm256_storeu_si256(t, a), _mm256_storeu_si256(t + 1, b);
        _mm256_storeu_si256(t + 2, c), _mm256_storeu_si256(t + 3, d);
    }
}

__attribute__((target("avx512f"))) static void avx512(void *to, const void *from, size_t bytes) {
    for (size_t i = 0; i < bytes; i += 128) {
        __m512i a = _mm512_loadu_si512((const char *)from + i),
                b = _mm512_loadu_si512((const char *)from + i + 64);
        _mm512_storeu_si512((char *)to + i, a), _mm512_storeu_si512((char *)to + i + 64, b);
    }
}

typedef struct {
    const char *name;
    mover *move;
} way;
static way writes[] = {{"memcpy", pieces},
                       {"rep movsb", string_instruction},
                       {"AVX2", avx2},
                       {"AVX-512", avx512},
                       {"streaming", past}},
           reads[] = {{"memcpy", pieces},   {"prefetched", ahead},
                      {"prefetchw", taken}, {"rep movsb", string_instruction},
                      {"AVX2", avx2},       {"AVX-512", avx512}};

typedef struct {
    stretto_flags flags;
    double gbs;
    pid_t pid[2];
    void *memory[2];
} shared_state;

static shared_state *shared;
static int side;
static unsigned count;

static void meet(void) {
    count++;
    stretto_flag_raise(&shared->flags, side, count);
    stretto_flag_await(&shared->flags, 1 - side, count);
}

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double speed(double *times, size_t bytes) {
    qsort(times, REPEATS, sizeof *times, ascending);
    return (double)bytes / times[REPEATS / 2] * 1e-9;
}

enum { ONE, BOTH, SWAPPED, DIRECTIONS };
static const char *const direction[] = {"one direction", "both", "both, swapping"};

static void through_ring(way write, way read, size_t bytes, unsigned char *rings, size_t ring,
                         unsigned char *from, unsigned char *to, int directions) {
    const bool both = directions != ONE;
    double writing[REPEATS], reading[REPEATS];
    const size_t places = ring / bytes;
    for (size_t i = 0; i < REPEATS; i++) {
        const size_t at = i % places * bytes;
        /* swapped: in every other lap each writes where it has read */
        const size_t mine = (size_t)side ^ (directions == SWAPPED && i / places & 1);
        meet();
        double t = stretto_flag_seconds();
        if (both || side == 0)
            write.move(rings + mine * ring + at, from, bytes);
        writing[i] = stretto_flag_seconds() - t;
        meet();
        t = stretto_flag_seconds();
        if (both || side == 1)
            read.move(to, rings + (1 - mine) * ring + at, bytes);
        reading[i] = stretto_flag_seconds() - t;
    }
    if (side == 1)
        shared->gbs = speed(reading, bytes);
    meet();
    if (side == 0)
        printf("  %6.1f, %-6.1f", speed(writing, bytes), shared->gbs);
    meet();
}

static void by_kernel(size_t bytes, unsigned char *from, unsigned char *to, bool touched) {
    double reading[REPEATS];
    bool well = true;
    shared->memory[side] = from;
    for (int i = 0; i < REPEATS; i++) {
        if (touched)
            memset(from, i, bytes);
        meet();
        struct iovec here = {to, bytes}, there = {shared->memory[1 - side], bytes};
        double t = stretto_flag_seconds();
        well &= process_vm_readv(shared->pid[1 - side], &here, 1, &there, 1, 0) == (ssize_t)bytes;
        reading[i] = stretto_flag_seconds() - t;
        meet();
    }
    if (side == 0 && well)
        printf("  both  read by the kernel (CMA), %-24s %6.1f GB/s\n",
               touched ? "just written" : "not written between", speed(reading, bytes));
    else if (side == 0)
        printf("  the kernel does not permit CMA here\n");
}

int main(int argc, char **argv) {
    const size_t bytes = (argc > 1 ? (size_t)atol(argv[1]) : 64) * 1024,
                 ring = (argc > 2 ? (size_t)atol(argv[2]) : 1024) * 1024;
    if (bytes == 0 || ring < 2 * bytes) {
        fprintf(stderr, "node_limits: a ring holds at least two messages of at least 1 KiB\n");
        return 2;
    }
    shared = mmap(NULL, sizeof *shared + 2 * ring + 4096, PROT_READ | PROT_WRITE,
                  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED) {
        perror("node_limits: mmap");
        return 1;
    }
    unsigned char *rings = (unsigned char *)shared + (sizeof *shared + 4095) / 4096 * 4096;
    memset(rings, 1, 2 * ring);
    pid_t child = fork();
    side = child ? 0 : 1;
    if (child == 0)
        prctl(PR_SET_PDEATHSIG, SIGKILL);
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET((unsigned)side, &set);
    if (sched_setaffinity(0, sizeof set, &set))
        perror("node_limits: not pinned");
    shared->pid[side] = getpid();
    unsigned char *from = aligned_alloc(4096, bytes), *to = aligned_alloc(4096, bytes);
    if (!from || !to)
        return 1;
    memset(from, 2, bytes), memset(to, 3, bytes);

    double flag = stretto_flag_trip(&shared->flags, side, &count, 50, 1000);
    if (side == 0)
        printf("flag %.0f ns; messages of %zu KiB, ring of %zu KiB\n", flag * 1e9, bytes >> 10,
               ring >> 10);
    const bool wide = __builtin_cpu_supports("avx512f");
    for (int directions = 0; directions < DIRECTIONS; directions++) {
        if (side == 0)
            printf("  %-26s", direction[directions]);
        for (size_t r = 0; r < sizeof reads / sizeof *reads && side == 0; r++)
            printf("  %-14s", wide || reads[r].move != avx512 ? reads[r].name : "");
        for (size_t w = 0; w < sizeof writes / sizeof *writes; w++) {
            if (!wide && writes[w].move == avx512)
                continue;
            if (side == 0)
                printf("\n    %-22s", writes[w].name);
            for (size_t r = 0; r < sizeof reads / sizeof *reads; r++)
                if (wide || reads[r].move != avx512)
                    through_ring(writes[w], reads[r], bytes, rings, ring, from, to, directions);
        }
        if (side == 0)
            printf("\n");
    }
    by_kernel(bytes, from, to, true);
    by_kernel(bytes, from, to, false);
    flag = stretto_flag_trip(&shared->flags, side, &count, 50, 1000);
    if (side == 0) {
        printf("flag %.0f ns\n", flag * 1e9);
        wait(NULL);
    }
    return 0;
}
