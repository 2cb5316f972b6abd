/* Allreduce by recursive multiplying with radix k.
 *
 * Idea: recursive doubling with groups of up to k ranks instead of pairs: in the step with distance
 * d, ranks that differ in one digit exchange their partial results all with all, so that each of
 * them covers a run k times as long afterwards. Every rank reduces in the same order: valid for
 * operations that are not commutative, and one expression tree on all ranks. Where P is a product
 * of factors up to k, these are the group sizes. Otherwise groups of k are formed as long as
 * possible and a last one of what remains; ranks beyond that fold in pairs with their neighbours
 * first.
 *
 * Source: the generalisation of R. Thakur et al., IJHPCA 19(1), 2005, section 4.5, to k; as in M.
 * Ruefenacht, M. Bull, S. Booth, "Generalisation of Recursive Doubling for AllReduce: Now with
 * Simulation", Parallel Computing 69, 2017.
 * Cost: ceil(log_k P) (alpha + (k - 1) n beta + (k - 1) n gamma), k - 1 messages at a time; 2
 * (alpha + n beta) + n gamma more where ranks fold. Memory: k - 1 vectors. Limits: none.
 */
#include "coll/fold.h"
#include "coll/multiply.h"

enum { MOST_STEPS = 32 };

/* Splits p into factors of k at most, the largest first; their number, or 0 when it cannot be. */
static int split(int p, int k, int factors[MOST_STEPS]) {
    int n = 0;
    for (int f = k; f >= 2 && p > 1;) {
        if (p % f == 0) {
            factors[n++] = f;
            p /= f;
        } else {
            f--;
        }
    }
    return p == 1 ? n : 0;
}

/* The group sizes, and in *teams their product. */
static int choose(int p, int k, int factors[MOST_STEPS], int *teams) {
    int n = split(p, k, factors);
    *teams = p;
    if (n > 0)
        return n;
    *teams = 1;
    while (p / *teams >= k) {
        factors[n++] = k;
        *teams *= k;
    }
    if (p / *teams > 1) {
        factors[n++] = p / *teams;
        *teams *= p / *teams;
    }
    return n;
}

int stretto_build_allreduce_recursive_multiplying(stretto_plan *plan, const stretto_shape *shape) {
    int factors[MOST_STEPS], teams;
    const int n = choose(shape->nranks, shape->radix, factors, &teams);
    /* p / teams < 2 */
    const stretto_fold fold = stretto_fold_to(shape->nranks, teams);
    if (!stretto_fold_in(plan, fold, 1, false))
        return 0;
    const int team = stretto_fold_team(fold, shape->rank);
    for (int i = 0, d = 1; i < n; d *= factors[i++]) {
        const int digit = team / d % factors[i];
        const stretto_group group = {.first = team - digit * d,
                                     .stride = d,
                                     .n = factors[i],
                                     .me = digit,
                                     .paired = fold.pairs};
        stretto_multiply(plan, &group);
    }
    stretto_fold_back(plan, fold, 1);
    return 0;
}
