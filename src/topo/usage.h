/* What a process had of its node: CPU time, time on the run queue without a processor, involuntary
 * context switches, page faults, and the node's load. Where wall time is more than CPU time, the
 * time on the run queue tells a busy machine from a rank that slept. libc and /proc only. */
#ifndef STRETTO_TOPO_USAGE_H
#define STRETTO_TOPO_USAGE_H

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

/* core_wait_ns where the kernel does not say */
#define STRETTO_USAGE_UNKNOWN UINT64_MAX

typedef struct {
    uint64_t cpu_ns;       /* user and system, of all threads */
    uint64_t core_wait_ns; /* of the first thread: runnable, and another one had its processor */
    uint64_t involuntary;  /* context switches of all threads */
    uint64_t faults;       /* page faults without reading a disk, of all threads */
} stretto_usage;

/* A descriptor that stayed open would be one that the program does not know of. */
static inline int stretto_usage_read(const char *path, char *text, size_t size) {
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd >= 0 ? read(fd, text, size - 1) : -1;
    if (fd >= 0)
        close(fd);
    text[n > 0 ? n : 0] = '\0';
    return n > 0 ? 0 : -1;
}

static inline uint64_t stretto_usage_ns(struct timeval time) {
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_usec * 1000u;
}

static inline stretto_usage stretto_usage_now(void) {
    struct rusage usage = {0};
    char text[128];
    unsigned long long ran, waited;
    getrusage(RUSAGE_SELF, &usage);
    stretto_usage now = {stretto_usage_ns(usage.ru_utime) + stretto_usage_ns(usage.ru_stime),
                         STRETTO_USAGE_UNKNOWN, (uint64_t)usage.ru_nivcsw,
                         (uint64_t)usage.ru_minflt};
    if (stretto_usage_read("/proc/self/schedstat", text, sizeof text) == 0 &&
        sscanf(text, "%llu %llu", &ran, &waited) == 2)
        now.core_wait_ns = waited;
    return now;
}

static inline stretto_usage stretto_usage_since(stretto_usage then) {
    stretto_usage now = stretto_usage_now();
    now.cpu_ns -= then.cpu_ns;
    now.involuntary -= then.involuntary;
    now.faults -= then.faults;
    if (now.core_wait_ns != STRETTO_USAGE_UNKNOWN && then.core_wait_ns != STRETTO_USAGE_UNKNOWN)
        now.core_wait_ns -= then.core_wait_ns;
    else
        now.core_wait_ns = STRETTO_USAGE_UNKNOWN;
    return now;
}

/* The node's load average of the last minute; negative: the kernel does not say. */
static inline double stretto_usage_load(void) {
    char text[128];
    double load;
    if (stretto_usage_read("/proc/loadavg", text, sizeof text) == 0 &&
        sscanf(text, "%lf", &load) == 1)
        return load;
    return -1;
}

static inline int stretto_usage_cores(void) {
    return (int)sysconf(_SC_NPROCESSORS_ONLN);
}

#endif
