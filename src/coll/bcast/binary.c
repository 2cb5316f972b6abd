/* Broadcast over a binary tree, in segments.
 *
 * Idea: a balanced tree in which no rank sends a segment more than twice, so that the root is free
 * for the next segment after two sends whatever the number of ranks.
 *
 * Source: as for the chain: J. Pjesivac-Grbovic et al., "Performance Analysis of MPI Collective
 * Operations", Cluster Computing 10(2), 2007.
 * Cost: (log2(P) + 2 S) (alpha + n/S beta) about, S segments. Memory: none. Limits: none.
 */
#include "coll/stage.h"

int stretto_build_bcast_binary(stretto_plan *plan, const stretto_shape *shape) {
    const stretto_stage stage = stretto_stage_binary(shape, false);
    stretto_plan_blocks(plan, shape->segments);
    stretto_stage_bcast(plan, &stage, 0, shape->segments);
    return 0;
}
