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

/* Plans are of one call, and can be indexed safely. */
static int check_plans(verify_state *v) {
    const stretto_graph *graph = v->shape->graph;
    if (stretto_collective_neighbor(v->shape->collective)) {
        const char *wrong = !graph ? "there is no graph" : stretto_graph_check(graph);
        if (wrong || graph->nranks != v->nranks)
            return stretto_verify_fail(v, -1, -1, "%s",
                                       wrong ? wrong : "the graph has other ranks");
    }
    for (int rank = 0; rank < v->nranks; rank++) {
        const stretto_shape *s = &v->plans[rank].shape;
        if (v->plans[rank].failed)
            return stretto_verify_fail(v, rank, -1, "its plan is incomplete: out of memory");
        if (s->rank != rank || s->nranks != v->nranks || s->collective != v->shape->collective ||
            s->root != v->shape->root || s->commutative != v->shape->commutative ||
            s->graph != graph)
            return stretto_verify_fail(v, rank, -1, "its plan is for another call");
        if (v->plans[rank].vector_blocks != v->plans[0].vector_blocks)
            return stretto_verify_fail(v, rank, -1,
                                       "cuts the vector into %d blocks, rank 0 into %d",
                                       v->plans[rank].vector_blocks, v->plans[0].vector_blocks);
        int blocks = stretto_plan_call_blocks(&v->plans[rank]);
        const bool carries = v->plans[rank].carries, pairs = s->collective == STRETTO_ALLTOALLV;
        const bool tree = s->collective == STRETTO_GATHERV || s->collective == STRETTO_SCATTERV;
        if (carries != v->plans[0].carries || (carries && !pairs && !tree))
            return stretto_verify_fail(v, rank, -1, "does not carry blocks as rank 0 does");
        if (carries && pairs) /* and names those of any pair of ranks */
            blocks += v->nranks * v->nranks;
        const bool knows_all = !tree || carries || rank == s->root;
        for (int b = 0; b < v->plans[rank].tmp_blocks; b++) {
            int shape = v->plans[rank].tmp_shape[b];
            bool largest = shape == STRETTO_SHAPE_LARGEST && !carries;
            if (!largest && (shape < 0 || shape >= blocks))
                return stretto_verify_fail(v, rank, -1, "TMP block %d is like block %d of %d", b,
                                           shape, blocks);
            if (!knows_all && shape != rank)
                return stretto_verify_fail(v, rank, -1,
                                           "TMP block %d has a size that only the root knows", b);
        }
    }
    return 0;
}

static int prepare(verify_state *v) {
    const stretto_plan *plans = v->plans;
    stretto_collective c = v->shape->collective;
    int leaf_blocks = stretto_plan_call_blocks(&plans[0]);
    if (v->shape->graph) /* as many as a rank sends */
        leaf_blocks = 1;
    for (int rank = 0; v->shape->graph && rank < v->nranks; rank++)
        if (stretto_plan_blocks_of(&plans[rank], STRETTO_IN) > leaf_blocks)
            leaf_blocks = stretto_plan_blocks_of(&plans[rank], STRETTO_IN);
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
        stretto_verify_begin(v, rank);
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
        status = stretto_verify_told(&v);
    if (status == 0)
        status = stretto_verify_run(&v);
    for (int rank = 0; status == 0 && rank < nranks; rank++)
        status = stretto_verify_result(&v, rank);
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
