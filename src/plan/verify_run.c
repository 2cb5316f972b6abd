/* The run: every rank's stream goes as far as it can, again and again, until all are at their ends.
 *
 * What a rank may touch while a message is under way is judged by its own stream alone: a message
 * ends for a rank where a WAIT or FENCE covers it, however early it may have come. So the verdict
 * does not depend on the order in which ranks happen to run. */
#include "plan/verify_run.h"

#include <stdio.h>
#include <string.h>

void stretto_verify_wake(verify_state *v, int rank) {
    if (v->ranks[rank].queued)
        return;
    v->ranks[rank].queued = true;
    v->queue[v->nqueue++] = rank;
}

int stretto_verify_read_blocks(verify_state *v, int rank, int action, stretto_span span) {
    verify_block *block = stretto_verify_blocks(&v->ranks[rank], span);
    for (int b = 0; b < span.count; b++) {
        if (block[b].arriving)
            return stretto_verify_fail(v, rank, action,
                                       "reads block %d while a message is arriving in it",
                                       span.first + b);
        if (block[b].value == 0)
            return stretto_verify_fail(v, rank, action, "reads block %d, which holds nothing",
                                       span.first + b);
        block[b].unread = false;
    }
    return 0;
}

/* May the block be written now? */
static int claim_block(verify_state *v, int rank, int action, const verify_block *block) {
    if (block->arriving)
        return stretto_verify_fail(v, rank, action,
                                   "writes a block while a message is arriving in it");
    if (block->sends > 0)
        return stretto_verify_fail(v, rank, action, "writes a block while it is being sent");
    if (block->unread)
        return stretto_verify_fail(v, rank, action,
                                   "writes over a block that was received and never read");
    return 0;
}

int stretto_verify_write_block(verify_state *v, int rank, int action, verify_block *block,
                               int value) {
    if (claim_block(v, rank, action, block) != 0)
        return -1;
    if (block->size != ANY_SIZE && block->size != stretto_verify_value_size(v, value))
        return stretto_verify_fail(
            v, rank, action, "puts block %d of rank %d into a block of another size",
            stretto_expr_block(&v->exprs, value), stretto_expr_rank(&v->exprs, value));
    block->value = value;
    return 0;
}

static int start_message(verify_state *v, int rank, int i, const stretto_action *a) {
    verify_rank *r = &v->ranks[rank];
    verify_action *state = &v->actions[r->base + i];
    if (a->kind == STRETTO_SEND) {
        if (stretto_verify_read_blocks(v, rank, i, a->src) != 0)
            return -1;
        verify_block *src = stretto_verify_blocks(r, a->src);
        for (int b = 0; b < a->src.count; b++) {
            v->payload[state->payload + b] = src[b].value;
            src[b].sends++;
        }
        if (v->words)
            memcpy(v->told + (size_t)(r->base + i) * (size_t)v->words,
                   v->heard + (size_t)rank * (size_t)v->words, (size_t)v->words * sizeof *v->heard);
    } else {
        verify_block *dst = stretto_verify_blocks(r, a->dst);
        for (int b = 0; b < a->dst.count; b++) {
            if (claim_block(v, rank, i, &dst[b]) != 0)
                return -1;
            dst[b].arriving = true;
            dst[b].value = 0;
        }
    }
    state->started = true;
    r->open++;
    stretto_verify_wake(v, a->peer);
    return 0;
}

static int finish_message(verify_state *v, int rank, int i) {
    verify_rank *r = &v->ranks[rank];
    verify_action *state = &v->actions[r->base + i];
    const stretto_action *a = &r->plan->actions[i];
    if (state->done)
        return 0;
    if (!v->actions[state->partner].started)
        return VERIFY_BLOCKED;
    state->done = true;
    r->open--;
    if (a->kind == STRETTO_SEND) {
        for (int b = 0; b < a->src.count; b++)
            stretto_verify_blocks(r, a->src)[b].sends--;
        return 0;
    }
    const int *values = v->payload + v->actions[state->partner].payload;
    for (int b = 0; b < a->dst.count; b++) {
        verify_block *block = &stretto_verify_blocks(r, a->dst)[b];
        block->arriving = false;
        block->value = values[b];
        block->unread = true;
    }
    for (int w = 0; w < v->words; w++)
        v->heard[(size_t)rank * (size_t)v->words + (size_t)w] |=
            v->told[(size_t)state->partner * (size_t)v->words + (size_t)w];
    return 0;
}

static int fence(verify_state *v, int rank, int end) {
    verify_rank *r = &v->ranks[rank];
    for (; r->open > 0 && r->open_from < end; r->open_from++)
        if (r->plan->actions[r->open_from].kind <= STRETTO_RECV &&
            finish_message(v, rank, r->open_from) == VERIFY_BLOCKED)
            return VERIFY_BLOCKED;
    r->open_from = end;
    return 0;
}

