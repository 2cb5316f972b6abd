/* Broadcast over the binomial tree of doubling distances, in segments.
 *
 * Idea: after round i the 2^i ranks next to the root have the message, and each sends it to the
 * rank 2^i further on: children are served nearest first, and subtrees are strided, not runs. Where
 * ranks of a node are consecutive the last rounds are all between nodes, in parallel, which loads
 * every interface; `binomial`, with its runs, stays inside nodes as long as it can.
 *
 * Source: the "bmtree" of Open MPI's coll/base (ompi_coll_base_topo_build_bmtree), described, not
 * copied: what that MPI does is a baseline of ours.
 * Cost: S log2(P) (alpha + n/S beta), S segments. Memory: none. Limits: none.
 */
#include "coll/stage.h"

int stretto_build_bcast_binomial_doubling(stretto_plan *plan, const stretto_shape *shape) {
    const int p = shape->nranks, at = (shape->rank - shape->root + p) % p;
    stretto_stage stage = {.parent = -1};
    int d = 1;
    while (d <= at)
        d *= 2; /* the round in which this rank has the message first, as a distance */
    if (at > 0)
        stage.parent = (at - d / 2 + shape->root) % p;
    /* stretto_stage_bcast sends to the last child first */
    for (int far = d; far < p - at; far *= 2)
        stage.n++;
    for (int i = stage.n - 1; i >= 0; i--, d *= 2)
        stage.child[i] = (at + d + shape->root) % p;
    stretto_plan_blocks(plan, shape->segments);
    stretto_stage_bcast(plan, &stage, 0, shape->segments);
    return 0;
}
