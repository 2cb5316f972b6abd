/* Gather of blocks of any size, directly, with a window.
 *
 * Idea: everybody sends to the root, which posts at most `window` receives at a time. Only the root
 * knows all sizes, and each rank its own: nobody receives for another, so nobody need be told.
 *
 * Source: folklore.
 * Cost: (P - 1) alpha + N beta at the root, N = all blocks, up to `window` latencies overlapped.
 * Memory: none. Limits: none; the root's NIC and matching queue carry everything.
 */
#include "coll/coll.h"

int stretto_build_gatherv_linear(stretto_plan *plan, const stretto_shape *shape) {
    return stretto_build_gather_linear(plan, shape);
}
