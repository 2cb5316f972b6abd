/* Allgather of blocks of any size, by striped binomial trees.
 *
 * Idea: as allgather's, whose schedule does not ask how long the blocks are.
 *
 * Source: W. J. Loch, G. P. Koslovski, "Sparbit: a new logarithmic-cost and data locality-aware MPI
 * Allgather algorithm", SBAC-PAD 2021.
 * Cost: ceil(log2 P) alpha + N beta, N = all blocks; P - 1 messages. Memory: none.
 * Limits: none.
 */
#include "coll/coll.h"

int stretto_build_allgatherv_sparbit(stretto_plan *plan, const stretto_shape *shape) {
    return stretto_build_allgather_sparbit(plan, shape);
}
