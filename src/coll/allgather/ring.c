/* Allgather round a ring.
 *
 * Idea: in each of P - 1 steps every rank passes on to its right neighbour the block it got last.
 *
 * Source: R. Thakur, R. Rabenseifner, W. Gropp, IJHPCA 19(1), 2005, section 4.1.
 * Cost: (P - 1) (alpha + n beta), n = one block; neighbours only. Memory: none. Limits: none.
 *
 * Also allgatherv, whose blocks may have any size: n = the largest block.
 */
#include "coll/coll.h"

int stretto_build_allgather_ring(stretto_plan *plan, const stretto_shape *shape) {
    const int p = shape->nranks, me = shape->rank;
    stretto_plan_load(plan);
    for (int step = 0; step < p - 1; step++) {
        stretto_plan_send(plan, (me + 1) % p, stretto_span_of(STRETTO_OUT, (me - step + p) % p, 1));
        stretto_plan_recv(plan, (me + p - 1) % p,
                          stretto_span_of(STRETTO_OUT, (me - step - 1 + p) % p, 1));
        stretto_plan_fence(plan);
    }
    return 0;
}
