/* What the neighbourhood collectives have in common: plans over the edges of a graph, which never
 * assume that blocks are equal, adjacent, or known to others than the two ends of an edge. */
#ifndef STRETTO_COLL_NEIGHBOR_H
#define STRETTO_COLL_NEIGHBOR_H

#include "coll/coll.h"

/* An edge as one of its ends sees it. */
typedef struct {
    int edge, peer; /* peer: the other end */
    int slot;       /* mine: in OUT for what comes, of the graph's out-slots for what goes */
} stretto_neighbor_edge;

/* The edges that begin (out) or end at a rank, without those to itself, into edges[degree]; how
 * many. */
int stretto_neighbor_edges(const stretto_shape *shape, bool out, stretto_neighbor_edge *edges);
/* The block of my IN that goes along an edge of mine. */
stretto_span stretto_neighbor_source(const stretto_shape *shape, int edge);
/* Copies what goes from this rank to itself. */
void stretto_neighbor_self(stretto_plan *plan, const stretto_shape *shape);

#endif
