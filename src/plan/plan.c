/* The builder: turns the calls of an algorithm into the action stream of one rank.
 *
 * It keeps the list of messages under way, so that waits and fences which would cover nothing are
 * left out, and so that the reduction promised by recv_reduce follows the wait for its message.
 * Running out of memory sets plan->failed and lets the algorithm run on harmlessly; nobody but
 * stretto_plan_build has to look. */
#include "plan/plan.h"

#include <stdlib.h>
#include <string.h>

/* Makes room for `more` elements; NULL and plan->failed when memory is out. */
static void *grown(stretto_plan *plan, void *array, int used, int more, int *capacity,
                   size_t size) {
    if (more <= *capacity - used)
        return array;
    int larger = *capacity ? 2 * *capacity : 16;
    if (larger - used < more)
        larger = used + more;
    void *new_array = realloc(array, (size_t)larger * size);
    if (!new_array) {
        plan->failed = true;
        return NULL;
    }
    *capacity = larger;
    return new_array;
}

void stretto_plan_init(stretto_plan *plan, const stretto_shape *shape) {
    memset(plan, 0, sizeof *plan);
    plan->shape = *shape;
    plan->vector_blocks = stretto_collective_vector(shape->collective) ? 1 : 0;
}

void stretto_plan_blocks(stretto_plan *plan, int n) {
    plan->vector_blocks = n;
}

/* Room for n more TMP blocks, whose shapes are yet to be set; NULL without memory. */
static int *reserve_tmp(stretto_plan *plan, int n) {
    int *array =
        grown(plan, plan->tmp_shape, plan->tmp_blocks, n, &plan->tmp_capacity, sizeof *array);
    if (!array)
        return NULL;
    plan->tmp_shape = array;
    plan->tmp_blocks += n;
    return array + plan->tmp_blocks - n;
}

int stretto_plan_tmp_run(stretto_plan *plan, int shape, int n, int step) {
    const int first = plan->tmp_blocks;
    int *array = reserve_tmp(plan, n);
    for (int i = 0; array && i < n; i++)
        array[i] = shape + i * step;
    return array ? first : 0;
}

int stretto_plan_tmp(stretto_plan *plan, int shape) {
    return stretto_plan_tmp_run(plan, shape, 1, 0);
}

int stretto_plan_append(stretto_plan *plan, const stretto_action *action) {
    stretto_action *array =
        grown(plan, plan->actions, plan->nactions, 1, &plan->capacity, sizeof *array);
    if (!array)
        return 0;
    plan->actions = array;
    array[plan->nactions] = *action;
    array[plan->nactions].round = plan->round;
    return plan->nactions++;
}

/* Notes that message `index` is under way; kind REDUCE: what is to be done when it has come. */
static void begin(stretto_plan *plan, int index, stretto_action follow) {
    stretto_action *array =
        grown(plan, plan->pending, plan->npending, 1, &plan->pending_capacity, sizeof *array);
    if (!array)
        return;
    plan->pending = array;
    follow.peer = index;
    array[plan->npending++] = follow;
}

int stretto_plan_send(stretto_plan *plan, int peer, stretto_span src) {
    int index = stretto_plan_append(
        plan, &(stretto_action){.kind = STRETTO_SEND, .peer = peer, .src = src});
    begin(plan, index, (stretto_action){.kind = STRETTO_SEND});
    return index;
}

int stretto_plan_recv(stretto_plan *plan, int peer, stretto_span dst) {
    int index = stretto_plan_append(
        plan, &(stretto_action){.kind = STRETTO_RECV, .peer = peer, .dst = dst});
    begin(plan, index, (stretto_action){.kind = STRETTO_RECV});
    return index;
}

/* Shapes that scratch for dst must have, in `shapes`, or NULL: they are *first, *first + 1, ...
 * Single blocks of a cut vector differ in size by an element at most: with LARGEST any of them fits
 * the same scratch. */
static const int *scratch_shapes(const stretto_plan *plan, stretto_span dst, int *first) {
    const bool vector = stretto_collective_vector(plan->shape.collective);
    *first = dst.first;
    if (dst.count == 1 && vector && plan->vector_blocks > 1)
        *first = STRETTO_SHAPE_LARGEST;
    else if (dst.buffer == STRETTO_TMP)
        return plan->tmp_shape + dst.first;
    else if (!vector && stretto_plan_blocks_of(plan, STRETTO_OUT) == 1)
        *first = plan->shape.rank; /* reduce_scatter: OUT is my own block alone */
    return NULL;
}

/* Position in `free` where blocks of the shapes of dst lie one after another, or -1. */
static int fits_in(const stretto_plan *plan, const stretto_scratch *free, stretto_span dst) {
    int first;
    const int *shapes = scratch_shapes(plan, dst, &first);
    for (int at = free->first; at + dst.count <= free->first + free->count; at++) {
        int i = 0;
        while (i < dst.count && plan->tmp_shape[at + i] == (shapes ? shapes[i] : first + i))
            i++;
        if (i == dst.count)
            return at;
    }
    return -1;
}

enum { SEARCHED = 32 }; /* pieces of scratch looked at, the newest */

