/* Allgather of blocks of any size, by exchange with the two neighbours.
 *
 * Idea: as allgather's, whose schedule does not ask how long the blocks are.
 *
 * Source: J. Chen, L. Zhang, Y. Zhang, W. Yuan, "Performance Evaluation of Allgather Algorithms on
 * Terascale Linux Cluster with Fast Ethernet", HPC Asia 2005.
 * Cost: P/2 alpha + P n beta, n = the largest block. Memory: none.
 * Limits: an even number of ranks.
 */
#include "coll/coll.h"

int stretto_build_allgatherv_neighbor_exchange(stretto_plan *plan, const stretto_shape *shape) {
    return stretto_build_allgather_neighbor_exchange(plan, shape);
}
