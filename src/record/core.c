#include "record/core.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum { ENTRIES = 4096, ENTRIES_MORE_THREADS = 512, PARTS = 256 };

__thread stretto_thread stretto_self __attribute__((tls_model("initial-exec")));
bool stretto_recording, stretto_paused, stretto_many;
uint64_t stretto_gap = UINT64_MAX, stretto_span = UINT64_MAX, stretto_refresh = UINT64_MAX;
unsigned stretto_since_barrier;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_key_t ending;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static stretto_part *free_parts;
static int nparts;

/* ---- a thread's part ------------------------------------------------------------------------ */

static void thread_ends(void *part) {
    pthread_mutex_lock(&lock);
    ((stretto_part *)part)->next_free = free_parts;
    free_parts = part;
    pthread_mutex_unlock(&lock);
    stretto_self.part = NULL; /* calls from later destructors attach anew */
}

static void make_key(void) {
    pthread_key_create(&ending, thread_ends);
}

static stretto_part *make_part(void) {
    stretto_part *part = calloc(1, sizeof *part);
    if (!part)
        return NULL;
    /* a fast table wants room; of peers more than this are neighbours of an all-to-all pattern */
    uint64_t entries = nparts ? ENTRIES_MORE_THREADS : ENTRIES, peers = 64;
    while (peers < 2ull * stretto_header->nranks && peers < 4096)
        peers *= 2;
    part->entries = stretto_store_section(STRETTO_RAW_ENTRIES, sizeof *part->entries,
                                          entries + STRETTO_FUNCTIONS);
    part->peers = part->entries
                      ? stretto_store_section(STRETTO_RAW_PEERS, sizeof *part->peers, peers + 1)
                      : NULL;
    if (!part->peers) {
        free(part); /* a section without its twin does no harm */
        return NULL;
    }
    part->mask = entries - 1;
    part->peer_mask = peers - 1;
    nparts++;
    return part;
}

bool stretto_part_attach(void) {
    static bool full;
    pthread_once(&once, make_key);
    pthread_mutex_lock(&lock);
    stretto_part *part = free_parts;
    if (part)
        free_parts = part->next_free;
    else if (nparts < PARTS && !full)
        part = make_part();
    full = !part;
    pthread_mutex_unlock(&lock);
    if (!part) {
        __atomic_fetch_add(&stretto_header->dropped_calls, 1, __ATOMIC_RELAXED);
        return false;
    }
    pthread_setspecific(ending, part);
    stretto_thread *self = &stretto_self;
    memset(self, 0, sizeof *self);
    self->part = part;
    self->last_exit = stretto_ticks();
    return true;
}

/* ---- counters ------------------------------------------------------------------------------- */

static stretto_raw_entry *claim(stretto_raw_entry *entry, uint64_t key) {
    entry->min_ticks = UINT64_MAX;
    entry->key = key;
    return entry;
}

stretto_raw_entry *stretto_entry_find(uint64_t key) {
    stretto_part *part = stretto_self.part;
    uint64_t slot = key * 0x9e3779b97f4a7c15ull >> 40;
    for (;; slot++) {
        stretto_raw_entry *entry = &part->entries[slot & part->mask];
        if (entry->key == key)
            return entry;
        if (entry->key)
            continue;
        if (part->used * 4 < part->mask * 3) {
            part->used++;
            return claim(entry, key);
        }
        break;
    }
    /* full: one row a function, without communicator, type and size */
    uint64_t function = key >> STRETTO_KEY_FUNCTION & 1023;
    stretto_raw_entry *rest = &part->entries[part->mask + function];
    if (!rest->key)
        claim(rest, 1ull << STRETTO_KEY_USED | function << STRETTO_KEY_FUNCTION |
                        4095ull << STRETTO_KEY_SHAPE);
    return rest;
}

stretto_raw_peer *stretto_peer_find(uint32_t rank1) {
    stretto_part *part = stretto_self.part;
    stretto_raw_peer *rest = &part->peers[part->peer_mask + 1];
    if (rank1 != UINT32_MAX)
        for (uint64_t slot = stretto_mix(rank1);; slot++) {
            stretto_raw_peer *peer = &part->peers[slot & part->peer_mask];
            if (peer->rank1 == rank1)
                return peer;
            if (peer->rank1)
                continue;
            if (part->peers_used * 4 >= part->peer_mask * 3)
                break;
            part->peers_used++;
            peer->rank1 = rank1;
            return peer;
        }
    rest->rank1 = UINT32_MAX;
    return rest;
}

