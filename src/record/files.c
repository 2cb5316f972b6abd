#include "record/files.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

/* Rows: those of paths, and before them the one of all that found no room. */
enum { PATHS = 64, ROWS = PATHS + 1, DESCRIPTORS = 4096, PARTS = 32 };
/* What a descriptor is: nothing is known, of no interest, or FIRST + number of its row. */
enum { UNKNOWN, IGNORED, FIRST };

static stretto_raw_file *rows;
static uint16_t descriptors[DESCRIPTORS]; /* of larger ones nothing is recorded */
static uint64_t unplaced[DESCRIPTORS];    /* bytes read since it was looked up where that was */
static bool lock;                         /* of rows and file systems */

/* A child of fork shares the mapped file: what it does is not this rank's. */
static void in_child(void) {
    stretto_recording = false;
}

void stretto_files_begin(void) {
    rows = stretto_store_section(STRETTO_RAW_FILES, sizeof *rows, ROWS);
    pthread_atfork(NULL, NULL, in_child);
}

static void take(void) {
    while (__atomic_exchange_n(&lock, true, __ATOMIC_ACQUIRE))
        sched_yield();
}

static void give(void) {
    __atomic_store_n(&lock, false, __ATOMIC_RELEASE);
}

/* Files that are a view of the kernel. */
static bool of_the_kernel(uint64_t system) {
    static const uint64_t kinds[] = {0x9fa0, 0x62656572, 0x63677270, 0x27e0eb, 0x64626720};
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (system == kinds[i])
            return true;
    return false;
}

static void add(uint64_t *to, uint64_t n) {
    if (n)
        __atomic_fetch_add(to, n, __ATOMIC_RELAXED);
}

static uint64_t volume(const stretto_raw_file *row) {
    return row->read_bytes + row->written_bytes + row->mpi_read_bytes + row->mpi_written_bytes;
}

/* Moves the smallest row into that of the rest and returns it free; one that no descriptor uses if
 * there is one. */
static stretto_raw_file *make_room(void) {
    unsigned char used[ROWS] = {0};
    for (int fd = 0; fd < DESCRIPTORS; fd++)
        if (descriptors[fd] >= FIRST)
            used[descriptors[fd] - FIRST] = 1;
    stretto_raw_file *least = &rows[1];
    for (int i = 2; i < ROWS; i++) {
        int better = used[least - rows] - used[i];
        if (better > 0 || (better == 0 && volume(&rows[i]) < volume(least)))
            least = &rows[i];
    }
    uint16_t number = (uint16_t)(FIRST + (least - rows));
    for (int fd = 0; fd < DESCRIPTORS; fd++)
        if (descriptors[fd] == number)
            __atomic_store_n(&descriptors[fd], UNKNOWN, __ATOMIC_RELAXED);
    rows->used = 1;
    for (size_t i = 0; i < sizeof rows->counts / sizeof rows->counts[0]; i++)
        add(&rows->counts[i], least->counts[i]);
    memset(least, 0, sizeof *least);
    return least;
}

/* The row of a path; by a thread that holds the lock. */
static stretto_raw_file *row_of(const char *path, size_t length, uint64_t system) {
    uint64_t hash = stretto_hash_bytes(path, length, STRETTO_HASH_START) | 1;
    stretto_raw_file *free_row = NULL;
    for (int i = 1; i < ROWS; i++) {
        if (rows[i].used == hash)
            return &rows[i];
        if (!rows[i].used && !free_row)
            free_row = &rows[i];
    }
    stretto_raw_file *row = free_row ? free_row : make_room();
    size_t room = sizeof row->path - 1, left_out = length > room ? length - room : 0;
    memcpy(row->path, path + left_out, length - left_out); /* the end says more */
    row->system = system;
    __atomic_store_n(&row->used, hash, __ATOMIC_RELEASE);
    return row;
}

/* The file system of a device; asked once, since it may be a request to a server. */
static uint64_t system_of(int fd, dev_t device) {
    static struct {
        dev_t device;
        uint64_t type;
    } known[16];
    static unsigned n;
    take();
    for (unsigned i = 0; i < n; i++)
        if (known[i].device == device) {
            uint64_t type = known[i].type;
            give();
            return type;
        }
    give();
    struct statfs facts;
    if (fstatfs(fd, &facts))
        return 0;
    take();
    if (n < sizeof known / sizeof known[0]) {
        known[n].device = device;
        known[n++].type = (uint64_t)facts.f_type;
    }
    give();
    return (uint64_t)facts.f_type;
}

/* Finds out what a descriptor is. */
static uint16_t look_at(int fd) {
    struct stat facts;
    char link[64], path[PATH_MAX];
    /* a child of vfork has this memory and descriptors of its own */
    if ((pid_t)stretto_header->pid != getpid() || fstat(fd, &facts))
        return UNKNOWN;
    if (!S_ISREG(facts.st_mode))
        return IGNORED;
    uint64_t system = system_of(fd, facts.st_dev);
    if (of_the_kernel(system))
        return IGNORED;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, sizeof path);
    if (length <= 0)
        return IGNORED;
    take();
    stretto_raw_file *row = row_of(path, (size_t)length, system);
    if ((uint64_t)facts.st_size > row->size) { /* its parts are others now */
        row->size = (uint64_t)facts.st_size;
        row->touched = 0;
    }
    uint16_t number = (uint16_t)(FIRST + (row - rows));
    __atomic_store_n(&descriptors[fd], number, __ATOMIC_RELAXED);
    give();
    return number;
}

