/* Reads the command line, makes the file, measures all ways in turn. */
#include "io/io.h"
#include "p2p/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <time.h>
#include <unistd.h>

enum { ARGUMENTS = 5 };

static double now_s(void) {
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (double)ts.tv_sec + 1e-9 * (double)ts.tv_nsec;
}

static void make(io_job *job) {
    int fd = open(job->path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
    if (fd < 0 && errno == EEXIST) /* by an earlier launch, in a directory of ours */
        return;
    io_require(fd >= 0, "cannot be made", job->path);
    for (int64_t at = 0; at < job->bytes;) {
        int64_t n = job->bytes - at < IO_CHUNK ? job->bytes - at : IO_CHUNK;
        io_fill(job->buffer, n, at);
        for (int64_t done = 0; done < n;) {
            ssize_t moved = write(fd, job->buffer + done, (size_t)(n - done));
            io_require(moved > 0, "cannot be written", job->path);
            done += moved;
        }
        at += n;
    }
    io_require(fsync(fd) == 0 && close(fd) == 0, "cannot be written", job->path);
}

/* Rank 0 makes the file, or looks how long it is; the others take its word. */
static void begin(io_job *job, uint64_t *system) {
    struct stat facts = {0};
    struct statfs where = {0};
    if (job->rank == 0) {
        if (job->made)
            make(job);
        io_require(stat(job->path, &facts) == 0, "cannot be read", job->path);
        io_require(statfs(job->path, &where) == 0, "statfs", job->path);
    }
    int64_t words[3] = {facts.st_size, facts.st_uid, (int64_t)where.f_type};
    MPI_Bcast(words, 3, MPI_INT64_T, 0, job->comm);
    job->bytes = words[0];
    job->own = (uid_t)words[1] == geteuid();
    *system = (uint64_t)words[2];
    errno = 0;
    io_require(job->bytes > 0, "the file is empty", job->path);
    snprintf(job->out, sizeof job->out, "%s.out", job->path);
    snprintf(job->own_out, sizeof job->own_out, "%s.out.%d", job->path, job->rank);
}

static void remove_written(const io_job *job) {
    if (job->rank == 0)
        unlink(job->out);
    unlink(job->own_out);
}

/* One sample: cold where it can be, all ranks at once; it lasts until the last one is done. */
static void sample(io_job *job, const io_way *way) {
    double cached = -1, took, longest = 0;
    if (way->writes)
        remove_written(job);
    else
        io_drop(job);
    MPI_Barrier(job->comm);
    double mine = way->writes ? -1 : io_cached(job);
    MPI_Allreduce(&mine, &cached, 1, MPI_DOUBLE, MPI_MAX, job->comm);
    MPI_Barrier(job->comm);
    double began = now_s();
    way->run(job);
    took = now_s() - began;
    MPI_Allreduce(&took, &longest, 1, MPI_DOUBLE, MPI_MAX, job->comm);
    if (job->rank == 0) {
        printf("{\"kind\":\"sample\",\"way\":\"%s\",\"seconds\":%.9g,\"cached\":%.4g}\n", way->name,
               longest, cached);
        fflush(stdout);
    }
    if (way->writes)
        remove_written(job);
}

/* What an MPI does once in a process: it loads its parts for files, and connects ranks. */
static void warm_up(io_job *job) {
    MPI_File file;
    int n = job->bytes < IO_CHUNK ? (int)job->bytes : IO_CHUNK;
    MPI_Bcast(job->buffer, n, MPI_BYTE, 0, job->comm);
    if (MPI_File_open(job->comm, job->path, MPI_MODE_RDONLY, MPI_INFO_NULL, &file) == MPI_SUCCESS)
        MPI_File_close(&file);
}

static int run(io_job *job, int samples, double budget_s, const io_way **ways, int count) {
    uint64_t system = 0;
    char more[256];
    double began = now_s();
    bool cut = false;
    MPI_Comm_rank(MPI_COMM_WORLD, &job->rank);
    MPI_Comm_size(MPI_COMM_WORLD, &job->nranks);
    MPI_Comm_dup(MPI_COMM_WORLD, &job->comm);
    io_require((job->buffer = malloc(IO_CHUNK)) != NULL, "no memory", job->path);
    memset(job->buffer, 1, IO_CHUNK);
    begin(job, &system);
    snprintf(more, sizeof more, "\"bytes\":%lld,\"system\":%llu,\"own\":%s,", (long long)job->bytes,
             (unsigned long long)system, job->own ? "true" : "false");
    int failed = stretto_launch_line(stdout, job->comm, more) != 0;
    warm_up(job);
    for (int i = 0; i < samples * count && !failed && !cut; i++) {
        sample(job, ways[i % count]);
        int late = budget_s > 0 && now_s() - began > budget_s;
        MPI_Bcast(&late, 1, MPI_INT, 0, job->comm);
        cut = late && i + 1 < samples * count;
    }
    if (job->rank == 0)
        printf("{\"kind\":\"end\",\"cut\":%s}\n", cut ? "true" : "false");
    free(job->buffer);
    MPI_Comm_free(&job->comm);
    return failed;
}

int main(int argc, char **argv) {
    if (argc <= ARGUMENTS || strlen(argv[1]) > IO_PATH - 32) {
        fprintf(stderr, "usage: mpirun -n N stretto-io-F FILE BYTES SAMPLES BUDGET_S WAY... "
                        "(normally run by `stretto io`)\n");
        return 2;
    }
    io_job job = {.path = argv[1], .bytes = strtoll(argv[2], NULL, 10), .comm = MPI_COMM_NULL};
    job.made = job.bytes > 0;
    int samples = atoi(argv[3]), count = argc - ARGUMENTS;
    double budget_s = atof(argv[4]);
    const io_way **ways = calloc((size_t)count, sizeof(io_way *));
    for (int i = 0; i < count; i++)
        if (!ways || !(ways[i] = io_find(argv[ARGUMENTS + i]))) {
            fprintf(stderr, "stretto-io: not a way: %s\n", argv[ARGUMENTS + i]);
            return 2;
        }
    if (!stretto_launch_has_mpi("stretto-io"))
        return 1;
    if (MPI_Init(&argc, &argv) != MPI_SUCCESS) {
        fprintf(stderr, "stretto-io: MPI_Init failed\n");
        return 1;
    }
    int failed = run(&job, samples, budget_s, ways, count);
    free(ways);
    MPI_Finalize();
    return failed;
}
