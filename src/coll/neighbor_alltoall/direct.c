/* All-to-all along edges, directly.
 *
 * Idea: a message along each edge of the graph, all at once; where a rank has more than `window`
 * of them, so many at a time, all ranks in the same order of edges.
 *
 * Source: folklore; MPI-4.1 section 8.6 describes the operation so.
 * Cost: alpha + d (o + n beta), d = edges of a rank, o = overhead of a message, n = one block.
 * Memory: none. Limits: none.
 */
#include "coll/neighbor.h"

int stretto_build_neighbor_alltoall_direct(stretto_plan *plan, const stretto_shape *shape) {
    return stretto_neighbor_direct(plan, shape);
}
