/* Broadcast as a scatter and an allgather (van de Geijn).
 *
 * Idea: the root's bandwidth is the limit of a tree for long messages, so each rank first gets only
 * one P-th (a binomial tree hands down the pieces of whole subtrees), and all of them together then
 * pass the pieces round a ring. A rank does not receive again what the scatter left with it.
 *
 * Source: M. Barnett, L. Shuler, S. Gupta, D. G. Payne, R. van de Geijn, J. Watts, "Building a
 * High-Performance Collective Communication Library", Supercomputing 1994.
 * Cost: (log2(P) + P - 1) alpha + 2 (P - 1)/P n beta. Memory: none. Limits: none.
 */
#include "coll/tree.h"

/* Pieces in the subtree of a position of the binomial tree over p positions, its own one included.
 */
static int subtree(int p, int position) {
    int size = position == 0 ? p : position & -position;
    return position + size > p ? p - position : size;
}

int stretto_build_bcast_scatter_allgather(stretto_plan *plan, const stretto_shape *shape) {
    const int p = shape->nranks;
    const stretto_tree tree = {p, shape->root, 2};
    const int me =
        (shape->rank - shape->root + p) % p; /* position; piece i belongs to position i */
    const int mine = subtree(p, me);
    stretto_plan_blocks(plan, p);

    if (me != 0) {
        int parent = stretto_tree_rank(plan, &tree, stretto_tree_parent(&tree, me));
        stretto_plan_recv(plan, parent, stretto_span_of(STRETTO_OUT, me, mine));
        stretto_plan_fence(plan);
    }
    int d = 1;
    while (d < mine)
        d *= 2;
    for (d /= 2; d >= 1; d /= 2)
        if (me + d < p)
            stretto_plan_send(plan, stretto_tree_rank(plan, &tree, me + d),
                              stretto_span_of(STRETTO_OUT, me + d, subtree(p, me + d)));
    /* these sends may go on while the ring begins */

    const int next = (me + 1) % p, previous = (me + p - 1) % p;
    const int next_has = subtree(p, next);
    for (int step = 0; step < p - 1; step++) {
        int outgoing = (me - step + p) % p, incoming = (me - step - 1 + p) % p;
        if (outgoing < next || outgoing >= next + next_has)
            stretto_plan_send(plan, stretto_tree_rank(plan, &tree, next),
                              stretto_span_of(STRETTO_OUT, outgoing, 1));
        if (incoming < me || incoming >= me + mine)
            stretto_plan_recv(plan, stretto_tree_rank(plan, &tree, previous),
                              stretto_span_of(STRETTO_OUT, incoming, 1));
        stretto_plan_fence(plan);
    }
    return 0;
}
