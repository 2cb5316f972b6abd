/* All-to-all, one partner after another.
 *
 * Idea: in step i every rank sends to the rank i above and receives from the rank i below, so that
 * a long block has the link to itself (in place: exchanges with one partner a step).
 *
 * Source: R. Thakur, R. Rabenseifner, W. Gropp, IJHPCA 19(1), 2005, section 4.3.
 * Cost: (P - 1) (alpha + n beta), n = one block. Memory: none; in place one block. Limits: none.
 */
#include "coll/exchange.h"

int stretto_build_alltoall_pairwise(stretto_plan *plan, const stretto_shape *shape) {
    stretto_exchange(plan, shape, 1);
    return 0;
}
