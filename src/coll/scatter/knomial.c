/* Scatter over a k-nomial tree.
 *
 * Idea: the mirror image of gather's: the blocks of a subtree, a run of ranks above the root, come
 * to its top together, the largest subtrees first. What the root sends is split where the run of
 * ranks wraps round, since its blocks lie in the order of ranks.
 *
 * Source: R. Thakur, R. Rabenseifner, W. Gropp, IJHPCA 19(1), 2005 (k = 2).
 * Cost: ceil(log_k P) alpha + (P - 1) n beta, n = one block. Memory: the subtree's blocks, P/k at
 * most. Limits: none.
 */
#include "coll/tree.h"

int stretto_build_scatter_knomial(stretto_plan *plan, const stretto_shape *shape) {
    const int p = shape->nranks, root = shape->root, me = (shape->rank - root + p) % p;
    const stretto_tree tree = {p, root, shape->radix};
    const int mine = stretto_tree_subtree(&tree, me);
    stretto_span own = stretto_span_of(STRETTO_OUT, 0, 1);
    if (me != 0) {
        const int parent = stretto_tree_parent(&tree, me);
        const int rank = stretto_tree_rank(plan, &tree, parent);
        const int before = parent == 0 && shape->rank + mine > p ? p - shape->rank : mine;
        for (int i = 0; mine > 1 && i < mine; i++)
            stretto_plan_tmp(plan, (root + me + i) % p); /* block i of TMP */
        if (mine > 1)
            own = stretto_span_of(STRETTO_TMP, 0, before);
        stretto_plan_recv(plan, rank, own);
        if (before < mine)
            stretto_plan_recv(plan, rank, stretto_span_of(STRETTO_TMP, before, mine - before));
        stretto_plan_fence(plan);
    }
    for (stretto_child c = stretto_tree_last(&tree, me); c.position > 0;
         c = stretto_tree_previous(&tree, me, c)) {
        const int rank = stretto_tree_rank(plan, &tree, c.position);
        const int n = stretto_tree_subtree(&tree, c.position);
        const int before = me == 0 && rank + n > p ? p - rank : n;
        const stretto_span run = me == 0 ? stretto_span_of(STRETTO_IN, rank, before)
                                         : stretto_span_of(STRETTO_TMP, c.position - me, n);
        stretto_plan_send(plan, rank, run);
        if (before < n)
            stretto_plan_send(plan, rank, stretto_span_of(STRETTO_IN, 0, n - before));
    }
    if (me == 0)
        stretto_plan_load(plan);
    else if (mine > 1)
        stretto_plan_copy(plan, stretto_span_of(STRETTO_TMP, 0, 1),
                          stretto_span_of(STRETTO_OUT, 0, 1));
    return 0;
}
