/* A nonblocking or persistent collective of ours: what was asked, and how far it is.
 *
 * A collective is the blocking engine run in a fibre (fibre.h): wherever it would wait it yields to
 * whoever took it up, and is taken up again by every MPI call of the application, or by the helper
 * thread. Those of one communicator are carried out one after another in the order of their issue,
 * which is the same on all ranks, and share its memory with the blocking ones; those of several
 * communicators go on side by side. docs/explanation/nonblocking.md has the argument why nothing
 * hangs.
 */
#ifndef STRETTO_OPERATION_H
#define STRETTO_OPERATION_H

#include "engine/engine.h"
#include "engine/fibre.h"
#include "engine/outstanding.h"

#include <pthread.h>

typedef enum { STRETTO_INACTIVE, STRETTO_ACTIVE, STRETTO_DONE } stretto_progress;

typedef struct stretto_operation {
    /* Open MPI's Fortran library reads the number by which Fortran knows a request out of the
     * request itself, at a place that depends on its version: it is everywhere. */
    _Alignas(64) int32_t face[64];
    stretto_comm
        *c; /* until it is done, the communicator may be freed then; persistent: its channel */
    const stretto_comm *of; /* the communicator's state, to compare with: it may be gone */
    MPI_Comm comm;
    struct stretto_operation *next; /* on the communicator, or in the list of free ones */
    stretto_fibre *fibre;
    uint64_t modes; /* of floating-point arithmetic, of who started it: so it is carried out */
    int progress;   /* stretto_progress; written by who carries it out, with release */
    int rc;
    bool used, persistent, failed; /* failed: a start of it has */
    bool posted; /* without a fibre: this rank's part is written, the others' are to be collected */
    stretto_row row;           /* persistent: the decision's own */
    stretto_decision decision; /* of this call, why left out; of one that was posted at once only
                                  elements, extent and reduce, and nothing from count to each */
    stretto_collective collective;
    const void *in;
    void *out;
    long long count; /* with type: the side that the decision does not describe */
    MPI_Datatype type;
    int root;
    stretto_ragged send, receive;
    long long each[2];  /* of neighbourhood collectives: elements of a block where send, receive has
                           no counts */
    MPI_Datatype *kept; /* that we hold until the end */
    int nkept;
} stretto_operation;

/* ---- operation.c ----------------------------------------------------------------------------- */

/* A record for a call of which d has been decided, to be filled and handed to start. With the lock
 * (below) held, which start gives back. */
stretto_operation *stretto_operation_new(stretto_comm *c, stretto_collective collective,
                                         const stretto_decision *d);
/* Issues it and lets it go as far as it can. False: the arguments are for the MPI to judge, or no
 * plan can be built, alike on all ranks; the record is gone. */
bool stretto_operation_start(stretto_operation *o, MPI_Request *request);

/* New and start in one, and before all else this rank's part on its way: for what post (below) can
 * take, of which d has been decided. in: the contribution, out if that is in place. False: it
 * cannot, or others are in front of it; nothing was done. With the lock, which is kept. */
bool stretto_operation_at_once(stretto_comm *c, stretto_collective collective,
                               const stretto_decision *d, const void *in, void *out,
                               MPI_Request *request);

/* What start does first. False: as there, but the record stays, for the caller to give back. */
bool stretto_operation_can_be_done(const stretto_operation *o);
/* ... and then: the datatypes stay alive until the record is given back. */
void stretto_operation_keep_types(stretto_operation *o);
/* The application's callbacks may run in it (MPICH deletes a freed datatype's attributes with the
 * last use of it): not with the lock. */
void stretto_operation_forget_types(stretto_operation *o);
void stretto_operation_give_back(stretto_operation *o);

/* ---- persistent.c ---------------------------------------------------------------------------- */

/* In the place of start: makes an inactive request of it. Collective, may wait. False: it is the
 * MPI's, on all ranks; the record is gone. */
bool stretto_operation_init(stretto_operation *o, MPI_Request *request);
/* MPI_Start. False: it is active, or not persistent. */
bool stretto_operation_restart(stretto_operation *o);
/* MPI_Request_free: false as above. */
bool stretto_operation_free(stretto_operation *o, MPI_Request *request);

/* ---- operation.c ----------------------------------------------------------------------------- */

/* Requests of ours: live ones, and those of an MPI handle. Addresses in the pool (Open MPI, MPI-5),
 * or small numbers of a kind that MPICH itself takes for invalid. */
