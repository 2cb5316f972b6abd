/* Requests that are more than a point-to-point message under way: nonblocking collectives, files,
 * RMA, and everything persistent. Waiting for them is booked as waiting for what they are; plain
 * sends and receives are not kept here and cost nothing. */
#ifndef STRETTO_RECORD_REQUEST_H
#define STRETTO_RECORD_REQUEST_H

#include "record/core.h"

typedef struct {
    uint64_t request; /* handle; 0 = free */
    uint64_t number;  /* of all that were remembered: a handle comes again */
    uint64_t key;     /* what a start is booked under, or (but for function and detail) a wait */
    /* of a nonblocking collective, and of a persistent one that was started; without a number its
     * waits are not compared with other ranks' */
    uint64_t comm, sequence, started;
    uint64_t starts; /* of a persistent one: which of them is under way is the same on all ranks */
    uint64_t bytes;
    uint32_t peer1; /* world rank + 1 that a message goes to; 0 = none */
    int function;
    bool persistent;
    bool waited_for; /* by a thread; the handle is another request's where a second thread has it */
} stretto_tracked;

extern int stretto_tracked_count; /* read without the lock: 0 is the common case */

/* Remembers a request; what was under this handle is forgotten. */
void stretto_track(MPI_Request request, const stretto_tracked *what);
/* The same for a nonblocking collective on a communicator (NULL: unknown) that has just started. */
void stretto_track_collective(MPI_Request request, int function, stretto_comm *comm, uint64_t key,
                              bool root, uint64_t started);
/* Copies what is known of a request; false when nothing is. */
bool stretto_tracked_find(MPI_Request request, stretto_tracked *what);
/* The same for one that is started. */
bool stretto_tracked_start(MPI_Request request, uint64_t started, stretto_tracked *what);
/* Forgets it, unless its handle is another's by now: the MPI may have given it to another thread
 * since what was found was completed. */
void stretto_untrack(const stretto_tracked *what);

/* Before and after MPI_Wait* and MPI_Test* on n requests. */
enum { STRETTO_HITS = 64 };
typedef struct {
    stretto_tracked what;
    int index;
} stretto_hit;
typedef struct {
    int n;
    stretto_hit *hits; /* of the requests known, in order */
    stretto_hit some[STRETTO_HITS];
} stretto_hits;

void stretto_hits_find(stretto_hits *hits, int n, const MPI_Request *requests);
/* Forgets those that are complete (their handles are null now). Returns what the time is booked
 * under: the key of a wait for the first known one. Nonblocking collectives leave an event where
 * the function waits for them: MPI_Test* says nothing of how long they took. */
uint64_t stretto_hits_done(stretto_hits *hits, const MPI_Request *requests, int function,
                           uint64_t start, uint64_t end);
/* The same where the function returned an error: some may be complete. */
void stretto_hits_failed(stretto_hits *hits, const MPI_Request *requests);

#endif
