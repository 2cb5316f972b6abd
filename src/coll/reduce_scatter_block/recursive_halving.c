/* Reduce-scatter of equal blocks by recursive halving.
 *
 * Idea: as reduce_scatter's, whose schedule does not ask how long the blocks are.
 *
 * Source: R. Thakur, R. Rabenseifner, W. Gropp, IJHPCA 19(1), 2005, section 4.3.
 * Cost: log2(P) alpha + (P - 1) n beta + (P - 1) n gamma, n = one block; 2 alpha + (P + 1) n beta +
 * P n gamma more when P is no power of 2. Memory: 2 P blocks. Limits: commutative operations.
 */
#include "coll/coll.h"

int stretto_build_reduce_scatter_block_recursive_halving(stretto_plan *plan,
                                                         const stretto_shape *shape) {
    return stretto_build_reduce_scatter_recursive_halving(plan, shape);
}
