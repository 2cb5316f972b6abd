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
#include "coll/fold.h"

int stretto_build_allreduce_rabenseifner(stretto_plan *plan, const stretto_shape *shape) {
    const stretto_fold fold = stretto_fold_power(shape->nranks);
    stretto_plan_blocks(plan, fold.teams);
    if (!stretto_fold_in(plan, fold, fold.teams, true))
        return 0;
    const int team = stretto_fold_team(fold, shape->rank);
    stretto_part part = {0, fold.teams};
    for (int bit = 1; bit < fold.teams; bit *= 2)
        stretto_part_halve(plan, &part, stretto_fold_leader(fold, team ^ bit), (team & bit) == 0);
    for (int bit = fold.teams / 2; bit >= 1; bit /= 2)
        stretto_part_double(plan, &part, stretto_fold_leader(fold, team ^ bit), (team & bit) == 0);
    stretto_fold_back(plan, fold, fold.teams);
    return 0;
}
