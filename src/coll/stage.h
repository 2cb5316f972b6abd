/* A rank's place in a tree, and a vector's way along it in segments: what bcast and reduce over
 * chains, binary and binomial trees have in common.
 *
 * A tree is rotated so that the root of the call is its top (`ordered` false), or keeps the ranks
 * in order: the ranks below the root and those above it form a tree each, in which every subtree is
 * a run of consecutive ranks, for operations that are not commutative. */
#ifndef STRETTO_COLL_STAGE_H
#define STRETTO_COLL_STAGE_H

#include "coll/coll.h"

enum { STRETTO_STAGE_MOST = 66 }; /* children, at most */

typedef struct {
    int parent; /* rank, -1: none */
    int n;
    int child[STRETTO_STAGE_MOST];         /* ranks, in the order in which they are to be reduced */
    stretto_side side[STRETTO_STAGE_MOST]; /* of the child's operand */
} stretto_stage;

/* `fanout` chains (ordered: one below the root and one above), 1 to 64. */
stretto_stage stretto_stage_chain(const stretto_shape *shape, bool ordered, int fanout);
/* A balanced binary tree. */
stretto_stage stretto_stage_binary(const stretto_shape *shape, bool ordered);
/* A binomial tree. */
stretto_stage stretto_stage_binomial(const stretto_shape *shape, bool ordered);

/* OUT blocks [first, first + count) from the parent to the children, one block a message. */
void stretto_stage_bcast(stretto_plan *plan, const stretto_stage *stage, int first, int count);
/* Contributions, one block a message, reduced into OUT and sent to the parent. */
void stretto_stage_reduce(stretto_plan *plan, const stretto_stage *stage, int blocks);

/* A binary tree over positions first .. first + count - 1, each subtree a run; position `at` of it:
 * its parent (-1: it is the top) and its children (-1: none). */
void stretto_binary_place(int first, int count, int at, int *parent, int child[2]);

#endif
