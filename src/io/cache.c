/* The page cache of this node: what of the file it holds, and taking the file out of it. What disks
 * and file servers hold cannot be seen from here. */
#include "io/io.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SLICE = 1 << 30 };

void io_drop(const io_job *job) {
    int fd = job->own ? open(job->path, O_RDONLY | O_CLOEXEC) : -1;
    if (fd < 0)
        return;
    fsync(fd); /* pages that are not written yet stay */
    posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
    close(fd);
}

static int64_t resident(int fd, int64_t from, int64_t bytes, int64_t page) {
    size_t pages = (size_t)((bytes + page - 1) / page);
    int64_t found = -1;
    unsigned char *held = malloc(pages);
    void *mapped = mmap(NULL, (size_t)bytes, PROT_READ, MAP_SHARED, fd, from);
    if (held && mapped != MAP_FAILED && mincore(mapped, (size_t)bytes, held) == 0) {
        found = 0;
        for (size_t i = 0; i < pages; i++)
            found += held[i] & 1;
    }
    if (mapped != MAP_FAILED)
        munmap(mapped, (size_t)bytes);
    free(held);
    return found;
}

double io_cached(const io_job *job) {
    int64_t page = sysconf(_SC_PAGESIZE), sum = 0;
    /* of files that one may not write the kernel says that all of it is there */
    int fd = job->own || access(job->path, W_OK) == 0 ? open(job->path, O_RDONLY | O_CLOEXEC) : -1;
    if (fd < 0)
        return -1;
    for (int64_t at = 0; at < job->bytes; at += SLICE) {
        int64_t n = job->bytes - at < SLICE ? job->bytes - at : SLICE;
        int64_t found = resident(fd, at, n, page);
        if (found < 0) {
            close(fd);
            return -1;
        }
        sum += found;
    }
    close(fd);
    return (double)sum / (double)((job->bytes + page - 1) / page);
}
