/* The communicators that the program holds: who they are on all ranks alike, without a message.
 *
 * Identity. A communicator is known by its parent's identity, the world ranks of its members in
 * order, and how many communicators with just these members were made from that parent before.
 * Making one is collective over its members, so all of them count alike; ranks that are not
 * members count another set. What makes communicators in ways that are not seen here gets a
 * handle that is first met in a call: such a one is counted and timed, but its calls are not
 * joined across ranks (`id` 0).
 *
 * Look-up is by handle, without a lock: readers check a version around the probe; writers (making
 * and freeing communicators) hold a mutex.
 */
#ifndef STRETTO_RECORD_COMM_H
#define STRETTO_RECORD_COMM_H

#include "abi/host.h"
#include "record/raw.h"

typedef enum {
    STRETTO_ORIGIN_UNKNOWN,
    STRETTO_ORIGIN_WORLD,
    STRETTO_ORIGIN_SELF,
    STRETTO_ORIGIN_DUP,
    STRETTO_ORIGIN_SPLIT,
    STRETTO_ORIGIN_SPLIT_TYPE,
    STRETTO_ORIGIN_CREATE,
    STRETTO_ORIGIN_CART,
    STRETTO_ORIGIN_GRAPH,
    STRETTO_ORIGIN_MERGE,
    STRETTO_ORIGIN_INTER,
    STRETTO_ORIGINS
} stretto_origin;

typedef struct {
    uint64_t members; /* hash of the member list */
    uint64_t made;
} stretto_child_count;

typedef struct stretto_comm {
    uint64_t handle;
    uint64_t id;    /* 0: not known to be the same on all ranks */
    uint32_t shape; /* index of SHAPES + 1 */
    int rank, size;
    bool inter;
    int out_degree; /* of its topology; -1: not asked yet */
    uint64_t sequence;
    int *world;  /* world rank of peer i (intercommunicator: of the remote group); NULL: i itself */
    int peers;   /* that are known by world rank; 0 when they are of another MPI_COMM_WORLD */
    int targets; /* ranks that a collective sends to: size, or the remote group's */
    stretto_child_count *children;
    int nchildren;
} stretto_comm;

typedef struct {
    uint64_t handle;
    stretto_comm *comm; /* NULL: free */
} stretto_comm_slot;

typedef struct {
    uint64_t mask;
    stretto_comm_slot slots[];
} stretto_comm_table;

extern stretto_comm_table *stretto_comms;
extern uint64_t stretto_comms_version; /* odd while a writer is at it */

/* Handles are pointers in some MPIs and ints in others. */
#define STRETTO_HANDLE(handle) ((uint64_t)(uintptr_t)(handle))

/* After MPI_Init: registers world and self; node_of[world size] = node of each rank (kept).
 * 0, or -1 when out of memory or disk. */
int stretto_comms_begin(const int *node_of, int world_size, int world_rank);
/* A communicator was made from `parent` (MPI_COMM_NULL: from no communicator). */
void stretto_comm_made(MPI_Comm made, MPI_Comm parent, stretto_origin origin);
/* Same members in the same order as `parent`; the new one may not be usable yet (MPI_Comm_idup). */
void stretto_comm_copied(MPI_Comm made, MPI_Comm parent);
/* Before a communicator is freed, and when freeing failed. */
stretto_comm *stretto_comm_forget(MPI_Comm comm);
void stretto_comm_restore(stretto_comm *comm);
void stretto_comm_destroy(stretto_comm *comm);
/* A collective on it returned an error here, perhaps on this rank alone; NULL: nothing to do. */
void stretto_comm_failed(stretto_comm *comm, int code);
void stretto_comm_named(MPI_Comm comm, const char *name);
/* Registers a communicator met for the first time in a call; NULL when it is none. */
stretto_comm *stretto_comm_met(MPI_Comm comm);
/* Out-neighbours of a topology. */
int stretto_comm_out_degree(stretto_comm *comm, MPI_Comm handle);

static inline stretto_comm *stretto_comm_lookup(uint64_t handle) {
    for (;;) {
        uint64_t version = __atomic_load_n(&stretto_comms_version, __ATOMIC_ACQUIRE);
        stretto_comm_table *table = __atomic_load_n(&stretto_comms, __ATOMIC_ACQUIRE);
        stretto_comm *found = NULL;
        uint64_t slot = handle * 0x9e3779b97f4a7c15ull >> 20;
        for (uint64_t i = 0; i <= table->mask; i++, slot++) {
            stretto_comm_slot *at = &table->slots[slot & table->mask];
            stretto_comm *comm = __atomic_load_n(&at->comm, __ATOMIC_RELAXED);
            if (!comm)
                break;
            if (__atomic_load_n(&at->handle, __ATOMIC_RELAXED) == handle) {
                found = comm;
                break;
            }
        }
        __atomic_thread_fence(__ATOMIC_ACQUIRE);
        if (!(version & 1) && version == __atomic_load_n(&stretto_comms_version, __ATOMIC_RELAXED))
            return found;
    }
}

#endif
