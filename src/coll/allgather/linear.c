/* Allgather, directly, with a window.
 *
 * Idea: everybody sends its block to everybody, in step i to the rank i above; at most `window`
 * partners at a time, since hundreds of messages in flight choke receivers and NICs.
 *
 * Source: folklore; the window as in A. Faraj, X. Yuan, "Automatic Generation and Tuning of MPI
 * Collective Communication Routines", ICS 2005.
 * Cost: (P - 1) (alpha + n beta), n = one block, up to `window` latencies overlapped.
 * Memory: none. Limits: none.
 *
 * Also allgatherv, whose blocks may have any size: all blocks together instead of P n.
 */
#include "coll/coll.h"

int stretto_build_allgather_linear(stretto_plan *plan, const stretto_shape *shape) {
    const int p = shape->nranks, me = shape->rank;
    const stretto_span mine =
        shape->in_place ? stretto_span_of(STRETTO_OUT, me, 1) : stretto_span_of(STRETTO_IN, 0, 1);
    for (int i = 1; i < p; i++) {
        const int from = (me - i + p) % p;
        stretto_plan_limit(plan, 2 * (shape->window - 1));
        stretto_plan_recv(plan, from, stretto_span_of(STRETTO_OUT, from, 1));
        stretto_plan_send(plan, (me + i) % p, mine);
    }
    stretto_plan_load(plan);
    return 0;
}
