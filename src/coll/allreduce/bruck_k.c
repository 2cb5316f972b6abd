/* Allreduce as an allgather of all vectors by Bruck's algorithm with radix k, reduced locally.
 *
 * Idea: with short vectors the number of rounds is all that counts. After ceil(log_k P) rounds
 * every rank holds the vectors of all ranks and reduces them alone, in rank order and by one fixed
 * tree x_0 op (x_1 op (x_2 op ...)) so that it is valid for operations that are not commutative and
 * equal on every rank. In a round with distance d the first d vectors held go to k - 1 ranks at
 * once.
 *
 * Source: J. Bruck, C.-T. Ho, S. Kipnis, E. Upfal, D. Weathersby, "Efficient Algorithms for
 * All-to-All Communications in Multiport Message-Passing Systems", IEEE TPDS 8(11), 1997.
 * Cost: ceil(log_k P) alpha + (P - 1) n beta + (P - 1) n gamma, with k - 1 messages at a time.
 * Memory: P vectors. Limits: none, but hopeless for long vectors.
 */
#include "coll/coll.h"

int stretto_build_allreduce_bruck_k(stretto_plan *plan, const stretto_shape *shape) {
    const int p = shape->nranks, me = shape->rank, k = shape->radix;
    /* held + j: the vector of rank (me + j) % p */
    const int held = stretto_plan_tmp_run(plan, 0, p, 0);
    stretto_plan_copy(plan, stretto_plan_mine(plan, 0, 1), stretto_span_of(STRETTO_TMP, held, 1));
    for (long d = 1; d < p; d *= k) {
        for (long shift = d; shift < p && shift < d * k; shift += d) {
            int n = (int)(p - shift < d ? p - shift : d);
            stretto_plan_recv(plan, (int)((me + shift) % p),
                              stretto_span_of(STRETTO_TMP, held + (int)shift, n));
            stretto_plan_send(plan, (int)((me - shift + p) % p),
                              stretto_span_of(STRETTO_TMP, held, n));
        }
        stretto_plan_fence(plan);
    }
    const stretto_span result = stretto_span_of(STRETTO_OUT, 0, 1);
    /* In place the last rank finds its own there. */
    if (me != p - 1 || stretto_plan_mine(plan, 0, 1).buffer == STRETTO_IN)
        stretto_plan_copy(plan, stretto_span_of(STRETTO_TMP, held + p - 1 - me, 1), result);
    for (int r = p - 2; r >= 0; r--)
        stretto_plan_reduce(plan, stretto_span_of(STRETTO_TMP, held + (r - me + p) % p, 1), result,
                            STRETTO_SRC_LEFT);
    return 0;
}
