/* What each collective starts from and has to yield: sizes and contents of the buffers, the result.
 */
#include "plan/verify_run.h"

static bool is_alltoallv(const verify_state *v) {
    return v->shape->collective == STRETTO_ALLTOALLV;
}

/* Size class of the block that rank `source` has for rank `target` in alltoallv; in place the two
 * directions of a pair are equal. */
static int pair_size(const verify_state *v, int source, int target) {
    return v->shape->in_place && target < source ? target * v->nranks + source
                                                 : source * v->nranks + target;
}

/* Size class of the call's block `block`, as a rank names it in tmp_shape. */
static int call_size(const verify_state *v, int rank, int block) {
    const int p = v->nranks;
    return v->shape->collective == STRETTO_ALLTOALL ? 0
           : !is_alltoallv(v)                       ? block
           : block < p                              ? pair_size(v, block, rank)
                                                    : pair_size(v, block / p - 1, block % p);
}

/* The edge behind an in-slot; -1: none. */
static int edge_into(const verify_state *v, int rank, int slot) {
    const stretto_graph *g = v->shape->graph;
    return g->in_edge[g->in_start[rank] + slot];
}

static int in_size(const verify_state *v, int rank, int block) {
    if (stretto_collective_neighbor_gathers(v->shape->collective))
        return rank;
    if (stretto_collective_neighbor(v->shape->collective))
        return v->shape->graph->out_start[rank] + block;
    switch (v->shape->collective) {
    case STRETTO_ALLGATHER:
    case STRETTO_ALLGATHERV:
    case STRETTO_GATHER:
    case STRETTO_GATHERV: return rank;
    case STRETTO_ALLTOALLV: return pair_size(v, rank, block);
    default: return call_size(v, rank, block);
    }
}

static int out_size(const verify_state *v, int rank, int block) {
    if (stretto_collective_neighbor(v->shape->collective)) {
        const int edge = edge_into(v, rank, block);
        if (edge < 0)
            return NO_SIZE;
        return stretto_collective_neighbor_gathers(v->shape->collective)
                   ? stretto_graph_source(v->shape->graph, edge)
                   : edge;
    }
    switch (v->shape->collective) {
    case STRETTO_SCATTER:
    case STRETTO_SCATTERV:
    case STRETTO_REDUCE_SCATTER_BLOCK:
    case STRETTO_REDUCE_SCATTER: return rank;
    default: return call_size(v, rank, block);
    }
}

int stretto_verify_value_size(const verify_state *v, int value) {
    int rank = stretto_expr_rank(&v->exprs, value), block = stretto_expr_block(&v->exprs, value);
    if (stretto_collective_neighbor(v->shape->collective))
        return in_size(v, rank, block);
    switch (v->shape->collective) {
    case STRETTO_ALLTOALL: return 0;
    case STRETTO_ALLGATHER:
    case STRETTO_ALLGATHERV:
    case STRETTO_GATHER:
    case STRETTO_GATHERV: return rank;
    case STRETTO_ALLTOALLV: return pair_size(v, rank, block);
    default: return block;
    }
}

static void set_sizes(verify_state *v, int rank) {
    const stretto_plan *plan = &v->plans[rank];
    verify_rank *r = &v->ranks[rank];
    stretto_collective c = v->shape->collective;
    bool equal = c == STRETTO_ALLTOALL || c == STRETTO_BARRIER ||
                 (stretto_collective_vector(c) && plan->vector_blocks == 1);
    for (int b = 0; b < stretto_plan_blocks_of(plan, STRETTO_IN); b++)
        r->blocks[STRETTO_IN][b].size = in_size(v, rank, b);
    for (int b = 0; b < stretto_plan_blocks_of(plan, STRETTO_OUT); b++)
        r->blocks[STRETTO_OUT][b].size = out_size(v, rank, b);
    for (int b = 0; b < plan->tmp_blocks; b++) {
        int shape = plan->tmp_shape[b];
        r->blocks[STRETTO_TMP][b].size = shape != STRETTO_SHAPE_LARGEST ? call_size(v, rank, shape)
                                         : equal                        ? 0
                                                                        : ANY_SIZE;
    }
}

void stretto_verify_begin(verify_state *v, int rank) {
    const stretto_plan *plan = &v->plans[rank];
    const stretto_shape *s = &plan->shape;
    verify_rank *r = &v->ranks[rank];
    stretto_buffer mine = stretto_plan_mine(plan, 0, 0).buffer;
    int first = 0, count = stretto_plan_blocks_of(plan, mine);
    set_sizes(v, rank);
    switch (s->collective) {
    case STRETTO_BARRIER:
        v->heard[(size_t)rank * (size_t)v->words + (size_t)rank / 64] |= 1ULL << rank % 64;
        return;
    case STRETTO_BCAST:
        mine = STRETTO_OUT;
        count = rank == s->root ? plan->vector_blocks : 0;
        break;
    case STRETTO_SCATTER:
    case STRETTO_SCATTERV:
        mine = STRETTO_IN; /* in place on the root, too */
        count = stretto_plan_blocks_of(plan, mine);
        break;
    case STRETTO_ALLGATHER:
    case STRETTO_ALLGATHERV:
    case STRETTO_GATHER:
    case STRETTO_GATHERV:
        first = mine == STRETTO_OUT ? rank : 0;
        r->blocks[mine][first].value = stretto_expr_leaf(&v->exprs, rank, 0);
        return;
    default: break;
    }
    for (int b = first; b < count; b++)
        r->blocks[mine][b].value = stretto_expr_leaf(&v->exprs, rank, b);
}

