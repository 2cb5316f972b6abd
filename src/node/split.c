/* Small allreduce and barrier in two steps, for who does not want to wait in between: this rank's
 * line is written, and when everybody's is there they are folded. The lines, the order of the
 * operands and what `done` means are those of small.c, so the ranks of one call need not all go the
 * same way. Only where one hop is all (up to FAN ranks) and a message fits in one line.
 */
#include "node/tree.h"

bool stretto_node_post(stretto_node *node, const void *src, size_t bytes) {
    const uint64_t call = node->seq + 1;
    if (!node->lines || bytes > STRETTO_LINE_DATA || node->nlocal > STRETTO_NODE_FAN)
        return false;
    if (call > STRETTO_NODE_TINY_RING && node->known < call - STRETTO_NODE_TINY_RING)
        return false; /* might wait; after an allreduce it is known anyway */
    node->seq = call;
    stretto_lines_put(node, STRETTO_UP, call, src, bytes);
    return true;
}

bool stretto_node_collect(stretto_node *node, const void *src, void *dst, size_t count,
                          size_t bytes, stretto_reduce_fn reduce, int looks) {
    const uint64_t call = node->seq;
    const stretto_tree tree = {NULL, node->nlocal, node->me, 0};
    for (int r = 0; r < node->nlocal; r++) {
        const stretto_line *line = stretto_lines_of(node, r, STRETTO_UP, call, bytes);
        for (; r != node->me && !stretto_peek(&line->seq, call); stretto_relax())
            if (--looks <= 0)
                return false;
    }
    stretto_tree_fold(node, &tree, 0, node->nlocal, 1, call, src, dst, count, bytes, reduce);
    stretto_finish(node, true);
    return true;
}
