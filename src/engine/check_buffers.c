/* STRETTO_CHECK_CALLS: sending from and receiving into the same memory, which the standard forbids
 * (MPI-4.1, 2.3: arguments must not alias). MPICH and Intel MPI report some of it as
 * MPI_ERR_BUFFER, Open MPI hardly any. What is found here really overlaps: ranges of data without
 * gaps that meet, or blocks with gaps that begin at the same byte. Legal are buffers whose data lie
 * between one another.
 */
#include "engine/call.h"
#include "engine/check.h"

/* Blocks that this rank sends or receives: `blocks`, at base. */
typedef struct {
    const char *base;
    stretto_neighbor_blocks blocks;
    int n;
    bool displs_are_aint; /* of an alltoallw of neighbours, in the form with int counts, too */
    const int *ends; /* negative: the block of this slot is neither read nor written; or NULL */
} side;

typedef struct {
    const char *first;
    long long bytes; /* up to the last, 0: no data */
    bool dense;
} range;

static side all_of(const void *base, long long count, MPI_Datatype type) {
    return (side){base, {{NULL, NULL, true, type, NULL}, count}, 1, false, NULL};
}

static side equal_blocks(const void *base, stretto_amount each, int n) {
    return (side){base, {{NULL, NULL, true, each.type, NULL}, each.count}, n, false, NULL};
}

static side own_blocks(const void *base, const stretto_ragged *blocks, int n) {
    return (side){base, {*blocks, 0}, n, false, NULL};
}

static long long count_of(const stretto_ragged *b, int i) {
    return b->large ? (long long)((const MPI_Count *)b->counts)[i] : ((const int *)b->counts)[i];
}

static range range_of(const side *s, int i) {
    const stretto_ragged *b = &s->blocks.blocks;
    const MPI_Datatype type = b->types ? b->types[i] : b->type;
    const long long count = b->counts ? count_of(b, i) : s->blocks.each;
    MPI_Aint lb, extent, first, length;
    if (count <= 0 || (s->ends && s->ends[i] < 0) || stretto_type_bytes(type) <= 0 ||
        PMPI_Type_get_extent(type, &lb, &extent) != MPI_SUCCESS ||
        PMPI_Type_get_true_extent(type, &first, &length) != MPI_SUCCESS)
        return (range){0};
    long long at = !b->displs                       ? i * count * extent
                   : b->large || s->displs_are_aint ? (long long)((const MPI_Aint *)b->displs)[i]
                                                    : ((const int *)b->displs)[i];
    if (b->displs && !b->types)
        at *= extent;
    return (range){s->base + at + first, count * stretto_type_bytes(type),
                   stretto_type_is_dense(type)};
}

static bool meet(range a, range b) {
    if (a.bytes == 0 || b.bytes == 0)
        return false;
    if (!a.dense || !b.dense)
        return a.first == b.first;
    return a.first < b.first + b.bytes && b.first < a.first + a.bytes;
}

/* The two sides of a call on this rank; false: one of them is not significant here. */
static bool sides_of(const stretto_comm *c, const stretto_checked_call *call, side *sends,
                     side *receives) {
    const int n = c->nranks;
    const stretto_amount same = {call->count, call->datatype};
    switch (call->collective) {
    case STRETTO_ALLGATHER:
        *sends = all_of(call->in, call->mine.count, call->mine.type);
        *receives = equal_blocks(call->out, same, n);
        return true;
    case STRETTO_ALLGATHERV:
        *sends = all_of(call->in, call->mine.count, call->mine.type);
        *receives = own_blocks(call->out, call->everywhere, n);
        return true;
    case STRETTO_ALLTOALL:
        *sends = equal_blocks(call->in, call->mine, n);
        *receives = equal_blocks(call->out, same, n);
        return true;
    case STRETTO_ALLTOALLV:
        *sends = own_blocks(call->in, call->send, n);
        *receives = own_blocks(call->out, call->receive, n);
        return true;
    case STRETTO_GATHER:
    case STRETTO_GATHERV:
        *sends = all_of(call->in, call->mine.count, call->mine.type);
        *receives = call->receive ? own_blocks(call->out, call->receive, n)
                                  : equal_blocks(call->out, call->roots, n);
        return c->rank == call->root;
    case STRETTO_SCATTER:
    case STRETTO_SCATTERV:
        *sends = call->send ? own_blocks(call->in, call->send, n)
                            : equal_blocks(call->in, call->roots, n);
        *receives = all_of(call->out, call->mine.count, call->mine.type);
        return c->rank == call->root;
    case STRETTO_REDUCE_SCATTER: {
        const stretto_ragged *blocks = call->everywhere;
        *sends = all_of(call->in, stretto_ragged_total(blocks, n), blocks->type);
        *receives = all_of(call->out, count_of(blocks, c->rank), blocks->type);
        return true;
    }
    case STRETTO_REDUCE_SCATTER_BLOCK:
        *sends = all_of(call->in, call->count * n, call->datatype);
        *receives = all_of(call->out, call->count, call->datatype);
        return true;
    default: /* vectors */
        *sends = all_of(call->in, call->count, call->datatype);
        *receives = all_of(call->out, call->count, call->datatype);
        return call->collective != STRETTO_REDUCE || c->rank == call->root;
    }
}

static bool overlap(const side *a, const side *b) {
    /* one block against all, or each with that of the same rank or slot */
    const int least = a->n < b->n ? a->n : b->n, most = a->n < b->n ? b->n : a->n;
    for (int i = 0; i < (least == 1 ? most : least); i++)
        if (meet(range_of(a, a->n == 1 ? 0 : i), range_of(b, b->n == 1 ? 0 : i)))
            return true;
    return false;
}

/* NULL is MPI_BOTTOM, with addresses in the datatypes, or there is no buffer. */
static bool two_buffers(const stretto_checked_call *call) {
    return call->in && call->out && call->in != MPI_IN_PLACE && call->out != MPI_IN_PLACE;
}

bool stretto_check_overlap(const stretto_comm *c, const stretto_checked_call *call) {
    side sends, receives;
    return two_buffers(call) && !call->to && sides_of(c, call, &sends, &receives) &&
           overlap(&sends, &receives);
}

bool stretto_check_overlap_edges(const stretto_comm *c, const stretto_checked_call *call) {
    const stretto_graph *g = &c->graph->graph;
    const int nout = stretto_graph_outdegree(g, c->rank), nin = stretto_graph_indegree(g, c->rank);
    const bool one = stretto_collective_neighbor_gathers(call->collective);
    const bool aint = call->to->blocks.types != NULL;
    const side sends = {call->in, *call->to, one ? nout > 0 : nout, aint,
                        one ? NULL : g->out_to + g->out_start[c->rank]};
    const side receives = {call->out, *call->from, nin, aint, g->in_edge + g->in_start[c->rank]};
    return two_buffers(call) && overlap(&sends, &receives);
}
