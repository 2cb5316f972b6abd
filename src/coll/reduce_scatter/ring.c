/* Reduce-scatter round a ring.
 *
 * Idea: the partial result of a block starts at the rank after its owner and goes once round the
 * ring, gathering contributions, until it comes to the owner. Operands wrap round: the operation
 * must be commutative.
 *
 * Source: P. Patarasuk, X. Yuan, "Bandwidth Optimal All-reduce Algorithms for Clusters of
 * Workstations", JPDC 69(2), 2009 (its first half).
 * Cost: (P - 1) (alpha + n beta + n gamma), n = one block; neighbours only. Memory: 2 P blocks.
 * Limits: commutative operations.
 *
 * Also reduce_scatter_block, whose blocks are equal.
 */
#include "coll/coll.h"

int stretto_build_reduce_scatter_ring(stretto_plan *plan, const stretto_shape *shape) {
    const int p = shape->nranks, me = shape->rank, right = (me + 1) % p, left = (me + p - 1) % p;
    stretto_span partial = stretto_span_of(STRETTO_IN, left, 1);
    for (int step = 1; step < p - 1; step++) {
        const int block = (me - 1 - step + p) % p;
        const stretto_span next = stretto_span_of(STRETTO_TMP, stretto_plan_tmp(plan, block), 1);
        stretto_plan_send(plan, right, partial);
        stretto_plan_copy(plan, stretto_span_of(STRETTO_IN, block, 1), next);
        stretto_plan_recv_reduce(plan, left, next, STRETTO_SRC_LEFT);
        stretto_plan_fence(plan);
        partial = next;
    }
    stretto_plan_send(plan, right, partial);
    stretto_plan_load(plan);
    stretto_plan_recv_reduce(plan, left, stretto_span_of(STRETTO_OUT, 0, 1), STRETTO_SRC_LEFT);
    return 0;
}
