/* Carries a plan out over PMPI_Isend and PMPI_Irecv on the communicator's shadow, and over
 * src/node.
 *
 * Issue order is the plan's order. Waiting happens inside the MPI (Wait, Waitall) or in node
 * phases, whose waits drive the MPI, so that messages of the application go on while it waits for
 * us.
 */
#include "run/engine.h"

#include <stdlib.h>
#include <string.h>

enum { TAG = 7, SCRATCH_KEPT = 16 << 20 };

typedef struct {
    stretto_comm *c;
    stretto_cached_plan *cached;
    const stretto_elements *e;
    long long count;
    char *in, *out, *tmp;
} running;

void *stretto_comm_scratch(stretto_comm *c, int slot, size_t bytes) {
    if (bytes > c->scratch_size[slot]) {
        size_t size = bytes < 4096 ? 4096 : bytes + bytes / 4;
        void *memory = NULL;
        if (posix_memalign(&memory, 64, size))
            return NULL;
        free(c->scratch[slot]);
        c->scratch[slot] = memory;
        c->scratch_size[slot] = size;
    }
    return c->scratch[slot];
}

void stretto_comm_trim(stretto_comm *c) {
    for (int i = 0; i < STRETTO_SCRATCHES; i++)
        if (c->scratch_size[i] > SCRATCH_KEPT) {
            free(c->scratch[i]);
            c->scratch[i] = NULL;
            c->scratch_size[i] = 0;
        }
}

static bool in_blocks_of_count(stretto_collective collective) {
    return collective == STRETTO_ALLGATHER || collective == STRETTO_ALLTOALL;
}

/* First element of block b of IN or OUT. */
static inline size_t block_start(const running *r, int b) {
    const stretto_plan *p = &r->cached->plan;
    if (in_blocks_of_count(p->shape.collective))
        return (size_t)r->count * (size_t)b;
    return (size_t)r->count * (size_t)b / (size_t)p->vector_blocks;
}

static void place_tmp(running *r) {
    const stretto_plan *p = &r->cached->plan;
    if (r->cached->count == r->count || p->tmp_blocks == 0)
        return;
    size_t blocks = p->vector_blocks ? (size_t)p->vector_blocks : 1; /* a barrier has none */
    size_t largest = in_blocks_of_count(p->shape.collective)
                         ? (size_t)r->count
                         : ((size_t)r->count + blocks - 1) / blocks;
    size_t at = 0;
    for (int j = 0; j < p->tmp_blocks; j++) {
        int shape = p->tmp_shape[j];
        r->cached->tmp_offset[j] = at;
        at += shape == STRETTO_SHAPE_LARGEST ? largest
                                             : block_start(r, shape + 1) - block_start(r, shape);
    }
    r->cached->tmp_offset[p->tmp_blocks] = at;
    r->cached->count = r->count;
}

typedef struct {
    char *at;
    size_t n; /* elements */
} piece;

static inline piece locate(const running *r, stretto_span span) {
    if (span.count == 0)
        return (piece){NULL, 0};
    size_t first, end;
    char *base;
    if (span.buffer == STRETTO_TMP) {
        base = r->tmp;
        first = r->cached->tmp_offset[span.first];
        end = r->cached->tmp_offset[span.first + span.count];
    } else {
        bool single =
            span.buffer == STRETTO_IN && r->cached->plan.shape.collective == STRETTO_ALLGATHER;
        base = span.buffer == STRETTO_IN ? r->in : r->out;
        first = single ? 0 : block_start(r, span.first);
        end = single ? (size_t)r->count : block_start(r, span.first + span.count);
    }
    return (piece){base + (ptrdiff_t)first * r->e->stride, end - first};
}

/* A TMP block of the largest size takes the size of what it is copied from or reduced with. */
static size_t common(piece a, piece b) {
    return a.n < b.n ? a.n : b.n;
}

static int copy(const running *r, piece from, piece to) {
    from.n = to.n = common(from, to);
    if (from.n == 0 || from.at == to.at)
        return MPI_SUCCESS;
    if (r->e->type == MPI_BYTE) {
        memmove(to.at, from.at, from.n * (size_t)r->e->stride);
        return MPI_SUCCESS;
    }
    /* to oneself on the shadow: one collective at a time there, so that threads cannot mix messages
     * up */
    const stretto_comm *c = r->c;
    return PMPI_Sendrecv(from.at, (int)from.n, r->e->type, c->rank, TAG, to.at, (int)to.n,
                         r->e->type, c->rank, TAG, c->shadow, MPI_STATUS_IGNORE);
}

static int reduce(const running *r, piece src, piece dst, stretto_side side) {
    src.n = dst.n = common(src, dst);
    if (src.n == 0)
        return MPI_SUCCESS;
    if (r->e->reduce) {
        if (side == STRETTO_SRC_LEFT)
            r->e->reduce(src.at, dst.at, dst.at, src.n);
        else
            r->e->reduce(dst.at, src.at, dst.at, src.n);
        return MPI_SUCCESS;
    }
    if (side == STRETTO_SRC_LEFT)
        return PMPI_Reduce_local(src.at, dst.at, (int)src.n, r->e->type, r->e->op);
    int rc = PMPI_Reduce_local(dst.at, src.at, (int)src.n, r->e->type, r->e->op);
    return rc == MPI_SUCCESS ? copy(r, src, dst) : rc;
}

