/* Reduce along a chain of ranks, in segments.
 *
 * Idea: the vector flows towards the root and gathers contributions on its way; a rank adds to a
 * segment while the next comes in. When the operation is not commutative, one chain comes from the
 * lowest rank up to the root and one from the highest down.
 *
 * Source: J. Pjesivac-Grbovic et al., "Performance Analysis of MPI Collective Operations", Cluster
 * Computing 10(2), 2007; the two chains of the ordered case are ours.
 * Cost: (P - 2 + S) (alpha + n/S (beta + gamma)), S segments. Memory: 4 segments (ordered: the root
 * 8). Limits: none; for few segments a tree is faster.
 */
#include "coll/stage.h"

int stretto_build_reduce_pipeline(stretto_plan *plan, const stretto_shape *shape) {
    const stretto_stage stage = stretto_stage_chain(shape, !shape->commutative, 1);
    stretto_plan_blocks(plan, shape->segments);
    stretto_stage_reduce(plan, &stage, shape->segments);
    return 0;
}