/* ---- events --------------------------------------------------------------------------------- */

static stretto_raw_event *events;
static uint64_t events_room;
static bool events_lock; /* taken only under MPI_THREAD_MULTIPLE */

int stretto_events_begin(void) {
    const char *text = getenv("STRETTO_PROFILE_EVENTS");
    char *end;
    long n = text && text[0] ? strtol(text, &end, 10) : 65536;
    if (text && text[0] && (*end || n < 16 || n > 100000000)) {
        if (stretto_header->rank == 0)
            fprintf(stderr,
                    "stretto: STRETTO_PROFILE_EVENTS=%s is not a number from 16 to 100000000; "
                    "65536 is used\n",
                    text);
        n = 65536;
    }
    events_room = (uint64_t)n;
    events = stretto_store_section(STRETTO_RAW_EVENTS, sizeof *events, events_room);
    return events ? 0 : -1;
}

static bool kept(const stretto_raw_event *event, uint64_t stride) {
    uint64_t sequence = event->sequence & ~STRETTO_EVENT_ROOT;
    return !(stretto_mix(event->communicator + sequence) >> (64 - stride));
}

/* Keeps the half that every rank keeps, because the choice hangs on communicator and sequence
 * alone. Not every second one: programs repeat themselves in periods of two. */
static void thin_out(void) {
    uint64_t stride = stretto_header->stride_log2 + 1, n = 0;
    for (uint64_t i = 0; i < stretto_header->nevents; i++)
        if (kept(&events[i], stride))
            events[n++] = events[i];
    stretto_header->nevents = n;
    stretto_header->stride_log2 = stride;
}

void stretto_event_add(const stretto_comm *comm, uint64_t sequence, uint64_t key, uint64_t enter,
                       uint64_t leave) {
    if (stretto_paused)
        return;
    if (stretto_many)
        while (__atomic_exchange_n(&events_lock, true, __ATOMIC_ACQUIRE))
            sched_yield();
    stretto_raw_event event = {comm->id, sequence, key, enter, leave};
    while (stretto_header->nevents >= events_room && stretto_header->stride_log2 < 63)
        thin_out();
    if (stretto_header->nevents < events_room &&
        (!stretto_header->stride_log2 || kept(&event, stretto_header->stride_log2))) {
        events[stretto_header->nevents] = event;
        __atomic_store_n(&stretto_header->nevents, stretto_header->nevents + 1, __ATOMIC_RELEASE);
    }
    if (stretto_many)
        __atomic_store_n(&events_lock, false, __ATOMIC_RELEASE);
}

/* ---- files read and written outside MPI ----------------------------------------------------- */

static int io_file = -1;
static uint64_t bytes_read, bytes_written;
static uint64_t last_look; /* by any thread */
static bool looking;
/* Whether MPI itself moves data by read and write; until it has been seen not to, it may. */
static bool sockets = true;

static bool read_io(uint64_t *in, uint64_t *out) {
    char text[256];
    if (io_file < 0)
        io_file = open("/proc/self/io", O_RDONLY | O_CLOEXEC);
    ssize_t n = io_file >= 0 ? pread(io_file, text, sizeof text - 1, 0) : -1;
    text[n > 0 ? n : 0] = '\0';
    unsigned long long r, w;
    /* not ours any more when the program closed all descriptors */
    if (sscanf(text, "rchar: %llu wchar: %llu", &r, &w) != 2)
        return false;
    *in = r;
    *out = w;
    return true;
}

static uint64_t user_ns(void) {
    struct rusage usage;
    getrusage(RUSAGE_THREAD, &usage);
    return (uint64_t)usage.ru_utime.tv_sec * 1000000000u + (uint64_t)usage.ru_utime.tv_usec * 1000u;
}

/* What the counters have grown by since they were looked at last; the look is counted itself. */
static bool grown(uint64_t *in, uint64_t *out) {
    uint64_t read_now, written_now;
    if (!read_io(&read_now, &written_now))
        return false;
    *in = read_now - bytes_read;
    *out = written_now - bytes_written;
    bytes_read = read_now;
    bytes_written = written_now;
    stretto_self.in_mpi = 0;
    last_look = stretto_ticks();
    return true;
}

static bool look_begins(void) {
    return !__atomic_exchange_n(&looking, true, __ATOMIC_ACQUIRE);
}

static void look_ends(void) {
    __atomic_store_n(&looking, false, __ATOMIC_RELEASE);
}

