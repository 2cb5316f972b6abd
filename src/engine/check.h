/* STRETTO_CHECK_CALLS: the ranks compare what they call before each blocking collective. */
#ifndef STRETTO_CHECK_H
#define STRETTO_CHECK_H

#include "engine/engine.h"

typedef struct {
    long long count;
    MPI_Datatype type;
} stretto_amount;

/* What a call says of itself, as far as the application gave it. */
typedef struct {
    const char *function; /* "MPI_Bcast" */
    stretto_collective collective;
    int root; /* -1: none */
    long long count;
    MPI_Datatype datatype;            /* null: the amount is in what follows */
    MPI_Op op;                        /* MPI_OP_NULL: none */
    const stretto_ragged *everywhere; /* blocks that all ranks must name alike */
    stretto_amount mine, roots; /* rooted: every rank's own block; a block on the root's other side.
                                 * mine: of allgather(v) and alltoall what is sent */
    const stretto_ragged *send, *receive; /* blocks on which pairs of ranks must agree */
    bool in_place;
    const stretto_neighbor_blocks *to, *from; /* what goes to and comes from neighbours */
    const void *in, *out;                     /* sendbuf and recvbuf, where there are both */
} stretto_checked_call;

/* Collective over comm; ends the job with a message when the ranks do not call the same. */
void stretto_check_call(MPI_Comm comm, const stretto_checked_call *call);

/* check_buffers.c: does what this rank sends overlap with what it receives? Of neighbours: c->graph
 * is there. */
bool stretto_check_overlap(const stretto_comm *c, const stretto_checked_call *call);
bool stretto_check_overlap_edges(const stretto_comm *c, const stretto_checked_call *call);

#endif
