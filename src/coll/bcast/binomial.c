/* Broadcast over a binomial tree, in segments.
 *
 * Idea: every rank that has a segment hands it on to the roots of ever smaller subtrees, the
 * largest first; segments follow one another.
 *
 * Source: R. Thakur, R. Rabenseifner, W. Gropp, IJHPCA 19(1), 2005, section 4.2.
 * Cost: S log2(P) (alpha + n/S beta), S segments: the root sends each of them log2(P) times, so
 * that segments pay only where a receiver has few children. Memory: none. Limits: none.
 */
#include "coll/stage.h"

int stretto_build_bcast_binomial(stretto_plan *plan, const stretto_shape *shape) {
    const stretto_stage stage = stretto_stage_binomial(shape, false);
    stretto_plan_blocks(plan, shape->segments);
    stretto_stage_bcast(plan, &stage, 0, shape->segments);
    return 0;
}
