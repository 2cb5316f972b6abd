/* Scatter of blocks of any size, directly, with a window.
 *
 * Idea: the root sends everybody its block, at most `window` at a time. Only the root knows all
 * sizes, and each rank its own: nobody hands on blocks, so nobody need be told.
 *
 * Source: folklore.
 * Cost: (P - 1) alpha + N beta at the root, N = all blocks, up to `window` latencies overlapped.
 * Memory: none. Limits: none; the root's NIC carries everything.
 */
#include "coll/coll.h"

int stretto_build_scatterv_linear(stretto_plan *plan, const stretto_shape *shape) {
    return stretto_build_scatter_linear(plan, shape);
}
