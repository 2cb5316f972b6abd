/* Allreduce by swinging: reduce-scatter by halving and allgather by doubling, with partners near on
 * a ring.
 *
 * Idea: as Rabenseifner's, but the partner in step s is not 2^s ranks away: even ranks go rho_s =
 * 1, -1, 3, -5, 11, ... up the ring of ranks and odd ones as far down, so that partners lie
 * alternately on both sides and are about (2/3) 2^s ranks apart. The ranks that still share pieces
 * after s steps are even ranks equal modulo 2^(s + 1) and the odd ones rho_s above them. Partial
 * results wrap round the ring: the operation must be commutative. When P is no power of two, pairs
 * fold as in rabenseifner.
 *
 * Source: D. De Sensi, T. Bonato, D. Saam, T. Hoefler, "Swing: Short-cutting Rings for Higher
 * Bandwidth Allreduce", NSDI 2024; there other rank counts have steps of their own.
 * Cost: 2 log2(P) alpha + 2 (P - 1)/P n beta + (P - 1)/P n gamma, 3 alpha + 2 n beta + n/2 gamma
 * more when P is no power of 2: rabenseifner's. It pays where ranks are placed along a ring or a
 * torus, for vectors between rabenseifner's and the ring's: two thirds of the link time of halving
 * by distances 2^s. Where the network is the same for all pairs it gains nothing, and Stretto's
 * model, which knows nodes and their interfaces but no links between them, prices it so.
 * Memory: half a vector. Limits: commutative operations.
 */
#include "coll/fold.h"

/* The sum of (-2)^i, i = 0 to s. */
static int rho(int s) {
    int sum = 0, term = 1;
    for (int i = 0; i <= s; i++, term *= -2)
        sum += term;
    return sum;
}

/* The team's partner in step s; teams: a power of two. */
static int partner(int team, int s, int teams) {
    const int to = team % 2 == 0 ? team + rho(s) : team - rho(s);
    return to & (teams - 1);
}

/* Which half is the team's in step s: the even rank of its class in the next step, modulo 2^(s +
 * 2), tells. That differs between partners in the bit s + 1; in the last step parity does. */
static bool keeps_lower(int team, int s, int teams) {
    if (2 << s >= teams)
        return team % 2 == 0;
    const int even = team % 2 == 0 ? team : team - rho(s + 1);
    return (even & (2 << s)) == 0;
}

int stretto_build_allreduce_swing(stretto_plan *plan, const stretto_shape *shape) {
    const stretto_fold fold = stretto_fold_power(shape->nranks);
    stretto_plan_blocks(plan, fold.teams);
    if (!stretto_fold_in(plan, fold, fold.teams, true))
        return 0;
    const int team = stretto_fold_team(fold, shape->rank);
    stretto_part part = {0, fold.teams};
    int s = 0;
    for (; part.count > 1; s++)
        stretto_part_halve(plan, &part, stretto_fold_leader(fold, partner(team, s, fold.teams)),
                           keeps_lower(team, s, fold.teams));
    while (--s >= 0)
        stretto_part_double(plan, &part, stretto_fold_leader(fold, partner(team, s, fold.teams)),
                            keeps_lower(team, s, fold.teams));
    stretto_fold_back(plan, fold, fold.teams);
    return 0;
}
