/* Broadcast over a binary tree that is numbered level by level, in segments.
 *
 * Idea: position i of a level of 2^l ranks has its children 2^l and 2^(l+1) further on, so that all
 * edges of a level have the same two lengths; `binary` keeps every subtree a run of ranks instead.
 *
 * Source: the "bintree" of Open MPI's coll/base (ompi_coll_base_topo_build_tree), described, not
 * copied: what that MPI does is a baseline of ours.
 * Cost: (log2(P) + 2 S) (alpha + n/S beta) about, S segments. Memory: none. Limits: none.
 */
#include "coll/stage.h"

int stretto_build_bcast_binary_levels(stretto_plan *plan, const stretto_shape *shape) {
    const int p = shape->nranks, at = (shape->rank - shape->root + p) % p;
    stretto_stage stage = {.parent = -1};
    int level = 1; /* ranks of this rank's level, the first of which is level - 1 */
    while (2 * level <= at + 1)
        level *= 2;
    if (at > 0) { /* one of the level above, half as large: it sends over level / 2 or level */
        const int above = level / 2, nearer = at - above;
        const int parent = nearer < level - 1 ? nearer : at - level;
        stage.parent = (parent + shape->root) % p;
    }
    for (int i = 0; i < 2; i++) { /* stretto_stage_bcast sends to the last child first */
        const int child = at + (2 - i) * level;
        if (child < p)
            stage.child[stage.n++] = (child + shape->root) % p;
    }
    stretto_plan_blocks(plan, shape->segments);
    stretto_stage_bcast(plan, &stage, 0, shape->segments);
    return 0;
}