/* Node actions see bytes only: for user operations they were refused before. */
static void node_action(const running *r, const stretto_action *a) {
    stretto_node *node = r->c->node;
    piece src = locate(r, a->src), dst = locate(r, a->dst);
    size_t stride = (size_t)r->e->stride;
    if (!node) { /* alone on its node */
        if (a->kind != STRETTO_NODE_BARRIER && a->kind != STRETTO_NODE_BCAST)
            copy(r, src, dst);
        return;
    }
    switch (a->kind) {
    case STRETTO_NODE_BARRIER: stretto_node_barrier(node); break;
    case STRETTO_NODE_BCAST: stretto_node_bcast(node, dst.at, dst.n * stride, a->peer); break;
    case STRETTO_NODE_REDUCE:
        stretto_node_reduce(node, src.at, dst.at, src.n, stride, r->e->reduce, a->peer);
        break;
    case STRETTO_NODE_ALLREDUCE:
        stretto_node_allreduce(node, src.at, dst.at, src.n, stride, r->e->reduce);
        break;
    default: stretto_node_allgather(node, src.at, dst.at, src.n * stride); break;
    }
}

/* Where the lowest byte of n elements lies relative to the first element, and how many bytes they
 * span. */
static int span_of(const stretto_elements *e, size_t n, ptrdiff_t *low, size_t *bytes) {
    *low = 0;
    *bytes = n * (size_t)e->stride;
    if (n == 0 || e->type == MPI_BYTE)
        return MPI_SUCCESS;
    MPI_Aint lb, extent;
    int rc = PMPI_Type_get_true_extent(e->type, &lb, &extent);
    ptrdiff_t last = (ptrdiff_t)(n - 1) * e->stride; /* the stride may be negative */
    *low = lb + (last < 0 ? last : 0);
    *bytes = (size_t)(extent + (last < 0 ? -last : last));
    return rc;
}

/* Scratch for n elements, as a pointer to the first one. */
static char *elements_scratch(const running *r, int slot, size_t n) {
    ptrdiff_t low;
    size_t bytes;
    if (span_of(r->e, n, &low, &bytes) != MPI_SUCCESS)
        return NULL;
    char *memory = stretto_comm_scratch(r->c, slot, bytes ? bytes : 1);
    return memory ? memory - low : NULL;
}

int stretto_execute(stretto_comm *c, stretto_cached_plan *cached, const stretto_elements *elements,
                    long long count, const void *in, void *out) {
    running r = {c, cached, elements, count, (char *)(uintptr_t)in, out, NULL};
    const stretto_plan *p = &cached->plan;
    place_tmp(&r);
    if (p->tmp_blocks &&
        !(r.tmp = elements_scratch(&r, STRETTO_SCRATCH_TMP, cached->tmp_offset[p->tmp_blocks])))
        return MPI_ERR_NO_MEM;
    /* MPI_BOTTOM is NULL, too: only ranks without a result have no OUT */
    if (p->shape.collective == STRETTO_REDUCE && p->shape.rank != p->shape.root &&
        !(r.out = elements_scratch(&r, STRETTO_SCRATCH_OUT, (size_t)count)))
        return MPI_ERR_NO_MEM;
    if (p->nactions > c->nrequests) {
        MPI_Request *more = realloc(c->requests, (size_t)p->nactions * sizeof *more);
        if (!more)
            return MPI_ERR_NO_MEM;
        c->requests = more;
        c->nrequests = p->nactions;
    }
    MPI_Request *requests = c->requests;
    int open = 0, rc = MPI_SUCCESS; /* requests before `open` are complete */
    for (int i = 0; i < p->nactions && rc == MPI_SUCCESS; i++) {
        const stretto_action *a = &p->actions[i];
        requests[i] = MPI_REQUEST_NULL;
        switch (a->kind) {
        case STRETTO_SEND: {
            piece src = locate(&r, a->src);
            rc = PMPI_Isend(src.at, (int)src.n * elements->wire, elements->type, a->peer, TAG,
                            c->shadow, &requests[i]);
            break;
        }
        case STRETTO_RECV: {
            piece dst = locate(&r, a->dst);
            rc = PMPI_Irecv(dst.at, (int)dst.n * elements->wire, elements->type, a->peer, TAG,
                            c->shadow, &requests[i]);
            break;
        }
        case STRETTO_COPY: rc = copy(&r, locate(&r, a->src), locate(&r, a->dst)); break;
        case STRETTO_REDUCE_LOCAL:
            rc = reduce(&r, locate(&r, a->src), locate(&r, a->dst), a->side);
            break;
        case STRETTO_WAIT: rc = PMPI_Wait(&requests[a->peer], MPI_STATUS_IGNORE); break;
        case STRETTO_FENCE:
            rc = PMPI_Waitall(i - open, requests + open, MPI_STATUSES_IGNORE);
            open = i + 1;
            break;
        default: node_action(&r, a); break;
        }
    }
    if (rc == MPI_SUCCESS && p->nactions > open)
        rc = PMPI_Waitall(p->nactions - open, requests + open, MPI_STATUSES_IGNORE);
    if (rc != MPI_SUCCESS) { /* messages may still be under way: their memory is never used again */
        c->requests = NULL;
        c->nrequests = 0;
        memset(c->scratch, 0, sizeof c->scratch);
        memset(c->scratch_size, 0, sizeof c->scratch_size);
    }
    return rc;
}
