/* All-to-all with blocks of any size by Bruck's algorithm with radix k.
 *
 * Idea: as alltoall's bruck_k: the block for the rank i above travels i ranks in jumps of d, 2d,
 * ..., (k - 1) d for the digits of i to the base k, all blocks with the same jump in one message. A
 * rank passes on blocks of other pairs, whose sizes it is told by a first run of the same rounds on
 * the sizes (stretto_plan.carries); an exchange that repeats is carried out once a call.
 *
 * Source: two-phase Bruck: K. Fan, T. Gilray, V. Pascucci, X. Huang, K. Micinski, S. Kumar,
 * "Optimizing the Bruck Algorithm for Non-uniform All-to-all Communication", HPDC 2022; there sizes
 * and data alternate round by round.
 * Cost: 2 ceil(log_k P) alpha + ceil(log_k P) (k - 1) (P/k) n beta, n = the mean block, k - 1
 * messages at a time; the first half of the latencies only when sizes change. Each block sent is
 * copied twice. Memory: the blocks of all messages sent and received. Limits: short blocks.
 */
#include "coll/coll.h"

#include <stdlib.h>

typedef struct {
    stretto_plan *plan;
    const stretto_shape *shape;
    int *at; /* [nranks] where the block that travels i ranks is now, in TMP; -1: where it began */
} state;

static int digit(int i, long d, int k) {
    return (int)(i / d % k);
}

/* Reserves a message of the blocks whose digit is `jump`, as rank `here` has them before this
 * round; returns how many. */
static int reserve(state *s, int here, long d, int jump) {
    const int p = s->shape->nranks;
    int n = 0;
    for (int i = 1; i < p; i++) {
        if (digit(i, d, s->shape->radix) != jump)
            continue;
        const int source = (int)((here - i % d + p) % p);
        stretto_plan_tmp(s->plan, stretto_shape_pair(s->shape, source, (source + i) % p));
        n++;
    }
    return n;
}

/* One jump of all the blocks that have it: packed and sent; returns where they will arrive. */
static int send_jump(state *s, long d, int jump) {
    const int p = s->shape->nranks, me = s->shape->rank;
    const int below = (int)((me - jump * d % p + p) % p), packed = s->plan->tmp_blocks;
    const int n = reserve(s, me, d, jump), arrived = s->plan->tmp_blocks;
    reserve(s, below, d, jump);
    for (int i = 1, to = packed; i < p; i++) {
        if (digit(i, d, s->shape->radix) != jump)
            continue;
        stretto_span from = s->at[i] < 0 ? stretto_span_of(STRETTO_IN, (me + i) % p, 1)
                                         : stretto_span_of(STRETTO_TMP, s->at[i], 1);
        stretto_plan_copy(s->plan, from, stretto_span_of(STRETTO_TMP, to++, 1));
    }
    stretto_plan_send(s->plan, (int)((me + jump * d) % p), stretto_span_of(STRETTO_TMP, packed, n));
    stretto_plan_recv(s->plan, below, stretto_span_of(STRETTO_TMP, arrived, n));
    return arrived;
}

/* After the fence: blocks with no jump to come are where they belong. */
static void take_jump(state *s, long d, int jump, int arrived) {
    const int p = s->shape->nranks, me = s->shape->rank, k = s->shape->radix;
    for (int i = 1; i < p; i++) {
        if (digit(i, d, k) != jump)
            continue;
        s->at[i] = arrived++;
        if (i < d * k)
            stretto_plan_copy(s->plan, stretto_span_of(STRETTO_TMP, s->at[i], 1),
                              stretto_span_of(STRETTO_OUT, (me - i + p) % p, 1));
    }
}

int stretto_build_alltoallv_bruck_v(stretto_plan *plan, const stretto_shape *shape) {
    const int p = shape->nranks, me = shape->rank, k = shape->radix;
    state s = {plan, shape, calloc((size_t)p, sizeof(int))};
    int *arrived = calloc((size_t)k, sizeof *arrived);
    plan->failed |= !s.at || !arrived;
    stretto_plan_load(plan);
    for (int i = 1; !plan->failed && i < p; i++) {
        s.at[i] = -1;
        if (!shape->in_place)
            continue;
        s.at[i] = stretto_plan_tmp(plan, stretto_shape_pair(shape, me, (me + i) % p));
        stretto_plan_copy(plan, stretto_span_of(STRETTO_OUT, (me + i) % p, 1),
                          stretto_span_of(STRETTO_TMP, s.at[i], 1));
    }
    for (long d = 1; !plan->failed && d < p; d *= k) {
        for (int jump = 1; jump < k && jump * d < p; jump++)
            arrived[jump] = send_jump(&s, d, jump);
        stretto_plan_fence(plan);
        for (int jump = 1; jump < k && jump * d < p; jump++)
            take_jump(&s, d, jump, arrived[jump]);
    }
    free(s.at);
    free(arrived);
    return 0;
}
