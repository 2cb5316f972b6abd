/* A communicator's piece of its nodes' shared memory: found by each node's leader, attached by all
 * its ranks there, agreed by whoever asks (setup.c, channels.c).
 */
#ifndef STRETTO_MEMORY_H
#define STRETTO_MEMORY_H

#include "run/engine.h"

/* What a node's leader has for its node's ranks of a communicator; others have nothing to offer. */
typedef struct {
    int64_t arena; /* offset of the piece, or one of the words below */
    int64_t area;  /* bytes of each rank's ring in it */
} stretto_memory;

enum { STRETTO_MEMORY_NONE = -1, STRETTO_MEMORY_UNNEEDED = -2 };
#define stretto_memory_unneeded ((stretto_memory){STRETTO_MEMORY_UNNEEDED, 0})

/* What this rank offers; c's rank and layout are known. large: a large ring while there is plenty.
 * Local. */
stretto_memory stretto_memory_take(const stretto_comm *c, bool large);
/* The leader gives back what it took and nobody has attached. Local. */
void stretto_memory_return(const stretto_comm *c, const stretto_memory *mine);
/* The rank in c whose offer is for this rank's node. */
int stretto_memory_leader(const stretto_comm *c);
/* Makes c->node in what this node's leader offers; nothing to do alone on the node. world: of c's
 * ranks, their ranks in the world. False without memory. Local. */
bool stretto_memory_attach(stretto_comm *c, const int *world, const stretto_memory *offered);
/* Large rings are mapped at once, when all have attached. Local. */
void stretto_memory_map(const stretto_comm *c, const stretto_memory *offered);

/* ---- setup.c --------------------------------------------------------------------------------- */

/* World ranks of comm's ranks; false, on all of them, when one is of another world. */
bool stretto_comm_world_ranks(MPI_Comm comm, int nranks, int *world);
/* Whether all of comm are well. Collective. */
bool stretto_agree(MPI_Comm comm, bool mine);
/* While we ask the MPI for something that we can do without, it must not end the job: errors are
 * returned, unless the application has several threads. */
MPI_Errhandler stretto_be_quiet(MPI_Comm comm);
void stretto_be_as_before(MPI_Comm comm, MPI_Errhandler before);

#endif
