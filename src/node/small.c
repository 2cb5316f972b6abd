/* Small messages: sequenced lines (protocol 1 of internal.h), one hop for up to FAN ranks.
 *
 * Up to FAN ranks every rank writes its lines once and reads those of the others: one line transfer
 * of latency, no trailing barrier. With more ranks the same exchange is the top of a tree whose
 * groups have FAN consecutive members: contributions go up to each group's leader, results down
 * from it. In rooted calls the root stands in for the leader of every group that it is in, so that
 * nothing is forwarded to or from it. Operands are grouped by position and never by who leads, so
 * the order of evaluation does not depend on the root.
 *
 * Cost for n ranks, hop latency L: L (n <= FAN), (2 ceil(log_FAN n) - 1) L otherwise.
 */
#include "node/lines.h"

/* Units of level l are runs of FAN^l ranks; this is the rank that acts for unit `unit`. */
static inline int acting(const stretto_node *node, int unit, int width, int root) {
    int first = unit * width;
    (void)node;
    return root >= first && root < first + width ? root : first;
}

/* Where rank's contribution of this call can be read: in its line, or copied to `room`. */
static inline const void *look(const stretto_node *node, int rank, uint64_t call, void *room,
                               size_t bytes) {
    if (bytes <= STRETTO_LINE_DATA) {
        const stretto_line *line = stretto_lines_of(node, rank, STRETTO_UP, call, bytes);
        stretto_await(node, &line->seq, call);
        return line->data;
    }
    stretto_lines_get(node, rank, STRETTO_UP, call, room, bytes);
    return room;
}

/* out = fold of the units first..last-1 of this level in order; mine = this rank's operand. out may
 * equal mine. */
static void fold_units(stretto_node *node, int first, int last, int width, int root, uint64_t call,
                       const void *mine, void *out, size_t count, size_t bytes,
                       stretto_reduce_fn reduce) {
    int own = node->me / width;
    const void *left = mine;
    if (first != own)
        left = look(node, acting(node, first, width, root), call, node->scratch[0], bytes);
    for (int unit = first + 1; unit < last; unit++) {
        const void *right = mine;
        if (unit != own)
            right = look(node, acting(node, unit, width, root), call, node->scratch[1], bytes);
        /* mine may lie in out: nothing is written there before it is used */
        void *result = unit >= own || unit == last - 1 ? out : node->scratch[0];
        if (bytes)
            reduce(left, right, result, count);
        left = result;
    }
    if (left == mine && out != mine && bytes)
        memcpy(out, mine, bytes); /* a group of one */
}

/* Contributions to the top. Returns the width of the topmost level at which this rank acts;
 * *complete: the result of all ranks is in dst here. all: the top group exchanges, so that every
 * rank acting there ends complete; else only root. */
static int gather_up(stretto_node *node, const void *src, void *dst, size_t count, size_t bytes,
                     stretto_reduce_fn reduce, int root, bool all, bool *complete) {
    uint64_t call = node->seq;
    const void *mine = src;
    *complete = false;
    for (int width = 1;; width *= STRETTO_NODE_FAN) {
        int units = (node->nlocal + width - 1) / width;
        int own = node->me / width;
        int first = own / STRETTO_NODE_FAN * STRETTO_NODE_FAN;
        int last = first + STRETTO_NODE_FAN < units ? first + STRETTO_NODE_FAN : units;
        bool top = units <= STRETTO_NODE_FAN;
        bool leads =
            acting(node, own / STRETTO_NODE_FAN, width * STRETTO_NODE_FAN, root) == node->me;
        if (!leads || (top && all))
            stretto_lines_put(node, STRETTO_UP, call, mine, bytes);
        if (!leads && !(top && all))
            return width;
        void *out = top ? dst : node->scratch[2];
        fold_units(node, first, last, width, root, call, mine, out, count, bytes, reduce);
        if (top) {
            *complete = true;
            return width;
        }
        mine = out;
    }
}

/* The result from the top down to this rank's buffer and on to the ranks below it. width: topmost
 * level at which this rank acts; it is complete when it needs to read nothing. */
static void spread_down(stretto_node *node, void *buffer, size_t bytes, int root, int width,
                        bool complete) {
    uint64_t call = node->seq;
    if (!complete) {
        int group = node->me / width / STRETTO_NODE_FAN;
        stretto_lines_get(node, acting(node, group, width * STRETTO_NODE_FAN, root), STRETTO_DOWN,
                          call, buffer, bytes);
    }
    /* readers: the other units of the groups it leads */
    if (width > 1)
        stretto_lines_put(node, STRETTO_DOWN, call, buffer, bytes);
}

void stretto_small_bcast(stretto_node *node, void *buffer, size_t bytes, int root) {
    uint64_t call = stretto_lines_begin(node, bytes);
    if (node->me == root) {
        stretto_lines_put(node, STRETTO_DOWN, call, buffer, bytes);
    } else {
        int width = 1;
        while (acting(node, node->me / width / STRETTO_NODE_FAN, width * STRETTO_NODE_FAN, root) ==
               node->me)
            width *= STRETTO_NODE_FAN;
        spread_down(node, buffer, bytes, root, width, false);
    }
    stretto_finish(node, false);
}

void stretto_small_reduce(stretto_node *node, const void *src, void *dst, size_t count, size_t size,
                          stretto_reduce_fn reduce, int root) {
    bool complete;
    stretto_lines_begin(node, count * size);
    gather_up(node, src, dst, count, count * size, reduce, root, false, &complete);
    stretto_finish(node, complete);
}

void stretto_small_allreduce(stretto_node *node, const void *src, void *dst, size_t count,
                             size_t size, stretto_reduce_fn reduce) {
    bool complete;
    stretto_lines_begin(node, count * size);
    int width = gather_up(node, src, dst, count, count * size, reduce, 0, true, &complete);
    if (node->nlocal > STRETTO_NODE_FAN)
        spread_down(node, dst, count * size, 0, width, complete);
    stretto_finish(node, true);
}
