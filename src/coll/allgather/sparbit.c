/* Allgather by striped binomial trees (Sparbit): from far to near, every block to its place.
 *
 * Idea: before the round with distance d a rank has the blocks of the ranks me, me - 2d, me - 4d,
 * ..., and in it gets those in between from the rank d below. Logarithmic like Bruck's, but nothing
 * has to be turned round at the end, and the many blocks of the last rounds go to near ranks.
 *
 * Source: W. J. Loch, G. P. Koslovski, "Sparbit: a new logarithmic-cost and data locality-aware MPI
 * Allgather algorithm", SBAC-PAD 2021.
 * Cost: ceil(log2 P) alpha + (P - 1) n beta, n = one block; P - 1 messages. Memory: none.
 * Limits: none.
 *
 * Also allgatherv, whose blocks may have any size: all blocks together instead of P n.
 */
#include "coll/coll.h"

int stretto_build_allgather_sparbit(stretto_plan *plan, const stretto_shape *shape) {
    const int p = shape->nranks, me = shape->rank;
    int d = 1;
    while (2 * d < p)
        d *= 2;
    stretto_plan_load(plan);
    for (; d >= 1; d /= 2) {
        const int had = (p + 2 * d - 1) / (2 * d), has = (p + d - 1) / d;
        for (int i = 0; i < has - had; i++) {
            const int far = 2 * d * i; /* below p */
            stretto_plan_send(plan, (me + d) % p,
                              stretto_span_of(STRETTO_OUT, (me - far + p) % p, 1));
            stretto_plan_recv(plan, (me - d + p) % p,
                              stretto_span_of(STRETTO_OUT, (me - far - d + p) % p, 1));
        }
        stretto_plan_fence(plan);
    }
    return 0;
}
