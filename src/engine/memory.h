/* A communicator's piece of its nodes' shared memory: found by each node's leader, entered by all
 * its ranks there, agreed by all ranks (setup.c, channels.c, and here when it grows).
 */
#ifndef STRETTO_MEMORY_H
#define STRETTO_MEMORY_H

#include "engine/engine.h"

/* SHORT: without rings. LARGE: large rings while there is plenty, else modest ones. REFUSED: what a
 * rank says that will have none. */
typedef enum {
    STRETTO_MEMORY_SHORT,
    STRETTO_MEMORY_MODEST,
    STRETTO_MEMORY_LARGE,
    STRETTO_MEMORY_REFUSED
} stretto_size;

/* What a rank has for its node's ranks of a communicator, or that nothing is needed of it. */
typedef struct {
    int64_t arena;         /* offset of the piece, or one of the words below */
    int64_t area;          /* bytes of each rank's ring in it */
    int64_t calls, chunks; /* its past: told, since who is quick leaves it before others enter */
    int64_t moves;         /* ranks may have to bring their part of it near, which can fail */
    int64_t opened;        /* what this rank can enter without asking the kernel */
} stretto_memory;

enum { STRETTO_MEMORY_NONE = -1, STRETTO_MEMORY_UNNEEDED = -2 };

/* c's handle, still without memory; nothing to do alone on the node. c's rank and layout are known;
 * world: of c's ranks, their ranks in the world. False without memory. Local. */
bool stretto_memory_prepare(stretto_comm *c, const int *world);
/* What this rank offers. Local. */
stretto_memory stretto_memory_offer(stretto_comm *c, stretto_size size);
/* Takes an offer back that was not joined. Local. */
void stretto_memory_withdraw(const stretto_comm *c, const stretto_memory *mine);
/* All ranks' offers are known, the first at `offers`, the next `stride` bytes on: enters the piece,
 * and leaves the one before. False on all ranks when there is none, or one cannot enter it: then
 * nothing has changed. Collective over c->comm, agreed. */
bool stretto_memory_join(stretto_comm *c, stretto_size size, const void *offers, size_t stride);
/* Both at once. */
bool stretto_memory_get(stretto_comm *c, stretto_size size);
/* Whether c's memory will do for calls of a collective and size by this choice, if need be after
 * growing. Collective over c->comm in calls for which c is still short; the same on all ranks. */
bool stretto_memory_suffices(stretto_comm *c, stretto_collective collective,
                             const stretto_choice *choice, size_t bytes);
/* c may yet grow because of calls of this collective, however short: they are to be counted. */
bool stretto_memory_counts(const stretto_comm *c, stretto_collective collective);
/* The call at hand was refused by this rank, and is to come again. */
void stretto_memory_uncount(stretto_comm *c);

/* ---- setup.c --------------------------------------------------------------------------------- */

/* World ranks of comm's ranks; false, on all of them, when one is of another world. */
bool stretto_comm_world_ranks(MPI_Comm comm, int nranks, int *world);
/* Whether all of comm are well. Collective. */
bool stretto_agree(MPI_Comm comm, bool mine);
/* Whether the application may be in the MPI with several threads at once. */
bool stretto_in_threads(void);
/* While we ask the MPI for something that we can do without, it must not end the job: errors are
 * returned, unless the application has several threads. */
MPI_Errhandler stretto_be_quiet(MPI_Comm comm);
void stretto_be_as_before(MPI_Comm comm, MPI_Errhandler before);
/* Whether making a communicator besides those of the application may hang (Open MPI). Local. */
bool stretto_threads_make_communicators(void);

#endif
