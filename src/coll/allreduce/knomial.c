/* Allreduce as a reduce to rank 0 and a broadcast from it, both over a k-nomial tree.
 *
 * Idea: P - 1 messages each way and no exchange: little load on a network where the ranks of a node
 * share a NIC. A subtree is a run of consecutive ranks which its lowest rank reduces in rank order:
 * valid for operations that are not commutative; one rank makes the result, so all have the same.
 *
 * Source: folklore; the k-nomial tree as in U. Wickramasinghe, A. Lumsdaine, "A Survey of Methods
 * for Collective Communication Optimization and Tuning", arXiv:1611.06334, 2016. Cost: 2 ceil(log_k
 * P) (k - 1) (alpha + n beta) + ceil(log_k P) (k - 1) n gamma at most. Memory: k - 1 vectors on
 * inner ranks. Limits: none.
 */
#include "coll/tree.h"

int stretto_build_allreduce_knomial(stretto_plan *plan, const stretto_shape *shape) {
    const int me = shape->rank;
    stretto_tree_reduce(plan, &(stretto_tree){shape->nranks, 0, shape->radix}, me, 1);
    stretto_plan_fence(plan);
    stretto_tree_bcast(plan, &(stretto_tree){shape->nranks, 0, shape->radix}, me, 1);
    return 0;
}
