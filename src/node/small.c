/* Small messages: sequenced lines (protocol 1 of internal.h), one hop for up to FAN ranks.
 *
 * Up to FAN ranks every rank writes its lines once and reads those of the others: one line transfer
 * of latency, no trailing barrier. With more ranks the same exchange is the top of a tree whose
 * groups have FAN consecutive members (tree.h).
 *
 * Cost for n ranks, hop latency L: L (n <= FAN), (2 ceil(log_FAN n) - 1) L otherwise. Which ranks
 * are near each other does not matter here; domain_small.c is the way for groups where it does.
 */
#include "node/tree.h"

static inline stretto_tree whole(const stretto_node *node, int root) {
    return (stretto_tree){NULL, node->nlocal, node->me, root};
}

/* The result from the top down to this rank's buffer and on to the ranks below it. width: topmost
 * level at which this rank acts; it is complete when it needs to read nothing. */
static inline void spread_down(stretto_node *node, const stretto_tree *tree, void *buffer,
                               size_t bytes, int width, bool complete) {
    if (!complete)
        stretto_tree_fetch(node, tree, width, buffer, bytes);
    /* readers: the other units of the groups it leads */
    if (width > 1)
        stretto_lines_put(node, STRETTO_DOWN, node->seq, buffer, bytes);
}

void stretto_small_bcast(stretto_node *node, void *buffer, size_t bytes, int root) {
    const stretto_tree tree = whole(node, root);
    uint64_t call = stretto_lines_begin(node, bytes);
    if (node->me == root)
        stretto_lines_put(node, STRETTO_DOWN, call, buffer, bytes);
    else
        spread_down(node, &tree, buffer, bytes, stretto_tree_width(&tree), false);
    stretto_finish(node, false);
}

void stretto_small_reduce(stretto_node *node, const void *src, void *dst, size_t count, size_t size,
                          stretto_reduce_fn reduce, int root) {
    const stretto_tree tree = whole(node, root);
    bool complete;
    stretto_lines_begin(node, count * size);
    stretto_tree_up(node, &tree, src, dst, count, count * size, reduce, false, &complete);
    stretto_finish(node, complete);
}

void stretto_small_allreduce(stretto_node *node, const void *src, void *dst, size_t count,
                             size_t size, stretto_reduce_fn reduce) {
    const size_t bytes = count * size;
    const uint64_t call = stretto_lines_begin(node, bytes);
    if (node->nlocal <= STRETTO_NODE_FAN && bytes <= STRETTO_LINE_DATA) {
        stretto_tiny_put(node, STRETTO_UP, call, src, bytes);
        stretto_group_fold(node, src, dst, count, bytes, reduce);
        stretto_finish(node, true);
        return;
    }
    const stretto_tree tree = whole(node, 0);
    bool complete;
    int width = stretto_tree_up(node, &tree, src, dst, count, bytes, reduce, true, &complete);
    if (node->nlocal > STRETTO_NODE_FAN)
        spread_down(node, &tree, dst, bytes, width, complete);
    stretto_finish(node, true);
}
