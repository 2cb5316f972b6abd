/* Barrier over a k-nomial tree: gather, release.
 *
 * Idea: a rank that has heard of its whole subtree tells its parent; rank 0 then releases everybody
 * the same way back. 2 (P - 1) messages in all, where dissemination has P log2(P).
 *
 * Source: folklore; the k-nomial tree as in U. Wickramasinghe, A. Lumsdaine, "A Survey of Methods
 * for Collective Communication Optimization and Tuning", arXiv:1611.06334, 2016.
 * Cost: 2 ceil(log_k P) alpha, with k - 1 empty messages at a time. Memory: none. Limits: none.
 */
#include "coll/tree.h"

int stretto_build_barrier_tree(stretto_plan *plan, const stretto_shape *shape) {
    const stretto_tree tree = {shape->nranks, 0, shape->radix};
    const stretto_span none = stretto_span_of(STRETTO_OUT, 0, 0);
    const int me = shape->rank;
    stretto_child c;
    for (c = stretto_tree_first(&tree, me); c.position > 0; c = stretto_tree_next(&tree, me, c))
        stretto_plan_recv(plan, c.position, none);
    stretto_plan_fence(plan);
    if (me > 0) {
        stretto_plan_send(plan, stretto_tree_parent(&tree, me), none);
        stretto_plan_wait(plan, stretto_plan_recv(plan, stretto_tree_parent(&tree, me), none));
    }
    for (c = stretto_tree_last(&tree, me); c.position > 0; c = stretto_tree_previous(&tree, me, c))
        stretto_plan_send(plan, c.position, none);
    return 0;
}
