/* Node phases: collectives among the ranks of one communicator that share a node, over a piece of
 * shared memory that the caller maps. No MPI here: waiting calls `progress`, which the runtime
 * binds to the MPI's progress engine, and tests to nothing.
 *
 * Results of a reduction are src_0 op src_1 op ... evaluated by one expression tree that is the
 * same for every element position's owner and every rank, in local order (but see
 * stretto_node_use_domains), so that every rank gets the same bits and non-commutative operations
 * are valid.
 *
 * Memory model: C11 atomics with the orderings written out; nothing relies on x86's strong order.
 */
#ifndef STRETTO_NODE_H
#define STRETTO_NODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__aarch64__)
#define STRETTO_LINE                                                                               \
    128 /* prefetch pairs on Neoverse; also covers A64FX's 256 by padding in pairs */
#else
#define STRETTO_LINE 64
#endif

/* Between two looks at a flag: leaves a little of the core to its other hardware thread. */
static inline void stretto_relax(void) {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("isb" ::: "memory"); /* yield is a no-op on Neoverse; isb waits a little */
#endif
}

/* out[i] = left[i] op right[i], n elements; out may equal left or right, no other overlap. */
typedef void (*stretto_reduce_fn)(const void *left, const void *right, void *out, size_t n);

/* How a rank waits: spins for `spins` polls, then calls progress(progress_arg) between polls, and
 * sched_yield as well when `yield` (more ranks than cores), which is the same on all ranks of a
 * group (stretto_step). progress may not be NULL. */
typedef struct {
    int spins;
    bool yield;
    void (*progress)(void *arg);
    void *progress_arg;
    bool cma; /* process_vm_readv among these ranks was tried and works; equal on all ranks */
} stretto_wait;

typedef struct stretto_node stretto_node; /* one rank's handle of one node group */

/* Size of each rank's buffer for large messages in a group of nlocal ranks: at most `large` bytes,
 * which stretto_node_ring tells, or a modest one (large: 0) where memory is to be saved (many
 * communicators). To be the same on all ranks of the group. */
size_t stretto_node_area(int nlocal, size_t large);
/* The best such size where a core's L2 cache has so many bytes (0: not known). */
size_t stretto_node_ring(size_t level2);
/* A short piece, without such buffers: for barriers, and for calls whose blocks of all ranks (or
 * whose vector) have at most SHORT_BYTES together, but for alltoallv. */
enum { STRETTO_NODE_SHORT = 0, STRETTO_NODE_SHORT_BYTES = 56 };
/* Bytes of shared memory a group of nlocal ranks with such buffers needs; a multiple of 4096,
 * nlocal >= 1. */
size_t stretto_node_bytes(int nlocal, size_t area);

/* Where in it the part lies that only local rank `rank` writes. */
void stretto_node_part(int rank, size_t area, size_t *offset, size_t *bytes);

/* How far the numbers in a piece of memory have got. */
typedef struct {
    uint64_t calls, chunks;
} stretto_node_past;

/* A handle for local rank `me` of `nlocal`, without memory yet. pids[nlocal] = process ids as seen
 * in this rank's pid namespace (for CMA; may be NULL when !wait->cma). The handle is this rank's
 * own; NULL when out of memory. Like all up to stretto_node_detach it does not communicate. */
stretto_node *stretto_node_new(int nlocal, int me, const int *pids, const stretto_wait *wait);
/* Before entering a piece that is not short. False when out of memory. */
bool stretto_node_reserve(stretto_node *node);
/* Goes on in `memory`: shared, aligned to 4096, stretto_node_bytes(nlocal, area) long, mapped at
 * any address, and zeroed before the first rank enters (past: zeros), or left by all ranks of a
 * group of as many ranks with the same area; past is then the largest of what they had reached. All
 * ranks of the group change between the same two calls. */
