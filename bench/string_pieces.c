/* How long it takes to read what another core has just written, in pieces of several lengths, by
 * `rep movsb` and by memcpy. No flags between the pieces: what a piece costs beyond its bytes. The
 * writer rests meanwhile. x86-64.
 *
 *   cc -O2 -Isrc -D_GNU_SOURCE bench/string_pieces.c -o /tmp/string_pieces -lpthread
 *   /tmp/string_pieces [KiB]        64 where not given
 */
#include "cores/flag.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { REPEATS = 501 };

static size_t bytes;
static unsigned char *written, *target;
static stretto_flags flags;
static _Alignas(128) _Atomic int turn; /* odd: the writer's; then even: the reader's */

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void pin(int core) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(core, &set);
    if (sched_setaffinity(0, sizeof set, &set))
        perror("string_pieces: not pinned");
}

static void *writer(void *unused) {
    (void)unused;
    unsigned count = 0;
    pin(1);
    stretto_flag_trip(&flags, 1, &count, 10, 4000);
    for (int k = 1;; k += 2) {
        while (atomic_load(&turn) != k)
            ;
        memset(written, k, bytes);
        atomic_store(&turn, k + 1);
    }
    return NULL;
}

static void by_string(void *to, const void *from, size_t n) {
    __asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(n) : : "memory");
}

static int compare(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Median, in us. */
static double reading(int *k, size_t piece, int string) {
    static double took[REPEATS];
    for (int r = 0; r < REPEATS; r++) {
        atomic_store(&turn, ++*k);
        ++*k;
        while (atomic_load(&turn) != *k)
            ;
        const double begin = now();
        for (size_t at = 0; at < bytes; at += piece)
            if (string)
                by_string(target + at, written + at, piece);
            else
                memcpy(target + at, written + at, piece);
        atomic_thread_fence(memory_order_seq_cst); /* the stores are done, too */
        took[r] = now() - begin;
    }
    qsort(took, REPEATS, sizeof *took, compare);
    return took[REPEATS / 2] * 1e6;
}

int main(int argc, char **argv) {
    bytes = (argc > 1 ? (size_t)atol(argv[1]) : 64) * 1024;
    if (bytes == 0 || bytes & (bytes - 1)) {
        fprintf(stderr, "string_pieces: KiB must be a power of two\n");
        return 2;
    }
    void *both = mmap(NULL, 2 * bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    pthread_t other;
    if (both == MAP_FAILED || pthread_create(&other, NULL, writer, NULL)) {
        perror("string_pieces");
        return 1;
    }
    written = both, target = written + bytes;
    memset(both, 1, 2 * bytes);
    pin(0);
    unsigned count = 0;
    int k = 0;
    printf("a flag one way: %.0f ns; %zu KiB, us\n",
           1e9 * stretto_flag_trip(&flags, 0, &count, 10, 4000), bytes / 1024);
    reading(&k, bytes, 1);
    printf("%10s %10s %10s\n", "piece", "rep movsb", "memcpy");
    for (size_t piece = bytes; piece >= 1024 && piece >= bytes / 64; piece /= 2)
        printf("%10zu %10.2f %10.2f\n", piece, reading(&k, piece, 1), reading(&k, piece, 0));
    fflush(stdout);
    _exit(0); /* the writer waits for ever */
}