/* left op right, with what is wrong about it said for this action. */
int stretto_verify_combine(verify_state *v, int rank, int action, int left, int right, bool fixed) {
    int value = stretto_expr_op(&v->exprs, left, right, fixed);
    if (value > 0)
        return value;
    if (v->exprs.failed)
        return stretto_verify_fail(v, -1, -1, "out of memory");
    char left_text[160], right_text[160];
    stretto_expr_text(&v->exprs, left, left_text, sizeof left_text);
    stretto_expr_text(&v->exprs, right, right_text, sizeof right_text);
    return stretto_verify_fail(
        v, rank, action, "%s: (%s) op (%s)",
        value == STRETTO_EXPR_BLOCKS ? "puts different blocks together"
        : value == STRETTO_EXPR_DOUBLED
            ? "counts a contribution twice"
            : "the order of operands is not valid for a non-commutative operation",
        left_text, right_text);
}

static int local_action(verify_state *v, int rank, int i, const stretto_action *a) {
    verify_block *src = stretto_verify_blocks(&v->ranks[rank], a->src);
    verify_block *dst = stretto_verify_blocks(&v->ranks[rank], a->dst);
    if (stretto_verify_read_blocks(v, rank, i, a->src) != 0)
        return -1;
    if (a->kind == STRETTO_REDUCE_LOCAL && stretto_verify_read_blocks(v, rank, i, a->dst) != 0)
        return -1;
    for (int b = 0; b < a->src.count; b++) {
        int value = src[b].value;
        if (a->kind == STRETTO_REDUCE_LOCAL) {
            bool left = a->side == STRETTO_SRC_LEFT;
            value = stretto_verify_combine(v, rank, i, left ? value : dst[b].value,
                                           left ? dst[b].value : value, false);
            if (value < 0)
                return -1;
            if (src[b].sends > 0)
                return stretto_verify_fail(v, rank, i,
                                           "may destroy its source while it is being sent");
            src[b].value = 0;
        }
        if (stretto_verify_write_block(v, rank, i, &dst[b], value) != 0)
            return -1;
    }
    return 0;
}

/* ---- the streams ------------------------------------------------------------------------------
 */

static int run_rank(verify_state *v, int rank) {
    verify_rank *r = &v->ranks[rank];
    while (r->at < r->plan->nactions) {
        const stretto_action *a = &r->plan->actions[r->at];
        int status;
        switch (a->kind) {
        case STRETTO_SEND:
        case STRETTO_RECV: status = start_message(v, rank, r->at, a); break;
        case STRETTO_COPY:
        case STRETTO_REDUCE_LOCAL: status = local_action(v, rank, r->at, a); break;
        case STRETTO_WAIT: status = finish_message(v, rank, a->peer); break;
        case STRETTO_FENCE: status = fence(v, rank, r->at); break;
        default: status = stretto_verify_node(v, rank); break;
        }
        if (status != 0)
            return status;
        r->at++;
    }
    return 0;
}

/* Nobody can go on: names the ranks that wait, and for what. */
static int deadlock(verify_state *v) {
    char text[600];
    size_t used = 0;
    int told = 0, first = -1;
    for (int rank = 0; rank < v->nranks && used < sizeof text - 1; rank++) {
        verify_rank *r = &v->ranks[rank];
        if (r->at == r->plan->nactions)
            continue;
        first = first < 0 ? rank : first;
        if (told++ == 4)
            break;
        const stretto_action *a = &r->plan->actions[r->at];
        int message = a->kind == STRETTO_WAIT ? a->peer : r->open_from;
        const stretto_action *m = &r->plan->actions[message];
        if (a->kind == STRETTO_WAIT || a->kind == STRETTO_FENCE)
            used += (size_t)snprintf(text + used, sizeof text - used,
                                     "; rank %d at action %d for its %s %s rank %d (action %d)",
                                     rank, r->at, stretto_action_name(m->kind),
                                     m->kind == STRETTO_SEND ? "to" : "from", m->peer, message);
        else
            used += (size_t)snprintf(text + used, sizeof text - used,
                                     "; rank %d at action %d for its node in %s", rank, r->at,
                                     stretto_action_name(a->kind));
    }
    return stretto_verify_fail(v, first, v->ranks[first].at, "deadlock: these wait%s%s", text,
                               told > 4 ? "; and more" : "");
}

int stretto_verify_run(verify_state *v) {
    for (int rank = v->nranks - 1; rank >= 0; rank--)
        stretto_verify_wake(v, rank);
    while (v->nqueue > 0) {
        int rank = v->queue[--v->nqueue];
        v->ranks[rank].queued = false;
        if (run_rank(v, rank) < 0)
            return -1;
    }
    for (int rank = 0; rank < v->nranks; rank++)
        if (v->ranks[rank].at < v->ranks[rank].plan->nactions)
            return deadlock(v);
    for (int rank = 0; rank < v->nranks; rank++)
        for (int i = 0; v->ranks[rank].open > 0 && i < v->plans[rank].nactions; i++)
            if (v->actions[v->ranks[rank].base + i].started &&
                !v->actions[v->ranks[rank].base + i].done)
                return stretto_verify_fail(v, rank, i, "is pending at the end, without a wait");
    return 0;
}
