/* Node phases: collectives among the ranks of a communicator on one node, through a piece of shared
 * memory that the caller maps. This code does not use MPI. While it waits it calls `progress`,
 * which drives the progress engine of the MPI (in tests it does nothing).
 *
 * A reduction computes src_0 op src_1 op ... in local order (but see stretto_node_use_domains),
 * with the same expression tree for every element and on every rank. So every rank gets the same
 * bits, and non-commutative operations are valid.
 *
 * Memory model: C11 atomics with explicit orderings; nothing relies on the strong order of x86.
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

/* Pause between two polls of a flag; leaves execution units to the other hardware thread. */
static inline void stretto_relax(void) {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("isb" ::: "memory"); /* yield is a no-op on Neoverse; isb waits a little */
#endif
}

/* out[i] = left[i] op right[i], n elements; out may equal left or right, no other overlap. */
typedef void (*stretto_reduce_fn)(const void *left, const void *right, void *out, size_t n);

/* How a rank waits: it polls `spins` times, then calls progress(progress_arg) between polls. With
 * `yield` (more ranks than cores) it also calls sched_yield; `yield` is equal on all ranks of a
 * group (stretto_step). progress must not be NULL. */
typedef struct {
    int spins;
    bool yield;
    void (*progress)(void *arg);
    void *progress_arg;
    bool cma; /* process_vm_readv between these ranks was tested and works; equal on all ranks */
} stretto_wait;

typedef struct stretto_node stretto_node; /* one rank's handle of one node group */

/* Size of the buffer (area) of each rank for large messages in a group of nlocal ranks: at most
 * `large` bytes (from stretto_node_ring), or with large = 0 a smaller one that saves memory (many
 * communicators). Must be equal on all ranks of the group. */
size_t stretto_node_area(int nlocal, size_t large);
/* The best such size for a core with an L2 cache of `level2` bytes (0: not known). */
size_t stretto_node_ring(size_t level2);
/* The area of a short piece, without such buffers: for barriers, and for calls with at most
 * SHORT_BYTES in the vector or in the blocks of all ranks together, except alltoallv. */
enum { STRETTO_NODE_SHORT = 0, STRETTO_NODE_SHORT_BYTES = 56 };
/* Shared memory in bytes for a group of nlocal ranks with such buffers; a multiple of 4096,
 * nlocal >= 1. */
size_t stretto_node_bytes(int nlocal, size_t area);

/* The part of the piece that only local rank `rank` writes. */
void stretto_node_part(int rank, size_t area, size_t *offset, size_t *bytes);

/* The last numbers of calls and chunks that were used in a piece of memory. */
typedef struct {
    uint64_t calls, chunks;
} stretto_node_past;

/* A handle for local rank `me` of `nlocal`, still without memory. pids[nlocal] = process ids in the
 * pid namespace of this rank (for CMA; may be NULL if !wait->cma). The handle is private to this
 * rank; NULL when out of memory. The functions up to stretto_node_detach do not communicate. */
stretto_node *stretto_node_new(int nlocal, int me, const int *pids, const stretto_wait *wait);
/* Call before entering a piece that is not short. False when out of memory. */
bool stretto_node_reserve(stretto_node *node);
/* Switches to `memory`, which is shared, aligned to 4096, stretto_node_bytes(nlocal, area) long,
 * and mapped at any address. Either it was zeroed before the first rank enters (past: zeros), or
 * all ranks of a group with the same nlocal and area have left it; past is then the maximum of what
 * they reached. All ranks of the group switch between the same two calls. */
void stretto_node_enter(stretto_node *node, void *memory, size_t area, stretto_node_past past);
/* The numbers that this rank has reached in its current piece. */
stretto_node_past stretto_node_reached(const stretto_node *node);
/* Does all of this at once, in zeroed memory. */
stretto_node *stretto_node_attach(void *memory, int nlocal, int me, size_t area, const int *pids,
                                  const stretto_wait *wait);
/* Call before the first call of the group, on all ranks or none, if XPMEM works (node/xpmem.h):
 * peers[nlocal] = the numbers of the ranks there. False when out of memory. */
