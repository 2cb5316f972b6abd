/* Scatter, directly, with a window.
 *
 * Idea: the root sends everybody its block, at most `window` at a time.
 *
 * Source: folklore.
 * Cost: (P - 1) (alpha + n beta) at the root, n = one block, up to `window` latencies overlapped.
 * Memory: none. Limits: none; the root's NIC carries everything.
 *
 * Also scatterv, whose blocks may have any size.
 */
#include "coll/coll.h"

int stretto_build_scatter_linear(stretto_plan *plan, const stretto_shape *shape) {
    if (shape->rank != shape->root) {
        stretto_plan_recv(plan, shape->root, stretto_span_of(STRETTO_OUT, 0, 1));
        return 0;
    }
    for (int i = 1; i < shape->nranks; i++) {
        const int to = (shape->root + i) % shape->nranks;
        stretto_plan_limit(plan, shape->window - 1);
        stretto_plan_send(plan, to, stretto_span_of(STRETTO_IN, to, 1));
    }
    stretto_plan_load(plan);
    return 0;
}
