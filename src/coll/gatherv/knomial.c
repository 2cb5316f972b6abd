/* Gather of blocks of any size over a k-nomial tree.
 *
 * Idea: as gather's knomial: every rank collects the blocks of its subtree and hands them on in one
 * message. Their sizes it is told by a first run of the same tree on the sizes
 * (stretto_plan.carries). What comes to the root in one message it copies block by block to where
 * the caller wants them; single blocks come there at once.
 *
 * Source: the tree: R. Thakur, R. Rabenseifner, W. Gropp, IJHPCA 19(1), 2005 (k = 2). Sizes that go
 * up before the data: J. L. Träff, "Practical, distributed, low overhead algorithms for irregular
 * gather and scatter collectives", Parallel Computing 75, 2018.
 * Cost: ceil(log_k P) alpha + (P - 1) (n + 8) beta, n = the mean block: the data follows the sizes,
 * which are told in each call, a message behind; two messages where gather has one.
 * Memory: the subtree's blocks; the root, all but those of leaves. Limits: short blocks.
 */
#include "coll/tree.h"

static void collect_at_root(stretto_plan *plan, const stretto_tree *tree) {
    const int messages = plan->nactions; /* the first; nothing stands between them */
    for (stretto_child c = stretto_tree_first(tree, 0); c.position > 0;
         c = stretto_tree_next(tree, 0, c)) {
        const int rank = stretto_tree_rank(plan, tree, c.position);
        const int n = stretto_tree_subtree(tree, c.position);
        const stretto_span leaf = stretto_span_of(STRETTO_OUT, rank, 1);
        stretto_plan_recv(
            plan, rank,
            n == 1 ? leaf
                   : stretto_span_of(STRETTO_TMP, stretto_tree_reserve(plan, tree, c.position), n));
    }
    stretto_plan_load(plan);
    int message = messages, at = 0;
    for (stretto_child c = stretto_tree_first(tree, 0); c.position > 0;
         c = stretto_tree_next(tree, 0, c), message++) {
        const int n = stretto_tree_subtree(tree, c.position);
        if (n == 1)
            continue;
        stretto_plan_wait(plan, message);
        for (int i = 0; i < n; i++) {
            const int rank = stretto_tree_rank(plan, tree, c.position + i);
            stretto_plan_copy(plan, stretto_span_of(STRETTO_TMP, at++, 1),
                              stretto_span_of(STRETTO_OUT, rank, 1));
        }
    }
}

int stretto_build_gatherv_knomial(stretto_plan *plan, const stretto_shape *shape) {
    const int p = shape->nranks, me = (shape->rank - shape->root + p) % p;
    const stretto_tree tree = {p, shape->root, shape->radix};
    if (me == 0) {
        collect_at_root(plan, &tree);
        return 0;
    }
    const int mine = stretto_tree_subtree(&tree, me);
    const int parent = stretto_tree_rank(plan, &tree, stretto_tree_parent(&tree, me));
    const stretto_span own = stretto_span_of(STRETTO_IN, 0, 1);
    if (mine == 1) {
        stretto_plan_send(plan, parent, own);
        return 0;
    }
    stretto_tree_reserve(plan, &tree, me); /* the first of this plan: block i of TMP */
    for (stretto_child c = stretto_tree_first(&tree, me); c.position > 0;
         c = stretto_tree_next(&tree, me, c))
        stretto_plan_recv(
            plan, stretto_tree_rank(plan, &tree, c.position),
            stretto_span_of(STRETTO_TMP, c.position - me, stretto_tree_subtree(&tree, c.position)));
    stretto_plan_copy(plan, own, stretto_span_of(STRETTO_TMP, 0, 1));
    stretto_plan_fence(plan);
    stretto_plan_send(plan, parent, stretto_span_of(STRETTO_TMP, 0, mine));
    return 0;
}
