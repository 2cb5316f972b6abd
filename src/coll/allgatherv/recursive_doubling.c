/* Allgather of blocks of any size, by recursive doubling.
 *
 * Idea: as allgather's, whose schedule does not ask how long the blocks are.
 *
 * Source: R. Thakur, R. Rabenseifner, W. Gropp, IJHPCA 19(1), 2005, section 4.1.
 * Cost: log2(P) alpha + N beta, N = all blocks. Memory: none.
 * Limits: a power of two of ranks.
 */
#include "coll/coll.h"

int stretto_build_allgatherv_recursive_doubling(stretto_plan *plan, const stretto_shape *shape) {
    return stretto_build_allgather_recursive_doubling(plan, shape);
}
