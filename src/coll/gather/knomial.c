/* Gather over a k-nomial tree.
 *
 * Idea: every rank collects the blocks of its subtree, a run of ranks above the root, and hands
 * them on together. What comes to the root is split where the run of ranks wraps round, so that
 * every block goes to its place.
 *
 * Source: R. Thakur, R. Rabenseifner, W. Gropp, IJHPCA 19(1), 2005 (k = 2).
 * Cost: ceil(log_k P) alpha + (P - 1) n beta, n = one block. Memory: the subtree's blocks, P/k at
 * most. Limits: none.
 */
#include "coll/tree.h"

int stretto_build_gather_knomial(stretto_plan *plan, const stretto_shape *shape) {
    const int p = shape->nranks, root = shape->root, me = (shape->rank - root + p) % p;
    const stretto_tree tree = {p, root, shape->radix};
    const int mine = stretto_tree_subtree(&tree, me);
    if (me == 0) {
        for (stretto_child c = stretto_tree_first(&tree, 0); c.position > 0;
             c = stretto_tree_next(&tree, 0, c)) {
            const int rank = (root + c.position) % p, n = stretto_tree_subtree(&tree, c.position);
            const int before = rank + n > p ? p - rank : n; /* it wraps */
            stretto_plan_recv(plan, rank, stretto_span_of(STRETTO_OUT, rank, before));
            if (before < n)
                stretto_plan_recv(plan, rank, stretto_span_of(STRETTO_OUT, 0, n - before));
        }
        stretto_plan_load(plan);
        return 0;
    }
    const int parent = stretto_tree_parent(&tree, me);
    const int rank = stretto_tree_rank(plan, &tree, parent);
    const stretto_span own = stretto_span_of(STRETTO_IN, 0, 1);
    if (mine == 1) {
        stretto_plan_send(plan, rank, own);
        return 0;
    }
    for (int i = 0; i < mine; i++)
        stretto_plan_tmp(plan, (root + me + i) % p); /* the first of this plan: block i of TMP */
    for (stretto_child c = stretto_tree_first(&tree, me); c.position > 0;
         c = stretto_tree_next(&tree, me, c))
        stretto_plan_recv(
            plan, stretto_tree_rank(plan, &tree, c.position),
            stretto_span_of(STRETTO_TMP, c.position - me, stretto_tree_subtree(&tree, c.position)));
    stretto_plan_copy(plan, own, stretto_span_of(STRETTO_TMP, 0, 1));
    stretto_plan_fence(plan);
    const int before = parent == 0 && shape->rank + mine > p ? p - shape->rank : mine;
    stretto_plan_send(plan, rank, stretto_span_of(STRETTO_TMP, 0, before));
    if (before < mine)
        stretto_plan_send(plan, rank, stretto_span_of(STRETTO_TMP, before, mine - before));
    return 0;
}