void stretto_node_enter(stretto_node *node, void *memory, size_t area, stretto_node_past past);
/* What this rank leaves behind in the piece where it is. */
stretto_node_past stretto_node_reached(const stretto_node *node);
/* All of this at once, in zeroed memory. */
stretto_node *stretto_node_attach(void *memory, int nlocal, int me, size_t area, const int *pids,
                                  const stretto_wait *wait);
/* To be called before the first call of the group, on all ranks or none, where XPMEM was found to
 * work (node/xpmem.h): peers[nlocal] = the ranks' numbers there. False when out of memory. */
bool stretto_node_use_xpmem(stretto_node *node, const int *peers);
/* To be called before the first call of the group, on all ranks or none, where the ranks lie in
 * several domains of the node (memories, sockets): domain_of[nlocal] = any number for each domain,
 * the same on all ranks. Barrier, bcast, reduce and allreduce then go domain by domain, so that a
 * byte crosses to another domain once and not once a rank; small messages only in groups of more
 * than STRETTO_NODE_DOMAIN_RANKS ranks, or always with `any_size`. Nothing changes where there is
 * one domain, or one rank in each. `commutes`: all operations of the group do. Reductions may then
 * take the domains one after another (by their first ranks; in each its ranks in order) instead of
 * all ranks in order. Without it they go by domain only where both orders are the same, i.e. where
 * each domain is a run of consecutive ranks. False when out of memory. */
bool stretto_node_use_domains(stretto_node *node, const int *domain_of, bool commutes,
                              bool any_size);
/* Frees the handle only. */
void stretto_node_detach(stretto_node *node);

/* Tries process_vm_readv on n processes: reads the 8-byte word at addresses[i] (as process pids[i]
 * sees it) and compares it with `expected`. Local, no communication: the caller exchanges pids and
 * addresses, keeps the word in place until all have looked, and combines the answers by a logical
 * and, as stretto_wait.cma must be equal on all ranks. Should a copy fail later, the collectives go
 * on without CMA by themselves. */
bool stretto_node_cma_works(int n, const int *pids, const uintptr_t *addresses, uint64_t expected);

/* Collective over the group, same sizes and root on all ranks; one collective at a time per group.
 * They cannot fail. src may equal dst where a rank's contribution is in place. */
void stretto_node_barrier(stretto_node *node);
void stretto_node_bcast(stretto_node *node, void *buffer, size_t bytes, int root);
void stretto_node_reduce(stretto_node *node, const void *src, void *dst, size_t count, size_t size,
                         stretto_reduce_fn reduce, int root); /* dst used on root only */
void stretto_node_allreduce(stretto_node *node, const void *src, void *dst, size_t count,
                            size_t size, stretto_reduce_fn reduce);
/* An allreduce of `bytes` > 0, or a barrier (bytes = 0), in two steps that never wait. post: false
 * when this call cannot be had so (too long, too many ranks); nothing was done then. collect, with
 * the same arguments: true when it is over, false when some rank's part was not there at the last
 * of `looks` looks, which follow one another as in a wait. The other ranks may make the whole call
 * instead. Between the two, no other call of the group. */
bool stretto_node_post(stretto_node *node, const void *src, size_t bytes);
/* Between the two, for who does something else first: the others' parts are asked for. Not at once
 * after post: who is about to write would have to take its line back. */
void stretto_node_ask(const stretto_node *node);
bool stretto_node_collect(stretto_node *node, const void *src, void *dst, size_t count,
                          size_t bytes, stretto_reduce_fn reduce, int looks);
/* dst = nlocal blocks of `bytes`; src may equal dst + me * bytes. */
void stretto_node_allgather(stretto_node *node, const void *src, void *dst, size_t bytes);
/* The same with blocks of bytes[r] at dst + at[r], equal on all ranks; src may equal dst + at[me].
 */
void stretto_node_allgatherv(stretto_node *node, const void *src, void *dst, const size_t *at,
                             const size_t *bytes);
