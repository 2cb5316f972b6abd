/* Allreduce round a ring, the pieces in segments.
 *
 * Idea: the ring's reduce-scatter and allgather, but each of the P pieces is cut into segments that
 * follow one another: a rank reduces one segment while the next comes in, and hands it on at once.
 * Operands wrap round: the operation must be commutative.
 *
 * Source: P. Patarasuk, X. Yuan, JPDC 69(2), 2009 (the ring); segments as in the pipelines of J.
 * Pjesivac-Grbovic et al., Cluster Computing 10(2), 2007.
 * Cost: 2 (P - 1) (S alpha + n/P beta) + n gamma hidden but for one segment, S segments a piece.
 * Memory: S segments, one P-th of the vector. Limits: commutative operations; 16 segments a piece.
 */
#include "coll/coll.h"

enum { MOST = 16 };

typedef struct {
    int p, me, segments;
} ring;

static stretto_span segment(const ring *r, int piece, int s) {
    return stretto_span_of(STRETTO_OUT, ((piece % r->p + r->p) % r->p) * r->segments + s, 1);
}

int stretto_build_allreduce_segmented_ring(stretto_plan *plan, const stretto_shape *shape) {
    const int p = shape->nranks, me = shape->rank, right = (me + 1) % p, left = (me + p - 1) % p;
    int segments = (shape->segments + p - 1) / p; /* of one piece */
    if (segments > MOST)
        segments = MOST;
    const ring r = {p, me, segments};
    int came[MOST], went[MOST]; /* the last receive and send of each segment */
    stretto_plan_blocks(plan, p * segments);
    stretto_plan_load(plan);
    for (int step = 0; step < p - 1; step++)
        for (int s = 0; s < segments; s++) {
            if (step > 0) {
                stretto_plan_wait(plan, came[s]);
                stretto_plan_wait(plan, went[s]);
            }
            went[s] = stretto_plan_send(plan, right, segment(&r, me - step, s));
            came[s] = stretto_plan_recv_reduce(plan, left, segment(&r, me - step - 1, s),
                                               STRETTO_SRC_LEFT);
        }
    for (int step = 0; step < p - 1; step++)
        for (int s = 0; s < segments; s++) {
            stretto_plan_wait(plan, came[s]);
            stretto_plan_wait(plan, went[s]);
            went[s] = stretto_plan_send(plan, right, segment(&r, me + 1 - step, s));
            came[s] = stretto_plan_recv(plan, left, segment(&r, me - step, s));
        }
    return 0;
}
