/* Reduce-scatter of equal blocks round a ring.
 *
 * Idea: as reduce_scatter's, whose schedule does not ask how long the blocks are.
 *
 * Source: P. Patarasuk, X. Yuan, "Bandwidth Optimal All-reduce Algorithms for Clusters of
 * Workstations", JPDC 69(2), 2009 (its first half).
 * Cost: (P - 1) (alpha + n beta + n gamma), n = one block; neighbours only.
 * Memory: 2 P blocks. Limits: commutative operations.
 */
#include "coll/coll.h"

int stretto_build_reduce_scatter_block_ring(stretto_plan *plan, const stretto_shape *shape) {
    return stretto_build_reduce_scatter_ring(plan, shape);
}
