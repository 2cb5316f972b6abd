/* Reduce over a k-nomial tree.
 *
 * Idea: a subtree is a run of consecutive ranks that its lowest rank reduces in rank order. For a
 * commutative operation the tree is rotated so that the root is its lowest rank. Otherwise the
 * ranks below the root and those above it form a tree each, and the root puts the three together:
 *     (x_0 op ... x_root-1) op x_root op (x_root+1 op ... )
 * so that any root is reached without an extra hop of the whole result.
 *
 * Source: R. Thakur, R. Rabenseifner, W. Gropp, IJHPCA 19(1), 2005, section 4.4 (k = 2); the two
 * trees of the ordered case are ours.
 * Cost: ceil(log_k P) (k - 1) (alpha + n beta + n gamma) at most; ordered: one step more at most.
 * Memory: k - 1 vectors on inner ranks (OUT is scratch there). Limits: none.
 */
#include "coll/tree.h"

static void build_ordered(stretto_plan *plan, const stretto_shape *shape) {
    const int me = shape->rank, root = shape->root, above = shape->nranks - root - 1;
    const stretto_span result = stretto_span_of(STRETTO_OUT, 0, 1);
    if (me == root) {
        stretto_plan_load(plan);
        if (root > 0)
            stretto_plan_recv_reduce(plan, 0, result, STRETTO_SRC_LEFT);
        if (above > 0)
            stretto_plan_recv_reduce(plan, root + 1, result, STRETTO_SRC_RIGHT);
        return;
    }
    const stretto_tree tree = me < root ? (stretto_tree){root, 0, shape->radix}
                                        : (stretto_tree){above, root + 1, shape->radix};
    const int position = me - tree.first;
    if (position == 0 && tree.n == 1) {
        stretto_plan_send(plan, root, stretto_plan_mine(plan, 0, 1)); /* nothing to add up */
        return;
    }
    stretto_tree_reduce(plan, &tree, position, 1);
    if (position == 0)
        stretto_plan_send(plan, root, result);
}

int stretto_build_reduce_knomial(stretto_plan *plan, const stretto_shape *shape) {
    if (!shape->commutative) {
        build_ordered(plan, shape);
        return 0;
    }
    const stretto_tree tree = {shape->nranks, shape->root, shape->radix};
    int me = (shape->rank - shape->root + shape->nranks) % shape->nranks;
    stretto_tree_reduce(plan, &tree, me, 1);
    return 0;
}
