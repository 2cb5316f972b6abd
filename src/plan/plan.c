/* The builder: turns the calls of an algorithm into the action stream of one rank.
 *
 * It keeps the list of messages under way, so that waits and fences which would cover nothing are
 * left out, and so that the reduction promised by recv_reduce follows the wait for its message.
 * Running out of memory sets plan->failed and lets the algorithm run on harmlessly; nobody but
 * stretto_plan_build has to look. */
#include "plan/plan.h"

#include <stdlib.h>
#include <string.h>

static const char *const collective_names[STRETTO_COLLECTIVES] = {
    [STRETTO_ALLREDUCE] = "allreduce", [STRETTO_BCAST] = "bcast",
    [STRETTO_REDUCE] = "reduce",       [STRETTO_ALLGATHER] = "allgather",
    [STRETTO_BARRIER] = "barrier",     [STRETTO_ALLTOALL] = "alltoall",
    [STRETTO_ALLTOALLV] = "alltoallv",
    [STRETTO_GATHER] = "gather",
    [STRETTO_SCATTER] = "scatter",
    [STRETTO_ALLGATHERV] = "allgatherv",
    [STRETTO_GATHERV] = "gatherv",
    [STRETTO_SCATTERV] = "scatterv",
    [STRETTO_REDUCE_SCATTER_BLOCK] = "reduce_scatter_block",
    [STRETTO_REDUCE_SCATTER] = "reduce_scatter",
    [STRETTO_SCAN] = "scan",
    [STRETTO_EXSCAN] = "exscan",
};

const char *stretto_collective_name(stretto_collective collective) {
    return (unsigned)collective < STRETTO_COLLECTIVES ? collective_names[collective] : "unknown";
}

stretto_collective stretto_collective_parse(const char *name) {
    int c = 0;
    while (c < STRETTO_COLLECTIVES && strcmp(name, collective_names[c]) != 0)
        c++;
    return (stretto_collective)c;
}

/* Makes room for one more element; NULL and plan->failed when memory is out. */
static void *grown(stretto_plan *plan, void *array, int used, int *capacity, size_t size) {
    if (used < *capacity)
        return array;
    int larger = *capacity ? 2 * *capacity : 16;
    void *new_array = realloc(array, (size_t)larger * size);
    if (!new_array) {
        plan->failed = true;
        return NULL;
    }
    *capacity = larger;
    return new_array;
}

static bool is_vector(stretto_collective c) {
    return c == STRETTO_ALLREDUCE || c == STRETTO_REDUCE || c == STRETTO_BCAST;
}

void stretto_plan_init(stretto_plan *plan, const stretto_shape *shape) {
    memset(plan, 0, sizeof *plan);
    plan->shape = *shape;
    plan->vector_blocks = is_vector(shape->collective) ? 1 : 0;
}

int stretto_plan_blocks_of(const stretto_plan *plan, stretto_buffer buffer) {
    if (buffer == STRETTO_TMP)
        return plan->tmp_blocks;
    switch (plan->shape.collective) {
    case STRETTO_ALLREDUCE:
    case STRETTO_REDUCE: return plan->vector_blocks;
    case STRETTO_BCAST: return buffer == STRETTO_OUT ? plan->vector_blocks : 0;
    case STRETTO_ALLGATHER: return buffer == STRETTO_OUT ? plan->shape.nranks : 1;
    case STRETTO_ALLTOALL:
    case STRETTO_ALLTOALLV: return plan->shape.nranks;
    default: return 0;
    }
}

void stretto_plan_blocks(stretto_plan *plan, int n) {
    plan->vector_blocks = n;
}

int stretto_plan_tmp(stretto_plan *plan, int shape) {
    int *array = grown(plan, plan->tmp_shape, plan->tmp_blocks, &plan->tmp_capacity, sizeof *array);
    if (!array)
        return 0;
    plan->tmp_shape = array;
    array[plan->tmp_blocks] = shape;
    return plan->tmp_blocks++;
}

