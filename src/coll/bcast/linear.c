/* Broadcast, directly, with a window.
 *
 * Idea: the root sends to everybody, at most `window` messages at a time.
 *
 * Source: folklore.
 * Cost: (P - 1) (alpha + n beta) at the root, up to `window` latencies overlapped. Memory: none.
 * Limits: none; pays for few ranks only.
 */
#include "coll/coll.h"

int stretto_build_bcast_linear(stretto_plan *plan, const stretto_shape *shape) {
    const stretto_span data = stretto_span_of(STRETTO_OUT, 0, 1);
    if (shape->rank != shape->root) {
        stretto_plan_recv(plan, shape->root, data);
        return 0;
    }
    for (int i = 1; i < shape->nranks; i++) {
        stretto_plan_limit(plan, shape->window - 1);
        stretto_plan_send(plan, (shape->root + i) % shape->nranks, data);
    }
    return 0;
}
