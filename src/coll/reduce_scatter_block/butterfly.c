/* Reduce-scatter of equal blocks by a butterfly, in rank order.
 *
 * Idea: as reduce_scatter's, whose schedule does not ask how long the blocks are.
 *
 * Source: J. L. Traeff, "An Improved Algorithm for (Non-commutative) Reduce-Scatter with an
 * Application", EuroPVM/MPI 2005, LNCS 3666.
 * Cost: log2(P) alpha + (P - 1) n beta + (P - 1) n gamma, n = one block, plus copying P blocks; a
 * fold as for recursive_halving when P is no power of 2.
 * Memory: 2 P blocks. Limits: none.
 */
#include "coll/coll.h"

int stretto_build_reduce_scatter_block_butterfly(stretto_plan *plan, const stretto_shape *shape) {
    return stretto_build_reduce_scatter_butterfly(plan, shape);
}
