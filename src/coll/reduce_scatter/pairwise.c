/* Reduce-scatter, one partner after another.
 *
 * Idea: in step i every rank sends the rank i above the block that is due to it, receives its own
 * from the rank i below, and reduces it. When the operation is not commutative, ranks are taken
 * outwards from one's own: first all below, nearest first, as left operands, then all above; a
 * partial result so covers a run of ranks at any time.
 *
 * Source: R. Thakur, R. Rabenseifner, W. Gropp, IJHPCA 19(1), 2005, section 4.3; the ordered case
 * is ours.
 * Cost: (P - 1) (alpha + n beta + n gamma), n = one block; ordered: up to twice as many steps.
 * Memory: one block. Limits: none.
 *
 * Also reduce_scatter_block, whose blocks are equal.
 */
#include "coll/coll.h"

static void give(stretto_plan *plan, int to) {
    stretto_plan_send(plan, to, stretto_span_of(STRETTO_IN, to, 1));
}

static void take(stretto_plan *plan, int from, stretto_side side) {
    stretto_plan_recv_reduce(plan, from, stretto_span_of(STRETTO_OUT, 0, 1), side);
}

int stretto_build_reduce_scatter_pairwise(stretto_plan *plan, const stretto_shape *shape) {
    const int p = shape->nranks, me = shape->rank;
    stretto_plan_load(plan);
    for (int i = 1; i < p; i++) {
        if (shape->commutative || me + i < p)
            give(plan, (me + i) % p);
        if (shape->commutative || me - i >= 0)
            take(plan, (me - i + p) % p, STRETTO_SRC_LEFT);
        stretto_plan_fence(plan);
    }
    for (int i = 1; !shape->commutative && i < p; i++) {
        if (me - i >= 0)
            give(plan, me - i);
        if (me + i < p)
            take(plan, me + i, STRETTO_SRC_RIGHT);
        stretto_plan_fence(plan);
    }
    return 0;
}
