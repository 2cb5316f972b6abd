/* Attaching, waiting, and the choice of the path for each call: sequenced lines for what is small,
 * the shared buffers or a direct copy for what is large. The choice depends on sizes and on what
 * the group has agreed upon, so it is the same on all ranks. */
#include "node/chunk.h"
#include "node/direct.h"
#include "node/domains.h"

#include <sched.h>
#include <stdlib.h>

/* With a core to itself: the MPI's progress again and again. After so long a wait a system call
 * more is nothing, and the rank that is waited for may be waiting for this very core: other jobs,
 * helper threads, a launcher that bound us badly. */
static uint64_t await_alone(const stretto_node *node, const _Atomic uint64_t *flag,
                            uint64_t value) {
    uint64_t seen;
    for (int rounds = 0;; rounds += rounds < STRETTO_NODE_PATIENCE) {
        node->wait.progress(node->wait.progress_arg);
        if (rounds >= STRETTO_NODE_PATIENCE)
            sched_yield();
        for (int i = 0; i < STRETTO_NODE_POLLS; i++) {
            if ((seen = atomic_load_explicit(flag, memory_order_acquire)) >= value)
                return seen;
            stretto_relax();
        }
    }
}

/* With more ranks than cores the rank that is waited for most likely waits for the core: offer it
 * first, and call the MPI's progress (which costs as much as the switch) now and then. */
static uint64_t await_yielding(const stretto_node *node, const _Atomic uint64_t *flag,
                               uint64_t value) {
    uint64_t seen;
    for (unsigned rounds = 1;; rounds++) {
        sched_yield();
        if ((seen = atomic_load_explicit(flag, memory_order_acquire)) >= value)
            return seen;
        if (rounds % STRETTO_NODE_YIELDS == 0)
            node->wait.progress(node->wait.progress_arg);
    }
}

uint64_t stretto_await_slow(const stretto_node *node, const _Atomic uint64_t *flag,
                            uint64_t value) {
    uint64_t seen;
    for (int i = 0; i < node->wait.spins; i++) {
        if ((seen = atomic_load_explicit(flag, memory_order_acquire)) >= value)
            return seen;
        stretto_relax();
    }
    return node->wait.yield ? await_yielding(node, flag, value) : await_alone(node, flag, value);
}

void stretto_catch_up_slow(stretto_node *node, uint64_t call) {
    uint64_t least = node->seq - 1; /* this rank itself is that far */
    for (int r = 0; r < node->nlocal; r++) {
        if (r == node->me)
            continue;
        uint64_t seen = stretto_await(node, &stretto_area_of(node, r)->done.value, call);
        if (seen < least)
            least = seen;
    }
    node->known = least;
}

/* An odd number of 128-byte units, so that the same flag of different ranks does not fall into the
 * same set of every cache. */
static size_t stride_for(size_t area) {
    const size_t bytes = area == STRETTO_NODE_SHORT
                             ? offsetof(stretto_area, tiny[STRETTO_NODE_SHORT_RING])
                             : sizeof(stretto_area) + area;
    return (bytes / 128 | 1) * 128;
}

size_t stretto_node_ring(size_t level2) {
    size_t ring = level2 ? STRETTO_NODE_AREA_LEVEL2 * level2 : STRETTO_NODE_AREA;
    return stretto_least(ring, STRETTO_NODE_AREA) / 4096 * 4096;
}

size_t stretto_node_area(int nlocal, size_t large) {
    size_t area = STRETTO_NODE_AREA_ALL / (size_t)nlocal / 4096 * 4096;
    size_t least = ((size_t)nlocal * 512 + 4095) / 4096 * 4096; /* exchange.c: slots for all */
    if (least > STRETTO_NODE_AREA_MODEST)
        return least;
    area = stretto_least(area, large);
    return area < STRETTO_NODE_AREA_MODEST ? STRETTO_NODE_AREA_MODEST : area;
}

size_t stretto_node_bytes(int nlocal, size_t area) {
    return (stride_for(area) * (size_t)nlocal + 4095) / 4096 * 4096;
}

void stretto_node_part(int rank, size_t area, size_t *offset, size_t *bytes) {
    *bytes = stride_for(area);
    *offset = *bytes * (size_t)rank;
}

stretto_node *stretto_node_new(int nlocal, int me, const int *pids, const stretto_wait *wait) {
    stretto_node *node = aligned_alloc(64, (sizeof *node + 63) / 64 * 64);
    if (!node)
        return NULL;
    memset(node, 0, sizeof *node);
    node->nlocal = nlocal;
    node->me = me;
    node->wait = *wait;
    node->cma = wait->cma && pids;
    for (int i = 0; i < STRETTO_SCRATCH; i++)
        node->scratch[i] = node->short_scratch[i];
    if (pids) {
        node->pids = malloc(sizeof *pids * (size_t)nlocal);
        if (!node->pids) {
            free(node);
            return NULL;
        }
        memcpy(node->pids, pids, sizeof *pids * (size_t)nlocal);
    }
    return node;
}

bool stretto_node_reserve(stretto_node *node) {
    const size_t each = (STRETTO_SMALL_MAX + 63) / 64 * 64,
                 seen = node->me == 0 ? (size_t)node->nlocal * sizeof *node->seen : 0;
    if (node->room)
        return true;
    node->room = aligned_alloc(64, (STRETTO_SCRATCH * each + seen + 63) / 64 * 64);
    if (!node->room)
        return false;
    for (int i = 0; i < STRETTO_SCRATCH; i++)
        node->scratch[i] = node->room + (size_t)i * each;
    node->seen = (stretto_costs_seen *)(void *)(node->room + STRETTO_SCRATCH * each);
    return true;
}

