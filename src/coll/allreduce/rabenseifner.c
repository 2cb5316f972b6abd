/* Allreduce by recursive halving and doubling (Rabenseifner's algorithm), in rank order.
 *
 * Idea: reduce-scatter by halving the vector, allgather by doubling it: the bandwidth of a ring in
 * 2 log2(P) steps. Here the first halving is with the nearest rank and the last with the farthest,
 * so that each partial result covers a run of consecutive ranks: valid for operations that are not
 * commutative. The allgather goes the same way back, so the odd order of the pieces does not
 * matter. When P is no power of two, the first P - 2^floor(log2 P) pairs (2i, 2i+1) fold: each of
 * the two reduces one half of the vector, the even rank hands its half over and gets the result at
 * the end.
 *
 * Source: R. Rabenseifner, "Optimization of Collective Reduction Operations", ICCS 2004, LNCS 3036.
 * Cost: 2 log2(P) alpha + 2 (P - 1)/P n beta + (P - 1)/P n gamma;
 *       3 alpha + 2 n beta + n/2 gamma more when P is no power of 2.
 * Memory: half a vector. Limits: none; a vector shorter than P elements has empty pieces.
 */
#include "coll/coll.h"

static stretto_span out(int first, int count) {
    return stretto_span_of(STRETTO_OUT, first, count);
}

/* The pair (even, even + 1) reduces into the odd rank, half of the vector each. */
static void fold(stretto_plan *plan, int me, int pieces) {
    const int half = pieces / 2;
    if (me % 2 == 0) {
        stretto_plan_send(plan, me + 1, stretto_plan_mine(plan, half, half));
        if (stretto_plan_mine(plan, 0, half).buffer == STRETTO_IN)
            stretto_plan_copy(plan, stretto_plan_mine(plan, 0, half), out(0, half));
        stretto_plan_recv_reduce(plan, me + 1, out(0, half), STRETTO_SRC_RIGHT);
        stretto_plan_fence(plan);
        stretto_plan_send(plan, me + 1, out(0, half));
        stretto_plan_fence(plan);
    } else {
        stretto_plan_send(plan, me - 1, stretto_plan_mine(plan, 0, half));
        if (stretto_plan_mine(plan, half, half).buffer == STRETTO_IN)
            stretto_plan_copy(plan, stretto_plan_mine(plan, half, half), out(half, half));
        stretto_plan_recv_reduce(plan, me - 1, out(half, half), STRETTO_SRC_LEFT);
        stretto_plan_fence(plan);
        stretto_plan_recv(plan, me - 1, out(0, half));
        stretto_plan_fence(plan);
    }
}

int stretto_build_allreduce_rabenseifner(stretto_plan *plan, const stretto_shape *shape) {
    const int p = shape->nranks, me = shape->rank;
    int power = 1;
    while (2 * power <= p)
        power *= 2;
    const int extra = p - power; /* pairs that fold */
    stretto_plan_blocks(plan, power);

    if (me < 2 * extra) {
        fold(plan, me, power);
        if (me % 2 == 0) {
            stretto_plan_recv(plan, me + 1, out(0, power));
            return 0;
        }
    } else {
        stretto_plan_load(plan);
        /* keep the rounds of all ranks in step, for people */
        stretto_plan_fence(plan);
        stretto_plan_fence(plan);
    }

    const int folded = me < 2 * extra ? me / 2 : me - extra;
    int first = 0, count = power; /* the pieces this rank is still reducing */
    for (int bit = 1; bit < power; bit *= 2) {
        int other = folded ^ bit;
        int peer = other < extra ? 2 * other + 1 : other + extra;
        bool low = (folded & bit) == 0;
        count /= 2;
        int given = low ? first + count : first;
        first = low ? first : first + count;
        stretto_plan_send(plan, peer, out(given, count));
        stretto_plan_recv_reduce(plan, peer, out(first, count),
                                 low ? STRETTO_SRC_RIGHT : STRETTO_SRC_LEFT);
        stretto_plan_fence(plan);
    }
    for (int bit = power / 2; bit >= 1; bit /= 2) {
        int other = folded ^ bit;
        int peer = other < extra ? 2 * other + 1 : other + extra;
        bool low = (folded & bit) == 0;
        stretto_plan_send(plan, peer, out(first, count));
        stretto_plan_recv(plan, peer, out(low ? first + count : first - count, count));
        stretto_plan_fence(plan);
        first = low ? first : first - count;
        count *= 2;
    }
    if (me < 2 * extra)
        stretto_plan_send(plan, me - 1, out(0, power));
    return 0;
}
