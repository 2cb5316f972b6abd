/* How far apart the cores of two ranks are while they are timed: the delay of a flag. The cores of
 * a virtual machine move (on Zen 3 between 60 and 270 ns within seconds), and every time of a node
 * collective moves with them. */
#include "bench/bench.h"
#include "cores/flag.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

enum { BATCHES = 3, TRIPS = 40 };
/* Two delays that differ by more than this factor: the cores moved. */
#define MOVED 1.5

static stretto_flags *mapped(int fd) {
    void *map = fd < 0
                    ? MAP_FAILED
                    : mmap(NULL, sizeof(stretto_flags), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    return map == MAP_FAILED ? NULL : map;
}

int stretto_bench_flag_open(stretto_bench *bench) {
    bool failed = bench->nranks != 2 || stretto_bench_clock_nodes(bench->clock) != 1;
    if (failed || bench->job->yield) /* the same on both */
        return MPI_SUCCESS;
    int fd = bench->rank == 0 ? memfd_create("stretto-flag", MFD_CLOEXEC) : -1;
    char path[64]; /* of memory without a name, so that a kill leaves nothing */
    snprintf(path, sizeof path, "/proc/%ld/fd/%d", (long)getpid(), fd);
    if (fd >= 0 && ftruncate(fd, sizeof(stretto_flags)) == 0)
        bench->flags = mapped(fd);
    int rc = stretto_bench_control_bcast(path, sizeof path, 0, bench->control);
    if (rc == MPI_SUCCESS && bench->rank == 1)
        bench->flags = mapped(fd = open(path, O_RDWR | O_CLOEXEC));
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
        munmap(bench->flags, sizeof *bench->flags);
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
