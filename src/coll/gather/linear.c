/* Gather, directly, with a window.
 *
 * Idea: everybody sends to the root, which posts at most `window` receives at a time.
 *
 * Source: folklore.
 * Cost: (P - 1) (alpha + n beta) at the root, n = one block, up to `window` latencies overlapped.
 * Memory: none. Limits: none; the root's NIC and matching queue carry everything.
 *
 * Also gatherv, whose blocks may have any size.
 */
#include "coll/coll.h"

int stretto_build_gather_linear(stretto_plan *plan, const stretto_shape *shape) {
    if (shape->rank != shape->root) {
        stretto_plan_send(plan, shape->root, stretto_span_of(STRETTO_IN, 0, 1));
        return 0;
    }
    for (int i = 1; i < shape->nranks; i++) {
        const int from = (shape->root + i) % shape->nranks;
        stretto_plan_limit(plan, shape->window - 1);
        stretto_plan_recv(plan, from, stretto_span_of(STRETTO_OUT, from, 1));
    }
    stretto_plan_load(plan);
    return 0;
}
