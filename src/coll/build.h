/* Between build.c and hierarchy.c. */
#ifndef STRETTO_COLL_BUILD_H
#define STRETTO_COLL_BUILD_H

#include "coll/coll.h"

/* Runs the algorithm on the shape, whose parameters it sets from the choice; finished plan. Also
 * for one rank, where no algorithm is asked. -1 with the reason, nothing left to free. */
int stretto_build_flat(stretto_plan *plan, const stretto_choice *choice, const stretto_shape *shape,
                       size_t bytes, char *error, size_t error_size);
/* Appends all that a collective of one rank has to do. */
void stretto_build_alone(stretto_plan *plan);
/* As stretto_build_flat, for shm and shm+X. */
int stretto_build_hierarchy(stretto_plan *plan, const stretto_choice *choice,
                            const stretto_shape *shape, size_t bytes, char *error,
                            size_t error_size);

#endif
