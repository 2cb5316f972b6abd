/* Broadcast over two binary trees, half of the message each, and an exchange of the halves.
 *
 * Idea: the ranks other than the root form two binary trees of equal size. The root sends the first
 * half down one and the second half down the other, in segments, so that it sends everything once
 * only; in the end each rank of one tree exchanges halves with its counterpart in the other. An odd
 * rank out gets the second half from the root.
 *
 * Source: J. Pjesivac-Grbovic et al., "Performance Analysis of MPI Collective Operations", Cluster
 * Computing 10(2), 2007; trees of equal size, so that counterparts exist, are ours.
 * Cost: (log2(P) + S) (alpha + n/S beta) + alpha + n/2 beta about, S segments. Memory: none.
 * Limits: none.
 */
#include "coll/stage.h"

int stretto_build_bcast_split_binary(stretto_plan *plan, const stretto_shape *shape) {
    const int p = shape->nranks, root = shape->root, me = (shape->rank - root + p) % p;
    const int segments = shape->segments < 2 ? 2 : shape->segments;
    const int right = (p - 1) / 2, left = p - 1 - right; /* positions 1 .. left, then the others */
    const int half = segments / 2;
    stretto_plan_blocks(plan, segments);
    const stretto_span part[2] = {stretto_span_of(STRETTO_OUT, 0, half),
                                  stretto_span_of(STRETTO_OUT, half, segments - half)};
    const int first[2] = {1, 1 + left}, count[2] = {left, right};
    if (me == 0) {
        for (int s = 0; s < segments - half; s++)
            for (int tree = 0; tree < 2; tree++) {
                if (count[tree] == 0 || s >= part[tree].count)
                    continue;
                stretto_plan_limit(plan, 7);
                stretto_plan_send(plan, (root + first[tree] + count[tree] / 2) % p,
                                  stretto_span_of(STRETTO_OUT, part[tree].first + s, 1));
            }
        if (left > right)
            stretto_plan_send(plan, (root + left) % p, part[1]);
        return 0;
    }
    const int tree = me > left;
    int parent, child[2];
    stretto_binary_place(first[tree], count[tree], me, &parent, child);
    stretto_stage stage = {.parent = (root + (parent < 0 ? 0 : parent)) % p};
    for (int c = 0; c < 2; c++)
        if (child[c] >= 0)
            stage.child[stage.n++] = (root + child[c]) % p;
    stretto_stage_bcast(plan, &stage, part[tree].first, part[tree].count);
    if (me == left && left > right) {
        stretto_plan_recv(plan, root, part[1]);
        return 0;
    }
    const int other = (root + (tree ? me - left : me + left)) % p;
    stretto_plan_send(plan, other, part[tree]);
    stretto_plan_recv(plan, other, part[!tree]);
    return 0;
}
