/* Allgather by recursive doubling.
 *
 * Idea: in step i every rank exchanges all blocks it has with the rank whose number differs in bit
 * i; the blocks it has are always a run in its place.
 *
 * Source: R. Thakur, R. Rabenseifner, W. Gropp, IJHPCA 19(1), 2005, section 4.1.
 * Cost: log2(P) alpha + (P - 1) n beta, n = one block. Memory: none. Limits: a power of two of
 * ranks; bruck_k serves the others.
 *
 * Also allgatherv, whose blocks may have any size: all blocks together instead of P n.
 */
#include "coll/coll.h"

int stretto_build_allgather_recursive_doubling(stretto_plan *plan, const stretto_shape *shape) {
    const int me = shape->rank;
    stretto_plan_load(plan);
    for (int d = 1; d < shape->nranks; d *= 2) {
        const int other = me ^ d;
        stretto_plan_send(plan, other, stretto_span_of(STRETTO_OUT, me & -d, d));
        stretto_plan_recv(plan, other, stretto_span_of(STRETTO_OUT, other & -d, d));
        stretto_plan_fence(plan);
    }
    return 0;
}
