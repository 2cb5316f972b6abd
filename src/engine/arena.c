/* The node's shared memory: one arena per node, made at Init and carved up among communicators.
 *
 * One mapping instead of a window per communicator, because a window costs 66-105 us each and
 * counts against the MPI's limits. It leaves no trace by construction: a memfd has no name (the
 * other ranks open it through /proc/PID/fd), and where that is refused a POSIX segment is unlinked
 * as soon as the node's ranks have opened it. A process can reach it only up to the furthest piece
 * that it used: where a program has locked its memory (mlockall), all that can be reached is there.
 * Every piece is backed with fallocate when it is handed out, so that a full memory is an answer
 * ("no") and never a SIGBUS in the application.
 *
 * A piece that all its users have left is kept with its memory for the next communicator of the
 * same kind, so that short-lived communicators cost neither system calls nor page faults. It is not
 * cleaned: its numbers go on (node.h, stretto_node_past). The node keeps no more than PLENTY so.
 */
#include "node/descriptor.h"
#include "engine/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23 /* Linux 5.14 */
#endif

enum { UNIT = 4096, PIECES = 2000, LOST = -1, LOCK_POLLS = 1000 };
#define HEADER_BYTES ((sizeof(arena_header) + 0xffff) & ~(size_t)0xffff)
static const uint64_t MAGIC = 0x5354524554544f31u; /* "STRETTO1" */

/* The arena behind its header is divided into pieces, up to `top`: every unit lies in one. */
typedef struct {
    int32_t users; /* number of ranks that use the piece; 0: free; LOST: never used again */
    uint32_t first, units;
    uint32_t times; /* that it was given memory: for stretto_arena_populate */
    bool backed;    /* has memory, as its last users left it */
    bool spoiled;   /* some of that is missing: to be given back when all have left */
    stretto_kind kind;
    stretto_node_past past;
} arena_piece;

/* At the start of the arena. All under the lock. */
typedef struct {
    uint64_t magic;
    _Atomic int lock;
    uint32_t units, top;
    uint32_t used, kept; /* units: in use; nobody's, with memory */
    uint32_t npieces;
    uint32_t recent;            /* the piece that was left last */
    arena_piece pieces[PIECES]; /* by place */
} arena_header;

static arena_header *arena;
static size_t arena_bytes;
static stretto_descriptor arena_file = STRETTO_NO_DESCRIPTOR;
static pthread_mutex_t opening = PTHREAD_MUTEX_INITIALIZER;
static _Atomic size_t opened; /* bytes from the start that this process can reach */

/* The lock is held for less than a microsecond. A rank that yields on a busy machine runs again
 * only after a time slice. The holder may have lost its core in the meantime. */
static void lock_arena(void) {
    int expected = 0;
    for (int polls = 1; !atomic_compare_exchange_weak_explicit(
             &arena->lock, &expected, 1, memory_order_acquire, memory_order_relaxed);
         polls++) {
        expected = 0;
        stretto_relax();
        if (polls % LOCK_POLLS == 0)
            sched_yield();
    }
}

static void unlock_arena(void) {
    atomic_store_explicit(&arena->lock, 0, memory_order_release);
}

enum { UNKNOWN = EPERM }; /* the smallest: any other says more */
static int why;           /* an error number of the rank that was not well, the same on all */

/* All of node_comm say whether they are well (0), or why not; true when all are. */
static bool all_well(int error) {
    int all = 0;
    if (PMPI_Allreduce(&error, &all, 1, MPI_INT, MPI_MAX, stretto_the_world.node_comm) !=
        MPI_SUCCESS)
        all = UNKNOWN;
    if (all)
        why = all;
    return !all;
}

/* The leader makes, the others open; name is "" for the memfd way. Collective over node_comm. */
static bool share(int fd, const char *name, size_t bytes) {
    stretto_world *w = &stretto_the_world;
    bool leader = w->node_rank == 0;
    int error = leader && fd < 0 ? errno : 0;
    struct rlimit limit;
    /* past `ulimit -f` a signal would end the application, not an error code */
    bool allowed = getrlimit(RLIMIT_FSIZE, &limit) == 0 &&
                   (limit.rlim_cur == RLIM_INFINITY || limit.rlim_cur >= bytes);
    if (leader && fd >= 0 && (!allowed || ftruncate(fd, (off_t)bytes))) {
        error = allowed ? errno : EFBIG;
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
        error = fd < 0 ? errno : 0;
    }
    void *memory = MAP_FAILED;
    if (fd >= 0)
        memory = mmap(NULL, bytes, PROT_NONE, MAP_SHARED, fd, 0);
    bool well = memory != MAP_FAILED && mprotect(memory, HEADER_BYTES, PROT_READ | PROT_WRITE) == 0;
    if (fd >= 0 && !well)
        error = errno;
    /* The same file, not another one that /proc/PID/fd/N happens to mean in another pid namespace.
     */
    uint64_t nonce = 0;
    if (leader && well) {
        struct timespec now;
        clock_gettime(CLOCK_REALTIME, &now);
        nonce = MAGIC ^ ((uint64_t)now.tv_nsec << 20) ^ (uint64_t)now.tv_sec ^ (uint64_t)getpid();
        error = posix_fallocate(fd, 0, HEADER_BYTES);
        if (!error)
            ((arena_header *)memory)->magic = nonce;
    }
    if (PMPI_Bcast(&nonce, 1, MPI_UINT64_T, 0, w->node_comm) != MPI_SUCCESS)
        nonce = 0;
    well = all_well(well && nonce && !error ? 0 : error ? error : UNKNOWN);
    struct stat st;
    if (well && !leader)
        well = fstat(fd, &st) == 0 && (size_t)st.st_size == bytes &&
               ((arena_header *)memory)->magic == nonce;
    well = all_well(well ? 0 : why ? why : UNKNOWN);
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
    atomic_store(&opened, HEADER_BYTES);
    return true;
}

