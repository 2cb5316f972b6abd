/* Allreduce by recursive doubling.
 *
 * Idea: in step i every rank exchanges its partial result with the rank whose number differs in bit
 * i, so that after log2(P) steps all have everything. Each partial result covers a run of
 * consecutive ranks, and the lower run is always the left operand: valid for operations that are
 * not commutative, and the same expression tree on every rank. When P is no power of two, the first
 * P - 2^floor(log2 P) pairs (2i, 2i+1) first fold into their odd rank, which gives the result back
 * at the end.
 *
 * Source: R. Thakur, R. Rabenseifner, W. Gropp, "Optimization of Collective Communication
 * Operations in MPICH", IJHPCA 19(1), 2005, section 4.5. Cost: log2(P) (alpha + n beta + n gamma);
 * 2 (alpha + n beta) + n gamma more when P is no power of 2. Memory: one vector. Limits: none.
 */
#include "coll/coll.h"

int stretto_build_allreduce_recursive_doubling(stretto_plan *plan, const stretto_shape *shape) {
    const int p = shape->nranks, me = shape->rank;
    const stretto_span all = stretto_span_of(STRETTO_OUT, 0, 1);
    int power = 1;
    while (2 * power <= p)
        power *= 2;
    const int extra = p - power; /* pairs that fold */

    if (me < 2 * extra && me % 2 == 0) {
        stretto_plan_send(plan, me + 1, stretto_plan_mine(plan, 0, 1));
        stretto_plan_fence(plan);
        stretto_plan_recv(plan, me + 1, all);
        return 0;
    }
    stretto_plan_load(plan);
    if (me < 2 * extra)
        stretto_plan_recv_reduce(plan, me - 1, all, STRETTO_SRC_LEFT);
    stretto_plan_fence(plan);

    const int folded = me < 2 * extra ? me / 2 : me - extra;
    for (int bit = 1; bit < power; bit *= 2) {
        int other = folded ^ bit;
        int peer = other < extra ? 2 * other + 1 : other + extra;
        stretto_plan_send(plan, peer, all);
        stretto_plan_recv_reduce(plan, peer, all, peer < me ? STRETTO_SRC_LEFT : STRETTO_SRC_RIGHT);
        stretto_plan_fence(plan);
    }
    if (me < 2 * extra)
        stretto_plan_send(plan, me - 1, all);
    return 0;
}
