/* Requests that are more than a point-to-point message under way: nonblocking collectives, files,
 * RMA, and everything persistent. Waiting for them is booked as waiting for what they are; plain
 * sends and receives are not kept here and cost nothing. */
#ifndef STRETTO_RECORD_REQUEST_H
#define STRETTO_RECORD_REQUEST_H

#include "record/core.h"

typedef struct {
    uint64_t request; /* handle; 0 = free */
    uint64_t key;     /* what a start is booked under */
    uint64_t bytes;
    uint32_t peer1; /* world rank + 1 that a message goes to; 0 = none */
    int function;
    bool persistent;
} stretto_tracked;

extern int stretto_tracked_count; /* read without the lock: 0 is the common case */

/* Remembers a request; what was under this handle is forgotten. */
void stretto_track(MPI_Request request, const stretto_tracked *what);
/* Copies what is known of a request; false when nothing is. */
bool stretto_tracked_find(MPI_Request request, stretto_tracked *what);
void stretto_untrack(uint64_t handle);

/* Before and after MPI_Wait* and MPI_Test* on n requests. */
enum { STRETTO_HITS = 64 };
typedef struct {
    uint64_t handle;
    int index, function;
    bool persistent;
} stretto_hit;
typedef struct {
    int n;
    stretto_hit *hits; /* of the requests known, in order */
    stretto_hit some[STRETTO_HITS];
} stretto_hits;

void stretto_hits_find(stretto_hits *hits, int n, const MPI_Request *requests);
/* Forgets those that are complete (their handles are null now); 1 + the function of the first known
 * one, 0 when there was none. */
unsigned stretto_hits_done(stretto_hits *hits, const MPI_Request *requests);

#endif
