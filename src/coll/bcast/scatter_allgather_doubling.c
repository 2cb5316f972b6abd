/* Broadcast as a scatter and an allgather by recursive doubling.
 *
 * Idea: a binomial tree hands down the pieces of whole subtrees; then ranks exchange what they have
 * with partners at distance 1, 2, 4, ...: as few steps as a tree, twice the bandwidth. Nobody
 * receives again what the scatter left with it. When P is no power of two, the ranks beyond get the
 * whole message in the end.
 *
 * Source: R. Thakur, R. Rabenseifner, W. Gropp, IJHPCA 19(1), 2005, section 4.2.
 * Cost: 2 log2(P) alpha + 2 (P - 1)/P n beta; alpha + n beta more when P is no power of 2.
 * Memory: none. Limits: none.
 */
#include "coll/coll.h"

static stretto_span pieces(int first, int count) {
    return stretto_span_of(STRETTO_OUT, first, count);
}

int stretto_build_bcast_scatter_allgather_doubling(stretto_plan *plan, const stretto_shape *shape) {
    const int p = shape->nranks, root = shape->root, me = (shape->rank - root + p) % p;
    int power = 1;
    while (2 * power <= p)
        power *= 2;
    stretto_plan_blocks(plan, power);
    if (me >= power) {
        stretto_plan_recv(plan, (root + me - power) % p, pieces(0, power));
        return 0;
    }
    int mine = me == 0 ? power : me & -me; /* pieces me, me + 1, ... of the subtree */
    if (me != 0) {
        stretto_plan_recv(plan, (root + (me & (me - 1))) % p, pieces(me, mine));
        stretto_plan_fence(plan);
    }
    while (mine > 1) {
        mine /= 2;
        stretto_plan_send(plan, (root + me + mine) % p, pieces(me + mine, mine));
    }
    for (int d = 1; d < power; d *= 2) {
        const int partner = me ^ d, group = me & -d, theirs = partner & -d;
        if (partner % (2 * d) != 0)
            stretto_plan_send(plan, (root + partner) % p, pieces(group, d));
        if (me % (2 * d) != 0)
            stretto_plan_recv(plan, (root + partner) % p, pieces(theirs, d));
        stretto_plan_fence(plan);
    }
    if (me + power < p)
        stretto_plan_send(plan, (root + me + power) % p, pieces(0, power));
    return 0;
}
