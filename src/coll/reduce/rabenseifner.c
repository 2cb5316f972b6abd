/* Reduce by recursive halving and a gather to the root (Rabenseifner's algorithm), in rank order.
 *
 * Idea: reduce-scatter by halving the vector, nearest rank first, so that each partial result
 * covers a run of ranks: valid for operations that are not commutative. Then the pieces go to the
 * root along the same pairs backwards: whoever is on the other side of the root's bit sends. When P
 * is no power of two, the first P - 2^floor(log2 P) pairs (2i, 2i+1) fold, half of the vector each,
 * into their odd rank, or into the root.
 *
 * Source: R. Rabenseifner, "Optimization of Collective Reduction Operations", ICCS 2004, LNCS 3036.
 * Cost: 2 log2(P) alpha + 2 (P - 1)/P n beta + (P - 1)/P n gamma; 2 alpha + n beta + n/2 gamma more
 * when P is no power of 2. Memory: half a vector. Limits: none.
 */
#include "coll/fold.h"

static stretto_span out(int first, int count) {
    return stretto_span_of(STRETTO_OUT, first, count);
}

static void bring(stretto_plan *plan, int first, int count) {
    const stretto_span mine = stretto_plan_mine(plan, first, count);
    if (mine.buffer == STRETTO_IN)
        stretto_plan_copy(plan, mine, out(first, count));
}

/* One of a pair: reduces its half of the vector and gives it to `keeper`, or takes the other half.
 */
static void fold(stretto_plan *plan, int me, int other, int keeper, int pieces) {
    const int half = pieces / 2, mine = me < other ? 0 : half, theirs = half - mine;
    stretto_plan_send(plan, other, stretto_plan_mine(plan, theirs, half));
    bring(plan, mine, half);
    stretto_plan_recv_reduce(plan, other, out(mine, half),
                             me < other ? STRETTO_SRC_RIGHT : STRETTO_SRC_LEFT);
    stretto_plan_fence(plan);
    if (me == keeper)
        stretto_plan_recv(plan, other, out(theirs, half));
    else
        stretto_plan_send(plan, keeper, out(mine, half));
    stretto_plan_fence(plan);
}

int stretto_build_reduce_rabenseifner(stretto_plan *plan, const stretto_shape *shape) {
    const int p = shape->nranks, me = shape->rank, root = shape->root;
    int power = 1;
    while (2 * power <= p)
        power *= 2;
    const int extra = p - power; /* pairs that fold */
    stretto_plan_blocks(plan, power);
#define PAIR(v) ((v) == root / 2 && root < 2 * extra ? root : 2 * (v) + 1)
#define RANK(v) ((v) < extra ? PAIR(v) : (v) + extra)
    if (me < 2 * extra) {
        fold(plan, me, me ^ 1, PAIR(me / 2), power);
        if (me != PAIR(me / 2))
            return 0;
    } else {
        stretto_plan_load(plan);
    }
    const int folded = me < 2 * extra ? me / 2 : me - extra;
    const int top = root < 2 * extra ? root / 2 : root - extra;
    stretto_part part = {0, power}; /* the pieces this rank is still reducing */
    for (int bit = 1; bit < power; bit *= 2)
        stretto_part_halve(plan, &part, RANK(folded ^ bit), (folded & bit) == 0);
    for (int bit = power / 2; bit >= 1; bit /= 2) {
        const bool low = (folded & bit) == 0;
        if ((folded ^ top) & bit) {
            stretto_plan_send(plan, RANK(folded ^ bit), out(part.first, part.count));
            return 0;
        }
        const int other = low ? part.first + part.count : part.first - part.count;
        stretto_plan_recv(plan, RANK(folded ^ bit), out(other, part.count));
        stretto_plan_fence(plan);
        part.first = low ? part.first : other;
        part.count *= 2;
    }
    return 0;
}
