/* What happens around every recorded call: two time stamps, a look-up of the counters that the call
 * belongs to, and now and then an event. No lock, no allocation and no message in the common case.
 */
#ifndef STRETTO_RECORD_CORE_H
#define STRETTO_RECORD_CORE_H

#include "abi/host.h"
#include "record/clock.h"
#include "record/comm.h"
#include "record/raw.h"
#include "record/store.h"

typedef enum {
    STRETTO_KIND_COLLECTIVE,
    STRETTO_KIND_NONBLOCKING,
    STRETTO_KIND_PERSISTENT,
    STRETTO_KIND_NEIGHBORHOOD,
    STRETTO_KIND_P2P,
    STRETTO_KIND_WAIT,
    STRETTO_KIND_RMA,
    STRETTO_KIND_IO,
    STRETTO_KIND_COMM,
    STRETTO_KIND_OTHER
} stretto_kind;

/* A number for every function of the list, large-count forms under the name of the plain one. */
enum {
#define F(kind, name, parameters, arguments) STRETTO_FN_##name,
#define L(kind, name, parameters, arguments)
#include "abi/functions.def"
    STRETTO_FUNCTIONS
};

/* One thread's own part of the file and its memory of the last call. A thread that ends leaves its
 * part to the next one that begins. */
typedef struct stretto_part {
    stretto_raw_entry *entries; /* hash table, then one row a function for what finds no room */
    uint64_t mask, used;
    stretto_raw_peer *peers; /* hash table, the last row for what finds no room */
    uint64_t peer_mask, peers_used;
    struct stretto_part *next_free;
} stretto_part;

typedef struct {
    int depth; /* inside a recorded call: what the MPI calls itself is not the program's */
    uintptr_t frame, outer; /* of that call on the stack; where it keeps its start; the start */
    uint64_t entered;
    stretto_part *part;
    uint64_t last_key;
    stretto_raw_entry *last_entry;
    uint64_t comm_handle, comm_version;
    stretto_comm *comm;
    uint64_t type_handle;
    int type_name, type_bytes;
    uint32_t peer1;
    stretto_raw_peer *peer;
    bool mpi_io;   /* in a call of MPI-IO: files that are touched are the program's */
    bool in_files; /* finding out what a file is */
} stretto_thread;

extern __thread stretto_thread stretto_self __attribute__((tls_model("initial-exec")));

extern bool stretto_recording;         /* between MPI_Init and MPI_Finalize, with a file */
extern bool stretto_paused;            /* by MPI_Pcontrol(0) */
extern bool stretto_many;              /* MPI_THREAD_MULTIPLE */
extern uint64_t stretto_refresh;       /* ticks after which the header's clock pair is renewed */
extern unsigned stretto_since_barrier; /* enum stretto_detail, of this process */

/* Whether the thread is in a recorded call only by its `depth`: an error handler of the program has
 * left that call for good (longjmp, an exception). */
bool stretto_call_left(uintptr_t frame);

/* Gives the thread its part; false when there is no room. */
bool stretto_part_attach(void);
stretto_raw_entry *stretto_entry_find(uint64_t key);
stretto_raw_peer *stretto_peer_find(uint32_t rank1);
/* Keeps an event, if it is one of those that are kept; `started` and all it says is in it. */
void stretto_event_add(const stretto_raw_event *event);
void stretto_pause(bool pause);
void stretto_clock_refresh(uint64_t ticks);
/* CPU time and its like (record/usage.c): where they stand at the beginning; how far they came, if
 * that was not looked at for a while or has to be known now. */
void stretto_usage_begin(void);
void stretto_usage_note(bool now);
/* Begins and ends (record/setup.c). */
void stretto_record_begin(int thread_level);
void stretto_record_finalize(void);
void stretto_record_end(int state, int code);
stretto_kind stretto_kind_of(int function);
int stretto_events_begin(void);
void stretto_types_begin(void);
/* Small number and size of a datatype that is not the thread's last one. */
void stretto_type_look(MPI_Datatype datatype, int *name, int64_t *bytes);
int stretto_op_name(MPI_Op op);
enum { STRETTO_TYPE_DERIVED = 1 }; /* the name of all that are not predefined */

__attribute__((always_inline)) static inline bool stretto_enter(uint64_t *start) {
    stretto_thread *self = &stretto_self;
    if (__builtin_expect(self->depth | !stretto_recording, 0) &&
        !stretto_call_left((uintptr_t)__builtin_frame_address(0)))
        return false;
    if (__builtin_expect(!self->part, 0) && !stretto_part_attach())
        return false;
    self->depth = 1;
    self->frame = (uintptr_t)__builtin_frame_address(0);
    self->outer = (uintptr_t)start;
    self->entered = *start = stretto_ticks();
    return true;
}

