/* Collectives by single copies between the private memories of ranks, without a shared buffer in
 * between, all ranks in step. They never fail: what cannot be copied directly goes through the
 * shared buffers, and the group stops trying. */
#ifndef STRETTO_NODE_DIRECT_H
#define STRETTO_NODE_DIRECT_H

#include "node/remote.h"

/* Whether a message of that size goes directly: attached from so many bytes on, copied by the
 * kernel from so many on. The same on all ranks of the group. */
static inline bool stretto_direct_fits(const stretto_node *node, size_t bytes, size_t attached,
                                       size_t copied) {
    return node->attaches ? bytes >= attached : node->wait.cma && bytes >= copied;
}

void stretto_direct_bcast(stretto_node *node, void *buffer, size_t bytes, int root);
/* root < 0: allreduce. With CMA allreduce only. */
void stretto_direct_reduce(stretto_node *node, const void *src, void *dst, size_t count,
                           size_t size, stretto_reduce_fn reduce, int root);
void stretto_direct_allgather(stretto_node *node, const void *src, void *dst, size_t bytes);

#endif
