/* A stand-in for libxpmem.so.0 where there is no kernel module: the seven functions of its
 * interface, across processes, sharing real memory. To be preloaded into the ranks of a job.
 *
 * What it shares is its own heap: allocations of 32 KiB and more come from a memfd, which another
 * process opens by the segment's number (pid and descriptor) and maps. Reading through an
 * attachment is thus reading the owner's pages, also after the owner freed the block and got the
 * same addresses again with other contents. What lies elsewhere (stack, small blocks) cannot be
 * attached here; the real one could.
 *
 * XPMEM_FAULT on the rank XPMEM_FAULT_RANK (default: all): version (an old one), foreign (another
 * major one), make, get, attach (refused), late (refused from the fourth on), hole (granted without
 * pages). At exit a line of counts is appended to XPMEM_LOG.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* glibc's own */
void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t n, size_t bytes);
void *__libc_realloc(void *block, size_t bytes);
void *__libc_memalign(size_t alignment, size_t bytes);
void __libc_free(void *block);

enum { UNIT = 1 << 16, UNITS = 1 << 16, CLASSES = 17, FIRST_UNIT = 32, LARGE = 32 << 10 };
static const size_t POOL = (size_t)UNIT * UNITS;
static const uint64_t MAGIC = 0x6d656d7078206121u;

typedef struct {
    uint64_t magic, base;
} header; /* at the start of the pool */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned char *pool;
static int pool_fd = -1, closed; /* closed: a child process, which leaves the pool alone */
static uint32_t used = FIRST_UNIT, start_of[UNITS], next_free[UNITS], free_list[CLASSES];
static unsigned char class_of[UNITS];
static int attached, detached, got, released, made, removed, late;

static void child(void) {
    closed = 1;
    pthread_mutex_init(&lock, NULL);
}

static int pool_there(void) {
    if (pool || closed)
        return !closed;
    int fd = memfd_create("xpmem-stand-in", MFD_CLOEXEC);
    if (fd < 0 || ftruncate(fd, (off_t)POOL))
        return 0;
    unsigned char *room =
        mmap(NULL, POOL + (2 << 20), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (room == MAP_FAILED)
        return 0;
    room += -(uintptr_t)room & ((2 << 20) - 1);
    if (mmap(room, POOL, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED | MAP_NORESERVE, fd, 0) ==
        MAP_FAILED)
        return 0;
    *(header *)room = (header){MAGIC, (uintptr_t)room};
    pool_fd = fd;
    pool = room;
    pthread_atfork(NULL, NULL, child);
    return 1;
}

static int in_pool(const void *block) {
    const unsigned char *p = block;
    return pool && p >= pool && p < pool + POOL;
}

static void *take(size_t bytes, size_t alignment) {
    unsigned char *block = NULL;
    int class = 0;
    pthread_mutex_lock(&lock);
    while (class < CLASSES && (size_t)UNIT << class < bytes + alignment)
        class ++;
    if (class < CLASSES && pool_there()) {
        uint32_t unit = free_list[class];
        if (unit) {
            free_list[class] = next_free[unit];
        } else if (used + (1u << class) <= UNITS) {
            unit = used;
            used += 1u << class;
            class_of[unit] = (unsigned char)class;
            for (uint32_t i = 0; i < 1u << class; i++)
                start_of[unit + i] = unit;
        }
        if (unit) /* aligned as asked for, and odd enough to be no page of its own */
            block = pool + (size_t)unit * UNIT + (alignment > 64 ? alignment : 64);
    }
    pthread_mutex_unlock(&lock);
    return block;
}

static size_t room_of(const void *block) {
    uint32_t unit = start_of[(size_t)((const unsigned char *)block - pool) / UNIT];
    const unsigned char *end = pool + (size_t)unit * UNIT + ((size_t)UNIT << class_of[unit]);
    return (size_t)(end - (const unsigned char *)block);
}

static void give_back(const void *block) {
    if (closed)
        return;
    pthread_mutex_lock(&lock);
    uint32_t unit = start_of[(size_t)((const unsigned char *)block - pool) / UNIT];
    int class = class_of[unit];
    if (class >= 2) /* as unmapped memory would: other pages at the same address */
        fallocate(pool_fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)unit * UNIT,
                  (off_t)UNIT << class);
    next_free[unit] = free_list[class];
    free_list[class] = unit;
    pthread_mutex_unlock(&lock);
}

void *malloc(size_t bytes) {
    void *block = bytes >= LARGE ? take(bytes, 64) : NULL;
    return block ? block : __libc_malloc(bytes);
}

void *calloc(size_t n, size_t bytes) {
    size_t all;
    void *block = NULL;
    if (!__builtin_mul_overflow(n, bytes, &all) && all >= LARGE)
        block = take(all, 64);
    return block ? memset(block, 0, all) : __libc_calloc(n, bytes);
}

void free(void *block) {
    if (in_pool(block))
        give_back(block);
    else
        __libc_free(block);
}

