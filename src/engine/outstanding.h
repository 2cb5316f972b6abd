/* Nonblocking and persistent collectives of ours that are under way, as the wrappers of the other
 * MPI calls see them.
 *
 * While some are (stretto_outstanding > 0) every MPI call that may block either waits in a loop of
 * its nonblocking form and stretto_outstanding_progress(), or, where there is no such form (native
 * collectives, one-sided, files, communicators), stands between stretto_outstanding_lend() and
 * stretto_outstanding_return(). Calls come from one thread at a time: a job that asks for
 * MPI_THREAD_MULTIPLE has none of ours.
 */
#ifndef STRETTO_OUTSTANDING_H
#define STRETTO_OUTSTANDING_H

#include "abi/host.h"

/* How many are under way here. One load; 0 throughout unless STRETTO_NONBLOCKING is set. */
extern int stretto_outstanding;

/* The same for whoever then uses what they use, a communicator's memory say: all that those did
 * which are no longer under way has happened before. */
static inline int stretto_outstanding_now(void) {
    return __atomic_load_n(&stretto_outstanding, __ATOMIC_ACQUIRE);
}

/* Resumes each of them once, as far as it goes without waiting. Never blocks, raises no error, and
 * does nothing inside one of them. */
void stretto_outstanding_resume(void);
static inline void stretto_outstanding_progress(void) {
    if (__builtin_expect(__atomic_load_n(&stretto_outstanding, __ATOMIC_RELAXED) != 0, 0))
        stretto_outstanding_resume();
}

/* The calling thread is about to block in the MPI: the helper thread carries on meanwhile, until
 * return. Pairs nest; between them progress() does nothing on the calling thread. Cheap, but not
 * free, when something is under way; nothing otherwise. */
void stretto_outstanding_lend(void);
void stretto_outstanding_return(void);

/* PMPI_Wait for the engine, and for several requests (all are waited for, and the first error is
 * returned): in a fibre they yield instead of waiting, outside the others go on meanwhile. */
int stretto_await_one(MPI_Request *request, MPI_Status *status);
int stretto_await_all(int n, MPI_Request *requests);

#endif
