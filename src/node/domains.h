/* Groups whose ranks lie in several domains (memories, sockets; src/topo says which): what crosses
 * between two domains crosses once a domain, not once a rank. node.h: stretto_node_use_domains. */
#ifndef STRETTO_NODE_DOMAINS_H
#define STRETTO_NODE_DOMAINS_H

#include "node/internal.h"

/* Computed at attach, each rank for itself from what is equal on all; then only read. Domains are
 * numbered in the order of their first ranks, and their first rank leads them. */
struct stretto_domains {
    int n;            /* domains, at least 2 */
    int mine, inside; /* this rank's domain, and its place there */
    int smallest;     /* ranks of the smallest one */
    bool folds;       /* reductions may go by domain (node.h) */
    const int *of;    /* [nlocal] domain of a rank */
    const int *place; /* [nlocal] its place there */
    const int *start; /* [n + 1] into ranks */
    const int *ranks; /* [nlocal] ranks domain by domain, ascending in each */
    int *lead;        /* [n] who acts for each domain in this call: its first rank, or the root */
};

static inline int stretto_domain_size(const stretto_domains *d, int domain) {
    return d->start[domain + 1] - d->start[domain];
}

static inline const int *stretto_domain_ranks(const stretto_domains *d, int domain) {
    return d->ranks + d->start[domain];
}

/* The rank that represents the domain: its leader, or `root` if root is in this domain (root < 0:
 * always the leader). */
static inline int stretto_domain_lead(const stretto_domains *d, int domain, int root) {
    return root >= 0 && d->of[root] == domain ? root : d->ranks[d->start[domain]];
}

/* domain_small.c: messages up to STRETTO_SMALL_MAX bytes. */
void stretto_domain_small_bcast(stretto_node *node, void *buffer, size_t bytes, int root);
void stretto_domain_small_reduce(stretto_node *node, const void *src, void *dst, size_t count,
                                 size_t size, stretto_reduce_fn reduce, int root);
void stretto_domain_small_allreduce(stretto_node *node, const void *src, void *dst, size_t count,
                                    size_t size, stretto_reduce_fn reduce);

/* domain_chunk.c: any size, through the shared buffers. root < 0: allreduce. */
void stretto_domain_chunk_bcast(stretto_node *node, void *buffer, size_t bytes, int root);
void stretto_domain_chunk_reduce(stretto_node *node, const void *src, void *dst, size_t count,
                                 size_t size, stretto_reduce_fn reduce, int root);

#endif
