#include "record/core.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ENTRIES = 4096, ENTRIES_MORE_THREADS = 512, PARTS = 256 };

__thread stretto_thread stretto_self __attribute__((tls_model("initial-exec")));
bool stretto_recording, stretto_paused, stretto_many;
uint64_t stretto_refresh = UINT64_MAX;
unsigned stretto_since_barrier;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static bool call_left;
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
    stretto_self.depth = 1; /* the recorder's own file is none of the program's */
    pthread_once(&once, make_key);
    pthread_mutex_lock(&lock);
    stretto_part *part = free_parts;
    if (part)
        free_parts = part->next_free;
    else if (nparts < PARTS && !full)
        part = make_part();
    full = !part;
    pthread_mutex_unlock(&lock);
    stretto_self.depth = 0;
    if (!part) {
        __atomic_fetch_add(&stretto_header->dropped_calls, 1, __ATOMIC_RELAXED);
        return false;
    }
    pthread_setspecific(ending, part);
    stretto_thread *self = &stretto_self;
    memset(self, 0, sizeof *self);
    self->part = part;
    return true;
}

/* This frame lies where that of the call was or above it, or something else is there by now. On
 * which communicator it was is not known, nor whether the other ranks count it: from here on calls
 * are not joined with theirs. */
bool stretto_call_left(uintptr_t frame) {
    stretto_thread *self = &stretto_self;
    if (!stretto_recording ||
        (frame < self->frame && *(const volatile uint64_t *)self->outer == self->entered))
        return false;
    self->depth = 0;
    self->mpi_io = false;
    __atomic_store_n(&call_left, true, __ATOMIC_RELAXED);
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
    if (!stride)
        return true;
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

void stretto_event_add(const stretto_raw_event *event) {
    if (stretto_paused || __atomic_load_n(&call_left, __ATOMIC_RELAXED) ||
        !kept(event, stretto_header->stride_log2))
        return;
    if (stretto_many)
        while (__atomic_exchange_n(&events_lock, true, __ATOMIC_ACQUIRE))
            sched_yield();
    while (stretto_header->nevents >= events_room && stretto_header->stride_log2 < 63)
        thin_out();
    if (stretto_header->nevents < events_room && kept(event, stretto_header->stride_log2)) {
        events[stretto_header->nevents] = *event;
        __atomic_store_n(&stretto_header->nevents, stretto_header->nevents + 1, __ATOMIC_RELEASE);
    }
    if (stretto_many)
        __atomic_store_n(&events_lock, false, __ATOMIC_RELEASE);
}

/* ---- pauses and the clock ---------------------------------------------------------------------
 */

/* The time until the recording goes on is neither MPI's nor the program's own: it is taken out of
 * the whole. */
void stretto_pause(bool pause) {
    stretto_raw_header *header = stretto_header;
    if (!stretto_recording) {
        stretto_paused = pause; /* before MPI_Init, for what comes after it */
        return;
    }
    uint64_t now = stretto_ticks();
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
