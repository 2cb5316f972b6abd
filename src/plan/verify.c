/* Symbolic proof of a collective: sets the ranks up, has them run, judges the result. */
#include "plan/verify.h"
#include "plan/verify_run.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int stretto_verify_fail(verify_state *v, int rank, int action, const char *format, ...) {
    char text[900];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (rank < 0)
        snprintf(v->error, v->error_size, "%s", text);
    else if (action < 0)
        snprintf(v->error, v->error_size, "rank %d: %s", rank, text);
    else
        snprintf(v->error, v->error_size, "rank %d, action %d (%s): %s", rank, action,
                 stretto_action_name(v->plans[rank].actions[action].kind), text);
    return -1;
}

/* Size class of OUT block `block` of a rank. */
static int out_size(const verify_state *v, int rank, int block) {
    switch (v->shape->collective) {
    case STRETTO_ALLTOALL: return 0;
    case STRETTO_ALLTOALLV:
        return v->shape->in_place && rank < block ? rank * v->nranks + block
                                                  : block * v->nranks + rank;
    default: return block;
    }
}

static void set_sizes(verify_state *v, int rank) {
    const stretto_plan *plan = &v->plans[rank];
    verify_rank *r = &v->ranks[rank];
    int in = stretto_plan_blocks_of(plan, STRETTO_IN);
    int out = stretto_plan_blocks_of(plan, STRETTO_OUT);
    stretto_collective c = v->shape->collective;
    bool equal = c == STRETTO_ALLTOALL ||
                 (c != STRETTO_ALLGATHER && c != STRETTO_ALLTOALLV && plan->vector_blocks == 1);
    for (int b = 0; b < in; b++)
        r->blocks[STRETTO_IN][b].size = c == STRETTO_ALLGATHER   ? rank
                                        : c == STRETTO_ALLTOALL  ? 0
                                        : c == STRETTO_ALLTOALLV ? rank * v->nranks + b
                                                                 : b;
    for (int b = 0; b < out; b++)
        r->blocks[STRETTO_OUT][b].size = out_size(v, rank, b);
    for (int b = 0; b < plan->tmp_blocks; b++) {
        int shape = plan->tmp_shape[b];
        r->blocks[STRETTO_TMP][b].size = shape != STRETTO_SHAPE_LARGEST ? out_size(v, rank, shape)
                                         : equal                        ? 0
                                                                        : ANY_SIZE;
    }
}

/* What the buffers hold when the call begins. */
static void set_contents(verify_state *v, int rank) {
    const stretto_plan *plan = &v->plans[rank];
    const stretto_shape *shape = &plan->shape;
    verify_rank *r = &v->ranks[rank];
    stretto_buffer mine = stretto_plan_mine(plan, 0, 0).buffer;
    switch (shape->collective) {
    case STRETTO_ALLREDUCE:
    case STRETTO_REDUCE:
    case STRETTO_ALLTOALL:
    case STRETTO_ALLTOALLV:
        for (int b = 0; b < stretto_plan_blocks_of(plan, mine); b++)
            r->blocks[mine][b].value = stretto_expr_leaf(&v->exprs, rank, b);
        break;
    case STRETTO_BCAST:
        for (int b = 0; rank == shape->root && b < plan->vector_blocks; b++)
            r->blocks[STRETTO_OUT][b].value = stretto_expr_leaf(&v->exprs, rank, b);
        break;
    case STRETTO_ALLGATHER:
        r->blocks[mine][mine == STRETTO_OUT ? rank : 0].value =
            stretto_expr_leaf(&v->exprs, rank, 0);
        break;
    default: v->heard[(size_t)rank * (size_t)v->words + (size_t)rank / 64] |= 1ULL << rank % 64;
    }
}