void stretto_node_enter(stretto_node *node, void *memory, size_t area, stretto_node_past past) {
    node->memory = memory;
    node->area = area;
    node->modest = area <= STRETTO_NODE_AREA_MODEST;
    node->stride = stride_for(area);
    node->tiny = area == STRETTO_NODE_SHORT ? STRETTO_NODE_SHORT_RING : STRETTO_NODE_TINY_RING;
    node->small = STRETTO_SMALL_MAX;
    if (area == STRETTO_NODE_SHORT)
        node->small = STRETTO_LINE_DATA;
    else if (!node->modest && node->nlocal <= STRETTO_NODE_FOLD_RANKS)
        node->small = (size_t)STRETTO_NODE_SMALL_LINES_FEW * STRETTO_LINE_DATA;
    node->lines = node->nlocal > 1 && !node->by_domain ? node->small : 0;
    node->seq = node->known = node->last_bulk = node->last_ring = past.calls;
    node->chunks = past.chunks;
    node->ring = (stretto_ring){0};
    node->turn = 0;
    stretto_stores_enter(node);
}

stretto_node_past stretto_node_reached(const stretto_node *node) {
    return (stretto_node_past){node->seq, node->chunks};
}

stretto_node *stretto_node_attach(void *memory, int nlocal, int me, size_t area, const int *pids,
                                  const stretto_wait *wait) {
    stretto_node *node = stretto_node_new(nlocal, me, pids, wait);
    if (!node || (area != STRETTO_NODE_SHORT && !stretto_node_reserve(node))) {
        stretto_node_detach(node);
        return NULL;
    }
    stretto_node_enter(node, memory, area, (stretto_node_past){0, 0});
    return node;
}

void stretto_node_detach(stretto_node *node) {
    if (!node)
        return;
    free(node->domains);
    free(node->room);
    free(node->sums);
    free(node->pids);
    free(node->peers);
    free(node);
}

/* In the four that follow, one comparison with node->lines finds the commonest case: a message of
 * at least a byte that goes through lines without regard to domains, among two ranks or more. */

void stretto_node_barrier(stretto_node *node) {
    if (__builtin_expect(node->lines != 0, 1))
        stretto_small_allreduce(node, NULL, NULL, 0, 0, NULL);
    else if (node->nlocal > 1)
        stretto_domain_small_allreduce(node, NULL, NULL, 0, 0, NULL);
}

void stretto_node_bcast(stretto_node *node, void *buffer, size_t bytes, int root) {
    if (bytes - 1 < node->lines) {
        stretto_small_bcast(node, buffer, bytes, root);
    } else if (bytes == 0 || node->nlocal == 1) {
        return;
    } else if (node->domains) {
        if (bytes <= node->small)
            stretto_domain_small_bcast(node, buffer, bytes, root);
        else
            stretto_domain_chunk_bcast(node, buffer, bytes, root);
    } else if (stretto_direct_fits(node, bytes, STRETTO_NODE_ATTACH,
                                   node->nlocal <= STRETTO_NODE_DIRECT_BCAST_RANKS
                                       ? STRETTO_NODE_DIRECT_BCAST
                                       : SIZE_MAX)) {
        stretto_direct_bcast(node, buffer, bytes, root);
    } else {
        stretto_chunk_bcast(node, buffer, bytes, root);
    }
}

static bool folds_by_domain(const stretto_node *node) {
    return node->domains && node->domains->folds;
}

void stretto_node_reduce(stretto_node *node, const void *src, void *dst, size_t count, size_t size,
                         stretto_reduce_fn reduce, int root) {
    size_t bytes = count * size;
    if (bytes - 1 < node->lines) {
        stretto_small_reduce(node, src, dst, count, size, reduce, root);
    } else if (bytes == 0) {
        return;
    } else if (node->nlocal == 1) {
        if (dst != src)
            stretto_copy(dst, src, bytes);
    } else if (folds_by_domain(node)) {
        if (bytes <= node->small)
            stretto_domain_small_reduce(node, src, dst, count, size, reduce, root);
        else
            stretto_domain_chunk_reduce(node, src, dst, count, size, reduce, root);
    } else if (bytes <= node->small) {
        stretto_small_reduce(node, src, dst, count, size, reduce, root);
    } else if (size <= STRETTO_NODE_DIRECT_PIECE &&
               stretto_direct_fits(node, bytes, STRETTO_NODE_ATTACH, SIZE_MAX)) {
        stretto_direct_reduce(node, src, dst, count, size, reduce, root);
    } else {
        stretto_chunk_reduce(node, src, dst, count, size, reduce, root);
    }
}

void stretto_node_allreduce(stretto_node *node, const void *src, void *dst, size_t count,
                            size_t size, stretto_reduce_fn reduce) {
    size_t bytes = count * size;
    if (bytes - 1 < node->lines) {
        stretto_small_allreduce(node, src, dst, count, size, reduce);
    } else if (bytes == 0) {
        return;
    } else if (node->nlocal == 1) {
        if (dst != src)
            stretto_copy(dst, src, bytes);
    } else if (folds_by_domain(node)) {
        if (bytes <= node->small)
            stretto_domain_small_allreduce(node, src, dst, count, size, reduce);
        else
            stretto_domain_chunk_reduce(node, src, dst, count, size, reduce, -1);
    } else if (bytes <= node->small) {
        stretto_small_allreduce(node, src, dst, count, size, reduce);
    } else if (size <= STRETTO_NODE_DIRECT_PIECE &&
               stretto_direct_fits(node, bytes, STRETTO_NODE_ATTACH,
                                   STRETTO_NODE_DIRECT_ALLREDUCE)) {
        stretto_direct_reduce(node, src, dst, count, size, reduce, -1);
    } else {
        stretto_chunk_reduce(node, src, dst, count, size, reduce, -1);
    }
}
