/* Allgather by Bruck's algorithm with radix k.
 *
 * Idea: rank r collects the blocks of ranks r, r + 1, ... (modulo P) one after another; in a round
 * with distance d it hands its first d blocks to k - 1 ranks at once and so has k d afterwards.
 * Blocks may differ in size. At the end they are turned to their places.
 *
 * Source: J. Bruck, C.-T. Ho, S. Kipnis, E. Upfal, D. Weathersby, "Efficient Algorithms for
 * All-to-All Communications in Multiport Message-Passing Systems", IEEE TPDS 8(11), 1997.
 * Cost: ceil(log_k P) alpha + (P - 1) n beta, n = one block, plus copying P blocks. Memory: P
 * blocks (none on rank 0, whose blocks are in place). Limits: none.
 *
 * Also allgatherv, whose blocks may have any size: all blocks together instead of P n.
 */
#include "coll/coll.h"

int stretto_build_allgather_bruck_k(stretto_plan *plan, const stretto_shape *shape) {
    const int p = shape->nranks, me = shape->rank, k = shape->radix;
    const stretto_buffer buffer = me == 0 ? STRETTO_OUT : STRETTO_TMP;
    if (me != 0) { /* the first of this plan: block j of TMP is that of rank me + j */
        stretto_plan_tmp_run(plan, me, p - me, 1);
        stretto_plan_tmp_run(plan, 0, me, 1);
    }
    const stretto_span mine =
        shape->in_place ? stretto_span_of(STRETTO_OUT, me, 1) : stretto_span_of(STRETTO_IN, 0, 1);
    if (me != 0 || !shape->in_place)
        stretto_plan_copy(plan, mine, stretto_span_of(buffer, 0, 1));
    for (long d = 1; d < p; d *= k) {
        for (long shift = d; shift < p && shift < d * k; shift += d) {
            int n = (int)(p - shift < d ? p - shift : d);
            stretto_plan_recv(plan, (int)((me + shift) % p),
                              stretto_span_of(buffer, (int)shift, n));
            stretto_plan_send(plan, (int)((me - shift + p) % p), stretto_span_of(buffer, 0, n));
        }
        stretto_plan_fence(plan);
    }
    if (me != 0) {
        const int own = shape->in_place; /* is there already */
        if (me + own < p)
            stretto_plan_copy(plan, stretto_span_of(STRETTO_TMP, own, p - me - own),
                              stretto_span_of(STRETTO_OUT, me + own, p - me - own));
        stretto_plan_copy(plan, stretto_span_of(STRETTO_TMP, p - me, me),
                          stretto_span_of(STRETTO_OUT, 0, me));
    }
    return 0;
}
