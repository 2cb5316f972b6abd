/* All-to-all by Bruck's algorithm with radix k.
 *
 * Idea: the block for the rank i above travels i ranks in jumps of d, 2d, ..., (k - 1) d for the
 * digits of i to the base k; all blocks with the same jump go in one message. Many short messages
 * become few long ones, each block being sent up to log_k(P) times. Blocks with the same jump lie
 * in runs of d, and are packed so. A block is taken from IN when
 * it moves first, and put into OUT when it moves last.
 *
 * Source: J. Bruck, C.-T. Ho, S. Kipnis, E. Upfal, D. Weathersby, "Efficient Algorithms for
 * All-to-All Communications in Multiport Message-Passing Systems", IEEE TPDS 8(11), 1997.
 * Cost: ceil(log_k P) alpha + ceil(log_k P) (k - 1) (P/k) n beta, n = one block, k - 1 messages at
 * a time; each block sent is copied twice. Memory: P blocks to keep and 2 (k - 1) (P/k) in
 * messages. Limits: none; short blocks.
 */
#include "coll/coll.h"

static stretto_span tmp(int first, int count) {
    return stretto_span_of(STRETTO_TMP, first, count);
}

/* The blocks with a jump are runs of d, each k d after the last: the length of the one at i. */
static int run_at(int p, long i, long d) {
    return (int)(p - i < d ? p - i : d);
}

static int blocks_with(int p, long d, int jump, int k) {
    int n = 0;
    for (long i = jump * d; i < p; i += d * k)
        n += run_at(p, i, d);
    return n;
}

/* One jump of all the blocks that have it: packed, exchanged; to be unpacked after the fence. */
static int send_jump(stretto_plan *plan, const stretto_shape *shape, long d, int jump, int kept,
                     int packed) {
    const int p = shape->nranks, me = shape->rank, k = shape->radix;
    int n = 0;
    for (long i = jump * d; i < p; i += d * k) {
        const int run = run_at(p, i, d), fresh = !shape->in_place; /* the first has not moved yet */
        if (fresh)
            stretto_plan_copy(plan, stretto_span_of(STRETTO_IN, (int)((me + i) % p), 1),
                              tmp(packed + n, 1));
        if (run > fresh)
            stretto_plan_copy(plan, tmp(kept + (int)i + fresh, run - fresh),
                              tmp(packed + n + fresh, run - fresh));
        n += run;
    }
    stretto_plan_send(plan, (int)((me + jump * d) % p), tmp(packed, n));
    stretto_plan_recv(plan, (int)((me - jump * d % p + p) % p), tmp(packed + n, n));
    return 2 * n;
}

static int unpack_jump(stretto_plan *plan, const stretto_shape *shape, long d, int jump, int kept,
                       int packed) {
    const int p = shape->nranks, me = shape->rank, k = shape->radix;
    const int n = blocks_with(p, d, jump, k);
    int at = packed + n;
    for (long i = jump * d; i < p; i += d * k) {
        const int run = run_at(p, i, d);
        if (i >= d * k)
            stretto_plan_copy(plan, tmp(at, run), tmp(kept + (int)i, run));
        for (int j = 0; i < d * k && j < run; j++)
            stretto_plan_copy(plan, tmp(at + j, 1),
                              stretto_span_of(STRETTO_OUT, (int)((me - i - j + p) % p), 1));
        at += run;
    }
    return 2 * n;
}

int stretto_build_alltoall_bruck_k(stretto_plan *plan, const stretto_shape *shape) {
    const int p = shape->nranks, me = shape->rank, k = shape->radix;
    const int kept =
        stretto_plan_tmp_run(plan, 0, p, 0); /* kept + i: the block that travels i ranks */
    int packed = 0, room = 0;
    stretto_plan_load(plan);
    for (int i = 1; shape->in_place && i < p; i++)
        stretto_plan_copy(plan, stretto_span_of(STRETTO_OUT, (me + i) % p, 1), tmp(kept + i, 1));
    for (long d = 1; d < p; d *= k) {
        int need = 0;
        for (int jump = 1; jump < k && jump * d < p; jump++)
            need += 2 * blocks_with(p, d, jump, k);
        if (need > room) {
            packed = stretto_plan_tmp_run(plan, 0, need, 0);
            room = need;
        }
        for (int jump = 1, at = packed; jump < k && jump * d < p; jump++)
            at += send_jump(plan, shape, d, jump, kept, at);
        stretto_plan_fence(plan);
        for (int jump = 1, at = packed; jump < k && jump * d < p; jump++)
            at += unpack_jump(plan, shape, d, jump, kept, at);
    }
    return 0;
}