static inline void stretto_leave(uint64_t end) {
    stretto_thread *self = &stretto_self;
    stretto_header->last_ticks = end;
    self->mpi_io = false;
    if (__builtin_expect(end - stretto_header->last.ticks > stretto_refresh, 0))
        stretto_clock_refresh(end);
    self->depth = 0;
}

static inline stretto_comm *stretto_comm_of(MPI_Comm comm) {
    stretto_thread *self = &stretto_self;
    uint64_t handle = STRETTO_HANDLE(comm);
    uint64_t version = __atomic_load_n(&stretto_comms_version, __ATOMIC_ACQUIRE);
    if (handle == self->comm_handle && version == self->comm_version && self->comm)
        return self->comm;
    stretto_comm *found = stretto_comm_lookup(handle);
    if (!found)
        found = stretto_comm_met(comm);
    self->comm = found;
    self->comm_handle = handle;
    self->comm_version = version; /* from before: a change meanwhile only costs a look-up */
    return found;
}

typedef struct {
    int name; /* index of NAMES + 1 */
    int64_t bytes;
} stretto_type_info;

static inline stretto_type_info stretto_type_of(MPI_Datatype datatype) {
    stretto_thread *self = &stretto_self;
    stretto_type_info info = {self->type_name, self->type_bytes};
    if (__builtin_expect(STRETTO_HANDLE(datatype) != self->type_handle, 0))
        stretto_type_look(datatype, &info.name, &info.bytes);
    return info;
}

static inline uint64_t stretto_size_class(uint64_t bytes) {
    return bytes ? 64 - (uint64_t)__builtin_clzll(bytes) : 0;
}

static inline uint64_t stretto_key(int function, const stretto_comm *comm, int op, int type,
                                   uint64_t bytes, unsigned detail) {
    return 1ull << STRETTO_KEY_USED | (uint64_t)(function + 1) << STRETTO_KEY_FUNCTION |
           (uint64_t)(comm ? comm->shape : 0) << STRETTO_KEY_SHAPE |
           (uint64_t)op << STRETTO_KEY_OPERATION | (uint64_t)type << STRETTO_KEY_DATATYPE |
           stretto_size_class(bytes) << STRETTO_KEY_CLASS | (uint64_t)detail << STRETTO_KEY_DETAIL;
}

static inline void stretto_count(uint64_t key, uint64_t calls, uint64_t bytes, uint64_t ticks) {
    stretto_thread *self = &stretto_self;
    if (__builtin_expect(stretto_paused, 0))
        return;
    if (key != self->last_key) {
        self->last_entry = stretto_entry_find(key);
        self->last_key = key;
    }
    stretto_raw_entry *entry = self->last_entry;
    entry->calls += calls;
    entry->bytes += bytes;
    entry->ticks += ticks;
    if (ticks < entry->min_ticks)
        entry->min_ticks = ticks;
    if (ticks > entry->max_ticks)
        entry->max_ticks = ticks;
}

/* World rank + 1 of a peer; 0 for MPI_PROC_NULL, UINT32_MAX when it is not known. */
static inline uint32_t stretto_peer1(const stretto_comm *comm, int peer) {
    if (peer < 0)
        return 0;
    if (!comm || peer >= comm->peers)
        return UINT32_MAX;
    return (uint32_t)(comm->world ? comm->world[peer] : peer) + 1;
}

static inline void stretto_message(uint32_t rank1, uint64_t bytes) {
    stretto_thread *self = &stretto_self;
    if (!rank1 || stretto_paused)
        return;
    if (rank1 != self->peer1) {
        self->peer = stretto_peer_find(rank1);
        self->peer1 = rank1;
    }
    self->peer->messages++;
    self->peer->bytes += bytes;
}

/* A blocking collective that took from `start` to `end`. */
static inline void stretto_collective(stretto_comm *comm, uint64_t key, uint64_t bytes,
                                      uint64_t start, uint64_t end, bool root) {
    stretto_count(key, 1, bytes, end - start);
    if (!comm)
        return;
    uint64_t sequence = ++comm->sequence;
    if (comm->id && comm->size > 1)
        stretto_event_add(&(stretto_raw_event){comm->id, sequence | (root ? STRETTO_EVENT_ROOT : 0),
                                               key, start, end, start});
}

#endif