/* A signal handler that comes meanwhile must not wait for the lock that its own thread holds. */
static uint16_t looked_at(int fd) {
    int error = errno;
    stretto_self.in_files = true;
    uint16_t what = look_at(fd);
    if (what == IGNORED)
        __atomic_store_n(&descriptors[fd], IGNORED, __ATOMIC_RELAXED);
    stretto_self.in_files = false;
    errno = error;
    return what;
}

/* Whether this thread is where files are the program's, or MPI-IO's. */
static bool recorded(void) {
    const stretto_thread *self = &stretto_self;
    return stretto_recording && !stretto_paused && rows && !self->in_files &&
           (!self->depth || self->mpi_io);
}

bool stretto_file_enter(stretto_file_call *call, int fd) {
    if (!recorded() || fd < 0 || fd >= DESCRIPTORS)
        return false;
    uint16_t what = __atomic_load_n(&descriptors[fd], __ATOMIC_RELAXED);
    if (what == UNKNOWN)
        what = looked_at(fd);
    if (what < FIRST)
        return false;
    call->row = &rows[what - FIRST];
    call->fd = fd;
    call->by_mpi = stretto_self.depth;
    call->start = stretto_ticks();
    return true;
}

/* Marks the parts of the file that were read: so many bytes, up to there. */
static void touch(stretto_raw_file *row, uint64_t bytes, int64_t end) {
    uint64_t part = (row->size + PARTS - 1) / PARTS, last = (uint64_t)end - 1;
    if (end <= 0 || !part || !bytes)
        return;
    uint64_t from = (bytes > (uint64_t)end ? 0 : (uint64_t)end - bytes) / part, to = last / part;
    if (from >= PARTS)
        return; /* written since */
    uint64_t up_to = (2ull << (to < PARTS ? to : PARTS - 1)) - 1;
    __atomic_fetch_or(&row->touched, up_to & ~0ull << from, __ATOMIC_RELAXED);
}

/* The same at the file's offset. Where that is costs a system call: it is looked up when half a
 * part has come together, and when the file is closed. */
static void touch_at_offset(stretto_raw_file *row, int fd, uint64_t bytes, bool now) {
    bytes += __atomic_load_n(&unplaced[fd], __ATOMIC_RELAXED);
    now |= bytes >= row->size / PARTS / 2;
    __atomic_store_n(&unplaced[fd], now ? 0 : bytes, __ATOMIC_RELAXED);
    if (now && bytes && row->size)
        touch(row, bytes, lseek(fd, 0, SEEK_CUR));
}

void stretto_file_leave(const stretto_file_call *call, stretto_file_action action, int64_t bytes,
                        int64_t end) {
    stretto_raw_file *row = call->row;
    /* a thread that never calls the MPI works beside those that do: its time is nobody's waiting */
    bool timed = call->start && !call->by_mpi && stretto_self.part;
    uint64_t ticks = timed ? stretto_ticks() - call->start : 0;
    uint64_t moved = bytes > 0 ? (uint64_t)bytes : 0;
    if (action == STRETTO_FILE_READS) {
        add(&row->reads, 1);
        add(call->by_mpi ? &row->mpi_read_bytes : &row->read_bytes, moved);
        add(&row->read_ticks, ticks);
        if (end == STRETTO_FILE_AT_OFFSET)
            touch_at_offset(row, call->fd, moved, false);
        else if (end != STRETTO_FILE_NOWHERE)
            touch(row, moved, end);
    } else if (action == STRETTO_FILE_WRITES) {
        add(&row->writes, 1);
        add(call->by_mpi ? &row->mpi_written_bytes : &row->written_bytes, moved);
        add(&row->write_ticks, ticks);
    } else
        add(&row->other_ticks, ticks);
    if (!call->by_mpi)
        __atomic_fetch_or(&stretto_since_barrier, STRETTO_DETAIL_AFTER_IO, __ATOMIC_RELAXED);
}

uint64_t stretto_file_opens(void) {
    return recorded() ? stretto_ticks() : 0;
}

void stretto_file_opened(int fd, uint64_t start) {
    stretto_file_forget(fd);
    uint64_t end = start ? stretto_ticks() : 0;
    stretto_file_call call;
    if (!start || !stretto_file_enter(&call, fd))
        return;
    add(call.by_mpi ? &call.row->mpi_opens : &call.row->opens, 1);
    call.start = stretto_ticks() - (end - start); /* what was found out about it is not the open */
    stretto_file_leave(&call, STRETTO_FILE_KEEPS, 0, STRETTO_FILE_NOWHERE);
}

bool stretto_file_closes(stretto_file_call *call, int fd) {
    if (fd < 0 || fd >= DESCRIPTORS || !__atomic_load_n(&descriptors[fd], __ATOMIC_RELAXED))
        return false;
    bool recorded = stretto_file_enter(call, fd);
    if (recorded)
        touch_at_offset(call->row, fd, 0, true);
    stretto_file_forget(fd); /* before the number is another's */
    return recorded;
}

void stretto_file_forget(int fd) {
    if (fd < 0 || fd >= DESCRIPTORS)
        return;
    __atomic_store_n(&descriptors[fd], UNKNOWN, __ATOMIC_RELAXED);
    __atomic_store_n(&unplaced[fd], 0, __ATOMIC_RELAXED);
}
