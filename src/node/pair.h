/* Long messages between the two ranks of a group. */
#ifndef STRETTO_NODE_PAIR_H
#define STRETTO_NODE_PAIR_H

#include "node/chunk.h"

/* out_bytes go to the other rank, in_bytes come from it; sizes are known to both. `own` is copied
 * on the way. from_other may be to_other. */
void stretto_pair_exchange(stretto_node *node, const void *to_other, size_t out_bytes,
                           void *from_other, size_t in_bytes, stretto_copying own);
/* size <= STRETTO_NODE_PAIR_CHUNK. */
void stretto_pair_allreduce(stretto_node *node, const void *src, void *dst, size_t count,
                            size_t size, stretto_reduce_fn reduce);

#endif
