/* Carries a plan out over PMPI_Isend and PMPI_Irecv on the communicator's shadow, and over
 * src/node.
 *
 * Issue order is the plan's order. Waiting happens inside the MPI (Wait, Waitall) or in node
 * phases, whose waits drive the MPI, so that messages of the application go on while it waits for
 * us.
 */
#include "node/copy.h"
#include "engine/exec.h"
#include "engine/outstanding.h"

#include <limits.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { SCRATCH_KEPT = 16 << 20 };

void *stretto_comm_scratch(stretto_comm *c, int slot, size_t bytes) {
    if (bytes > c->scratch_size[slot]) {
        size_t size = bytes < 4096 ? 4096 : bytes + bytes / 4;
        void *memory = NULL;
        if (posix_memalign(&memory, 64, size))
            stretto_no_memory(); /* the other ranks have begun the call */
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

/* First element of stretto_piece b of a vector. */
static inline size_t piece_start(const stretto_running *r, int b) {
    return (size_t)r->b->count * (size_t)b / (size_t)r->cached->plan.vector_blocks;
}

/* Elements of the call's block `shape`. */
static size_t block_size(const stretto_running *r, int shape) {
    const stretto_plan *p = &r->cached->plan;
    if (shape == STRETTO_SHAPE_LARGEST) {
        size_t largest = 0;
        if (p->shape.graph) /* its plans name every block, by edges rather than ranks */
            return 0;
        if (p->vector_blocks)
            return ((size_t)r->b->count + (size_t)p->vector_blocks - 1) / (size_t)p->vector_blocks;
        if (!r->b->block_n)
            return (size_t)r->b->count;
        /* of what travels: what a rank keeps for itself in an alltoallv can be as large as it likes
         */
        const int kept = p->shape.collective == STRETTO_ALLTOALLV ? p->shape.rank : -1;
        for (int i = 0; i < p->shape.nranks; i++)
            if (i != kept && r->b->block_n[i] > largest)
                largest = r->b->block_n[i];
        return largest;
    }
    if (p->vector_blocks)
        return piece_start(r, shape + 1) - piece_start(r, shape);
    return r->b->block_n ? r->b->block_n[shape] : (size_t)r->b->count;
}

static void place_tmp(stretto_running *r) {
    const stretto_plan *p = &r->cached->plan;
    r->tmp_at = r->cached->tmp_offset;
    if (p->tmp_blocks == 0 || (r->cached->count == r->b->count && !r->b->block_n))
        return;
    size_t at = 0, largest = block_size(r, STRETTO_SHAPE_LARGEST);
    for (int j = 0; j < p->tmp_blocks; j++) {
        int shape = p->tmp_shape[j];
        r->cached->tmp_offset[j] = at;
        at += shape == STRETTO_SHAPE_LARGEST ? largest : block_size(r, shape);
    }
    r->cached->tmp_offset[p->tmp_blocks] = at;
    r->cached->count = r->b->block_n ? -1 : r->b->count;
}

stretto_piece stretto_locate(const stretto_running *r, stretto_span span) {
    if (span.count == 0)
        return (stretto_piece){NULL, 0};
    size_t first, n;
    char *base;
    if (span.buffer == STRETTO_TMP) {
        base = r->tmp;
        first = r->tmp_at[span.first];
        n = r->tmp_at[span.first + span.count] - first;
    } else {
        bool is_in = span.buffer == STRETTO_IN;
        const size_t *at = is_in ? r->b->in_at : r->b->out_at;
        base = is_in ? r->in : r->out;
        if (r->cached->plan.vector_blocks) {
            first = piece_start(r, span.first);
            n = piece_start(r, span.first + span.count) - first;
        } else if (at) { /* several blocks are neighbours in memory, plan.h says */
            const size_t *sizes = is_in ? r->b->in_n : r->b->out_n;
            first = at[span.first];
            n = 0;
            for (int b = span.first; b < span.first + span.count; b++)
                n += sizes[b];
        } else {
            first = (size_t)r->b->count * (size_t)span.first;
            n = (size_t)r->b->count * (size_t)span.count;
        }
    }
    return (stretto_piece){base + (ptrdiff_t)first * r->e->stride, n};
}

int stretto_message_of(size_t items, MPI_Datatype of, ptrdiff_t stride, int *count,
                       MPI_Datatype *type) {
    enum { CHUNK = 1 << 28 };
    *count = (int)items;
    *type = of;
    if (STRETTO_LIKELY(items <= INT_MAX))
        return MPI_SUCCESS;
    MPI_Datatype chunk;
    int lengths[2] = {(int)(items / CHUNK), (int)(items % CHUNK)};
    MPI_Aint places[2] = {0, (MPI_Aint)CHUNK * (MPI_Aint)stride * lengths[0]};
    int rc = PMPI_Type_contiguous(CHUNK, of, &chunk);
    if (rc != MPI_SUCCESS)
        return rc;
    *count = 1;
    rc = PMPI_Type_create_struct(2, lengths, places, (MPI_Datatype[]){chunk, of}, type);
    PMPI_Type_free(&chunk);
    if (rc == MPI_SUCCESS && (rc = PMPI_Type_commit(type)) != MPI_SUCCESS)
        PMPI_Type_free(type);
    return rc;
}

/* n elements as arguments of a message. */
static int message_of(const stretto_running *r, size_t n, int *count, MPI_Datatype *type) {
    const stretto_elements *e = r->e;
    const ptrdiff_t stride = e->type == MPI_BYTE ? 1 : e->stride;
    return stretto_message_of(n * (size_t)e->wire, e->type, stride, count, type);
}

static int start_message(const stretto_running *r, const stretto_action *a, MPI_Request *request) {
    bool sends = a->kind == STRETTO_SEND;
    stretto_piece p = stretto_locate(r, sends ? a->src : a->dst);
    int count;
    MPI_Datatype type;
    if (r->guess && p.n == 0) /* no length says that nothing has changed */
        p = (stretto_piece){&r->guess->nothing[a - r->cached->plan.actions], 1};
    if (r->guess && sends && r->guess->changed)
        p.n = 0;
    int rc = message_of(r, p.n, &count, &type);
    if (rc != MPI_SUCCESS)
        return rc;
    rc = sends ? PMPI_Isend(p.at, count, type, a->peer, r->c->tag, r->c->shadow, request)
               : PMPI_Irecv(p.at, count, type, a->peer, r->c->tag, r->c->shadow, request);
    if (type != r->e->type)
        PMPI_Type_free(&type);
    return rc;
}

/* One message, to its end. Where ranks know their own sizes only, one that is longer than its place
 * (the program's error) is noted and the others go on: nobody waits in vain. */
static int finish_message(stretto_running *r, const stretto_action *a, MPI_Request *request) {
    const stretto_collective c = r->cached->plan.shape.collective;
    const bool receives = a->kind == STRETTO_RECV && *request != MPI_REQUEST_NULL;
    MPI_Status status;
    int kind = MPI_SUCCESS;
    int rc = stretto_await_one(request, r->guess ? &status : MPI_STATUS_IGNORE);
    if (rc == MPI_SUCCESS && receives && r->guess) {
        int bytes;
        rc = PMPI_Get_count(&status, MPI_BYTE, &bytes);
        r->guess->changed |= bytes == 0;
    }
    if (rc == MPI_SUCCESS ||
        (c != STRETTO_ALLTOALLV && c != STRETTO_GATHERV && c != STRETTO_SCATTERV))
        return rc;
    PMPI_Error_class(rc, &kind);
    if (kind != MPI_ERR_TRUNCATE)
        return rc;
    r->truncated = rc;
    return MPI_SUCCESS;
}

/* All messages of actions [first, last). */
static int finish_messages(stretto_running *r, int first, int last) {
    const stretto_plan *p = &r->cached->plan;
    const stretto_collective c = p->shape.collective;
    int rc = MPI_SUCCESS;
    if (c != STRETTO_ALLTOALLV && c != STRETTO_GATHERV && c != STRETTO_SCATTERV)
        return stretto_await_all(last - first, r->c->requests + first);
    for (int i = first; i < last && rc == MPI_SUCCESS; i++)
        if (r->c->requests[i] != MPI_REQUEST_NULL)
            rc = finish_message(r, &p->actions[i], &r->c->requests[i]);
    return rc;
}

/* Where every block goes straight from IN to OUT, both sides of a pair see that it is empty, and
 * the message can be left out. Not where something is received into TMP: its size is not known
 * there. All ranks' plans of such an algorithm are of one kind. */
static bool leaves_out_empty(const stretto_plan *p) {
    if (stretto_collective_neighbor(p->shape.collective)) /* every rank knows what it handles */
        return true;
    return p->shape.collective == STRETTO_ALLTOALLV && !p->shape.in_place && p->tmp_blocks == 0 &&
           !p->carries;
}

/* A TMP block of the largest size takes the size of what it is copied from or reduced with. */
static size_t common(stretto_piece a, stretto_piece b) {
    return a.n < b.n ? a.n : b.n;
}

int stretto_copy_piece(const stretto_running *r, stretto_piece from, stretto_piece to) {
    from.n = to.n = common(from, to);
    if (from.n == 0 || from.at == to.at)
        return MPI_SUCCESS;
    if (r->e->type == MPI_BYTE) {
        const size_t bytes = from.n * (size_t)r->e->stride;
        const uintptr_t up = (uintptr_t)to.at - (uintptr_t)from.at;
        if (STRETTO_LIKELY(up >= bytes && -up >= bytes))
            stretto_copy(to.at, from.at, bytes);
        else /* the program's buffers overlap */
            memmove(to.at, from.at, bytes);
        return MPI_SUCCESS;
    }
    /* to oneself on the shadow: one collective at a time there, so that threads cannot mix messages
     * up */
    const stretto_comm *c = r->c;
    int count;
    MPI_Datatype type;
    int rc = message_of(r, from.n, &count, &type);
    if (rc == MPI_SUCCESS)
        rc = PMPI_Sendrecv(from.at, count, type, c->rank, c->tag, to.at, count, type, c->rank,
                           c->tag, c->shadow, MPI_STATUS_IGNORE);
    if (rc == MPI_SUCCESS && type != r->e->type)
        PMPI_Type_free(&type);
    return rc;
}

static int reduce(const stretto_running *r, stretto_piece src, stretto_piece dst,
                  stretto_side side) {
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
    return rc == MPI_SUCCESS ? stretto_copy_piece(r, src, dst) : rc;
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
static char *elements_scratch(const stretto_running *r, int slot, size_t n) {
    ptrdiff_t low;
    size_t bytes;
    if (span_of(r->e, n, &low, &bytes) != MPI_SUCCESS)
        return NULL;
    char *memory = stretto_comm_scratch(r->c, slot, bytes ? bytes : 1);
    /* as a number: the first element may lie outside of the memory, where its type has gaps */
    return memory ? (char *)((uintptr_t)memory - (uintptr_t)low) : NULL;
}

int stretto_run_plan(stretto_running *r) {
    stretto_comm *c = r->c;
    const stretto_buffers *buffers = r->b;
    const stretto_plan *p = &r->cached->plan;
    const bool sparse = leaves_out_empty(p);
    if (p->tmp_blocks &&
        !(r->tmp = elements_scratch(r, STRETTO_SCRATCH_TMP, r->tmp_at[p->tmp_blocks])))
        return MPI_ERR_TYPE;
    /* said by the caller: MPI_BOTTOM is NULL, too */
    if (buffers->out_is_scratch &&
        !(r->out = elements_scratch(r, STRETTO_SCRATCH_OUT, (size_t)buffers->count)))
        return MPI_ERR_TYPE;
    if (p->nactions > c->nrequests) {
        MPI_Request *more = realloc(c->requests, (size_t)p->nactions * sizeof *more);
        if (!more)
            stretto_no_memory();
        c->requests = more;
        c->nrequests = p->nactions;
    }
    MPI_Request *requests = c->requests;
    int open = 0, rc = MPI_SUCCESS; /* requests before `open` are complete */
    for (int i = 0; i < p->nactions && rc == MPI_SUCCESS; i++) {
        const stretto_action *a = &p->actions[i];
        requests[i] = MPI_REQUEST_NULL;
        switch (a->kind) {
        case STRETTO_SEND:
        case STRETTO_RECV:
            if (!sparse || stretto_locate(r, a->kind == STRETTO_SEND ? a->src : a->dst).n)
                rc = start_message(r, a, &requests[i]);
            break;
        case STRETTO_COPY:
            rc = stretto_copy_piece(r, stretto_locate(r, a->src), stretto_locate(r, a->dst));
            break;
        case STRETTO_REDUCE_LOCAL:
            rc = reduce(r, stretto_locate(r, a->src), stretto_locate(r, a->dst), a->side);
            break;
        case STRETTO_WAIT: rc = finish_message(r, &p->actions[a->peer], &requests[a->peer]); break;
        case STRETTO_FENCE:
            rc = finish_messages(r, open, i);
            open = i + 1;
            break;
        default: stretto_node_action(r, a); break;
        }
    }
    if (rc == MPI_SUCCESS && p->nactions > open)
        rc = finish_messages(r, open, p->nactions);
    if (rc == MPI_SUCCESS && buffers->back) {
        size_t n = (size_t)buffers->count;
        rc = stretto_copy_piece(r, (stretto_piece){r->out, n}, (stretto_piece){buffers->back, n});
    }
    if (rc != MPI_SUCCESS) { /* messages may still be under way: their memory is never used again */
        c->requests = NULL;
        c->nrequests = 0;
        memset(c->scratch, 0, sizeof c->scratch);
        memset(c->scratch_size, 0, sizeof c->scratch_size);
        c->exchanges = NULL;
    }
    return rc == MPI_SUCCESS ? r->truncated : rc;
}

int stretto_execute(stretto_comm *c, stretto_cached_plan *cached, const stretto_elements *elements,
                    const stretto_buffers *buffers) {
    if (cached->plan.carries)
        return cached->plan.shape.collective == STRETTO_ALLTOALLV
                   ? stretto_execute_carrying(c, cached, elements, buffers)
                   : stretto_execute_told(c, cached, elements, buffers);
    stretto_running r = {.c = c,
                         .cached = cached,
                         .e = elements,
                         .b = buffers,
                         .in = (char *)(uintptr_t)buffers->in,
                         .out = buffers->out,
                         .truncated = MPI_SUCCESS};
    place_tmp(&r);
    return stretto_run_plan(&r);
}
