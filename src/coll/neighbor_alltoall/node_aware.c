/* All-to-all along edges, one message from node to node.
 *
 * Idea: of the ranks of a node one gathers what goes to a given other node, sends it as one
 * message, and one there hands it out; each rank of a node does so for its share of the other
 * nodes. What stays on the node goes directly, and so does what would travel alone. Blocks for
 * ranks of one node travel together.
 *
 * Source: A. Bienz, W. D. Gropp, L. N. Olson, "Reducing Communication in Algebraic Multigrid with
 * Multi-step Node Aware Communication", IJHPCA 34(5), 2020 (three-step); G. Collom, R. P. Li, A.
 * Bienz, "Optimizing Irregular Communication with Neighborhood Collectives and Locality-Aware
 * Parallelism", SC-W 2023.
 * Cost: between nodes alpha + e n beta for e blocks between two nodes, instead of e alpha; in the
 * node three messages more, the first with the sizes. Memory: the blocks that a rank gathers and
 * hands out. Limits: none; without a layout each rank is a node of its own, which is `direct`.
 */
#include "coll/neighbor.h"

int stretto_build_neighbor_alltoall_node_aware(stretto_plan *plan, const stretto_shape *shape) {
    return stretto_neighbor_node_aware(plan, shape);
}