/* Plans are of one call, and can be indexed safely. */
static int check_plans(verify_state *v) {
    for (int rank = 0; rank < v->nranks; rank++) {
        const stretto_shape *s = &v->plans[rank].shape;
        if (v->plans[rank].failed)
            return stretto_verify_fail(v, rank, -1, "its plan is incomplete: out of memory");
        if (s->rank != rank || s->nranks != v->nranks || s->collective != v->shape->collective ||
            s->root != v->shape->root || s->commutative != v->shape->commutative)
            return stretto_verify_fail(v, rank, -1, "its plan is for another call");
        if (v->plans[rank].vector_blocks != v->plans[0].vector_blocks)
            return stretto_verify_fail(v, rank, -1,
                                       "cuts the vector into %d blocks, rank 0 into %d",
                                       v->plans[rank].vector_blocks, v->plans[0].vector_blocks);
        int out = stretto_plan_blocks_of(&v->plans[rank], STRETTO_OUT);
        for (int b = 0; b < v->plans[rank].tmp_blocks; b++) {
            int shape = v->plans[rank].tmp_shape[b];
            if (shape != STRETTO_SHAPE_LARGEST && (shape < 0 || shape >= out))
                return stretto_verify_fail(v, rank, -1, "TMP block %d is like block %d of %d", b,
                                           shape, out);
        }
    }
    return 0;
}

static int prepare(verify_state *v) {
    const stretto_plan *plans = v->plans;
    stretto_collective c = v->shape->collective;
    int leaf_blocks = c == STRETTO_ALLTOALL || c == STRETTO_ALLTOALLV ? v->nranks
                      : c == STRETTO_ALLGATHER                        ? 1
                                                                      : plans[0].vector_blocks;
    size_t blocks = 0, values = 0;
    for (int rank = 0; rank < v->nranks; rank++) {
        for (int buffer = STRETTO_IN; buffer <= STRETTO_TMP; buffer++)
            blocks += (size_t)stretto_plan_blocks_of(&plans[rank], (stretto_buffer)buffer);
        v->nactions += plans[rank].nactions;
    }
    v->words = c == STRETTO_BARRIER ? (v->nranks + 63) / 64 : 0;
    stretto_exprs_init(&v->exprs, v->nranks, leaf_blocks > 0 ? leaf_blocks : 1,
                       v->shape->commutative);
    v->ranks = calloc((size_t)v->nranks, sizeof *v->ranks);
    v->actions = calloc((size_t)v->nactions + 1, sizeof *v->actions);
    v->all_blocks = calloc(blocks + 1, sizeof *v->all_blocks);
    v->queue = calloc((size_t)v->nranks, sizeof *v->queue);
    v->arrived = calloc((size_t)v->nranks, sizeof *v->arrived);
    v->heard = calloc((size_t)v->nranks * (size_t)v->words + 1, sizeof *v->heard);
    v->told = calloc((size_t)v->nactions * (size_t)v->words + 1, sizeof *v->told);
    if (!v->ranks || !v->actions || !v->all_blocks || !v->queue || !v->arrived || !v->heard ||
        !v->told)
        return stretto_verify_fail(v, -1, -1, "out of memory");
    verify_block *next = v->all_blocks;
    int base = 0;
    for (int rank = 0; rank < v->nranks; rank++) {
        verify_rank *r = &v->ranks[rank];
        r->plan = &plans[rank];
        r->base = base;
        base += plans[rank].nactions;
        for (int buffer = STRETTO_IN; buffer <= STRETTO_TMP; buffer++) {
            r->blocks[buffer] = next;
            next += stretto_plan_blocks_of(&plans[rank], (stretto_buffer)buffer);
        }
        set_sizes(v, rank);
        set_contents(v, rank);
    }
    if (stretto_verify_static(v) != 0)
        return -1;
    for (int rank = 0; rank < v->nranks; rank++)
        for (int i = 0; i < plans[rank].nactions; i++)
            if (plans[rank].actions[i].kind == STRETTO_SEND) {
                v->actions[v->ranks[rank].base + i].payload = (int)values;
                values += (size_t)plans[rank].actions[i].src.count;
            }
    v->payload = calloc(values + 1, sizeof *v->payload);
    return v->payload ? 0 : stretto_verify_fail(v, -1, -1, "out of memory");
}

