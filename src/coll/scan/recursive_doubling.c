/* Scan by doubling the distance.
 *
 * Idea: before the step with distance d a rank holds the fold of itself and the d - 1 ranks below;
 * it gives that to the rank d above and puts what comes from the rank d below before it.
 *
 * Source: W. D. Hillis, G. L. Steele, "Data Parallel Algorithms", CACM 29(12), 1986.
 * Cost: ceil(log2 P) (alpha + n beta + n gamma). Memory: one vector. Limits: none.
 */
#include "coll/coll.h"

int stretto_build_scan_recursive_doubling(stretto_plan *plan, const stretto_shape *shape) {
    const int p = shape->nranks, me = shape->rank;
    const stretto_span all = stretto_span_of(STRETTO_OUT, 0, 1);
    stretto_plan_load(plan);
    for (long d = 1; d < p; d *= 2) {
        if (me + d < p)
            stretto_plan_send(plan, (int)(me + d), all);
        if (me - d >= 0)
            stretto_plan_recv_reduce(plan, (int)(me - d), all, STRETTO_SRC_LEFT);
        stretto_plan_fence(plan);
    }
    return 0;
}
