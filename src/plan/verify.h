/* Symbolic proof that a set of plans, one a rank, carries out the collective.
 *
 * All ranks' streams are run together with synchronous sends (a send completes only when its
 * receive has been posted), on symbolic contents: a block holds "contribution of rank r, block b",
 * an expression tree over such leaves, or nothing. The network of sends and receives is
 * deterministic, so one run stands for all schedules. Found, with rank and action named:
 *   deadlock, unmatched or left-over messages, sizes that differ, reads of unwritten blocks, reads
 * or writes of blocks with a message under way, node actions that do not agree on a node, wrong,
 *   missing or doubled contributions, operands in an order that is not valid for a non-commutative
 *   operation (unless shape.commutative), and, for allreduce, ranks whose expression trees differ
 *   (equal up to commutation when shape.commutative).
 */
#ifndef STRETTO_VERIFY_H
#define STRETTO_VERIFY_H

#include "plan/plan.h"

/* plans[nranks], built for ranks 0..nranks-1 of one call. 0 = proven; else -1 and what is wrong,
 * in words, in error. */
int stretto_verify(const stretto_plan *plans, int nranks, char *error, size_t error_size);

#endif
