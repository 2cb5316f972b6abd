/* Exclusive scan by doubling the distance.
 *
 * Idea: everybody gives its contribution to the rank above; then it is an inclusive scan over the
 * ranks 1, 2, ... of what they got: before the step with distance d a rank holds the fold of d
 * ranks, gives that to the rank d above and puts what comes from the rank d below before it.
 *
 * Source: W. D. Hillis, G. L. Steele, "Data Parallel Algorithms", CACM 29(12), 1986.
 * Cost: alpha + n beta + ceil(log2 (P - 1)) (alpha + n beta + n gamma). Memory: one vector (in
 * place two). Limits: none.
 */
#include "coll/coll.h"

int stretto_build_exscan_recursive_doubling(stretto_plan *plan, const stretto_shape *shape) {
    const int p = shape->nranks, me = shape->rank;
    const stretto_span all = stretto_span_of(STRETTO_OUT, 0, 1);
    if (me + 1 < p)
        stretto_plan_send(plan, me + 1, stretto_plan_mine(plan, 0, 1));
    if (me == 0)
        return 0;
    stretto_span came = all;
    if (shape->in_place && me + 1 < p) /* OUT is on its way out */
        came = stretto_span_of(STRETTO_TMP, stretto_plan_tmp(plan, 0), 1);
    stretto_plan_recv(plan, me - 1, came);
    stretto_plan_fence(plan);
    if (came.buffer == STRETTO_TMP)
        stretto_plan_copy(plan, came, all);
    for (long d = 1; d < p - 1; d *= 2) {
        if (me + d < p)
            stretto_plan_send(plan, (int)(me + d), all);
        if (me - d >= 1)
            stretto_plan_recv_reduce(plan, (int)(me - d), all, STRETTO_SRC_LEFT);
        stretto_plan_fence(plan);
    }
    return 0;
}