/* src and dst = nlocal blocks of `bytes`; src NULL: in place, the blocks lie in dst. */
void stretto_node_alltoall(stretto_node *node, const void *src, void *dst, size_t bytes);
/* Sends src_bytes[r] bytes at src + src_at[r] to rank r, which receives them at its dst +
 * dst_at[me]. Only these two ranks know the size. If src is NULL the call is in place: src_at and
 * src_bytes then refer to dst, src_at[r] = dst_at[r], and each pair exchanges equal amounts. Gather
 * and scatter of unequal blocks also use this function; sizes of 0 cost almost nothing. At most
 * dst_bytes[r] bytes from rank r are stored (NULL: no limit); returns false if more arrived. */
bool stretto_node_alltoallv(stretto_node *node, const void *src, const size_t *src_at,
                            const size_t *src_bytes, void *dst, const size_t *dst_at,
                            const size_t *dst_bytes);
/* dst = nlocal blocks, used on root only; there src may equal dst + root * bytes. */
void stretto_node_gather(stretto_node *node, const void *src, void *dst, size_t bytes, int root);
/* src = nlocal blocks, used on root only; there dst may equal src + root * bytes. */
void stretto_node_scatter(stretto_node *node, const void *src, void *dst, size_t bytes, int root);
/* src = a vector of the sum of counts[r] elements; dst = the counts[me] elements of its reduction
 * that are this rank's. counts are equal on all ranks. src may equal dst: the result is then
 * written over the front of the vector, of which the rest is left as it was. */
void stretto_node_reduce_scatter(stretto_node *node, const void *src, void *dst,
                                 const size_t *counts, size_t size, stretto_reduce_fn reduce);
/* dst = src_0 op ... op src_me, or without src_me when exclusive (rank 0's dst is then not
 * touched). */
void stretto_node_scan(stretto_node *node, const void *src, void *dst, size_t count, size_t size,
                       stretto_reduce_fn reduce, bool exclusive);

/* Kernels for the predefined operations on the C representation of the predefined types. */
typedef enum {
    STRETTO_OP_SUM,
    STRETTO_OP_PROD,
    STRETTO_OP_MAX,
    STRETTO_OP_MIN,
    STRETTO_OP_LAND,
    STRETTO_OP_LOR,
    STRETTO_OP_LXOR,
    STRETTO_OP_BAND,
    STRETTO_OP_BOR,
    STRETTO_OP_BXOR,
    STRETTO_OP_MAXLOC,
    STRETTO_OP_MINLOC,
    STRETTO_OPS
} stretto_op;
typedef enum {
    STRETTO_INT8,
    STRETTO_INT16,
    STRETTO_INT32,
    STRETTO_INT64,
    STRETTO_UINT8,
    STRETTO_UINT16,
    STRETTO_UINT32,
    STRETTO_UINT64,
    STRETTO_FLOAT,
    STRETTO_DOUBLE,
    STRETTO_LONG_DOUBLE,
    STRETTO_BOOL,
    STRETTO_COMPLEX_FLOAT,
    STRETTO_COMPLEX_DOUBLE,
    STRETTO_DOUBLE_INT,
    STRETTO_FLOAT_INT,
    STRETTO_INT_INT,
    STRETTO_LONG_INT,
    STRETTO_SHORT_INT,
    STRETTO_TYPES
} stretto_type;
/* NULL where the MPI standard does not define the operation on the type, or there is no kernel. */
stretto_reduce_fn stretto_reduce_kernel(stretto_op op, stretto_type type);
/* sizeof the type's C representation (extent: pairs include their padding). */
size_t stretto_type_extent(stretto_type type);

/* Copies the members of n pairs; what lies in their gaps stays as it is in `to`. */
typedef void (*stretto_store_fn)(void *to, const void *from, size_t n);
/* NULL for types without a gap. Kernels and copies take whole elements: what a program keeps in the
 * gaps of its buffer is spared by storing a result in this way, from elsewhere. */
stretto_store_fn stretto_pair_store(stretto_type type);

#endif
