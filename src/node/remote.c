/* Reaching another rank's memory, by XPMEM where the group uses it, else by CMA. See remote.h. */
#include "node/remote.h"

#include <errno.h>
#include <stdlib.h>

stretto_vm_fn stretto_vm_readv = process_vm_readv;
stretto_vm_fn stretto_vm_writev = process_vm_writev;

/* Between `local` here and `remote` in the memory of rank peer; false when it cannot be done. */
static bool transfer(const stretto_node *node, stretto_vm_fn fn, int peer, void *local,
                     uint64_t remote, size_t bytes) {
    unsigned char *here = local;
    while (bytes) {
        size_t part = stretto_least(bytes, STRETTO_NODE_DIRECT_CALL);
        struct iovec l = {here, part}, r = {(void *)(uintptr_t)remote, part};
        ssize_t moved = fn(node->pids[peer], &l, 1, &r, 1, 0);
        if (moved < 0 && errno == EINTR)
            continue;
        if (moved <= 0 || (size_t)moved > part)
            return false;
        here += moved, remote += (uint64_t)moved, bytes -= (size_t)moved;
        if (bytes)
            node->wait.progress(node->wait.progress_arg);
    }
    return true;
}

/* In pieces, with the MPI's progress in between. */
static void copy(const stretto_node *node, unsigned char *to, const unsigned char *from,
                 size_t bytes) {
    while (bytes) {
        size_t part = stretto_least(bytes, STRETTO_NODE_DIRECT_PIECE);
        stretto_copy(to, from, part);
        to += part, from += part, bytes -= part;
        if (bytes)
            node->wait.progress(node->wait.progress_arg);
    }
}

bool stretto_remote_open(const stretto_node *node, int rank, uint64_t address, size_t bytes,
                         stretto_remote *remote) {
    *remote = (stretto_remote){.rank = rank, .address = address};
    return !node->attaches || bytes == 0 ||
           stretto_xpmem_map(node->peers[rank], address, bytes, node->wait.progress,
                             node->wait.progress_arg, &remote->mapping);
}

void stretto_remote_close(const stretto_node *node, stretto_remote *remote) {
    (void)node;
    if (remote->mapping.attachment)
        stretto_xpmem_unmap(&remote->mapping);
}

bool stretto_remote_fetch(const stretto_node *node, const stretto_remote *remote, size_t offset,
                          void *to, size_t bytes) {
    if (!node->attaches)
        return transfer(node, stretto_vm_readv, remote->rank, to, remote->address + offset, bytes);
    copy(node, to, remote->mapping.at + offset, bytes);
    return true;
}

bool stretto_remote_store(const stretto_node *node, const stretto_remote *remote, size_t offset,
                          const void *from, size_t bytes) {
    if (!node->attaches)
        return transfer(node, stretto_vm_writev, remote->rank, (void *)(uintptr_t)from,
                        remote->address + offset, bytes);
    copy(node, remote->mapping.at + offset, from, bytes);
    return true;
}

const void *stretto_remote_look(const stretto_node *node, const stretto_remote *remote,
                                size_t offset, void *room, size_t bytes) {
    if (node->attaches)
        return remote->mapping.at + offset;
    return stretto_remote_fetch(node, remote, offset, room, bytes) ? room : NULL;
}

bool stretto_remote_copy(const stretto_node *node, int rank, uint64_t address, void *to,
                         size_t bytes) {
    stretto_remote remote;
    if (!stretto_remote_open(node, rank, address, bytes, &remote))
        return false;
    bool well = stretto_remote_fetch(node, &remote, 0, to, bytes);
    stretto_remote_close(node, &remote);
    return well;
}

static void both(const void *left, const void *right, void *out, size_t n) {
    const uint64_t *l = left, *r = right;
    for (size_t i = 0; i < n; i++)
        ((uint64_t *)out)[i] = l[i] & r[i];
}

bool stretto_remote_agree(stretto_node *node, bool yes) {
    uint64_t mine = yes, all;
    stretto_small_allreduce(node, &mine, &all, 1, sizeof all, both);
    if (!all && node->attaches)
        node->attaches = false;
    else if (!all)
        node->cma = false;
    return all;
}

bool stretto_node_use_xpmem(stretto_node *node, const int *peers) {
    node->peers = malloc(sizeof *peers * (size_t)node->nlocal);
    if (!node->peers)
        return false;
    memcpy(node->peers, peers, sizeof *peers * (size_t)node->nlocal);
    node->attaches = true;
    return true;
}

/* With what the MPI has permitted: prctl(PR_SET_PTRACER) is never called here, since nobody could
 * restore what it replaces (docs/explanation/node.md, CMA and Yama). */
bool stretto_node_cma_works(int n, const int *pids, const uintptr_t *addresses, uint64_t expected) {
    for (int i = 0; i < n; i++) {
        uint64_t word = ~expected;
        struct iovec l = {&word, sizeof word}, r = {(void *)addresses[i], sizeof word};
        if (stretto_vm_readv(pids[i], &l, 1, &r, 1, 0) != sizeof word || word != expected)
            return false;
    }
    return true;
}
