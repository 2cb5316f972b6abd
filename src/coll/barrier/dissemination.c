/* Barrier by dissemination with radix k.
 *
 * Idea: in the round with distance d every rank tells k - 1 ranks, d, 2d, ... away, that it and all
 * it has heard of have arrived; after ceil(log_k P) rounds everybody has heard of everybody.
 *
 * Source: D. Hensgen, R. Finkel, U. Manber, "Two Algorithms for Barrier Synchronization", IJPP
 * 17(1), 1988 (k = 2). Cost: ceil(log_k P) alpha, with k - 1 empty messages at a time. Memory:
 * none. Limits: none.
 */
#include "coll/coll.h"

int stretto_build_barrier_dissemination(stretto_plan *plan, const stretto_shape *shape) {
    const int p = shape->nranks, me = shape->rank, k = shape->radix;
    const stretto_span none = stretto_span_of(STRETTO_OUT, 0, 0);
    for (long d = 1; d < p; d *= k) {
        for (long shift = d; shift < p && shift < d * k; shift += d) {
            stretto_plan_recv(plan, (int)((me - shift + p) % p), none);
            stretto_plan_send(plan, (int)((me + shift) % p), none);
        }
        stretto_plan_fence(plan);
    }
    return 0;
}