/* A reduced block: everybody contributes, and it is the same as on the first rank that has it. */
static int check_reduced(verify_state *v, int rank, int block, int value, int reference) {
    char text[400];
    int missing = stretto_expr_missing(&v->exprs, value);
    stretto_expr_text(&v->exprs, value, text, sizeof text);
    if (missing >= 0)
        return stretto_verify_fail(v, rank, -1,
                                   "block %d lacks the contribution of rank %d; it is %s", block,
                                   missing, text);
    if (stretto_expr_block(&v->exprs, value) != block)
        return stretto_verify_fail(v, rank, -1, "block %d holds block %d", block,
                                   stretto_expr_block(&v->exprs, value));
    if (value != reference)
        return stretto_verify_fail(
            v, rank, -1, "block %d is evaluated in another order than on rank 0: %s", block, text);
    return 0;
}

static int check_result(verify_state *v, int rank) {
    const stretto_shape *s = v->shape;
    verify_block *out = v->ranks[rank].blocks[STRETTO_OUT];
    int blocks = stretto_plan_blocks_of(&v->plans[rank], STRETTO_OUT);
    bool has_result = s->collective != STRETTO_REDUCE || rank == s->root;
    for (int b = 0; has_result && b < blocks; b++) {
        out[b].unread = false; /* the caller reads it */
        if (s->collective == STRETTO_ALLREDUCE || s->collective == STRETTO_REDUCE) {
            verify_block *reference =
                v->ranks[s->collective == STRETTO_REDUCE ? rank : 0].blocks[STRETTO_OUT];
            bool known = reference != out && out[b].value == reference[b].value;
            if (!known && check_reduced(v, rank, b, out[b].value, reference[b].value) != 0)
                return -1;
            continue;
        }
        int source = s->collective == STRETTO_BCAST ? s->root : b;
        int block = s->collective == STRETTO_BCAST       ? b
                    : s->collective == STRETTO_ALLGATHER ? 0
                                                         : rank;
        if (out[b].value != stretto_expr_leaf(&v->exprs, source, block)) {
            char text[200];
            stretto_expr_text(&v->exprs, out[b].value, text, sizeof text);
            return stretto_verify_fail(
                v, rank, -1, "block %d should come from rank %d; it holds %s", b, source, text);
        }
    }
    for (int other = 0; s->collective == STRETTO_BARRIER && other < v->nranks; other++)
        if (!(v->heard[(size_t)rank * (size_t)v->words + (size_t)other / 64] >> other % 64 & 1))
            return stretto_verify_fail(v, rank, -1, "may leave before rank %d has entered", other);
    for (int buffer = STRETTO_OUT; buffer <= STRETTO_TMP; buffer++)
        for (int b = 0; b < stretto_plan_blocks_of(&v->plans[rank], (stretto_buffer)buffer); b++)
            if (v->ranks[rank].blocks[buffer][b].unread)
                return stretto_verify_fail(v, rank, -1, "receives %s block %d and never reads it",
                                           buffer == STRETTO_OUT ? "OUT" : "TMP", b);
    return 0;
}

int stretto_verify(const stretto_plan *plans, int nranks, char *error, size_t error_size) {
    verify_state v = {.plans = plans,
                      .shape = &plans[0].shape,
                      .nranks = nranks,
                      .error = error,
                      .error_size = error_size};
    int status = check_plans(&v);
    if (status == 0)
        status = prepare(&v);
    if (status == 0)
        status = stretto_verify_match(&v);
    if (status == 0)
        status = stretto_verify_run(&v);
    for (int rank = 0; status == 0 && rank < nranks; rank++)
        status = check_result(&v, rank);
    stretto_exprs_free(&v.exprs);
    free(v.ranks);
    free(v.actions);
    free(v.all_blocks);
    free(v.payload);
    free(v.queue);
    free(v.arrived);
    free(v.heard);
    free(v.told);
    return status;
}