/* Scratch like dst; *number: which piece it is. */
static stretto_span take_scratch(stretto_plan *plan, stretto_span dst, int *number) {
    *number = -1;
    if (plan->failed) /* there may be no tmp_shape to look at */
        return stretto_span_of(STRETTO_TMP, 0, dst.count);
    /* not all of thousands that a ring of named blocks has: building must not become quadratic */
    for (int s = plan->nscratch > SEARCHED ? plan->nscratch - SEARCHED : 0; s < plan->nscratch;
         s++) {
        int at = plan->scratch[s].busy ? -1 : fits_in(plan, &plan->scratch[s], dst);
        if (at >= 0) {
            plan->scratch[s].busy = true;
            *number = s;
            return stretto_span_of(STRETTO_TMP, at, dst.count);
        }
    }
    const int first = plan->tmp_blocks;
    int *room = reserve_tmp(plan, dst.count), like;
    const int *shapes = room ? scratch_shapes(plan, dst, &like) : NULL;
    for (int i = 0; room && i < dst.count; i++)
        room[i] = shapes ? shapes[i] : like + i;
    stretto_scratch *array =
        grown(plan, plan->scratch, plan->nscratch, 1, &plan->scratch_capacity, sizeof *array);
    if (array) {
        plan->scratch = array;
        *number = plan->nscratch++;
        array[*number] = (stretto_scratch){first, dst.count, true};
    }
    return stretto_span_of(STRETTO_TMP, first, dst.count);
}

int stretto_plan_recv_reduce(stretto_plan *plan, int peer, stretto_span dst, stretto_side side) {
    int scratch;
    stretto_span tmp = take_scratch(plan, dst, &scratch);
    int index = stretto_plan_append(
        plan, &(stretto_action){.kind = STRETTO_RECV, .peer = peer, .dst = tmp});
    begin(
        plan, index,
        (stretto_action){
            .kind = STRETTO_REDUCE_LOCAL, .side = side, .round = scratch, .src = tmp, .dst = dst});
    return index;
}

void stretto_plan_copy(stretto_plan *plan, stretto_span src, stretto_span dst) {
    stretto_plan_append(plan, &(stretto_action){.kind = STRETTO_COPY, .src = src, .dst = dst});
}

void stretto_plan_reduce(stretto_plan *plan, stretto_span src, stretto_span dst,
                         stretto_side side) {
    stretto_plan_append(
        plan,
        &(stretto_action){.kind = STRETTO_REDUCE_LOCAL, .side = side, .src = src, .dst = dst});
}

static void finish_message(stretto_plan *plan, const stretto_action *follow) {
    if (follow->kind != STRETTO_REDUCE_LOCAL)
        return;
    stretto_plan_reduce(plan, follow->src, follow->dst, follow->side);
    if (follow->round >= 0)
        plan->scratch[follow->round].busy = false;
}

void stretto_plan_wait(stretto_plan *plan, int action) {
    int i = 0;
    while (i < plan->npending && plan->pending[i].peer != action)
        i++;
    if (i == plan->npending)
        return; /* complete already */
    stretto_action follow = plan->pending[i];
    memmove(&plan->pending[i], &plan->pending[i + 1],
            (size_t)(--plan->npending - i) * sizeof follow);
    stretto_plan_append(plan, &(stretto_action){.kind = STRETTO_WAIT, .peer = action});
    finish_message(plan, &follow);
}

void stretto_plan_limit(stretto_plan *plan, int messages) {
    while (messages >= 0 && plan->npending > messages)
        stretto_plan_wait(plan, plan->pending[0].peer);
}

void stretto_plan_fence(stretto_plan *plan) {
    if (plan->npending > 0)
        stretto_plan_append(plan, &(stretto_action){.kind = STRETTO_FENCE});
    plan->round++;
    for (int i = 0; i < plan->npending; i++)
        finish_message(plan, &plan->pending[i]);
    plan->npending = 0;
}

void stretto_plan_node(stretto_plan *plan, stretto_action_kind kind, int local_root,
                       stretto_span src, stretto_span dst) {
    stretto_plan_append(
        plan, &(stretto_action){.kind = kind, .peer = local_root, .src = src, .dst = dst});
}

stretto_span stretto_plan_mine(const stretto_plan *plan, int first, int count) {
    return stretto_span_of(stretto_shape_in_place(&plan->shape) ? STRETTO_OUT : STRETTO_IN, first,
                           count);
}

void stretto_plan_load(stretto_plan *plan) {
    const stretto_shape *shape = &plan->shape;
    if (stretto_shape_in_place(shape))
        return;
    stretto_span from = stretto_span_of(STRETTO_IN, 0, 1), to = stretto_span_of(STRETTO_OUT, 0, 1);
    switch (shape->collective) {
    case STRETTO_ALLGATHER:
    case STRETTO_ALLGATHERV:
    case STRETTO_GATHER:
    case STRETTO_GATHERV: to.first = shape->rank; break;
    case STRETTO_ALLTOALL:
    case STRETTO_ALLTOALLV: from.first = to.first = shape->rank; break;
    case STRETTO_SCATTER:
    case STRETTO_SCATTERV:
    case STRETTO_REDUCE_SCATTER_BLOCK:
    case STRETTO_REDUCE_SCATTER: from.first = shape->rank; break;
    default: from.count = to.count = plan->vector_blocks; break;
    }
    stretto_plan_copy(plan, from, to);
}

void stretto_plan_finish(stretto_plan *plan) {
    stretto_plan_fence(plan);
    free(plan->pending);
    free(plan->scratch);
    plan->pending = NULL;
    plan->scratch = NULL;
    plan->npending = plan->pending_capacity = plan->nscratch = plan->scratch_capacity = 0;
}

void stretto_plan_free(stretto_plan *plan) {
    free(plan->tmp_shape);
    free(plan->actions);
    free(plan->pending);
    free(plan->scratch);
    memset(plan, 0, sizeof *plan);
}
