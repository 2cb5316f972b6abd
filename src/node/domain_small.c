/* Small messages where ranks lie in several domains: two trees of lines (tree.h), one inside each
 * domain and one among the ranks that act for the domains.
 *
 * A contribution's line is read inside its domain only; the line with a domain's fold crosses once
 * to each domain in its group at the top, and the result once to each domain. The flat tree
 * (small.c) lets a line cross once for each rank that reads it.
 *
 * Cost for d domains of k ranks: 2 ceil(log_FAN k) hops inside, 2 ceil(log_FAN d) - 1 across.
 *
 * A rank that acts for its domain does not write its UP line in the inner tree (it is its root), so
 * each rank's UP and DOWN lines are written at most once in a call, as protocol 1 wants; the one
 * DOWN line serves the readers of both trees, who all read the same bytes. */
#include "node/domains.h"
#include "node/tree.h"

/* The tree of this rank's domain; `root` acts for the domain it is in (root < 0: none). */
static stretto_tree inner_tree(const stretto_node *node, int root) {
    const stretto_domains *d = node->domains;
    const int lead = stretto_domain_lead(d, d->mine, root);
    return (stretto_tree){stretto_domain_ranks(d, d->mine), stretto_domain_size(d, d->mine),
                          d->inside, d->place[lead]};
}

static stretto_tree outer_tree(const stretto_node *node, int root) {
    const stretto_domains *d = node->domains;
    for (int i = 0; i < d->n; i++)
        d->lead[i] = stretto_domain_lead(d, i, root);
    return (stretto_tree){d->lead, d->n, d->mine, root < 0 ? 0 : d->of[root]};
}

/* Down to this rank, and on to those that read from it. width: topmost level of the outer tree at
 * which it acts, 0 when it does not; complete: it has the result. */
static void spread(stretto_node *node, const stretto_tree *inner, const stretto_tree *outer,
                   int width, void *buffer, size_t bytes, bool complete) {
    int inside = inner->n > 1 ? inner->n : 1; /* leads all of it: more than one */
    if (width == 0) {
        inside = stretto_tree_width(inner);
        stretto_tree_fetch(node, inner, inside, buffer, bytes);
    } else if (!complete) {
        stretto_tree_fetch(node, outer, width, buffer, bytes);
    }
    if (width > 1 || inside > 1)
        stretto_lines_put(node, STRETTO_DOWN, node->seq, buffer, bytes);
}

void stretto_domain_small_bcast(stretto_node *node, void *buffer, size_t bytes, int root) {
    const stretto_tree inner = inner_tree(node, root), outer = outer_tree(node, root);
    uint64_t call = stretto_lines_begin(node, bytes);
    const bool acts = inner.me == inner.root;
    if (node->me == root)
        stretto_lines_put(node, STRETTO_DOWN, call, buffer, bytes);
    else
        spread(node, &inner, &outer, acts ? stretto_tree_width(&outer) : 0, buffer, bytes, false);
    stretto_finish(node, false);
}

/* Up both trees. Returns the width for spread(); all: as in tree.h, of the outer tree. */
static int up(stretto_node *node, const stretto_tree *inner, const stretto_tree *outer,
              const void *src, void *dst, size_t count, size_t bytes, stretto_reduce_fn reduce,
              bool all, bool *complete) {
    const void *mine = src;
    *complete = false;
    if (inner->n > 1) {
        bool domain_complete;
        stretto_tree_up(node, inner, src, node->scratch[2], count, bytes, reduce, false,
                        &domain_complete);
        if (!domain_complete)
            return 0;
        mine = node->scratch[2];
    }
    return stretto_tree_up(node, outer, mine, dst, count, bytes, reduce, all, complete);
}

void stretto_domain_small_reduce(stretto_node *node, const void *src, void *dst, size_t count,
                                 size_t size, stretto_reduce_fn reduce, int root) {
    const stretto_tree inner = inner_tree(node, root), outer = outer_tree(node, root);
    bool complete;
    stretto_lines_begin(node, count * size);
    up(node, &inner, &outer, src, dst, count, count * size, reduce, false, &complete);
    stretto_finish(node, complete);
}

void stretto_domain_small_allreduce(stretto_node *node, const void *src, void *dst, size_t count,
                                    size_t size, stretto_reduce_fn reduce) {
    const stretto_tree inner = inner_tree(node, -1), outer = outer_tree(node, -1);
    const size_t bytes = count * size;
    bool complete;
    stretto_lines_begin(node, bytes);
    int width = up(node, &inner, &outer, src, dst, count, bytes, reduce, true, &complete);
    spread(node, &inner, &outer, width, dst, bytes, complete);
    stretto_finish(node, true);
}