bool stretto_arena_create(size_t bytes) {
    stretto_world *w = &stretto_the_world;
    bytes = (bytes + HEADER_BYTES - 1) / HEADER_BYTES * HEADER_BYTES;
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
                "no shared memory on this node (memfd and /dev/shm refused on one of its ranks or "
                "all: %s); choices that need it go to the MPI. Free some of /dev/shm, or raise the "
                "memory limit",
                strerror(why));
        return false;
    }
    if (leader) {
        arena->units = (uint32_t)(bytes / UNIT);
        arena->top = HEADER_BYTES / UNIT;
    }
    PMPI_Barrier(w->node_comm);
    return true;
}

void stretto_arena_destroy(void) {
    if (arena)
        munmap(arena, arena_bytes);
    stretto_descriptor_close(&arena_file);
    arena = NULL;
    atomic_store(&opened, 0);
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

/* Gives the pages back and leaves zeros; false when that cannot be done. */
static bool give_back(off_t offset, off_t bytes) {
    return stretto_descriptor_is_ours(&arena_file) &&
           fallocate(arena_file.fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, offset, bytes) == 0;
}

static off_t place_of(const arena_piece *p) {
    return (off_t)p->first * UNIT;
}

/* What lies in a piece is not to be found by users of another kind: zeros, without memory. Where
 * that cannot be, nobody gets it any more; and what is spoiled may have no memory to be written. */
static void clean(arena_piece *p) {
    const size_t bytes = (size_t)p->units * UNIT;
    if (!p->backed)
        return;
    if (!give_back(place_of(p), (off_t)bytes)) {
        if (p->spoiled || !stretto_arena_open(place_of(p), bytes))
            p->users = LOST;
        else
            memset((char *)arena + place_of(p), 0, bytes);
    }
    p->backed = p->spoiled = false;
    p->past = (stretto_node_past){0, 0};
}

static arena_piece *insert(uint32_t at) {
    memmove(&arena->pieces[at + 1], &arena->pieces[at],
            (arena->npieces - at) * sizeof *arena->pieces);
    arena->npieces++;
    arena->recent = 0;
    return &arena->pieces[at];
}

static void take_out(uint32_t at) {
    arena->npieces--;
    memmove(&arena->pieces[at], &arena->pieces[at + 1],
            (arena->npieces - at) * sizeof *arena->pieces);
    arena->recent = 0;
}

static bool is_like(const arena_piece *p, const stretto_kind *kind) {
    return p->users == 0 && p->backed && memcmp(&p->kind, kind, sizeof *kind) == 0;
}

/* One that was left by ranks of the same kind. */
static arena_piece *find_kept(const stretto_kind *kind) {
    if (arena->recent < arena->npieces && is_like(&arena->pieces[arena->recent], kind))
        return &arena->pieces[arena->recent];
    for (uint32_t i = 0; arena->kept && i < arena->npieces; i++)
        if (is_like(&arena->pieces[i], kind))
            return &arena->pieces[i];
    return NULL;
}

/* Of the front of a piece that is nobody's, or of what lies behind all pieces. */
static arena_piece *cut(uint32_t units) {
    for (uint32_t i = 0; i < arena->npieces; i++) {
        arena_piece *p = &arena->pieces[i];
        if (p->users || p->backed || p->units < units)
            continue;
        if (p->units > units && arena->npieces < PIECES) {
            arena_piece *rest = insert(i + 1);
            *rest = (arena_piece){.first = p->first + units, .units = p->units - units};
            p->units = units;
        }
        return p;
    }
    if (arena->npieces == PIECES || arena->units - arena->top < units)
        return NULL;
    arena_piece *p = &arena->pieces[arena->npieces++];
    *p = (arena_piece){.first = arena->top, .units = units};
    arena->top += units;
    return p;
}

/* Returns all free pieces to the system. Their space can then hold pieces of any size. */
static void give_up_kept(void) {
    for (uint32_t i = 0; i < arena->npieces; i++) {
        arena_piece *p = &arena->pieces[i], *before = i ? p - 1 : NULL;
        if (p->users)
            continue;
        clean(p);
        if (!p->users && before && !before->users) {
            before->units += p->units;
            take_out(i--);
        }
    }
    arena_piece *last = arena->npieces ? &arena->pieces[arena->npieces - 1] : NULL;
    if (last && !last->users) {
        arena->top = last->first;
        arena->npieces--;
    }
    arena->kept = 0;
}

/* With the lock. Binary search: pieces come and go, offsets stay. */
static arena_piece *piece_at(int64_t offset) {
    uint32_t low = 0, high = arena->npieces;
    while (high - low > 1) {
        const uint32_t middle = (low + high) / 2;
        if (place_of(&arena->pieces[middle]) <= offset)
            low = middle;
        else
            high = middle;
    }
    return &arena->pieces[low];
}

static bool back_new(off_t offset, off_t bytes) {
    if (back_with_memory(offset, bytes))
        return true;
    lock_arena();
    give_up_kept();
    unlock_arena();
    return back_with_memory(offset, bytes);
}

int64_t stretto_arena_allocate(size_t bytes, int users, const stretto_kind *kind, bool *kept) {
    if (!arena || bytes == 0)
        return -1;
    const uint32_t units = (uint32_t)((bytes + UNIT - 1) / UNIT);
    lock_arena();
    arena_piece *p = find_kept(kind);
    *kept = p != NULL;
    if (p) {
        arena->kept -= p->units;
    } else if (!(p = cut(units))) {
        give_up_kept();
        p = cut(units);
    }
    if (p) {
        p->users = users;
        p->kind = *kind;
        arena->used += p->units;
    }
    const off_t offset = p ? place_of(p) : -1;
    unlock_arena();
    if (!p || *kept)
        return offset;
    const bool well = back_new(offset, (off_t)units * UNIT);
    lock_arena();
    p = piece_at(offset); /* others may have come before it */
    p->backed = well;
    p->times++;
    if (!well) {
        p->users = 0;
        arena->used -= p->units;
    }
    unlock_arena();
    return well ? offset : -1;
}

stretto_node_past stretto_arena_past(int64_t offset) {
    lock_arena();
    const stretto_node_past past = piece_at(offset)->past;
    unlock_arena();
    return past;
}

/* Memory comes from the domain of whoever allocates it, which was the node's leader. No call about
 * memory policies, which containers often refuse: the pages are given back and allocated here. */
bool stretto_arena_bring_near(int64_t offset, size_t bytes) {
    const off_t page = (off_t)sysconf(_SC_PAGESIZE);
    off_t from = ((off_t)offset + page - 1) / page * page,
          to = ((off_t)offset + (off_t)bytes) / page * page;
    if (from >= to || !give_back(from, to - from))
        return true; /* it stays where it is */
    if (back_with_memory(from, to - from))
        return true;
    lock_arena();
    piece_at(offset)->spoiled = true;
    unlock_arena();
    return false;
}

void stretto_arena_populate(int64_t offset, size_t bytes) {
    static _Atomic uint32_t populated[PIECES]; /* by place: a hint, for this process */
    lock_arena();
    const uint32_t times = piece_at(offset)->times;
    unlock_arena();
    _Atomic uint32_t *mine = &populated[(uint64_t)offset / UNIT % PIECES];
    const uint32_t now = times * PIECES + (uint32_t)((uint64_t)offset / UNIT / PIECES) + 1;
    if (atomic_exchange_explicit(mine, now, memory_order_relaxed) != now)
        (void)madvise((char *)arena + offset, bytes, MADV_POPULATE_WRITE);
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
    const size_t page = (size_t)sysconf(_SC_PAGESIZE),
                 end = ((size_t)offset + bytes + page - 1) / page * page;
    pthread_mutex_lock(&opening);
    const size_t from = atomic_load(&opened);
    const bool well =
        end <= from || mprotect((char *)arena + from, end - from, PROT_READ | PROT_WRITE) == 0;
    if (well && end > from)
        atomic_store(&opened, end);
    pthread_mutex_unlock(&opening);
    return well;
}

int64_t stretto_arena_opened(void) {
    return arena ? (int64_t)atomic_load(&opened) : 0;
}

void stretto_arena_leave(int64_t offset, stretto_node_past past) {
    if (!arena || offset < 0)
        return;
    lock_arena();
    arena_piece *p = piece_at(offset);
    if (past.calls > p->past.calls)
        p->past.calls = past.calls;
    if (past.chunks > p->past.chunks)
        p->past.chunks = past.chunks;
    if (--p->users == 0) {
        arena->used -= p->units;
        if (p->spoiled || (size_t)(arena->kept + p->units) * UNIT > STRETTO_ARENA_PLENTY) {
            clean(p);
        } else {
            arena->kept += p->units;
            arena->recent = (uint32_t)(p - arena->pieces);
        }
    }
    unlock_arena();
}
