/* Scatter of blocks of any size over a k-nomial tree.
 *
 * Idea: the mirror image of gatherv's: the blocks of a subtree come to its top in one message, the
 * largest subtrees first. A rank is told the sizes of the blocks that it hands on by a first run of
 * the same tree on the sizes (stretto_plan.carries). The root copies the blocks of a subtree side
 * by side; single ones it sends from where they are.
 *
 * Source: as gatherv's.
 * Cost: ceil(log_k P) alpha + (P - 1) (n + 8) beta, n = the mean block: the data follows the sizes,
 * which are told in each call, a message behind; two messages where scatter has one.
 * Memory: the subtree's blocks; the root, all but those of leaves. Limits: short blocks.
 */
#include "coll/tree.h"

static void hand_out_from_root(stretto_plan *plan, const stretto_tree *tree) {
    for (stretto_child c = stretto_tree_last(tree, 0); c.position > 0;
         c = stretto_tree_previous(tree, 0, c)) {
        const int rank = stretto_tree_rank(plan, tree, c.position);
        const int n = stretto_tree_subtree(tree, c.position);
        if (n == 1) {
            stretto_plan_send(plan, rank, stretto_span_of(STRETTO_IN, rank, 1));
            continue;
        }
        const int at = stretto_tree_reserve(plan, tree, c.position);
        for (int i = 0; i < n; i++) {
            const int from = stretto_tree_rank(plan, tree, c.position + i);
            stretto_plan_copy(plan, stretto_span_of(STRETTO_IN, from, 1),
                              stretto_span_of(STRETTO_TMP, at + i, 1));
        }
        stretto_plan_send(plan, rank, stretto_span_of(STRETTO_TMP, at, n));
    }
    stretto_plan_load(plan);
}

int stretto_build_scatterv_knomial(stretto_plan *plan, const stretto_shape *shape) {
    const int p = shape->nranks, me = (shape->rank - shape->root + p) % p;
    const stretto_tree tree = {p, shape->root, shape->radix};
    if (me == 0) {
        hand_out_from_root(plan, &tree);
        return 0;
    }
    const int mine = stretto_tree_subtree(&tree, me);
    const int parent = stretto_tree_rank(plan, &tree, stretto_tree_parent(&tree, me));
    const stretto_span own = stretto_span_of(STRETTO_OUT, 0, 1);
    if (mine == 1) {
        stretto_plan_recv(plan, parent, own);
        return 0;
    }
    stretto_tree_reserve(plan, &tree, me); /* the first of this plan: block i of TMP */
    stretto_plan_recv(plan, parent, stretto_span_of(STRETTO_TMP, 0, mine));
    stretto_plan_fence(plan);
    for (stretto_child c = stretto_tree_last(&tree, me); c.position > 0;
         c = stretto_tree_previous(&tree, me, c))
        stretto_plan_send(
            plan, stretto_tree_rank(plan, &tree, c.position),
            stretto_span_of(STRETTO_TMP, c.position - me, stretto_tree_subtree(&tree, c.position)));
    stretto_plan_copy(plan, stretto_span_of(STRETTO_TMP, 0, 1), own);
    return 0;
}
