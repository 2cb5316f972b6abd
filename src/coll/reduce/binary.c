/* Reduce over a binary tree, in segments, in order.
 *
 * Idea: in a balanced tree every subtree is a run of ranks with its top in the middle: left child,
 * own contribution and right child are neighbours in order. When the operation is not commutative,
 * the ranks below the root and those above it form a tree each; else the tree is rotated so that
 * both are of equal size.
 *
 * Source: J. Pjesivac-Grbovic et al., "Performance Analysis of MPI Collective Operations", Cluster
 * Computing 10(2), 2007; the tree in order around any root is ours.
 * Cost: (log2(P) + 2 S) (alpha + n/S (beta + gamma)) about, S segments. Memory: 8 segments.
 * Limits: none.
 */
#include "coll/stage.h"

int stretto_build_reduce_binary(stretto_plan *plan, const stretto_shape *shape) {
    const stretto_stage stage = stretto_stage_binary(shape, !shape->commutative);
    stretto_plan_blocks(plan, shape->segments);
    stretto_stage_reduce(plan, &stage, shape->segments);
    return 0;
}
