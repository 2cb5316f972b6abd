/* The node's shared memory: one arena per node, made at Init and carved up among communicators.
 *
 * One mapping instead of a window per communicator, because a window costs 66-105 us each and
 * counts against the MPI's limits. It leaves no trace by construction: a memfd has no name (the
 * other ranks open it through /proc/PID/fd), and where that is refused a POSIX segment is unlinked
 * as soon as the node's ranks have opened it. A process can reach the pieces that it uses only:
 * where a program has locked its memory (mlockall), all that can be reached is there. Pages appear
 * when touched; every piece is backed with fallocate when it is handed out, so that a full memory
 * is an answer ("no") and never a SIGBUS in the application.
 */
#include "node/descriptor.h"
#include "run/engine.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { UNIT = 64 * 1024, HEADER_UNITS = 2 };
static const uint64_t MAGIC = 0x5354524554544f31u; /* "STRETTO1" */

/* At the start of the arena. One entry of `users` per unit: 0 = free, n > 0 = first unit of a piece
 * with n ranks in it, -1 = a further unit of the piece before it, -2 = first unit of a piece being
 * cleaned. */
typedef struct {
    uint64_t magic;
    _Atomic int lock;
    uint32_t units;
    uint32_t used; /* units, under the lock */
    _Atomic int32_t users[];
} arena_header;

static arena_header *arena;
static size_t arena_bytes;
static stretto_descriptor arena_file = STRETTO_NO_DESCRIPTOR;

static void lock_arena(void) {
    int expected = 0;
    while (!atomic_compare_exchange_weak_explicit(&arena->lock, &expected, 1, memory_order_acquire,
                                                  memory_order_relaxed)) {
        expected = 0;
        sched_yield();
    }
}

static void unlock_arena(void) {
    atomic_store_explicit(&arena->lock, 0, memory_order_release);
}

/* All of node_comm say whether they are well; true when all are. */
static bool all_well(bool well) {
    int mine = well, all = 0;
    int rc = PMPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_MIN, stretto_the_world.node_comm);
    return rc == MPI_SUCCESS && all;
}

/* The leader makes, the others open; name is "" for the memfd way. Collective over node_comm. */
static bool share(int fd, const char *name, size_t bytes) {
    stretto_world *w = &stretto_the_world;
    bool leader = w->node_rank == 0;
    struct rlimit limit;
    /* past `ulimit -f` a signal would end the application, not an error code */
    bool allowed = getrlimit(RLIMIT_FSIZE, &limit) == 0 &&
                   (limit.rlim_cur == RLIM_INFINITY || limit.rlim_cur >= bytes);
    if (leader && fd >= 0 && (!allowed || ftruncate(fd, (off_t)bytes))) {
        close(fd);
        fd = -1;
    }
    /* Where a peer finds it: a path to open. */
    char path[128] = "";
    if (leader && fd >= 0) {
        if (*name)
            snprintf(path, sizeof path, "%s", name);
        else
            snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)getpid(), fd);
    }
    if (PMPI_Bcast(path, (int)sizeof path, MPI_CHAR, 0, w->node_comm) != MPI_SUCCESS)
        path[0] = 0;
    if (!leader && *path) {
        fd = strncmp(path, "/proc/", 6) == 0 ? open(path, O_RDWR | O_CLOEXEC)
                                             : shm_open(path, O_RDWR, 0600);
    }
    void *memory = MAP_FAILED;
    if (fd >= 0)
        memory = mmap(NULL, bytes, PROT_NONE, MAP_SHARED, fd, 0);
    bool well =
        memory != MAP_FAILED && mprotect(memory, HEADER_UNITS * UNIT, PROT_READ | PROT_WRITE) == 0;
    /* The same file, not another one that /proc/PID/fd/N happens to mean in another pid namespace.
     */
    uint64_t nonce = 0;
    if (leader && well) {
        struct timespec now;
        clock_gettime(CLOCK_REALTIME, &now);
        nonce = MAGIC ^ ((uint64_t)now.tv_nsec << 20) ^ (uint64_t)now.tv_sec ^ (uint64_t)getpid();
        if (posix_fallocate(fd, 0, HEADER_UNITS * UNIT) == 0)
            ((arena_header *)memory)->magic = nonce;
        else
            well = false;
    }
    if (PMPI_Bcast(&nonce, 1, MPI_UINT64_T, 0, w->node_comm) != MPI_SUCCESS)
        well = false;
    if (!all_well(well) || nonce == 0) {
        well = false;
    } else if (!leader) {
        struct stat st;
        well = fstat(fd, &st) == 0 && (size_t)st.st_size == bytes &&
               ((arena_header *)memory)->magic == nonce;
    }
    well = all_well(well);
    if (leader && *name)
        shm_unlink(name); /* everybody who will ever open it has */
    if (!well) {
        if (memory != MAP_FAILED)
            munmap(memory, bytes);
        if (fd >= 0)
            close(fd);
        return false;
    }
    arena = memory;
    arena_file = stretto_descriptor_of(fd);
    arena_bytes = bytes;
    return true;
}

