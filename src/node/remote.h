/* The private memory of another rank of the group, for one call: attached (XPMEM), or copied by the
 * kernel (CMA: process_vm_readv and process_vm_writev). */
#ifndef STRETTO_NODE_REMOTE_H
#define STRETTO_NODE_REMOTE_H

#include "node/internal.h"
#include "node/xpmem.h"

#include <sys/types.h>
#include <sys/uio.h>

typedef struct {
    int rank;
    uint64_t address; /* in that rank's memory */
    stretto_mapping mapping;
} stretto_remote;

/* Memory of rank `rank`; false when it cannot be had. To be closed again when true. */
bool stretto_remote_open(const stretto_node *node, int rank, uint64_t address, size_t bytes,
                         stretto_remote *remote);
void stretto_remote_close(const stretto_node *node, stretto_remote *remote);
/* Copies between here and there. They fail only without XPMEM: what has been attached is there. */
bool stretto_remote_fetch(const stretto_node *node, const stretto_remote *remote, size_t offset,
                          void *to, size_t bytes);
bool stretto_remote_store(const stretto_node *node, const stretto_remote *remote, size_t offset,
                          const void *from, size_t bytes);
/* Where those bytes can be read: there, or copied to `room`. NULL: cannot be had. */
const void *stretto_remote_look(const stretto_node *node, const stretto_remote *remote,
                                size_t offset, void *room, size_t bytes);
/* Opens, fetches, closes. */
bool stretto_remote_copy(const stretto_node *node, int rank, uint64_t address, void *to,
                         size_t bytes);

/* Whether all ranks say yes, the same answer on all; when not, this way of reaching other ranks'
 * memory is over for the group. Also what keeps buffers untouched until all have read them. */
bool stretto_remote_agree(stretto_node *node, bool yes);

/* process_vm_readv and process_vm_writev, replaced in tests to inject faults. */
typedef ssize_t (*stretto_vm_fn)(pid_t pid, const struct iovec *local, unsigned long nlocal,
                                 const struct iovec *remote, unsigned long nremote,
                                 unsigned long flags);
extern stretto_vm_fn stretto_vm_readv, stretto_vm_writev;

#endif
