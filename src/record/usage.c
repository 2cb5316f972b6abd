/* What the rank had of its node's processors, into the header: now and then, and at the end, so
 * that a killed rank's is there, too. */
#include "record/core.h"
#include "topo/usage.h"

#include <dirent.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

static stretto_usage begin;
static uint64_t noted_ns, noted_threads_ns, first_pages;

#define EVERY_NS 1000000000ull
#define THREADS_EVERY_NS (10 * EVERY_NS)

static uint64_t resident_pages(void) {
    char text[128];
    unsigned long long size, resident;
    return stretto_usage_read("/proc/self/statm", text, sizeof text) == 0 &&
                   sscanf(text, "%llu %llu", &size, &resident) == 2
               ? resident
               : 0;
}

static uint64_t most_pages(void) {
    struct rusage usage = {0};
    getrusage(RUSAGE_SELF, &usage);
    return (uint64_t)usage.ru_maxrss * 1024 / (uint64_t)sysconf(_SC_PAGESIZE);
}

/* The first access to a page and giving it back, each with what the kernel does for it. */
static double fault_ns(void) {
    enum { PAGES = 64, REPEATS = 5 };
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    double least = 0;
    for (int i = 0; i < REPEATS; i++) {
        struct timespec a, b;
        clock_gettime(CLOCK_MONOTONIC, &a);
        volatile char *memory =
            mmap(NULL, PAGES * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (memory == MAP_FAILED)
            return 0;
        madvise((void *)memory, PAGES * page, MADV_NOHUGEPAGE);
        for (size_t at = 0; at < PAGES; at++)
            memory[at * page] = 1;
        munmap((void *)memory, PAGES * page);
        clock_gettime(CLOCK_MONOTONIC, &b);
        const double each =
            (1e9 * (double)(b.tv_sec - a.tv_sec) + (double)(b.tv_nsec - a.tv_nsec)) / PAGES;
        least = i == 0 || each < least ? each : least;
    }
    return least;
}

/* Pages that were taken for the first time explain themselves. */
static void note_faults(stretto_raw_header *header, bool end) {
    enum { MANY = 1000 };
    const uint64_t most = most_pages();
    header->grown_pages = first_pages && most > first_pages ? most - first_pages : 0;
    if (end && first_pages && header->faults > header->grown_pages + MANY)
        header->fault_ns = fault_ns();
}

void stretto_usage_begin(void) {
    begin = stretto_usage_now();
    first_pages = resident_pages();
    noted_ns = noted_threads_ns = stretto_header->last.ns;
    stretto_header->core_wait_ns = STRETTO_USAGE_UNKNOWN;
    stretto_header->load = stretto_usage_load();
    stretto_header->cores = stretto_usage_cores();
}

/* Threads of the program and of its libraries that sleep do not count: an MPI has some. One that
 * wakes now and then waits long for a core where many want it, but computes little. */
static void note_threads(stretto_raw_header *header) {
    uint64_t wall = header->last.ns - header->first.ns;
    uint32_t busy = 0;
    cpu_set_t allowed, own;
    DIR *tasks = opendir("/proc/self/task");
    CPU_ZERO(&allowed);
    noted_threads_ns = header->last.ns;
    for (struct dirent *task; tasks && (task = readdir(tasks));) {
        char path[64], text[128];
        unsigned long long ran, waited;
        int tid = atoi(task->d_name);
        snprintf(path, sizeof path, "/proc/self/task/%d/schedstat", tid);
        if (tid <= 0 || stretto_usage_read(path, text, sizeof text) != 0 ||
            sscanf(text, "%llu %llu", &ran, &waited) != 2 || ran + waited < wall / 10 ||
            ran < wall / 100)
            continue;
        busy++;
        if (sched_getaffinity(tid, sizeof own, &own) == 0)
            CPU_OR(&allowed, &allowed, &own);
    }
    if (tasks)
        closedir(tasks);
    if (busy >= header->busy_threads) {
        header->busy_threads = busy;
        header->allowed_cores = (uint32_t)CPU_COUNT(&allowed);
    }
}

void stretto_usage_note(bool now) {
    stretto_raw_header *header = stretto_header;
    if (!now && header->last.ns - noted_ns < EVERY_NS)
        return;
    noted_ns = header->last.ns;
    stretto_usage used = stretto_usage_since(begin);
    header->cpu_ns = used.cpu_ns;
    header->core_wait_ns = used.core_wait_ns;
    header->involuntary = used.involuntary;
    header->faults = used.faults;
    note_faults(header, now);
    if (now || header->last.ns - noted_threads_ns >= THREADS_EVERY_NS)
        note_threads(header);
}
