/* An exchange of partial results within a group, reduced by every member alike. */
#ifndef STRETTO_COLL_MULTIPLY_H
#define STRETTO_COLL_MULTIPLY_H

#include "coll/coll.h"

/* n ranks, of which this one is number `me`. Member j is team first + j * stride; the first
 * `paired` teams stand for the ranks 2t and 2t + 1 and act by the odd one. */
typedef struct {
    int first, stride, n, me, paired;
} stretto_group;

/* Members send one another OUT, and every one reduces all of them in order,
 *     ((x_0 op x_1) op x_2) op ...,
 * into OUT: the same tree on all. */
void stretto_multiply(stretto_plan *plan, const stretto_group *group);

#endif
