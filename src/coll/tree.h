/* The k-nomial tree over positions 0..n-1: arithmetic, and the two ways along it.
 *
 * Written to the base k, the parent of a position clears its lowest non-zero digit; a position with
 * z trailing zero digits is the root of a run of k^z consecutive positions (cut off at n). */
#ifndef STRETTO_COLL_TREE_H
#define STRETTO_COLL_TREE_H

#include "coll/coll.h"

/* Positions 0..n-1 stand for the ranks first, first + 1, ... (modulo the number of ranks). */
typedef struct {
    int n, first, k;
} stretto_tree;

/* Reduces the contributions of the tree's ranks into OUT (`blocks` blocks) of position 0, in the
 * order of the positions. `me` is a position. Position 0's contribution is loaded here; leaves send
 * without loading. Nothing of `me` is left under way but its send. */
void stretto_tree_reduce(stretto_plan *plan, const stretto_tree *tree, int me, int blocks);
/* OUT of position 0 to OUT of all. Sends are left under way. */
void stretto_tree_bcast(stretto_plan *plan, const stretto_tree *tree, int me, int blocks);
/* The rank at a position. */
int stretto_tree_rank(const stretto_plan *plan, const stretto_tree *tree, int position);
/* The parent of a position; -1 for position 0. */
int stretto_tree_parent(const stretto_tree *tree, int position);
/* How many positions the subtree of a position has: itself and those that follow. */
int stretto_tree_subtree(const stretto_tree *tree, int position);
/* Reserves TMP for a block of each of them (gather(v), scatter(v)); the first's place. */
int stretto_tree_reserve(stretto_plan *plan, const stretto_tree *tree, int position);

/* A position's children, nearest (smallest subtree) first or last first; position -1: no more. */
typedef struct {
    int position;
    long distance;
} stretto_child;
stretto_child stretto_tree_first(const stretto_tree *tree, int position);
stretto_child stretto_tree_next(const stretto_tree *tree, int position, stretto_child child);
stretto_child stretto_tree_last(const stretto_tree *tree, int position);
stretto_child stretto_tree_previous(const stretto_tree *tree, int position, stretto_child child);

#endif
