/* Folding the ranks into teams, and halving and doubling a vector among them: what the allreduces
 * and reduces in log2(P) steps have in common. */
#ifndef STRETTO_COLL_FOLD_H
#define STRETTO_COLL_FOLD_H

#include "coll/coll.h"

/* `teams` of the ranks of a call, at least half as many: the first `pairs` teams t are the ranks 2t
 * and 2t + 1 and act by the odd one, the others are single ranks, in their order. */
typedef struct {
    int teams, pairs;
} stretto_fold;

static inline stretto_fold stretto_fold_to(int nranks, int teams) {
    return (stretto_fold){teams, nranks - teams};
}

/* The largest power of two of teams. */
static inline stretto_fold stretto_fold_power(int nranks) {
    int power = 1;
    while (power <= nranks / 2)
        power *= 2;
    return stretto_fold_to(nranks, power);
}

static inline int stretto_fold_team(stretto_fold fold, int rank) {
    return rank < 2 * fold.pairs ? rank / 2 : rank - fold.pairs;
}

/* The rank that acts for a team. */
static inline int stretto_fold_leader(stretto_fold fold, int team) {
    return team < fold.pairs ? 2 * team + 1 : team + fold.pairs;
}

/* Begins an allreduce of OUT in so many blocks: a leader's OUT is its team's partial result, in
 * rank order, after it. The other of a pair gives its whole vector to the leader, or (`halves`: an
 * even number of blocks) both reduce one half each. False: not a leader, the plan is complete. */
bool stretto_fold_in(stretto_plan *plan, stretto_fold fold, int blocks, bool halves);
/* Ends it: the leader of a pair gives the result to the other. */
void stretto_fold_back(stretto_plan *plan, stretto_fold fold, int blocks);

/* The blocks of OUT that a rank still reduces, or has the result of. */
typedef struct {
    int first, count;
} stretto_part;

/* The rank and `peer`, which have the same part, reduce one half of it each: the lower one, and the
 * peer is then the operands' right side, or the upper one. A fence at the end. */
void stretto_part_halve(stretto_plan *plan, stretto_part *part, int peer, bool lower);
/* The way back: the two, which have the results of one half each, exchange them. */
void stretto_part_double(stretto_plan *plan, stretto_part *part, int peer, bool lower);

#endif
