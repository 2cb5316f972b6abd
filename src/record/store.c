#include "record/store.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

stretto_raw_header *stretto_header;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char path[PATH_MAX];
static uint64_t length;
static uint64_t page;

/* Makes room for the bytes behind the end of the file: 0 or the reason. Past `ulimit -f` a signal
 * would end the application, not an error code. */
static int reserve(int fd, uint64_t bytes) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY &&
        limit.rlim_cur < length + bytes)
        return EFBIG;
    return posix_fallocate(fd, (off_t)length, (off_t)bytes);
}

/* Reserves and maps [length, length + bytes) of the file. Opened anew each time: a descriptor kept
 * would be one that the program does not know of and may close. */
static void *extend(uint64_t bytes, int flags) {
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | flags, 0644);
    if (fd < 0)
        return NULL;
    void *mapped = MAP_FAILED;
    int reason = reserve(fd, bytes);
    if (!reason) {
        mapped =
            mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, (off_t)length);
        reason = mapped == MAP_FAILED ? errno : 0;
    }
    if (reason && ftruncate(fd, (off_t)length))
        reason = errno;
    close(fd);
    if (mapped == MAP_FAILED) {
        if (flags & O_EXCL)
            unlink(path);
        errno = reason;
        return NULL;
    }
    length += bytes;
    return mapped;
}

int stretto_store_open(const char *directory, uint64_t world, int rank, int nranks, char *error,
                       size_t error_size) {
    page = (uint64_t)sysconf(_SC_PAGESIZE);
    int n = snprintf(path, sizeof path, "%s/%016llx-%06d.strettoraw", directory,
                     (unsigned long long)world, rank);
    if (n < 0 || (size_t)n >= sizeof path) {
        snprintf(error, error_size, "the path is too long");
        return -1;
    }
    length = 0;
    stretto_raw_header *header = extend((STRETTO_RAW_HEADER + page - 1) / page * page, O_EXCL);
    if (!header) {
        snprintf(error, error_size, "%s", strerror(errno));
        return -1;
    }
    memcpy(header->magic, STRETTO_RAW_MAGIC, 8);
    header->version = STRETTO_RAW_VERSION;
    header->byte_order = 0x01020304;
    header->world = world;
    header->rank = (uint32_t)rank;
    header->nranks = (uint32_t)nranks;
    header->pid = (int32_t)getpid();
    header->state = STRETTO_RAW_RUNNING;
    stretto_header = header;
    return 0;
}

static void say_once(const char *reason) {
    static bool said;
    if (__atomic_exchange_n(&said, true, __ATOMIC_RELAXED))
        return;
    fprintf(stderr,
            "stretto: recorder of rank %u: %s: %s\n"
            "stretto: the application continues; the profile lacks the calls that did not fit\n",
            stretto_header->rank, path, reason);
}

void *stretto_store_section(uint32_t kind, size_t item_bytes, size_t items) {
    stretto_raw_header *header = stretto_header;
    if (!header)
        return NULL;
    void *mapped = NULL;
    pthread_mutex_lock(&lock);
    if (header->nsections < STRETTO_RAW_SECTIONS) {
        uint64_t offset = length;
        mapped = extend((item_bytes * items + page - 1) / page * page, 0);
        if (mapped) {
            header->sections[header->nsections] =
                (stretto_raw_section){kind, (uint32_t)item_bytes, offset, items};
            /* counted when it is whole: whoever reads after a kill sees no half of it */
            __atomic_store_n(&header->nsections, header->nsections + 1, __ATOMIC_RELEASE);
        } else
            say_once(strerror(errno));
    }
    pthread_mutex_unlock(&lock);
    return mapped;
}

void *stretto_store_row(stretto_keyed *section, uint64_t key) {
    enum { ROWS = 64 };
    if (!section->tried)
        section->rows = stretto_store_section(section->kind, section->row_bytes, ROWS);
    section->tried = true;
    for (size_t i = 0; section->rows && i < ROWS; i++) {
        uint64_t *row = (void *)(section->rows + i * section->row_bytes);
        if (*row == key || !*row)
            return row;
    }
    return NULL;
}

void stretto_store_discard(void) {
    stretto_header = NULL;
    unlink(path);
}
