/* Allgather of blocks of any size, by Bruck's algorithm with radix k.
 *
 * Idea: as allgather's, whose schedule does not ask how long the blocks are.
 *
 * Source: J. Bruck, C.-T. Ho, S. Kipnis, E. Upfal, D. Weathersby, "Efficient Algorithms for
 * All-to-All Communications in Multiport Message-Passing Systems", IEEE TPDS 8(11), 1997.
 * Cost: ceil(log_k P) alpha + N beta, N = all blocks, plus copying them. Memory: all blocks (none
 * on rank 0). Limits: none.
 */
#include "coll/coll.h"

int stretto_build_allgatherv_bruck_k(stretto_plan *plan, const stretto_shape *shape) {
    return stretto_build_allgather_bruck_k(plan, shape);
}
