/* All-to-all, directly, with a window.
 *
 * Idea: every pair of ranks exchanges its blocks directly; at most `window` partners at a time,
 * since hundreds of messages in flight choke receivers, NICs and the matching queues.
 *
 * Source: folklore; the window as in A. Faraj, X. Yuan, "Automatic Generation and Tuning of MPI
 * Collective Communication Routines", ICS 2005.
 * Cost: (P - 1) (alpha + n beta), n = one block, up to `window` latencies overlapped.
 * Memory: none; in place `window` blocks. Limits: none.
 */
#include "coll/exchange.h"

int stretto_build_alltoall_linear(stretto_plan *plan, const stretto_shape *shape) {
    stretto_exchange(plan, shape, shape->window);
    return 0;
}
