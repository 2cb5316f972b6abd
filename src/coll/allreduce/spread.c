/* Allreduce of every node with every other, in which all ranks of a node share.
 *
 * Idea: the node reduces so that each of its ranks has the node's value. The nodes are dealt out to
 * the local ranks: rank i of node n exchanges values with the nodes of its share, where the rank in
 * whose share n is takes them. Each folds its share in the order of the nodes, the node's own value
 * in its place, and a second node phase folds the shares. A leader that sends to k nodes pays k
 * overheads one after another; here every rank pays ceil(N / L).
 *
 * Source: ours; several leaders a node are an idea of Kandalla et al., "Designing
 * multi-leader-based Allgather algorithms for multi-core clusters", 2009. Cost: N nodes of L ranks,
 * S a node's allreduce: 2 S + alpha + ceil(N / L) (o + n beta + n gamma), and N - 1 messages in and
 * out of each NIC. Memory: ceil(N / L) vectors. Limits: as many ranks on every node, and not more
 * than there are nodes (each has a share); shortest vectors, and NICs with a high message rate.
 */
#include "coll/coll.h"

/* The first node of local rank l's share. */
static int share_of(const stretto_layout *layout, int lanes, int l) {
    return (int)((long long)l * layout->nnodes / lanes);
}

static int lane_of(const stretto_layout *layout, int lanes, int node) {
    return (int)(((long long)(node + 1) * lanes - 1) / layout->nnodes);
}

int stretto_build_allreduce_spread(stretto_plan *plan, const stretto_shape *shape) {
    const stretto_layout *layout = shape->layout;
    const int node = layout->node_of[shape->rank], me = layout->local_of[shape->rank];
    const int lanes = layout->node_start[1];
    const int first = share_of(layout, lanes, me), n = share_of(layout, lanes, me + 1) - first;
    const stretto_span value = stretto_span_of(STRETTO_OUT, 0, 1);
    if (lanes > 1)
        stretto_plan_node(plan, STRETTO_NODE_ALLREDUCE, 0, stretto_plan_mine(plan, 0, 1), value);
    else
        stretto_plan_load(plan);
    const int at = plan->tmp_blocks;
    for (int i = 0; i < n; i++)
        stretto_plan_tmp(plan, 0);
    for (int i = 0; i < n; i++) { /* not all nodes to the same one first */
        const int k = (i + node) % n, other = first + k;
        const int peer =
            layout->node_ranks[layout->node_start[other] + lane_of(layout, lanes, node)];
        if (other == node) {
            if (n > 1)
                stretto_plan_copy(plan, value, stretto_span_of(STRETTO_TMP, at + k, 1));
            continue;
        }
        stretto_plan_recv(plan, peer, stretto_span_of(STRETTO_TMP, at + k, 1));
        stretto_plan_send(plan, peer, value);
    }
    stretto_plan_fence(plan);
    const stretto_span folded = stretto_span_of(STRETTO_TMP, at, 1);
    for (int i = 1; i < n; i++)
        stretto_plan_reduce(plan, stretto_span_of(STRETTO_TMP, at + i, 1), folded,
                            STRETTO_SRC_RIGHT);
    if (lanes > 1)
        stretto_plan_node(plan, STRETTO_NODE_ALLREDUCE, 0, n == 1 && first == node ? value : folded,
                          value);
    else
        stretto_plan_copy(plan, folded, value);
    return 0;
}
