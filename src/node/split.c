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
    if (call > node->tiny && node->known < call - node->tiny)
        return false; /* might wait; after an allreduce it is known anyway */
    node->seq = call;
    stretto_tiny_put(node, STRETTO_UP, call, src, bytes);
    /* Both ranks mostly have something to do between post and collect, so this does not meet the
     * other's look as it would in a wait. Zen 3, 2 ranks, Iallreduce and Wait of 8 bytes with the
     * asking below: at the same time near 145 -> 115 ns, far 390 -> 260; apart near 140 -> 135, far
     * 340 -> 350. */
    stretto_own(stretto_tiny_of(node, node->me, STRETTO_UP, call + 1));
    return true;
}

void stretto_node_ask(const stretto_node *node) {
    for (int r = 0; r < node->nlocal; r++)
        if (r != node->me)
            __builtin_prefetch(stretto_tiny_of(node, r, STRETTO_UP, node->seq));
}

bool stretto_node_collect(stretto_node *node, const void *src, void *dst, size_t count,
                          size_t bytes, stretto_reduce_fn reduce, int looks) {
    const uint64_t call = node->seq;
    const unsigned char *at = (const unsigned char *)stretto_tiny_of(node, 0, STRETTO_UP, call);
    for (int r = 0, n = node->nlocal; r < n; r++, at += node->stride) {
        const stretto_line *line = (const stretto_line *)(const void *)at;
        for (; r != node->me && !stretto_peek(&line->seq, call); stretto_relax())
            if (--looks <= 0)
                return false;
    }
    stretto_group_fold(node, src, dst, count, bytes, reduce);
    stretto_finish(node, true);
    return true;
}
