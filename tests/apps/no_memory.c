/* Preloaded beside Stretto: a machine without memfd (REFUSE=memfd), without shared memory of either
 * kind (REFUSE=shm), with no memory left behind it (REFUSE=pages), or without reads of other
 * processes (REFUSE=cma).
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