bool stretto_node_use_xpmem(stretto_node *node, const int *peers);
/* Call before the first call of the group, on all ranks or none, if the ranks are in several
 * domains of the node (NUMA domains, sockets): domain_of[nlocal] = any number for each domain,
 * equal on all ranks. Barrier, bcast, reduce and allreduce then proceed domain by domain, so that a
 * byte moves to another domain once and not once per rank. Small messages do so only in groups of
 * more than STRETTO_NODE_DOMAIN_RANKS ranks, or always with `any_size`. Nothing changes with one
 * domain, or with one rank in each. `commutes`: all operations of the group are commutative.
 * Reductions may then take the domains one after another (ordered by their first ranks; in each its
 * ranks in order) instead of all ranks in order. Otherwise they proceed by domain only if both
 * orders are equal, i.e. if each domain consists of consecutive ranks. False when out of memory. */
bool stretto_node_use_domains(stretto_node *node, const int *domain_of, bool commutes,
                              bool any_size);
/* Frees the handle only. */
void stretto_node_detach(stretto_node *node);

/* Tests process_vm_readv on n processes: reads the 8-byte word at addresses[i] in the address space
 * of process pids[i], and compares it with `expected`. Local, no communication. The caller
 * exchanges pids and addresses, keeps the word in place until all ranks have read it, and combines
 * the results by a logical and, because stretto_wait.cma must be equal on all ranks. If a copy
 * fails later, the collectives continue without CMA. */
bool stretto_node_cma_works(int n, const int *pids, const uintptr_t *addresses, uint64_t expected);

/* The collectives: called by all ranks of the group with the same sizes and root, one at a time per
 * group. They cannot fail. src may equal dst if the contribution of a rank is in place. */
void stretto_node_barrier(stretto_node *node);
void stretto_node_bcast(stretto_node *node, void *buffer, size_t bytes, int root);
void stretto_node_reduce(stretto_node *node, const void *src, void *dst, size_t count, size_t size,
                         stretto_reduce_fn reduce, int root); /* dst used on root only */
void stretto_node_allreduce(stretto_node *node, const void *src, void *dst, size_t count,
                            size_t size, stretto_reduce_fn reduce);
/* An allreduce of `bytes` > 0, or a barrier (bytes = 0), in two steps that never wait. post returns
 * false, and does nothing, if the call is not possible in this way (too long, too many ranks).
 * collect, with the same arguments, returns true when the call is complete, and false if the part
 * of some rank was still missing at the last of `looks` polls. Other ranks may call the blocking
 * function instead. No other call of the group is allowed between the two steps. */
bool stretto_node_post(stretto_node *node, const void *src, size_t bytes);
/* Prefetches the parts of the other ranks, for a rank that does other work between the two steps.
 * Do not call it directly after post: a rank about to write would have to fetch its line back. */
void stretto_node_ask(const stretto_node *node);
bool stretto_node_collect(stretto_node *node, const void *src, void *dst, size_t count,
                          size_t bytes, stretto_reduce_fn reduce, int looks);
/* dst = nlocal blocks of `bytes`; src may equal dst + me * bytes. */
void stretto_node_allgather(stretto_node *node, const void *src, void *dst, size_t bytes);
/* The same with blocks of bytes[r] at dst + at[r], equal on all ranks; src may be dst + at[me]. */
void stretto_node_allgatherv(stretto_node *node, const void *src, void *dst, const size_t *at,
                             const size_t *bytes);
/* src and dst = nlocal blocks of `bytes`; src NULL: in place, the blocks are in dst. */
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
/* src = a vector with the sum of counts[r] elements; dst = the counts[me] elements of its reduction
 * that belong to this rank. counts are equal on all ranks. src may equal dst: the result then
 * overwrites the front of the vector, and the rest stays unchanged. */
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

/* Copies the members of n pairs; padding bytes in `to` stay unchanged. */
typedef void (*stretto_store_fn)(void *to, const void *from, size_t n);
/* NULL for types without padding. Kernels and copies overwrite whole elements. Storing a result
 * from another buffer with this function preserves what a program keeps in the padding. */
stretto_store_fn stretto_pair_store(stretto_type type);

#endif
