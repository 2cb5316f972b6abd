/* Allgather by exchange with the two neighbours in turn.
 *
 * Idea: ranks pair up and exchange their blocks; from then on every rank exchanges the two blocks
 * that it got last with its left and its right neighbour in turn. Half the steps of a ring, and
 * each rank talks to two others only.
 *
 * Source: J. Chen, L. Zhang, Y. Zhang, W. Yuan, "Performance Evaluation of Allgather Algorithms on
 * Terascale Linux Cluster with Fast Ethernet", HPC Asia 2005.
 * Cost: P/2 alpha + (P - 1) n beta, n = one block. Memory: none. Limits: an even number of ranks.
 *
 * Also allgatherv, whose blocks may have any size: n = the largest block.
 */
#include "coll/coll.h"

int stretto_build_allgather_neighbor_exchange(stretto_plan *plan, const stretto_shape *shape) {
    const int p = shape->nranks, me = shape->rank;
    const int way = me % 2 == 0 ? 1 : -1; /* to the first partner; then it is the other way */
    stretto_plan_load(plan);
    stretto_plan_send(plan, me + way, stretto_span_of(STRETTO_OUT, me, 1));
    stretto_plan_recv(plan, me + way, stretto_span_of(STRETTO_OUT, me + way, 1));
    stretto_plan_fence(plan);
    int pair = me & ~1; /* first of the two blocks got last */
    for (int step = 1; step < p / 2; step++) {
        const int side = step % 2 == 0 ? way : -way;
        /* that side's blocks come from ever farther away: 2, 4, 6, ... ranks */
        const int distance = 2 * ((step + 1) / 2);
        const int from = ((me & ~1) + side * distance + p) % p;
        stretto_plan_send(plan, (me + side + p) % p, stretto_span_of(STRETTO_OUT, pair, 2));
        stretto_plan_recv(plan, (me + side + p) % p, stretto_span_of(STRETTO_OUT, from, 2));
        stretto_plan_fence(plan);
        pair = from;
    }
    return 0;
}
