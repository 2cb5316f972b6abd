/* The k-nomial tree: see tree.h. Distances are long: k^z may pass INT_MAX before it passes n. */
#include "coll/tree.h"

int stretto_tree_rank(const stretto_plan *plan, const stretto_tree *tree, int position) {
    return (tree->first + position) % plan->shape.nranks;
}

/* Length of the run that a position is the root of, before cutting off at n: k^z. */
static long reach(const stretto_tree *tree, int position) {
    long d = 1;
    while (d < tree->n && position % (d * tree->k) == 0)
        d *= tree->k;
    return d;
}

int stretto_tree_parent(const stretto_tree *tree, int position) {
    return position == 0 ? -1 : (int)(position - position % (reach(tree, position) * tree->k));
}

int stretto_tree_subtree(const stretto_tree *tree, int position) {
    const long run = reach(tree, position);
    return run < tree->n - position ? (int)run : tree->n - position;
}

int stretto_tree_reserve(stretto_plan *plan, const stretto_tree *tree, int position) {
    const int p = plan->shape.nranks, n = stretto_tree_subtree(tree, position);
    const int rank = stretto_tree_rank(plan, tree, position), before = rank + n > p ? p - rank : n;
    const int at = stretto_plan_tmp_run(plan, rank, before, 1);
    if (before < n) /* it wraps */
        stretto_plan_tmp_run(plan, 0, n - before, 1);
    return at;
}

/* Child number `at` in units of its distance; it must lie within the subtree. */
static stretto_child child_at(const stretto_tree *tree, int position, long distance, long at) {
    const long child = position + at * distance;
    const bool exists = distance >= 1 && distance < reach(tree, position) && child < tree->n;
    return (stretto_child){exists ? (int)child : -1, distance};
}

stretto_child stretto_tree_first(const stretto_tree *tree, int position) {
    return child_at(tree, position, 1, 1);
}

stretto_child stretto_tree_next(const stretto_tree *tree, int position, stretto_child child) {
    const long at = (child.position - position) / child.distance + 1;
    return at < tree->k ? child_at(tree, position, child.distance, at)
                        : child_at(tree, position, child.distance * tree->k, 1);
}

stretto_child stretto_tree_last(const stretto_tree *tree, int position) {
    long distance = reach(tree, position) / tree->k;
    while (distance >= 1 && position + distance >= tree->n)
        distance /= tree->k;
    if (distance < 1)
        return (stretto_child){-1, 0};
    const long most = (tree->n - 1 - position) / distance;
    return child_at(tree, position, distance, most < tree->k - 1 ? most : tree->k - 1);
}

stretto_child stretto_tree_previous(const stretto_tree *tree, int position, stretto_child child) {
    const long at = (child.position - position) / child.distance - 1;
    return at >= 1 ? child_at(tree, position, child.distance, at)
                   : child_at(tree, position, child.distance / tree->k, tree->k - 1);
}

void stretto_tree_reduce(stretto_plan *plan, const stretto_tree *tree, int me, int blocks) {
    const long mine = reach(tree, me);
    const bool leaf = mine == 1 || me + 1 >= tree->n;
    const stretto_span result = stretto_span_of(STRETTO_OUT, 0, blocks);
    if (!leaf || me == 0)
        stretto_plan_load(plan);
    for (long d = 1; d < mine && me + d < tree->n; d *= tree->k) {
        for (long child = me + d; child < me + d * tree->k && child < tree->n; child += d)
            stretto_plan_recv_reduce(plan, stretto_tree_rank(plan, tree, (int)child), result,
                                     STRETTO_SRC_RIGHT);
        stretto_plan_fence(plan);
    }
    if (me != 0)
        stretto_plan_send(plan, stretto_tree_rank(plan, tree, stretto_tree_parent(tree, me)),
                          leaf ? stretto_plan_mine(plan, 0, blocks) : result);
}

void stretto_tree_bcast(stretto_plan *plan, const stretto_tree *tree, int me, int blocks) {
    const stretto_span data = stretto_span_of(STRETTO_OUT, 0, blocks);
    if (me != 0) {
        int parent = stretto_tree_rank(plan, tree, stretto_tree_parent(tree, me));
        stretto_plan_wait(plan, stretto_plan_recv(plan, parent, data));
    }
    /* The largest subtrees first, and alone: they have the longest way to go. Long messages that
     * are under way together share the interface, so that all would arrive late (256 KiB, k = 2,
     * 64 ranks in SMPI: 461 us all at once, 155 us level by level); short ones are gone when their
     * send returns. */
    for (long d = reach(tree, me) / tree->k; d >= 1; d /= tree->k) {
        for (long child = me + d; child < me + d * tree->k && child < tree->n; child += d)
            stretto_plan_send(plan, stretto_tree_rank(plan, tree, (int)child), data);
        stretto_plan_fence(plan);
    }
}
