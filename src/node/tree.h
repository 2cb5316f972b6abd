/* Trees of groups for small messages, by sequenced lines (protocol 1 of internal.h).
 *
 * A tree has n positions; units of level l are runs of FAN^l of them. Contributions go up to each
 * group's leader, results down from it. In rooted calls the root stands in for the leader of every
 * unit that it is in, so that nothing is forwarded to or from it. Operands are grouped by position
 * and never by who leads, so the order of evaluation does not depend on the root.
 *
 * Each rank writes its UP line at most once (at the level where it stops leading, or at a top that
 * exchanges) and its DOWN line at most once in a call: that is all protocol 1 asks for, also where
 * two trees follow one another (domain_small.c). */
#ifndef STRETTO_NODE_TREE_H
#define STRETTO_NODE_TREE_H

#include "node/lines.h"

typedef struct {
    const int *ranks; /* the rank at each position; NULL: the position itself */
    int n, me;        /* positions; this rank's, at which it acts for what is below */
    int root;         /* position; in calls without one: 0 */
} stretto_tree;

/* The position that acts for unit `unit` of this width. */
static inline int stretto_tree_acting(const stretto_tree *tree, int unit, int width) {
    int first = unit * width;
    return tree->root >= first && tree->root < first + width ? tree->root : first;
}

static inline int stretto_tree_rank(const stretto_tree *tree, int position) {
    return tree->ranks ? tree->ranks[position] : position;
}

/* Where a rank's contribution of this call can be read: in its line, or copied to `room`. */
static inline const void *stretto_tree_look(const stretto_node *node, int rank, uint64_t call,
                                            void *room, size_t bytes) {
    if (bytes <= STRETTO_LINE_DATA) {
        const stretto_line *line = stretto_lines_of(node, rank, STRETTO_UP, call, bytes);
        stretto_await(node, &line->seq, call);
        return line->data;
    }
    stretto_lines_get(node, rank, STRETTO_UP, call, room, bytes);
    return room;
}

/* out = fold of the units first..last-1 of this level in order; mine = what this position brings.
 * out may equal mine. */
static inline void stretto_tree_fold(stretto_node *node, const stretto_tree *tree, int first,
                                     int last, int width, uint64_t call, const void *mine,
                                     void *out, size_t count, size_t bytes,
                                     stretto_reduce_fn reduce) {
    int own = tree->me / width;
    const void *left = mine;
    if (first != own)
        left = stretto_tree_look(node,
                                 stretto_tree_rank(tree, stretto_tree_acting(tree, first, width)),
                                 call, node->scratch[0], bytes);
    for (int unit = first + 1; unit < last; unit++) {
        const void *right = mine;
        if (unit != own)
            right = stretto_tree_look(
                node, stretto_tree_rank(tree, stretto_tree_acting(tree, unit, width)), call,
                node->scratch[1], bytes);
        /* mine may lie in out: nothing is written there before it is used */
        void *result = unit >= own || unit == last - 1 ? out : node->scratch[0];
        if (bytes)
            reduce(left, right, result, count);
        left = result;
    }
    if (left == mine && out != mine && bytes)
        stretto_copy(out, mine, bytes); /* a group of one */
}

/* The whole of an exchange among all ranks, 2 to FAN, of messages that fit in one line (bytes 0:
 * none), once this rank's is put: what tree_fold does at the top, without the tree. */
static inline void stretto_group_fold(stretto_node *node, const void *mine, void *out, size_t count,
                                      size_t bytes, stretto_reduce_fn reduce) {
    const uint64_t call = node->seq;
    const unsigned char *at = (const unsigned char *)stretto_tiny_of(node, 0, STRETTO_UP, call);
    const void *left = NULL;
    const int n = node->nlocal, me = node->me;
    for (int r = 0; r < n; r++, at += node->stride) {
        const stretto_line *line = (const stretto_line *)(const void *)at;
        const void *right = mine;
        if (r != me) {
            stretto_await(node, &line->seq, call);
            right = line->data;
        }
        if (r > 0 && bytes) {
            /* mine may lie in out: nothing is written there before it is used */
            void *result = r >= me || r == n - 1 ? out : node->scratch[0];
            reduce(left, right, result, count);
            right = result;
        }
        left = right;
    }
}

/* Contributions to the top. Returns the width of the topmost level at which this rank acts;
 * *complete: the result of all positions is in dst here. all: the top group exchanges, so that
 * every rank acting there ends complete; else only the root's. Uses node->scratch[2]; src or dst
 * may lie there. */
__attribute__((always_inline)) static inline int
stretto_tree_up(stretto_node *node, const stretto_tree *tree, const void *src, void *dst,
                size_t count, size_t bytes, stretto_reduce_fn reduce, bool all, bool *complete) {
    uint64_t call = node->seq;
    const void *mine = src;
    *complete = false;
    for (int width = 1;; width *= STRETTO_NODE_FAN) {
        int units = (tree->n + width - 1) / width;
        int own = tree->me / width;
        int first = own / STRETTO_NODE_FAN * STRETTO_NODE_FAN;
        int last = first + STRETTO_NODE_FAN < units ? first + STRETTO_NODE_FAN : units;
        bool top = units <= STRETTO_NODE_FAN;
        bool leads =
            stretto_tree_acting(tree, own / STRETTO_NODE_FAN, width * STRETTO_NODE_FAN) == tree->me;
        if (!leads || (top && all))
            stretto_lines_put(node, STRETTO_UP, call, mine, bytes);
        if (!leads && !(top && all))
            return width;
        void *out = top ? dst : node->scratch[2];
        stretto_tree_fold(node, tree, first, last, width, call, mine, out, count, bytes, reduce);
        if (top) {
            *complete = true;
            return width;
        }
        mine = out;
    }
}

/* Width of the topmost level at which this position, not the root, acts. */
static inline int stretto_tree_width(const stretto_tree *tree) {
    int width = 1;
    while (stretto_tree_acting(tree, tree->me / width / STRETTO_NODE_FAN,
                               width * STRETTO_NODE_FAN) == tree->me)
        width *= STRETTO_NODE_FAN;
    return width;
}

/* Fetches the result from who leads this position's group at that width. */
static inline void stretto_tree_fetch(const stretto_node *node, const stretto_tree *tree, int width,
                                      void *buffer, size_t bytes) {
    int group = tree->me / width / STRETTO_NODE_FAN;
    int from = stretto_tree_acting(tree, group, width * STRETTO_NODE_FAN);
    stretto_lines_get(node, stretto_tree_rank(tree, from), STRETTO_DOWN, node->seq, buffer, bytes);
}

#endif