int stretto_plan_append(stretto_plan *plan, const stretto_action *action) {
    stretto_action *array =
        grown(plan, plan->actions, plan->nactions, &plan->capacity, sizeof *array);
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
        grown(plan, plan->pending, plan->npending, &plan->pending_capacity, sizeof *array);
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

/* Shape that scratch for block i of dst must have. Single blocks of a cut vector differ in size by
 * an element at most: with LARGEST any of them fits the same scratch. */
static int scratch_shape(const stretto_plan *plan, stretto_span dst, int i) {
    if (dst.count == 1 && is_vector(plan->shape.collective) && plan->vector_blocks > 1)
        return STRETTO_SHAPE_LARGEST;
    return dst.buffer == STRETTO_TMP ? plan->tmp_shape[dst.first + i] : dst.first + i;
}

/* Position in `free` where blocks of the shapes of dst lie one after another, or -1. */
static int fits_in(const stretto_plan *plan, const stretto_scratch *free, stretto_span dst) {
    for (int at = free->first; at + dst.count <= free->first + free->count; at++) {
        int i = 0;
        while (i < dst.count && plan->tmp_shape[at + i] == scratch_shape(plan, dst, i))
            i++;
        if (i == dst.count)
            return at;
    }
    return -1;
}

static stretto_span take_scratch(stretto_plan *plan, stretto_span dst) {
    if (plan->failed) /* there may be no tmp_shape to look at */
        return stretto_span_of(STRETTO_TMP, 0, dst.count);
    for (int s = 0; s < plan->nscratch; s++) {
        int at = plan->scratch[s].busy ? -1 : fits_in(plan, &plan->scratch[s], dst);
        if (at >= 0) {
            plan->scratch[s].busy = true;
            return stretto_span_of(STRETTO_TMP, at, dst.count);
        }
    }
    int first = plan->tmp_blocks;
    for (int i = 0; i < dst.count; i++)
        stretto_plan_tmp(plan, scratch_shape(plan, dst, i));
    stretto_scratch *array =
        grown(plan, plan->scratch, plan->nscratch, &plan->scratch_capacity, sizeof *array);
    if (array) {
        plan->scratch = array;
        array[plan->nscratch++] = (stretto_scratch){first, dst.count, true};
    }
    return stretto_span_of(STRETTO_TMP, first, dst.count);
}

static void release_scratch(stretto_plan *plan, stretto_span src) {
    for (int s = 0; s < plan->nscratch; s++) {
        stretto_scratch *scratch = &plan->scratch[s];
        if (src.first >= scratch->first && src.first < scratch->first + scratch->count)
            scratch->busy = false;
    }
}

int stretto_plan_recv_reduce(stretto_plan *plan, int peer, stretto_span dst, stretto_side side) {
    stretto_span tmp = take_scratch(plan, dst);
    int index = stretto_plan_append(
        plan, &(stretto_action){.kind = STRETTO_RECV, .peer = peer, .dst = tmp});
    begin(plan, index,
          (stretto_action){.kind = STRETTO_REDUCE_LOCAL, .side = side, .src = tmp, .dst = dst});
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
    release_scratch(plan, follow->src);
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
    const stretto_shape *shape = &plan->shape;
    bool in_out =
        shape->in_place && (shape->collective != STRETTO_REDUCE || shape->rank == shape->root);
    return stretto_span_of(in_out ? STRETTO_OUT : STRETTO_IN, first, count);
}

void stretto_plan_load(stretto_plan *plan) {
    if (plan->shape.collective == STRETTO_ALLGATHER) {
        if (!plan->shape.in_place)
            stretto_plan_copy(plan, stretto_span_of(STRETTO_IN, 0, 1),
                              stretto_span_of(STRETTO_OUT, plan->shape.rank, 1));
        return;
    }
    stretto_span mine = stretto_plan_mine(plan, 0, plan->vector_blocks);
    if (mine.buffer == STRETTO_IN)
        stretto_plan_copy(plan, mine, stretto_span_of(STRETTO_OUT, 0, plan->vector_blocks));
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
