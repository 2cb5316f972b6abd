/* Reduce, directly, in order of ranks.
 *
 * Idea: everybody sends to the root, which takes the ranks below it, nearest first, as left
 * operands and then those above as right ones, so that its partial result covers a run of ranks at
 * any time; at most `window` vectors are received ahead.
 *
 * Source: folklore.
 * Cost: (P - 1) (alpha + n beta + n gamma) at the root, up to `window` latencies overlapped.
 * Memory: `window` vectors (at most P - 1). Limits: none; pays for few ranks only.
 */
#include "coll/coll.h"

int stretto_build_reduce_linear(stretto_plan *plan, const stretto_shape *shape) {
    const int p = shape->nranks, me = shape->rank;
    if (me != shape->root) {
        stretto_plan_send(plan, shape->root, stretto_plan_mine(plan, 0, 1));
        return 0;
    }
    stretto_plan_load(plan);
    for (int i = 1; i < p; i++) {
        const bool below = i <= me;
        stretto_plan_limit(plan, shape->window - 1);
        stretto_plan_recv_reduce(plan, below ? me - i : i, stretto_span_of(STRETTO_OUT, 0, 1),
                                 below ? STRETTO_SRC_LEFT : STRETTO_SRC_RIGHT);
    }
    return 0;
}