bool stretto_arena_create(size_t bytes) {
    stretto_world *w = &stretto_the_world;
    bytes = (bytes + UNIT - 1) / UNIT * UNIT;
    size_t limit = (size_t)UNIT * ((HEADER_UNITS * UNIT - sizeof(arena_header)) / sizeof(int32_t));
    if (bytes > limit)
        bytes = limit;
    char name[64] = "";
    bool leader = w->node_rank == 0;
    int fd = leader ? memfd_create("stretto", MFD_CLOEXEC) : -1;
    bool made = share(fd, name, bytes);
    if (!made) {
        struct timespec now;
        clock_gettime(CLOCK_REALTIME, &now);
        snprintf(name, sizeof name, "/stretto-%d-%lx", (int)getpid(), (long)now.tv_nsec);
        fd = leader ? shm_open(name, O_RDWR | O_CREAT | O_EXCL, 0600) : -1;
        made = share(fd, name, bytes);
    }
    if (!made) {
        if (leader)
            stretto_say(
                "no shared memory on this node (memfd and /dev/shm refused: %s); choices that "
                "need it go to the MPI. Free some of /dev/shm, or raise the memory limit",
                strerror(errno));
        return false;
    }
    if (leader) {
        arena->units = (uint32_t)(bytes / UNIT);
        for (int i = 0; i < HEADER_UNITS; i++)
            arena->users[i] = -1;
    }
    PMPI_Barrier(w->node_comm);
    return true;
}

void stretto_arena_destroy(void) {
    if (arena)
        munmap(arena, arena_bytes);
    stretto_descriptor_close(&arena_file);
    arena = NULL;
}

/* In steps short enough that a profiling timer's signal does not interrupt each try. */
static bool back_with_memory(off_t offset, off_t bytes) {
    const off_t step = 1 << 20;
    if (!stretto_descriptor_is_ours(&arena_file))
        return false;
    for (off_t done = 0; done < bytes;) {
        off_t part = bytes - done < step ? bytes - done : step;
        int rc = posix_fallocate(arena_file.fd, offset + done, part);
        if (rc && rc != EINTR)
            return false;
        if (!rc)
            done += part;
    }
    return true;
}

int64_t stretto_arena_allocate(size_t bytes, int users) {
    if (!arena || bytes == 0)
        return -1;
    uint32_t want = (uint32_t)((bytes + UNIT - 1) / UNIT), run = 0, first = 0;
    lock_arena();
    for (uint32_t i = HEADER_UNITS; i < arena->units && run < want; i++) {
        if (arena->users[i] != 0)
            run = 0;
        else if (run++ == 0)
            first = i;
    }
    if (run == want) {
        arena->users[first] = users;
        for (uint32_t i = 1; i < want; i++)
            arena->users[first + i] = -1;
        arena->used += want;
    }
    unlock_arena();
    if (run < want)
        return -1;
    off_t offset = (off_t)first * UNIT;
    if (!back_with_memory(offset, (off_t)want * UNIT)) {
        lock_arena();
        for (uint32_t i = 0; i < want; i++)
            arena->users[first + i] = 0;
        arena->used -= want;
        unlock_arena();
        return -1;
    }
    return offset;
}

/* Gives the pages back and leaves zeros; false when that cannot be done. */
static bool give_back(off_t offset, off_t bytes) {
    return stretto_descriptor_is_ours(&arena_file) &&
           fallocate(arena_file.fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, offset, bytes) == 0;
}

/* Memory comes from the domain of whoever allocates it, which was the node's leader. No call about
 * memory policies, which containers often refuse: the pages are given back and allocated here. */
bool stretto_arena_bring_near(int64_t offset, size_t bytes) {
    const off_t page = (off_t)sysconf(_SC_PAGESIZE);
    off_t from = ((off_t)offset + page - 1) / page * page,
          to = ((off_t)offset + (off_t)bytes) / page * page;
    if (from >= to || !give_back(from, to - from))
        return true; /* it stays where it is */
    return back_with_memory(from, to - from);
}

size_t stretto_arena_used(void) {
    if (!arena)
        return 0;
    lock_arena();
    size_t used = (size_t)arena->used * UNIT;
    unlock_arena();
    return used;
}

void *stretto_arena_at(int64_t offset) {
    return (char *)arena + offset;
}

bool stretto_arena_open(int64_t offset, size_t bytes) {
    const size_t units = (bytes + UNIT - 1) / UNIT;
    return mprotect((char *)arena + offset, units * UNIT, PROT_READ | PROT_WRITE) == 0;
}

void stretto_arena_leave(int64_t offset) {
    if (!arena || offset < 0)
        return;
    uint32_t first = (uint32_t)(offset / UNIT), n = 1;
    lock_arena();
    if (--arena->users[first] == 0) {
        arena->users[first] = -2; /* not to be had until it is clean again */
        while (first + n < arena->units && arena->users[first + n] == -1)
            n++;
        unlock_arena();
        if (!give_back(offset, (off_t)n * UNIT) && /* the next user relies on zeros */
            stretto_arena_open(offset, (size_t)n * UNIT))
            memset((char *)arena + offset, 0, (size_t)n * UNIT);
        lock_arena();
        for (uint32_t i = 0; i < n; i++)
            arena->users[first + i] = 0;
        arena->used -= n;
    }
    unlock_arena();
}
