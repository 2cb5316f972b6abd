/* What alltoall and alltoallv have in common: schedules over single blocks, which never assume that
 * blocks are equal or adjacent. */
#ifndef STRETTO_COLL_EXCHANGE_H
#define STRETTO_COLL_EXCHANGE_H

#include "coll/coll.h"

/* Exchanges all blocks with at most `window` partners at a time (0: no limit). In place it needs
 * `window` blocks of TMP (at most nranks - 1). */
void stretto_exchange(stretto_plan *plan, const stretto_shape *shape, int window);

#endif
