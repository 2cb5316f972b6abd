/* Reduce-scatter of equal blocks, one partner after another.
 *
 * Idea: as reduce_scatter's, whose schedule does not ask how long the blocks are.
 *
 * Source: R. Thakur, R. Rabenseifner, W. Gropp, IJHPCA 19(1), 2005, section 4.3.
 * Cost: (P - 1) (alpha + n beta + n gamma), n = one block; ordered: up to twice as many steps.
 * Memory: one block. Limits: none.
 */
#include "coll/coll.h"

int stretto_build_reduce_scatter_block_pairwise(stretto_plan *plan, const stretto_shape *shape) {
    return stretto_build_reduce_scatter_pairwise(plan, shape);
}
