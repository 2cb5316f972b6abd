/* Allreduce round a ring: reduce-scatter, then allgather, P pieces.
 *
 * Idea: in each of 2 (P - 1) steps every rank sends one P-th of the vector to its right neighbour.
 * The piece that starts at rank r gathers r, r + 1, ... round the ring, so operands wrap round: the
 * operation must be commutative. Each piece is completed by one rank: the same result on all.
 *
 * Source: P. Patarasuk, X. Yuan, "Bandwidth Optimal All-reduce Algorithms for Clusters of
 * Workstations", JPDC 69(2), 2009.
 * Cost: 2 (P - 1) alpha + 2 (P - 1)/P n beta + (P - 1)/P n gamma; neighbours only.
 * Memory: one P-th of the vector. Limits: commutative operations.
 */
#include "coll/coll.h"

static stretto_span piece(int p, int index) {
    return stretto_span_of(STRETTO_OUT, (index % p + p) % p, 1);
}

int stretto_build_allreduce_ring(stretto_plan *plan, const stretto_shape *shape) {
    const int p = shape->nranks, me = shape->rank;
    const int right = (me + 1) % p, left = (me + p - 1) % p;
    stretto_plan_blocks(plan, p);
    stretto_plan_load(plan);
    for (int step = 0; step < p - 1; step++) {
        stretto_plan_send(plan, right, piece(p, me - step));
        stretto_plan_recv_reduce(plan, left, piece(p, me - step - 1), STRETTO_SRC_LEFT);
        stretto_plan_fence(plan);
    }
    for (int step = 0; step < p - 1; step++) {
        stretto_plan_send(plan, right, piece(p, me + 1 - step));
        stretto_plan_recv(plan, left, piece(p, me - step));
        stretto_plan_fence(plan);
    }
    return 0;
}
