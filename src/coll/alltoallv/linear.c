/* All-to-all with blocks of any size, directly, with a window.
 *
 * Idea: every pair of ranks exchanges its blocks directly; at most `window` partners at a time,
 * since hundreds of messages in flight choke receivers, NICs and the matching queues. Block sizes
 * are known to a pair of ranks only: every pair exchanges its message, empty or not, and an
 * executor may leave out the empty ones, which both sides see.
 *
 * Source: folklore; the window as in A. Faraj, X. Yuan, "Automatic Generation and Tuning of MPI
 * Collective Communication Routines", ICS 2005.
 * Cost: (P - 1) (alpha + n beta), n = one block, up to `window` latencies overlapped.
 * Memory: none; in place `window` blocks. Limits: none.
 */
#include "coll/exchange.h"

int stretto_build_alltoallv_linear(stretto_plan *plan, const stretto_shape *shape) {
    stretto_exchange(plan, shape, shape->window);
    return 0;
}
