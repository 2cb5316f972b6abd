/* Allgather of blocks of any size, directly, with a window.
 *
 * Idea: as allgather's, whose schedule does not ask how long the blocks are.
 *
 * Source: folklore; the window as in A. Faraj, X. Yuan, "Automatic Generation and Tuning of MPI
 * Collective Communication Routines", ICS 2005.
 * Cost: (P - 1) alpha + N beta, N = all blocks, up to `window` latencies overlapped.
 * Memory: none. Limits: none.
 */
#include "coll/coll.h"

int stretto_build_allgatherv_linear(stretto_plan *plan, const stretto_shape *shape) {
    return stretto_build_allgather_linear(plan, shape);
}
