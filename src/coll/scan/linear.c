/* Scan from rank to rank.
 *
 * Idea: each rank adds its contribution to what comes from the rank below and hands it on.
 *
 * Source: folklore.
 * Cost: (P - 1) (alpha + n beta + n gamma). Memory: one vector. Limits: none.
 */
#include "coll/coll.h"

int stretto_build_scan_linear(stretto_plan *plan, const stretto_shape *shape) {
    const int p = shape->nranks, me = shape->rank;
    const stretto_span all = stretto_span_of(STRETTO_OUT, 0, 1);
    stretto_plan_load(plan);
    if (me > 0)
        stretto_plan_wait(plan, stretto_plan_recv_reduce(plan, me - 1, all, STRETTO_SRC_LEFT));
    if (me + 1 < p)
        stretto_plan_send(plan, me + 1, all);
    return 0;
}
