/* Allgather of blocks of any size, round a ring.
 *
 * Idea: as allgather's, whose schedule does not ask how long the blocks are.
 *
 * Source: R. Thakur, R. Rabenseifner, W. Gropp, IJHPCA 19(1), 2005, section 4.1.
 * Cost: (P - 1) alpha + (P - 1) n beta, n = the largest block; neighbours only. Memory: none.
 * Limits: none.
 */
#include "coll/coll.h"

int stretto_build_allgatherv_ring(stretto_plan *plan, const stretto_shape *shape) {
    return stretto_build_allgather_ring(plan, shape);
}
