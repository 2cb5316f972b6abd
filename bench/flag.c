/* The floor of every collective between two cores: a flag one way, in ns, the least of some
 * batches. Two threads pinned to the first two cores that the process may use. Prints one number.
 *
 *   cc -O2 -pthread bench/flag.c -o /tmp/flag && /tmp/flag
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <time.h>

enum { TRIPS = 5000, BATCHES = 20 };

static struct { _Alignas(128) _Atomic unsigned value; } there, back;
static int cores[2];

static void pin(int core) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(core, &set);
    pthread_setaffinity_np(pthread_self(), sizeof set, &set);
}

static void await(_Atomic unsigned *flag, unsigned value) {
    while (atomic_load_explicit(flag, memory_order_acquire) != value) {
    }
}

static void *answer(void *unused) {
    pin(cores[1]);
    for (unsigned i = 1; i <= TRIPS * BATCHES; i++) {
        await(&there.value, i);
        atomic_store_explicit(&back.value, i, memory_order_release);
    }
    return unused;
}

static double now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e9 * (double)t.tv_sec + (double)t.tv_nsec;
}

int main(void) {
    cpu_set_t mine;
    int n = 0;
    if (sched_getaffinity(0, sizeof mine, &mine) != 0)
        return 1;
    for (int i = 0; i < CPU_SETSIZE && n < 2; i++)
        if (CPU_ISSET(i, &mine))
            cores[n++] = i;
    pthread_t thread;
    if (n < 2 || pthread_create(&thread, NULL, answer, NULL) != 0) {
        fprintf(stderr, "flag: two cores are needed\n");
        return 1;
    }
    pin(cores[0]);
    double least = 1e9;
    for (unsigned b = 0, i = 0; b < BATCHES; b++) {
        const double began = now_ns();
        for (unsigned end = i + TRIPS; i < end;) {
            atomic_store_explicit(&there.value, ++i, memory_order_release);
            await(&back.value, i);
        }
        const double each = (now_ns() - began) / TRIPS / 2;
        least = each < least ? each : least;
    }
    pthread_join(thread, NULL);
    printf("%.1f\n", least);
    return 0;
}