void *realloc(void *block, size_t bytes) {
    if (!in_pool(block))
        return __libc_realloc(block, bytes);
    size_t room = room_of(block);
    void *moved = malloc(bytes);
    if (moved) {
        memcpy(moved, block, bytes < room ? bytes : room);
        free(block);
    }
    return moved;
}

void *memalign(size_t alignment, size_t bytes) {
    void *block = bytes >= LARGE && alignment <= UNIT ? take(bytes, alignment) : NULL;
    return block ? block : __libc_memalign(alignment, bytes);
}

void *aligned_alloc(size_t alignment, size_t bytes) {
    return memalign(alignment, bytes);
}

int posix_memalign(void **block, size_t alignment, size_t bytes) {
    *block = memalign(alignment, bytes);
    return *block ? 0 : ENOMEM;
}

/* ---- the interface ------------------------------------------------------------------------------
 */

typedef struct {
    int64_t apid;
    off_t offset;
} address;

enum { APIDS = 256, ATTACHMENTS = 4096 };
static struct {
    void *at;
    size_t bytes;
} attachments[ATTACHMENTS];
static struct {
    int fd;
    uint64_t base;
} permits[APIDS];
static int npermits;

static int fault(const char *name) {
    static const char *const ranks[] = {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK"};
    const char *wanted = getenv("XPMEM_FAULT"), *on = getenv("XPMEM_FAULT_RANK");
    if (!wanted || strcmp(wanted, name))
        return 0;
    for (int i = 0; on && i < 3; i++)
        if (getenv(ranks[i]))
            return atoi(getenv(ranks[i])) == atoi(on);
    return 1;
}

static int refused(int error) {
    errno = error;
    return -1;
}

int xpmem_version(void) {
    return fault("version") ? 0x00020001 : fault("foreign") ? 0x00030000 : 0x00026005;
}

int64_t xpmem_make(void *from, size_t bytes, int permit_type, void *permit) {
    if (fault("make"))
        return refused(EACCES);
    if (from || bytes != SIZE_MAX || permit_type != 1 || (uintptr_t)permit & ~(uintptr_t)0777)
        return refused(EINVAL);
    pthread_mutex_lock(&lock);
    int there = pool_there();
    pthread_mutex_unlock(&lock);
    made += there;
    return there ? (int64_t)getpid() << 20 | pool_fd : refused(ENOMEM);
}

int xpmem_remove(int64_t segid) {
    removed++;
    return segid == ((int64_t)getpid() << 20 | pool_fd) ? 0 : refused(EACCES);
}

int64_t xpmem_get(int64_t segid, int flags, int permit_type, void *permit) {
    char path[64];
    header first;
    if (flags != 2 || permit_type != 1 || permit || npermits == APIDS || fault("get"))
        return refused(EINVAL);
    snprintf(path, sizeof path, "/proc/%ld/fd/%ld", (long)(segid >> 20), (long)(segid & 0xfffff));
    int fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd < 0)
        return -1;
    if (pread(fd, &first, sizeof first, 0) != sizeof first || first.magic != MAGIC) {
        close(fd);
        return refused(ENOENT);
    }
    permits[npermits].fd = fd;
    permits[npermits].base = first.base;
    got++;
    return ++npermits;
}

int xpmem_release(int64_t apid) {
    released++;
    return close(permits[apid - 1].fd);
}

void *xpmem_attach(address from, size_t bytes, void *at) {
    if (at || bytes % 4096 || from.offset % 4096 || from.apid < 1 || from.apid > npermits)
        return (void *)(intptr_t)refused(EINVAL);
    uint64_t base = permits[from.apid - 1].base, offset = (uint64_t)from.offset - base;
    if ((uint64_t)from.offset < base || offset + bytes > POOL || fault("attach"))
        return (void *)(intptr_t)refused(ENOMEM);
    if (fault("late") && attached >= 3) {
        late++;
        return (void *)(intptr_t)refused(ENOMEM);
    }
    void *memory = mmap(NULL, bytes, fault("hole") ? PROT_NONE : PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_NORESERVE, permits[from.apid - 1].fd, (off_t)offset);
    if (memory == MAP_FAILED)
        return (void *)-1;
    int i = 0;
    while (i < ATTACHMENTS && attachments[i].at)
        i++;
    if (i == ATTACHMENTS)
        abort(); /* far more than any sane user keeps */
    attachments[i].at = memory;
    attachments[i].bytes = bytes;
    attached++;
    return memory;
}

int xpmem_detach(void *at) {
    for (int i = 0; i < ATTACHMENTS; i++)
        if (attachments[i].at == at && at) {
            attachments[i].at = NULL;
            detached++;
            return munmap(at, attachments[i].bytes);
        }
    return refused(EINVAL);
}

__attribute__((destructor)) static void report(void) {
    const char *path = getenv("XPMEM_LOG");
    FILE *log = path && !closed && (made || got) ? fopen(path, "a") : NULL;
    if (!log)
        return;
    fprintf(log, "made %d removed %d got %d released %d attached %d detached %d late %d\n", made,
            removed, got, released, attached, detached, late);
    fclose(log);
}
