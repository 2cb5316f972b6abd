/* Exclusive scan from rank to rank.
 *
 * Idea: each rank hands on what has come from the rank below, with its contribution added.
 *
 * Source: folklore.
 * Cost: (P - 1) (alpha + n beta + n gamma). Memory: two vectors on inner ranks. Limits: none.
 */
#include "coll/coll.h"

int stretto_build_exscan_linear(stretto_plan *plan, const stretto_shape *shape) {
    const int p = shape->nranks, me = shape->rank;
    const stretto_span result = stretto_span_of(STRETTO_OUT, 0, 1);
    const stretto_span mine = stretto_plan_mine(plan, 0, 1);
    if (me == 0) {
        stretto_plan_send(plan, 1, mine);
        return 0;
    }
    if (me == p - 1) {
        stretto_plan_recv(plan, me - 1, result);
        return 0;
    }
    const stretto_span next = stretto_span_of(STRETTO_TMP, stretto_plan_tmp(plan, 0), 1);
    const stretto_span came = stretto_span_of(STRETTO_TMP, stretto_plan_tmp(plan, 0), 1);
    stretto_plan_copy(plan, mine, next);
    stretto_plan_wait(plan, stretto_plan_recv(plan, me - 1, came));
    stretto_plan_copy(plan, came, result);
    stretto_plan_reduce(plan, came, next, STRETTO_SRC_LEFT);
    stretto_plan_send(plan, me + 1, next);
    return 0;
}
