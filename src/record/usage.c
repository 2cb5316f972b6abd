/* What the rank had of its node's processors, into the header: now and then, and at the end, so
 * that a killed rank's is there, too. */
#include "record/core.h"
#include "topo/usage.h"

#include <dirent.h>
#include <sched.h>
#include <stdlib.h>

static stretto_usage begin;
static uint64_t noted_ns, noted_threads_ns;

#define EVERY_NS 1000000000ull
#define THREADS_EVERY_NS (10 * EVERY_NS)

void stretto_usage_begin(void) {
    begin = stretto_usage_now();
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
    if (now || header->last.ns - noted_threads_ns >= THREADS_EVERY_NS)
        note_threads(header);
}
