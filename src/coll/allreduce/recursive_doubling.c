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
#include "coll/fold.h"

int stretto_build_allreduce_recursive_doubling(stretto_plan *plan, const stretto_shape *shape) {
    const stretto_fold fold = stretto_fold_power(shape->nranks);
    const stretto_span all = stretto_span_of(STRETTO_OUT, 0, 1);
    if (!stretto_fold_in(plan, fold, 1, false))
        return 0;
    const int me = shape->rank, team = stretto_fold_team(fold, me);
    for (int bit = 1; bit < fold.teams; bit *= 2) {
        const int peer = stretto_fold_leader(fold, team ^ bit);
        stretto_plan_send(plan, peer, all);
        stretto_plan_recv_reduce(plan, peer, all, peer < me ? STRETTO_SRC_LEFT : STRETTO_SRC_RIGHT);
        stretto_plan_fence(plan);
    }
    stretto_fold_back(plan, fold, 1);
    return 0;
}
