/* All-to-all by Bruck's algorithm with radix k.
 *
 * Idea: the block for the rank i above travels i ranks in jumps of d, 2d, ..., (k - 1) d for the
 * digits of i to the base k; all blocks with the same jump go in one message. Many short messages
 * become few long ones, each block being sent up to log_k(P) times. A block is taken from IN when
 * it moves first, and put into OUT when it moves last.
 *
 * Source: J. Bruck, C.-T. Ho, S. Kipnis, E. Upfal, D. Weathersby, "Efficient Algorithms for
 * All-to-All Communications in Multiport Message-Passing Systems", IEEE TPDS 8(11), 1997.
 * Cost: ceil(log_k P) alpha + ceil(log_k P) (k - 1) (P/k) n beta, n = one block, k - 1 messages at
 * a time; each block sent is copied twice. Memory: P blocks to keep and 2 (k - 1) (P/k) in
 * messages. Limits: none; short blocks.
 */
#include "coll/coll.h"

static int digit(int i, long d, int k) {
    return (int)(i / d % k);
}

static int first_free(stretto_plan *plan, int blocks) {
    const int first = plan->tmp_blocks;
    for (int i = 0; i < blocks; i++)
        stretto_plan_tmp(plan, 0);
    return first;
}

static stretto_span tmp(int first, int count) {
    return stretto_span_of(STRETTO_TMP, first, count);
}

/* One jump of all the blocks that have it: packed, exchanged; to be unpacked after the fence. */
static int send_jump(stretto_plan *plan, const stretto_shape *shape, long d, int jump, int kept,
                     int packed) {
    const int p = shape->nranks, me = shape->rank, k = shape->radix;
    int n = 0;
    for (int i = 1; i < p; i++) {
        if (digit(i, d, k) != jump)
            continue;
        const bool moved = i % d != 0 || shape->in_place;
        stretto_plan_copy(plan,
                          moved ? tmp(kept + i, 1) : stretto_span_of(STRETTO_IN, (me + i) % p, 1),
                          tmp(packed + n++, 1));
    }
    stretto_plan_send(plan, (int)((me + jump * d) % p), tmp(packed, n));
    stretto_plan_recv(plan, (int)((me - jump * d % p + p) % p), tmp(packed + n, n));
    return 2 * n;
}

static int unpack_jump(stretto_plan *plan, const stretto_shape *shape, long d, int jump, int kept,
                       int packed) {
    const int p = shape->nranks, me = shape->rank, k = shape->radix;
    int n = 0, at = 0;
    for (int i = 1; i < p; i++)
        n += digit(i, d, k) == jump;
    for (int i = 1; i < p; i++)
        if (digit(i, d, k) == jump)
            stretto_plan_copy(plan, tmp(packed + n + at++, 1),
                              i < d * k ? stretto_span_of(STRETTO_OUT, (me - i + p) % p, 1)
                                        : tmp(kept + i, 1));
    return 2 * n;
}

int stretto_build_alltoall_bruck_k(stretto_plan *plan, const stretto_shape *shape) {
    const int p = shape->nranks, me = shape->rank, k = shape->radix;
    const int kept = first_free(plan, p); /* kept + i: the block that travels i ranks */
    int packed = 0, room = 0;
    stretto_plan_load(plan);
    for (int i = 1; shape->in_place && i < p; i++)
        stretto_plan_copy(plan, stretto_span_of(STRETTO_OUT, (me + i) % p, 1), tmp(kept + i, 1));
    for (long d = 1; d < p; d *= k) {
        int need = 0;
        for (int i = 1; i < p; i++)
            need += 2 * (digit(i, d, k) != 0);
        if (need > room) {
            packed = first_free(plan, need);
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
