/* Copies between the private memories of two ranks, without a shared buffer in between. */
#ifndef STRETTO_NODE_DIRECT_H
#define STRETTO_NODE_DIRECT_H

#include "node/node.h"

#include <sys/types.h>
#include <sys/uio.h>

/* Collectives by direct copies, all ranks in step. They never fail: what cannot be copied directly
 * goes through the shared buffers, and the group stops trying (node->wait.cma). */
void stretto_direct_bcast(stretto_node *node, void *buffer, size_t bytes, int root);
void stretto_direct_allreduce(stretto_node *node, const void *src, void *dst, size_t count,
                              size_t size, stretto_reduce_fn reduce);
void stretto_direct_allgather(stretto_node *node, const void *src, void *dst, size_t bytes);

/* process_vm_readv and process_vm_writev, replaced in tests to inject faults. */
typedef ssize_t (*stretto_vm_fn)(pid_t pid, const struct iovec *local, unsigned long nlocal,
                                 const struct iovec *remote, unsigned long nremote,
                                 unsigned long flags);
extern stretto_vm_fn stretto_vm_readv, stretto_vm_writev;

#endif