/* Ranks 0..last contribute to `value`, and no others; it is of `block`. */
static int check_reduced(verify_state *v, int rank, int at, int block, int last, int value) {
    char text[400];
    int missing = stretto_expr_missing(&v->exprs, value, last);
    stretto_expr_text(&v->exprs, value, text, sizeof text);
    if (missing >= 0)
        return stretto_verify_fail(
            v, rank, -1, "block %d lacks the contribution of rank %d; it is %s", at, missing, text);
    if (stretto_expr_highest(&v->exprs, value) > last)
        return stretto_verify_fail(v, rank, -1,
                                   "block %d has an extra contribution of rank %d; it is %s", at,
                                   stretto_expr_highest(&v->exprs, value), text);
    if (stretto_expr_block(&v->exprs, value) != block)
        return stretto_verify_fail(v, rank, -1, "block %d holds block %d", at,
                                   stretto_expr_block(&v->exprs, value));
    return 0;
}

/* Block b of OUT of a collective that reduces. */
static int check_fold(verify_state *v, int rank, int b) {
    const verify_block *out = v->ranks[rank].blocks[STRETTO_OUT];
    stretto_collective c = v->shape->collective;
    bool shares = c == STRETTO_REDUCE_SCATTER_BLOCK || c == STRETTO_REDUCE_SCATTER;
    int last = c == STRETTO_SCAN ? rank : c == STRETTO_EXSCAN ? rank - 1 : v->nranks - 1;
    int reference = c == STRETTO_ALLREDUCE && rank > 0
                        ? v->ranks[0].blocks[STRETTO_OUT][b].value /* proven before */
                        : 0;
    if (reference && out[b].value == reference)
        return 0;
    if (check_reduced(v, rank, b, shares ? rank : b, last, out[b].value) != 0)
        return -1;
    if (!reference)
        return 0;
    char text[400];
    stretto_expr_text(&v->exprs, out[b].value, text, sizeof text);
    return stretto_verify_fail(
        v, rank, -1, "block %d is evaluated in another order than on rank 0: %s", b, text);
}

/* Block b of OUT of a collective that moves data. */
static int check_moved(verify_state *v, int rank, int b) {
    const verify_block *out = v->ranks[rank].blocks[STRETTO_OUT];
    int source = b, block = 0;
    if (stretto_collective_neighbor(v->shape->collective)) {
        const int edge = edge_into(v, rank, b);
        if (edge < 0)
            return out[b].value == 0 ? 0
                                     : stretto_verify_fail(v, rank, -1,
                                                           "block %d, which has no source, is "
                                                           "written",
                                                           b);
        source = stretto_graph_source(v->shape->graph, edge);
        if (!stretto_collective_neighbor_gathers(v->shape->collective))
            block = edge - v->shape->graph->out_start[source];
    }
    switch (v->shape->collective) {
    case STRETTO_BCAST:
        source = v->shape->root;
        block = b;
        break;
    case STRETTO_SCATTER:
    case STRETTO_SCATTERV:
        source = v->shape->root;
        block = rank;
        break;
    case STRETTO_ALLTOALL:
    case STRETTO_ALLTOALLV: block = rank; break;
    default: break;
    }
    if (out[b].value == stretto_expr_leaf(&v->exprs, source, block))
        return 0;
    char text[200];
    stretto_expr_text(&v->exprs, out[b].value, text, sizeof text);
    return stretto_verify_fail(v, rank, -1, "block %d should come from rank %d; it holds %s", b,
                               source, text);
}

static bool has_result(const verify_state *v, int rank) {
    switch (v->shape->collective) {
    case STRETTO_REDUCE: return rank == v->shape->root;
    case STRETTO_EXSCAN: return rank > 0;
    default: return true;
    }
}

int stretto_verify_result(verify_state *v, int rank) {
    verify_block *out = v->ranks[rank].blocks[STRETTO_OUT];
    int blocks = stretto_plan_blocks_of(&v->plans[rank], STRETTO_OUT);
    for (int b = 0; has_result(v, rank) && b < blocks; b++) {
        out[b].unread = false; /* the caller reads it */
        if ((stretto_collective_reduces(v->shape->collective) ? check_fold : check_moved)(v, rank,
                                                                                          b) != 0)
            return -1;
    }
    for (int b = 0; v->plans[rank].carries && b < v->plans[rank].tmp_blocks; b++)
        if (v->ranks[rank].blocks[STRETTO_TMP][b].value == 0)
            return stretto_verify_fail(v, rank, -1, "never receives the size of TMP block %d", b);
    for (int other = 0; v->words && other < v->nranks; other++)
        if (!(v->heard[(size_t)rank * (size_t)v->words + (size_t)other / 64] >> other % 64 & 1))
            return stretto_verify_fail(v, rank, -1, "may leave before rank %d has entered", other);
    for (int buffer = STRETTO_OUT; buffer <= STRETTO_TMP; buffer++)
        for (int b = 0; b < stretto_plan_blocks_of(&v->plans[rank], (stretto_buffer)buffer); b++)
            if (v->ranks[rank].blocks[buffer][b].unread)
                return stretto_verify_fail(v, rank, -1, "receives %s block %d and never reads it",
                                           buffer == STRETTO_OUT ? "OUT" : "TMP", b);
    return 0;
}