extern int stretto_requests_live;
extern bool stretto_native_persistent;        /* the MPI has been given a persistent collective */
extern stretto_operation *stretto_operations; /* the pool, NULL when we have none */
enum { STRETTO_OPERATIONS_MOST = 1 << 18 };

static inline stretto_operation *stretto_operation_of(MPI_Request request) {
#ifdef STRETTO_ABI_MPICH
    unsigned i = (unsigned)request - (unsigned)MPI_REQUEST_NULL - 1;
    return i < STRETTO_OPERATIONS_MOST ? &stretto_operations[i] : NULL;
#else
    uintptr_t i = (uintptr_t)request - (uintptr_t)stretto_operations;
    return i < STRETTO_OPERATIONS_MOST * sizeof(stretto_operation) ? (stretto_operation *)request
                                                                   : NULL;
#endif
}

MPI_Request stretto_operation_handle(stretto_operation *o);
/* By the number that Fortran knows it by; NULL when it is none of ours. */
stretto_operation *stretto_operation_numbered(int number);
static inline bool stretto_operation_is(const stretto_operation *o, stretto_progress progress) {
    return __atomic_load_n(&o->progress, __ATOMIC_ACQUIRE) == (int)progress;
}
/* Whether MPI_Start or MPI_Request_free may have it. */
static inline bool stretto_operation_can_restart(const stretto_operation *o) {
    return o->persistent && stretto_operation_is(o, STRETTO_INACTIVE);
}
void stretto_operation_run(void *operation); /* what the fibre does */
/* Small ones within a node need no fibre: post writes what this rank brings (false: this one needs
 * a fibre), collect tells whether all is done, after at most so many looks. Neither waits. */
bool stretto_operation_post(stretto_operation *o);
bool stretto_operation_collect(stretto_operation *o, int looks);
/* The pool; false without memory. */
bool stretto_operations_reserve(void);
void stretto_operations_release(void);
/* c is going, its collectives are done: errors that were not told yet are raised on the world. */
void stretto_operations_left(const stretto_comm *c);
/* Where its errors are raised. */
static inline MPI_Comm stretto_operation_comm(const stretto_operation *o) {
    return o->comm;
}
/* Takes note that a DONE one was seen complete: gives the record back and sets the handle null, or
 * makes it inactive if it is persistent. Its error, which is not raised yet; *comm = where to. */
int stretto_operation_complete(stretto_operation *o, MPI_Request *request, MPI_Comm *comm);
/* The same for the frequent case, one that is DONE without an error; false: not so, nothing was
 * done. */
static inline bool stretto_operation_rest(stretto_operation *o, MPI_Request *request) {
    /* the helper thread writes rc before it says DONE: rc is looked at after that only */
    if (!stretto_operation_is(o, STRETTO_DONE) || o->rc != MPI_SUCCESS)
        return false;
    if (o->persistent) {
        __atomic_store_n(&o->progress, STRETTO_INACTIVE, __ATOMIC_RELEASE);
    } else {
        *request = MPI_REQUEST_NULL;
        stretto_operation_give_back(o);
    }
    return true;
}

/* ---- outstanding.c --------------------------------------------------------------------------- */

/* Decisions and queues are touched between these two only. Not within a fibre. */
void stretto_outstanding_lock(void);
void stretto_outstanding_unlock(void);
/* With the lock held: adds it to its communicator's queue and begins. */
void stretto_outstanding_issue(stretto_operation *o);
/* Completes what is under way on c; all: everywhere. */
void stretto_outstanding_drain(stretto_comm *c);
void stretto_outstanding_drain_all(void);
/* Waits for o as long as polling alone is worth while, about a microsecond; it need not be done
 * then. */
void stretto_outstanding_poll(stretto_operation *o);
/* One step of somebody who waits, the MPI's own progress included. */
void stretto_outstanding_wait_step(void);
/* At Init, collective over the world: whether this job can have them. Starts the helper thread. */
void stretto_outstanding_begin(void);
/* Puts the helper thread where STRETTO_NONBLOCKING_CPU says, and says when it cannot. Collective
 * over the node's ranks. */
void stretto_helper_place(pthread_t helper);
void stretto_outstanding_end(void);
/* What the application asked the MPI for as its level of threads (MPI_Init: SINGLE). */
extern int stretto_threads_asked;
/* Whether the MPI was asked for MPI_THREAD_MULTIPLE in the application's place. */
extern bool stretto_threads_raised;

#endif
