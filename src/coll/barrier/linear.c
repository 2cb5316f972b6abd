/* Barrier at rank 0.
 *
 * Idea: everybody tells rank 0, which answers when it has heard of all.
 *
 * Source: folklore.
 * Cost: 2 alpha, and 2 (P - 1) empty messages at rank 0. Memory: none. Limits: none.
 */
#include "coll/coll.h"

int stretto_build_barrier_linear(stretto_plan *plan, const stretto_shape *shape) {
    const stretto_span none = stretto_span_of(STRETTO_OUT, 0, 0);
    if (shape->rank > 0) {
        stretto_plan_send(plan, 0, none);
        stretto_plan_recv(plan, 0, none);
        return 0;
    }
    for (int r = 1; r < shape->nranks; r++)
        stretto_plan_recv(plan, r, none);
    stretto_plan_fence(plan);
    for (int r = 1; r < shape->nranks; r++)
        stretto_plan_send(plan, r, none);
    return 0;
}
