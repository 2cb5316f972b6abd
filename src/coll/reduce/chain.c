/* Reduce along several chains of ranks, in segments.
 *
 * Idea: the mirror image of bcast's: `fanout` chains end at the root, which reduces what they
 * bring. When the operation is not commutative, there are two: one from the lowest rank up to the
 * root and one from the highest down.
 *
 * Source: J. Pjesivac-Grbovic et al., "Performance Analysis of MPI Collective Operations", Cluster
 * Computing 10(2), 2007.
 * Cost: ((P - 1)/F - 1 + S F) (alpha + n/S (beta + gamma)), F chains, S segments.
 * Memory: 4 segments, the root 4 F. Limits: none.
 */
#include "coll/stage.h"

int stretto_build_reduce_chain(stretto_plan *plan, const stretto_shape *shape) {
    const stretto_stage stage = stretto_stage_chain(shape, !shape->commutative, shape->radix);
    stretto_plan_blocks(plan, shape->segments);
    stretto_stage_reduce(plan, &stage, shape->segments);
    return 0;
}
