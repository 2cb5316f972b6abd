/* Reduce-scatter by a butterfly, in rank order.
 *
 * Idea: recursive halving with the nearest rank first, so that partial results cover runs of ranks:
 * valid for operations that are not commutative. Halving in that order leaves rank r with the piece
 * of r's bits reversed; so the blocks are brought into that order before, and nothing is left to be
 * exchanged afterwards.
 *
 * Source: J. L. Traeff, "An Improved Algorithm for (Non-commutative) Reduce-Scatter with an
 * Application", EuroPVM/MPI 2005, LNCS 3666.
 * Cost: log2(P) alpha + (P - 1) n beta + (P - 1) n gamma, n = one block, plus copying P blocks; 2
 * alpha + (P + 1) n beta + P n gamma more when P is no power of 2. Memory: 2 P blocks. Limits:
 * none.
 *
 * Also reduce_scatter_block, whose blocks are equal.
 */
#include "coll/halving.h"

int stretto_build_reduce_scatter_butterfly(stretto_plan *plan, const stretto_shape *shape) {
    stretto_halve(plan, shape, true);
    return 0;
}
