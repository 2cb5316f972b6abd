/* Broadcast over a k-nomial tree.
 *
 * Idea: every rank that has the message hands it on; a larger k makes the tree flatter, which pays
 * where starting a message costs little beside its latency.
 *
 * Source: R. Thakur, R. Rabenseifner, W. Gropp, IJHPCA 19(1), 2005, section 4.2 (k = 2).
 * Cost: ceil(log_k P) (alpha + (k - 1) n beta). Memory: none. Limits: none.
 */
#include "coll/tree.h"

int stretto_build_bcast_knomial(stretto_plan *plan, const stretto_shape *shape) {
    const stretto_tree tree = {shape->nranks, shape->root, shape->radix};
    int me = (shape->rank - shape->root + shape->nranks) % shape->nranks;
    stretto_tree_bcast(plan, &tree, me, 1);
    return 0;
}
