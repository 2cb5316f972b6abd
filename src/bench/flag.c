/* How far apart the cores of two ranks are while they are timed: the delay of a flag. The cores of
 * a virtual machine move (on Zen 3 between 60 and 270 ns within seconds), and every time of a node
 * collective moves with them. */
#include "bench/bench.h"
#include "cores/flag.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { BATCHES = 3, TRIPS = 40 };
/* Two delays that differ by more than this factor: the cores moved. */
#define MOVED 1.5

/* What rank 0 has made, and what it tells rank 1 of it. */
typedef struct {
    stretto_flags flags;
    uint64_t key; /* rank 1 writes into no file without it */
} shared;
typedef struct {
    char path[64];
    uint64_t key;
} offer;

static stretto_flags *mapped(int fd) {
    void *map =
        fd < 0 ? MAP_FAILED : mmap(NULL, sizeof(shared), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    return map == MAP_FAILED ? NULL : map;
}

static int make(offer *mine) {
    const int fd = memfd_create("stretto-flag", MFD_CLOEXEC);
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    mine->key = ((uint64_t)now.tv_nsec << 32 ^ (uint64_t)now.tv_sec << 20 ^ (uint64_t)getpid()) | 1;
    snprintf(mine->path, sizeof mine->path, "/proc/%ld/fd/%d", (long)getpid(), fd);
    const shared fresh = {.key = mine->key};
    if (fd >= 0 && write(fd, &fresh, sizeof fresh) == (ssize_t)sizeof fresh)
        return fd;
    if (fd >= 0)
        close(fd);
    return -1;
}

/* In containers of their own the ranks may see other processes by the same number. */
static int take(const offer *theirs) {
    shared found;
    int fd = open(theirs->path, O_RDONLY | O_CLOEXEC);
    const bool same = fd >= 0 && lseek(fd, 0, SEEK_END) == (off_t)sizeof found &&
                      pread(fd, &found, sizeof found, 0) == (ssize_t)sizeof found &&
                      found.key == theirs->key;
    if (fd >= 0)
        close(fd);
    return same ? open(theirs->path, O_RDWR | O_CLOEXEC) : -1;
}

int stretto_bench_flag_open(stretto_bench *bench) {
    bool failed = bench->nranks != 2 || stretto_bench_clock_nodes(bench->clock) != 1;
    if (failed || bench->job->yield) /* the same on both */
        return MPI_SUCCESS;
    offer where = {"", 0}; /* of memory without a name, so that a kill leaves nothing */
    int fd = bench->rank == 0 ? make(&where) : -1;
    int rc = stretto_bench_control_bcast(&where, sizeof where, 0, bench->control);
    if (rc == MPI_SUCCESS && bench->rank == 1)
        fd = take(&where);
    bench->flags = mapped(fd);
    if (rc == MPI_SUCCESS)
        rc = stretto_bench_control_any(!bench->flags, &failed, bench->control);
    if (fd >= 0)
        close(fd);
    if (rc != MPI_SUCCESS || failed)
        stretto_bench_flag_close(bench); /* times without it */
    return rc;
}

void stretto_bench_flag_close(stretto_bench *bench) {
    if (bench->flags)
        munmap(bench->flags, sizeof(shared));
    bench->flags = NULL;
}

double stretto_bench_flag_since(stretto_bench *bench) {
    if (!bench->flags)
        return 0;
    double now =
        1e9 * stretto_flag_trip(bench->flags, bench->rank, &bench->flag_count, BATCHES, TRIPS);
    double before = bench->flag_ns;
    bench->flag_ns = now;
    return before < MOVED * now && now < MOVED * before ? (before + now) / 2 : 0;
}
