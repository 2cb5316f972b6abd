/* Allreduce in one step: everybody sends to everybody.
 *
 * Idea: a single latency; every rank reduces all vectors alone, in rank order and by one fixed tree
 * ((x_0 op x_1) op x_2) op ..., so that it is valid for operations that are not commutative and
 * equal on every rank.
 *
 * Source: folklore ("one-shot" allreduce); a single step of recursive_multiplying.
 * Cost: alpha + (P - 1) n beta + (P - 1) n gamma, P - 1 messages at a time. Memory: P - 1 vectors.
 * Limits: none; few ranks and shortest vectors.
 */
#include "coll/multiply.h"

int stretto_build_allreduce_direct(stretto_plan *plan, const stretto_shape *shape) {
    const stretto_group group = {.first = 0, .stride = 1, .n = shape->nranks, .me = shape->rank};
    stretto_plan_load(plan);
    stretto_multiply(plan, &group);
    return 0;
}
