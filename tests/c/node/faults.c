/* Faults in process_vm_readv, process_vm_writev and XPMEM for node_test --direct MODE:
 *   cma       none
 *   eperm     refused from the first call on (seccomp, ptrace scope)
 *   late      EFAULT after a random number of calls, on one rank only, then all right again
 *   short     transfers stop half way at random places and go on when asked again
 *   shortfail transfers move half and the next call fails with ESRCH
 *   attach    XPMEM, without faults
 *   attachno  one rank is refused every attachment
 *   attachlate one rank is refused one after a random number of them
 *   attachhole that one is granted, but has no pages behind it
 * Each rank's faults come from its own random numbers, so that ranks fail at different places.
 */
#include "tests/c/node/harness.h"
#include "node/remote.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static _Thread_local unsigned random_state = 1;
static _Thread_local int countdown = -1;
static const char *mode = "cma";

static unsigned random_number(void) {
    random_state = random_state * 1664525u + 1013904223u;
    return random_state >> 8;
}

static ssize_t faulty(stretto_vm_fn fn, pid_t pid, const struct iovec *local, unsigned long nlocal,
                      const struct iovec *remote, unsigned long nremote, unsigned long flags) {
    struct iovec l = *local, r = *remote;
    bool partial = !strncmp(mode, "short", 5) && l.iov_len > 1 && random_number() % 3 == 0;
    if (!strcmp(mode, "eperm")) {
        errno = EPERM;
        return -1;
    }
    if (countdown > 0 && --countdown == 0) {
        errno = !strcmp(mode, "late") ? EFAULT : ESRCH;
        return -1;
    }
    if (partial)
        l.iov_len = r.iov_len = 1 + random_number() % (unsigned)(l.iov_len - 1);
    return fn(pid, &l, nlocal, &r, nremote, flags);
}

static ssize_t faulty_read(pid_t pid, const struct iovec *local, unsigned long nlocal,
                           const struct iovec *remote, unsigned long nremote, unsigned long flags) {
    return faulty(process_vm_readv, pid, local, nlocal, remote, nremote, flags);
}

static ssize_t faulty_write(pid_t pid, const struct iovec *local, unsigned long nlocal,
                            const struct iovec *remote, unsigned long nremote,
                            unsigned long flags) {
    return faulty(process_vm_writev, pid, local, nlocal, remote, nremote, flags);
}

static int version(void) {
    return 0x00026005;
}

static int64_t make(void *address, size_t bytes, int permit_type, void *permit) {
    return !address && bytes == SIZE_MAX && permit_type == 1 && permit ? 77 : -1;
}

static int64_t get(int64_t segid, int flags, int permit_type, void *permit) {
    return segid == 77 && flags == 2 && permit_type == 1 && !permit ? 99 : -1;
}

static int done(int64_t id) {
    (void)id;
    return 0;
}

/* Ranks have their buffers at the same addresses: the memory already exists. */
static void *attach(stretto_xpmem_address from, size_t bytes, void *at) {
    if (from.apid != 99 || at || bytes % 4096 || from.offset % 4096)
        abort();
    if (countdown > 0 && --countdown == 0) {
        if (strcmp(mode, "attachhole"))
            return (void *)-1;
        return mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    }
    if (countdown == 0 && !strcmp(mode, "attachno"))
        return (void *)-1;
    return (void *)(uintptr_t)from.offset;
}

static int detach(void *at) {
    return at ? 0 : -1;
}

bool faults_attach(void) {
    return !strncmp(mode, "attach", 6);
}

/* Before the ranks start: the hooks are one for all threads. */
void faults_install(const char *name) {
    mode = name;
    stretto_vm_readv = faulty_read;
    stretto_vm_writev = faulty_write;
    stretto_xpmem = (stretto_xpmem_library){version, make, done, get, done, attach, detach};
}

void faults_begin(int rank, int ranks, uint64_t seed) {
    random_state = (unsigned)(seed * 1000 + (unsigned)rank);
    random_number();
    bool fails = !strcmp(mode, "late") || !strcmp(mode, "shortfail") ||
                 (faults_attach() && strcmp(mode, "attach"));
    countdown = -1;
    if (fails && (uint64_t)rank == seed % (uint64_t)ranks)
        countdown = !strcmp(mode, "attachno") ? 1 : 1 + (int)(random_number() % 12);
}
