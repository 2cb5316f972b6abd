/* Allreduce at rank 0: reduce directly, broadcast directly.
 *
 * Idea: everybody sends to rank 0, which reduces in order of ranks, at most `window` vectors
 * received ahead, and sends everybody the result.
 *
 * Source: folklore.
 * Cost: 2 (P - 1) (alpha + n beta) + (P - 1) n gamma at rank 0, up to `window` latencies
 * overlapped. Memory: `window` vectors (at most P - 1). Limits: none; pays for few ranks only.
 */
#include "coll/coll.h"

int stretto_build_allreduce_linear(stretto_plan *plan, const stretto_shape *shape) {
    const stretto_span all = stretto_span_of(STRETTO_OUT, 0, 1);
    if (shape->rank > 0) {
        stretto_plan_send(plan, 0, stretto_plan_mine(plan, 0, 1));
        stretto_plan_fence(plan);
        stretto_plan_recv(plan, 0, all);
        return 0;
    }
    stretto_plan_load(plan);
    for (int r = 1; r < shape->nranks; r++) {
        stretto_plan_limit(plan, shape->window - 1);
        stretto_plan_recv_reduce(plan, r, all, STRETTO_SRC_RIGHT);
    }
    stretto_plan_fence(plan);
    for (int r = 1; r < shape->nranks; r++) {
        stretto_plan_limit(plan, shape->window - 1);
        stretto_plan_send(plan, r, all);
    }
    return 0;
}
