/* Reduce over a binomial tree, in segments, in order.
 *
 * Idea: a subtree is a run of ranks that its lowest rank reduces, segment after segment. When the
 * operation is not commutative, the ranks below the root and those above it form a tree each.
 *
 * Source: R. Thakur, R. Rabenseifner, W. Gropp, IJHPCA 19(1), 2005, section 4.4.
 * Cost: S log2(P) (alpha + n/S (beta + gamma)), S segments. Memory: 4 log2(P) segments at the root.
 * Limits: none.
 */
#include "coll/stage.h"

int stretto_build_reduce_binomial(stretto_plan *plan, const stretto_shape *shape) {
    const stretto_stage stage = stretto_stage_binomial(shape, !shape->commutative);
    stretto_plan_blocks(plan, shape->segments);
    stretto_stage_reduce(plan, &stage, shape->segments);
    return 0;
}
