/* Reduce-scatter by recursive halving.
 *
 * Idea: every rank exchanges half of the vector with the rank P/2 away, then a quarter with the
 * rank P/4 away, and so on, and reduces the half that holds its own block. When P is no power of
 * two, P - 2^floor(log2 P) pairs of ranks act as one: the even rank gives its vector to the odd one
 * and gets its block back.
 *
 * Source: R. Thakur, R. Rabenseifner, W. Gropp, IJHPCA 19(1), 2005, section 4.3.
 * Cost: log2(P) alpha + (P - 1) n beta + (P - 1) n gamma, n = one block; 2 alpha + (P + 1) n beta +
 * P n gamma more when P is no power of 2. Memory: 2 P blocks. Limits: commutative operations.
 *
 * Also reduce_scatter_block, whose blocks are equal.
 */
#include "coll/halving.h"

int stretto_build_reduce_scatter_recursive_halving(stretto_plan *plan, const stretto_shape *shape) {
    stretto_halve(plan, shape, false);
    return 0;
}
