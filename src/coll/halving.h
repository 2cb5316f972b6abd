/* Reduce-scatter by halving the vector: what recursive_halving and butterfly have in common. */
#ifndef STRETTO_COLL_HALVING_H
#define STRETTO_COLL_HALVING_H

#include "coll/coll.h"

/* Halves with the farthest rank first (commutative operations), or in rank order: with the nearest
 * first, for which the blocks are brought into the order of the reversed bits of their numbers. */
void stretto_halve(stretto_plan *plan, const stretto_shape *shape, bool ordered);

#endif
