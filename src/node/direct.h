/* Collectives by single copies between the private memories of ranks, without a shared buffer in
 * between, all ranks in step. They never fail: what cannot be copied directly goes through the
 * shared buffers, and the group stops trying. */
#ifndef STRETTO_NODE_DIRECT_H
#define STRETTO_NODE_DIRECT_H

#include "node/remote.h"

/* Whether a message of this size is copied directly: with XPMEM above one threshold, with CMA above
 * another. Equal on all ranks of the group. */
static inline bool stretto_direct_fits(const stretto_node *node, size_t bytes, size_t attached,
                                       size_t copied) {
    return node->attaches ? bytes >= attached : node->cma && node->modest && bytes >= copied;
}

void stretto_direct_bcast(stretto_node *node, void *buffer, size_t bytes, int root);
/* root < 0: allreduce. With CMA allreduce only. */
void stretto_direct_reduce(stretto_node *node, const void *src, void *dst, size_t count,
                           size_t size, stretto_reduce_fn reduce, int root);
void stretto_direct_allgather(stretto_node *node, const void *src, void *dst, const size_t *at,
                              const size_t *bytes);

/* direct_exchange.c. sent = got = sizes, at the same places in src and dst; src NULL: in place. */
void stretto_direct_alltoall(stretto_node *node, const void *src, const size_t *at,
                             const size_t *bytes, void *dst);
void stretto_direct_gather(stretto_node *node, const void *src, void *dst, size_t bytes, int root);
void stretto_direct_scatter(stretto_node *node, const void *src, void *dst, size_t bytes, int root);
void stretto_direct_reduce_scatter(stretto_node *node, const void *src, void *dst,
                                   const size_t *counts, size_t size, stretto_reduce_fn reduce);

/* out = the fold of the operands of all ranks, which begin at operand[r] there and at src here, in
 * pieces that stay in the cache. out may be src. Returns the number of elements done; of the others
 * out is untouched, as it may be an operand. */
size_t stretto_direct_fold(stretto_node *node, const stretto_remote *operand,
                           const unsigned char *src, unsigned char *out, size_t count, size_t size,
                           stretto_reduce_fn reduce);

#endif
