/* Barrier by recursive doubling.
 *
 * Idea: in step i every rank exchanges an empty message with the rank whose number differs in bit
 * i. When P is no power of two, the ranks beyond tell a partner first and hear from it last.
 *
 * Source: R. Gupta, V. Tipparaju, J. Nieplocha, D. K. Panda, "Efficient Barrier using Remote Memory
 * Operations on VIA-Based Clusters", CLUSTER 2002 (pairwise exchange).
 * Cost: log2(P) alpha; 2 alpha more when P is no power of 2. Memory: none. Limits: none.
 */
#include "coll/coll.h"

int stretto_build_barrier_recursive_doubling(stretto_plan *plan, const stretto_shape *shape) {
    const int p = shape->nranks, me = shape->rank;
    const stretto_span none = stretto_span_of(STRETTO_OUT, 0, 0);
    int power = 1;
    while (2 * power <= p)
        power *= 2;
    if (me >= power) {
        stretto_plan_send(plan, me - power, none);
        stretto_plan_recv(plan, me - power, none);
        return 0;
    }
    if (me + power < p)
        stretto_plan_recv(plan, me + power, none);
    stretto_plan_fence(plan);
    for (int bit = 1; bit < power; bit *= 2) {
        stretto_plan_send(plan, me ^ bit, none);
        stretto_plan_recv(plan, me ^ bit, none);
        stretto_plan_fence(plan);
    }
    if (me + power < p)
        stretto_plan_send(plan, me + power, none);
    return 0;
}
