/* Preloaded beside Stretto: a machine without memfd (REFUSE=memfd), without shared memory of either
 * kind (REFUSE=shm), with no memory left behind it (REFUSE=pages), or without reads of other
 * processes (REFUSE=cma). On rank 1 alone: no mapping of shared memory (REFUSE=map), or now and
 * then no further part of it (REFUSE=reach).
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>

static int refused(const char *what) {
    const char *words = getenv("REFUSE");
    return words && strstr(words, what);
}

static int on_rank_1(void) {
    const char *rank = getenv("OMPI_COMM_WORLD_RANK");
    return rank && !strcmp(rank, "1");
}

static char *reserved; /* address space that is mapped, and to be opened part by part */
static size_t reserved_bytes;

void *mmap(void *at, size_t bytes, int protection, int flags, int fd, off_t offset) {
    void *(*next)(void *, size_t, int, int, int, off_t) =
        (void *(*)(void *, size_t, int, int, int, off_t))dlsym(RTLD_NEXT, "mmap");
    if (protection != PROT_NONE || !(flags & MAP_SHARED) || !on_rank_1())
        return next(at, bytes, protection, flags, fd, offset);
    if (refused("map")) {
        errno = ENOMEM;
        return MAP_FAILED;
    }
    reserved = next(at, bytes, protection, flags, fd, offset);
    reserved_bytes = bytes;
    return reserved;
}

int mprotect(void *at, size_t bytes, int protection) {
    static int times;
    int (*next)(void *, size_t, int) = (int (*)(void *, size_t, int))dlsym(RTLD_NEXT, "mprotect");
    if (refused("reach") && (char *)at > reserved && (char *)at < reserved + reserved_bytes &&
        times++ % 3 != 1) {
        errno = ENOMEM;
        return -1;
    }
    return next(at, bytes, protection);
}

int memfd_create(const char *name, unsigned flags) {
    int (*next)(const char *, unsigned) =
        (int (*)(const char *, unsigned))dlsym(RTLD_NEXT, "memfd_create");
    if (!strcmp(name, "stretto") && (refused("memfd") || refused("shm"))) {
        errno = ENOSYS;
        return -1;
    }
    return next(name, flags);
}

int shm_open(const char *name, int flags, mode_t mode) {
    int (*next)(const char *, int, mode_t) =
        (int (*)(const char *, int, mode_t))dlsym(RTLD_NEXT, "shm_open");
    if (strstr(name, "stretto") && refused("shm")) {
        errno = ENOSPC;
        return -1;
    }
    return next(name, flags, mode);
}

int posix_fallocate(int fd, off_t offset, off_t length) {
    int (*next)(int, off_t, off_t) =
        (int (*)(int, off_t, off_t))dlsym(RTLD_NEXT, "posix_fallocate");
    if (refused("pages") && offset > 0)
        return ENOSPC;
    return next(fd, offset, length);
}

ssize_t process_vm_readv(pid_t pid, const struct iovec *local, unsigned long nlocal,
                         const struct iovec *remote, unsigned long nremote, unsigned long flags) {
    ssize_t (*next)(pid_t, const struct iovec *, unsigned long, const struct iovec *, unsigned long,
                    unsigned long) =
        (ssize_t(*)(pid_t, const struct iovec *, unsigned long, const struct iovec *, unsigned long,
                    unsigned long))dlsym(RTLD_NEXT, "process_vm_readv");
    if (refused("cma")) {
        errno = EPERM;
        return -1;
    }
    return next(pid, local, nlocal, remote, nremote, flags);
}