/* The most that MPI itself may have moved by read and write since the last look, as MPIs do with
 * TCP sockets. Not by what the calls ask for: who is the target of a one-sided call asks for
 * nothing, and who passes on what others send moves a multiple. By the time in MPI, at 10 bytes a
 * ns. */
static uint64_t moved_by_mpi(uint64_t now) {
    if (!sockets)
        return 0;
    /* other threads may have been in MPI all the time */
    uint64_t ticks = stretto_many ? now - last_look : stretto_self.in_mpi;
    double rate = stretto_clock_rate(stretto_header->first, stretto_header->last);
    return (uint64_t)((double)ticks / rate * 1e10);
}

/* A rank that reads or writes a file is away from MPI for a while. After such a gap the kernel's
 * counters tell whether it did. They also hold what MPI itself moved, so a gap counts only when the
 * bytes are well above what that may be.
 * Of the gap the part counts that was not spent computing in user mode, as far as that can be told:
 * user time outside the gap is taken to have filled it. */
void stretto_gap_look(uint64_t gap, uint64_t now) {
    stretto_thread *self = &stretto_self;
    if (!look_begins())
        return;
    uint64_t in, out, user = user_ns(), most = 65536 + moved_by_mpi(now) + 4 * self->file_bytes;
    bool files = grown(&in, &out) && self->gap_clock && in + out > most;
    if (files)
        stretto_since_barrier |= STRETTO_DETAIL_AFTER_IO;
    if (files && !stretto_paused) {
        double rate = stretto_clock_rate(stretto_header->first, stretto_header->last);
        uint64_t used = (uint64_t)((double)(user - self->user_ns) * rate / 1e9);
        uint64_t outside = now - self->gap_clock - gap;
        uint64_t computing = used > outside ? used - outside : 0;
        __atomic_fetch_add(&stretto_header->file_ticks, computing < gap ? gap - computing : 0,
                           __ATOMIC_RELAXED);
        __atomic_fetch_add(&stretto_header->file_read, in, __ATOMIC_RELAXED);
        __atomic_fetch_add(&stretto_header->file_written, out, __ATOMIC_RELAXED);
    }
    self->user_ns = user;
    self->gap_clock = now;
    self->file_bytes = 0;
    look_ends();
}

/* At the end of a call, often enough that little of what MPI moved stands in the counters when a
 * gap comes. Where it moves nothing through them (shared memory, a fast network), seldom. */
void stretto_mpi_look(void) {
    static int quiet; /* looks that saw nothing, one after another from the first */
    stretto_self.unseen = 0;
    if (!look_begins())
        return;
    uint64_t in, out;
    if (grown(&in, &out)) {
        if (in + out > 1024) {
            sockets = true;
            stretto_span = stretto_gap / 10;
            quiet = 10;
        } else if (quiet < 10 && ++quiet == 10) {
            sockets = false;
            stretto_span = stretto_gap;
        }
    }
    look_ends();
}

void stretto_file_look(uint64_t bytes) {
    stretto_self.file_bytes += bytes;
    if (!look_begins())
        return;
    uint64_t in, out;
    if (grown(&in, &out)) /* the rest is moved later, or by another rank */
        stretto_self.file_bytes -=
            in + out < stretto_self.file_bytes ? in + out : stretto_self.file_bytes;
    look_ends();
}

/* The time until the recording goes on is neither MPI's nor the program's own: it is taken out of
 * the whole. */
void stretto_pause(bool pause) {
    stretto_raw_header *header = stretto_header;
    if (!stretto_recording) {
        stretto_paused = pause; /* before MPI_Init, for what comes after it */
        return;
    }
    uint64_t now = stretto_ticks();
    if (!pause && stretto_paused && stretto_self.part) /* its files are not the next gap's */
        stretto_gap_look(0, now);
    if (__atomic_exchange_n(&stretto_paused, pause, __ATOMIC_ACQ_REL) == pause)
        return;
    if (pause) {
        __atomic_store_n(&header->paused_since, now, __ATOMIC_RELEASE);
    } else {
        uint64_t since = __atomic_exchange_n(&header->paused_since, 0, __ATOMIC_ACQ_REL);
        __atomic_fetch_add(&header->paused_ticks, now - since, __ATOMIC_RELAXED);
    }
}

void stretto_clock_refresh(uint64_t ticks) {
    (void)ticks;
    stretto_header->last = stretto_clock_instant();
    stretto_usage_note(false);
}
