/* The builder: turns the calls of an algorithm into the action stream of one rank.
 *
 * It keeps the list of messages under way, so that waits and fences which would cover nothing are
 * left out, and so that the reduction promised by recv_reduce follows the wait for its message.
 * Running out of memory sets plan->failed and lets the algorithm run on harmlessly; nobody but
 * stretto_plan_build has to look. */
#include "plan/plan.h"

#include <stdlib.h>
#include <string.h>

static void *enlarged(stretto_plan *plan, void *array, int used, int more, int *capacity,
                      size_t size) {
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

/* Makes room for `more` elements; NULL and plan->failed when memory is out. */
static inline void *grown(stretto_plan *plan, void *array, int used, int more, int *capacity,
                          size_t size) {
    return more <= *capacity - used ? array : enlarged(plan, array, used, more, capacity, size);
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

/* Appends an action. Inlined, so that the fields go straight to where they stay: a plan of hundreds
 * of actions would spend half its time copying them. */
static inline int add(stretto_plan *plan, stretto_action_kind kind, stretto_side side, int peer,
                      stretto_span src, stretto_span dst) {
    stretto_action *array =
        grown(plan, plan->actions, plan->nactions, 1, &plan->capacity, sizeof *array);
    if (!array)
        return 0;
    plan->actions = array;
    array[plan->nactions] = (stretto_action){kind, side, peer, plan->round, src, dst};
    return plan->nactions++;
}

int stretto_plan_append(stretto_plan *plan, const stretto_action *action) {
    return add(plan, action->kind, action->side, action->peer, action->src, action->dst);
}

static const stretto_span nothing;

/* Notes that message `index` is under way; kind REDUCE: what is to be done when it has come. */
static inline void begin(stretto_plan *plan, int index, stretto_action_kind kind, stretto_side side,
                         int scratch, stretto_span src, stretto_span dst) {
    if (plan->first_pending > plan->npending) { /* completed ones at the front: take their room */
        memcpy(plan->pending, plan->pending + plan->first_pending,
               (size_t)plan->npending * sizeof *plan->pending);
        plan->first_pending = 0;
    }
    const int used = plan->first_pending + plan->npending;
    stretto_action *array =
        grown(plan, plan->pending, used, 1, &plan->pending_capacity, sizeof *array);
    if (!array)
        return;
    plan->pending = array;
    array[used] = (stretto_action){kind, side, index, scratch, src, dst};
    plan->npending++;
}

int stretto_plan_send(stretto_plan *plan, int peer, stretto_span src) {
    const int index = add(plan, STRETTO_SEND, STRETTO_SRC_LEFT, peer, src, nothing);
    begin(plan, index, STRETTO_SEND, STRETTO_SRC_LEFT, -1, nothing, nothing);
    return index;
}

int stretto_plan_recv(stretto_plan *plan, int peer, stretto_span dst) {
    const int index = add(plan, STRETTO_RECV, STRETTO_SRC_LEFT, peer, nothing, dst);
    begin(plan, index, STRETTO_RECV, STRETTO_SRC_LEFT, -1, nothing, nothing);
    return index;
}

/* What scratch must be like: blocks of the shapes like, like + 1, ..., or, where `shapes` is set,
 * of those of the TMP blocks from like_tmp on. */
typedef struct {
    int count, like, like_tmp;
    const int *shapes;
} wanted;

/* Single blocks of a cut vector differ in size by an element at most: with LARGEST any of them fits
 * the same scratch. */
static wanted scratch_like(const stretto_plan *plan, stretto_span dst) {
    const bool vector = stretto_collective_vector(plan->shape.collective);
    wanted w = {dst.count, dst.first, -1, NULL};
    if (dst.count == 1 && vector && plan->vector_blocks > 1) {
        w.like = STRETTO_SHAPE_LARGEST;
    } else if (dst.buffer == STRETTO_TMP) {
        w.like_tmp = dst.first;
        w.shapes = plan->tmp_shape + dst.first;
    } else if (!vector && stretto_plan_blocks_of(plan, STRETTO_OUT) == 1) {
        w.like = plan->shape.rank; /* reduce_scatter: OUT is my own block alone */
    }
    return w;
}

/* Where in the piece such blocks lie one after another, or -1. */
static int fits_in(const stretto_plan *plan, const stretto_scratch *piece, const wanted *w) {
    /* halving: the next, shorter part of what the piece was made for. Thousands of blocks, so that
     * looking for them would take longer than all the rest */
    const bool alike = (w->like_tmp >= 0) == (piece->like_tmp >= 0);
    const int offset = w->shapes ? w->like_tmp - piece->like_tmp : w->like - piece->like;
    if (alike && offset >= 0 && offset + w->count <= piece->count)
        return piece->first + offset;
    if (alike && !w->shapes)
        return -1; /* these are runs: there is no other place */
    for (int at = piece->first; at + w->count <= piece->first + piece->count; at++) {
        int i = 0;
        while (i < w->count && plan->tmp_shape[at + i] == (w->shapes ? w->shapes[i] : w->like + i))
            i++;
        if (i == w->count)
            return at;
    }
    return -1;
}

enum { SEARCHED = 32 }; /* free pieces of scratch looked at, the last freed */

/* A piece of scratch that was not there yet. */
static stretto_span new_scratch(stretto_plan *plan, const wanted *w, int *number) {
    const int first = plan->tmp_blocks;
    int *room = reserve_tmp(plan, w->count);
    if (room && w->like_tmp >= 0) /* reserving may have moved the shapes */
        memcpy(room, plan->tmp_shape + w->like_tmp, (size_t)w->count * sizeof *room);
    else
        for (int i = 0; room && i < w->count; i++)
            room[i] = w->like + i;
    stretto_scratch *array =
        grown(plan, plan->scratch, plan->nscratch, 1, &plan->scratch_capacity, sizeof *array);
    if (array) {
        plan->scratch = array;
        *number = plan->nscratch++;
        array[*number] = (stretto_scratch){first, w->count, w->like, w->like_tmp, 0};
    }
    return stretto_span_of(STRETTO_TMP, first, w->count);
}

/* Scratch like dst; *number: which piece it is. */
static stretto_span take_scratch(stretto_plan *plan, stretto_span dst, int *number) {
    *number = -1;
    if (plan->failed) /* there may be no tmp_shape to look at */
        return stretto_span_of(STRETTO_TMP, 0, dst.count);
    const wanted w = scratch_like(plan, dst);
    /* not all of thousands that a ring of named blocks has: building must not become quadratic */
    int *link = &plan->free_scratch;
    for (int looked = 0; *link > 0 && looked < SEARCHED; looked++) {
        stretto_scratch *piece = &plan->scratch[*link - 1];
        const int at = fits_in(plan, piece, &w);
        if (at >= 0) {
            *number = *link - 1;
            *link = piece->next;
            return stretto_span_of(STRETTO_TMP, at, dst.count);
        }
        link = &piece->next;
    }
    return new_scratch(plan, &w, number);
}

int stretto_plan_recv_reduce(stretto_plan *plan, int peer, stretto_span dst, stretto_side side) {
    int scratch;
    const stretto_span tmp = take_scratch(plan, dst, &scratch);
    const int index = add(plan, STRETTO_RECV, STRETTO_SRC_LEFT, peer, nothing, tmp);
    begin(plan, index, STRETTO_REDUCE_LOCAL, side, scratch, tmp, dst);
    return index;
}

void stretto_plan_copy(stretto_plan *plan, stretto_span src, stretto_span dst) {
    add(plan, STRETTO_COPY, STRETTO_SRC_LEFT, 0, src, dst);
}

void stretto_plan_reduce(stretto_plan *plan, stretto_span src, stretto_span dst,
                         stretto_side side) {
    add(plan, STRETTO_REDUCE_LOCAL, side, 0, src, dst);
}

static inline void finish_message(stretto_plan *plan, stretto_action follow) {
    if (follow.kind != STRETTO_REDUCE_LOCAL)
        return;
    stretto_plan_reduce(plan, follow.src, follow.dst, follow.side);
    if (follow.round >= 0) {
        plan->scratch[follow.round].next = plan->free_scratch;
        plan->free_scratch = follow.round + 1;
    }
}

void stretto_plan_wait(stretto_plan *plan, int action) {
    stretto_action *first = plan->pending + plan->first_pending;
    int i = 0;
    while (i < plan->npending && first[i].peer != action)
        i++;
    if (i == plan->npending)
        return; /* complete already */
    const stretto_action follow = first[i];
    for (; i > 0; i--) /* mostly an old one: those before it are few */
        first[i] = first[i - 1];
    plan->npending--;
    plan->first_pending = plan->npending > 0 ? plan->first_pending + 1 : 0;
    add(plan, STRETTO_WAIT, STRETTO_SRC_LEFT, action, nothing, nothing);
    finish_message(plan, follow);
}

void stretto_plan_limit(stretto_plan *plan, int messages) {
    while (messages >= 0 && plan->npending > messages)
        stretto_plan_wait(plan, plan->pending[plan->first_pending].peer);
}

void stretto_plan_fence(stretto_plan *plan) {
    if (plan->npending > 0)
        add(plan, STRETTO_FENCE, STRETTO_SRC_LEFT, 0, nothing, nothing);
    plan->round++;
    for (int i = 0; i < plan->npending; i++)
        finish_message(plan, plan->pending[plan->first_pending + i]);
    plan->npending = plan->first_pending = 0;
}

void stretto_plan_node(stretto_plan *plan, stretto_action_kind kind, int local_root,
                       stretto_span src, stretto_span dst) {
    add(plan, kind, STRETTO_SRC_LEFT, local_root, src, dst);
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
    plan->npending = plan->first_pending = plan->pending_capacity = 0;
    plan->nscratch = plan->scratch_capacity = plan->free_scratch = 0;
}

void stretto_plan_free(stretto_plan *plan) {
    free(plan->tmp_shape);
    free(plan->actions);
    free(plan->pending);
    free(plan->scratch);
    memset(plan, 0, sizeof *plan);
}
