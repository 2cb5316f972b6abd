/* Ranks: each carries out its program until it must wait, ahead of the clock of the events where
 * nothing that others share is touched. */
#include "plan/price_state.h"

#include <stdlib.h>

static void end_call(price_state *s, price_rank *r);

void price_span(price_state *s, stretto_span_kind kind, int rank, int peer, int round, int level,
                int detail, double bytes, double begin, double end) {
    stretto_price_result *result = s->result;
    if (result->nspans == s->span_capacity) {
        int larger = s->span_capacity ? 2 * s->span_capacity : 1024;
        stretto_price_span *spans = realloc(result->spans, (size_t)larger * sizeof *spans);
        if (!spans) {
            s->failed = true;
            return;
        }
        result->spans = spans;
        s->span_capacity = larger;
    }
    result->spans[result->nspans++] =
        (stretto_price_span){(int)kind, rank, peer, round, level, detail, bytes, begin, end};
}

/* ---- interruptions ----------------------------------------------------------------------------
 * They come at times of their own (Poisson). One that comes while the core waits does no harm
 * unless it is still there when the wait is over. */

static double next_gap(const price_state *s, price_rank *r, uint64_t what) {
    uint64_t rank = (uint64_t)(r - s->ranks);
    return price_exponential(price_uniform(s->call->seed, rank, ++r->random, what));
}

static double interruption(const price_state *s, price_rank *r) {
    const stretto_platform *p = s->platform;
    double length = next_gap(s, r, 1) * p->detour;
    return length;
}

static void after_interruption(const price_state *s, price_rank *r, double end) {
    r->next_detour = end + next_gap(s, r, 2) / s->platform->detour_rate;
}

void price_busy(price_state *s, price_rank *r, stretto_part part, double dt) {
    double left = dt;
    if (s->platform->detour_rate > 0) {
        while (r->next_detour < r->clock.t + left) {
            double before = r->next_detour - r->clock.t;
            if (before > 0) {
                price_add(&r->clock, part, before);
                left -= before;
            }
            price_add(&r->clock, STRETTO_PART_NOISE, interruption(s, r));
            after_interruption(s, r, r->clock.t);
        }
    }
    price_add(&r->clock, part, left);
}

void price_waited(price_state *s, price_rank *r, const price_moment *until) {
    price_later(&r->clock, until);
    if (s->platform->detour_rate > 0) {
        while (r->next_detour < r->clock.t) {
            double end = r->next_detour + interruption(s, r);
            price_hold(&r->clock, end, STRETTO_PART_NOISE);
            after_interruption(s, r, end);
        }
    }
}

/* ---- local work -------------------------------------------------------------------------------
 */

/* False: the memory that it shares is not its to take before the events come to its time. */
static bool local_work(price_state *s, price_rank *r, const price_op *op) {
    const stretto_platform *p = s->platform;
    const bool reduces = op->kind == STRETTO_REDUCE_LOCAL;
    const bool shared = p->memory_byte > 0 && (double)op->bytes >= p->cache_bytes && op->bytes > 0;
    if (shared && r->clock.t > s->now) {
        if (!price_queue_put(&s->queue, r->clock.t, PRICE_RESUME, (int)(r - s->ranks), NULL))
            s->failed = true;
        return false;
    }
    const double begin = r->clock.t, n = op->peer;
    const stretto_part part = reduces ? STRETTO_PART_REDUCE : STRETTO_PART_COPY;
    double each = reduces ? p->reduce + (double)op->bytes * p->reduce_byte
                          : p->copy + (double)op->bytes * p->copy_byte;
    price_busy(s, r, part, n * each);
    if (shared)
        price_hold(&r->clock, price_memory(s, r, begin, n * (double)op->bytes), part);
    if (price_traced(s, r) && r->clock.t > begin)
        price_span(s, reduces ? STRETTO_SPAN_REDUCE : STRETTO_SPAN_COPY, (int)(r - s->ranks), -1,
                   (int)op->round, -1, 0, n * (double)op->bytes, begin, r->clock.t);
    return true;
}

/* ---- waiting ----------------------------------------------------------------------------------
 */

static price_slot *slot_of(const price_state *s, const price_rank *r, int ordinal) {
    return &r->slots[ordinal % s->programs.programs[r->program].window];
}

static void take(price_state *s, price_rank *r, price_slot *slot, int round) {
    const double from = r->clock.t;
    const int me = (int)(r - s->ranks);
    price_waited(s, r, &slot->at);
    if (slot->is_recv) {
        const double begin = r->clock.t;
        price_busy(s, r, STRETTO_PART_OVERHEAD, slot->work);
        if (slot->copy > 0)
            price_busy(s, r, STRETTO_PART_COPY, slot->copy);
        if (price_traced(s, r)) {
            if (begin > from)
                price_span(s, STRETTO_SPAN_WAIT, me, slot->peer, round, slot->level, 0, 0, from,
                           begin);
            if (r->clock.t > begin)
                price_span(s, STRETTO_SPAN_RECV, me, slot->peer, round, slot->level, 0,
                           (double)slot->bytes, begin, r->clock.t);
        }
    } else if (price_traced(s, r) && r->clock.t > from) {
        price_span(s, STRETTO_SPAN_WAIT, me, slot->peer, round, slot->level, 0, 0, from,
                   r->clock.t);
    }
    slot->taken = true;
}

/* Messages that have come are handled in the order in which they came. Few at a time: a sort by
 * insertion, but one that does not mind thousands. */
static void take_all(price_state *s, price_rank *r, int round) {
    int n = r->issued - r->covered, used = 0;
    price_slot *few[64], **order = n <= 64 ? few : malloc((size_t)n * sizeof *order);
    if (!order) {
        s->failed = true;
        return;
    }
    for (int o = r->covered; o < r->issued; o++)
        if (!slot_of(s, r, o)->taken)
            order[used++] = slot_of(s, r, o);
    /* merge sort from the bottom up: stable, so that ties keep the order of the program */
    price_slot *spare_few[64], **spare = n <= 64 ? spare_few : malloc((size_t)n * sizeof *spare);
    if (!spare) {
        s->failed = true;
    } else {
        for (int width = 1; width < used; width *= 2) {
            for (int i = 0; i < used; i += 2 * width) {
                int a = i, b = i + width, mid = b < used ? b : used,
                    end = i + 2 * width < used ? i + 2 * width : used;
                for (int k = i; k < end; k++)
                    spare[k] = a < mid && (b >= end || order[a]->at.t <= order[b]->at.t)
                                   ? order[a++]
                                   : order[b++];
            }
            memcpy(order, spare, (size_t)used * sizeof *order);
        }
        for (int i = 0; i < used; i++)
            take(s, r, order[i], round);
        r->covered = r->issued;
    }
    if (n > 64) {
        free(order);
        free(spare);
    }
}

/* True when the WAIT or FENCE is over. */
static bool wait(price_state *s, price_rank *r, const price_op *op) {
    const bool all = op->kind == STRETTO_FENCE;
    const int ordinal = all ? -1 : r->issued - op->peer;
    int unknown = 0;
    for (int o = all ? r->covered : ordinal; o < (all ? r->issued : ordinal + 1); o++)
        unknown += !slot_of(s, r, o)->known;
    if (unknown) {
        r->waits = unknown;
        r->wait_for = ordinal;
        return false;
    }
    if (all) {
        take_all(s, r, (int)op->round);
    } else if (!slot_of(s, r, ordinal)->taken) {
        take(s, r, slot_of(s, r, ordinal), (int)op->round);
        while (r->covered < r->issued && slot_of(s, r, r->covered)->taken)
            r->covered++;
    }
    return true;
}

/* ---- the program ------------------------------------------------------------------------------
 */

static int issue(price_state *s, price_rank *r, bool is_recv) {
    int ordinal = r->issued++;
    price_slot *slot = slot_of(s, r, ordinal);
    memset(slot, 0, sizeof *slot);
    slot->is_recv = is_recv;
    return ordinal;
}

static void go_on(price_state *s, int rank) {
    price_rank *r = &s->ranks[rank];
    while (!r->done && !s->failed) {
        const price_program *program = &s->programs.programs[r->program];
        if (r->at == program->nops) {
            end_call(s, r);
            continue;
        }
        const price_op *op = &program->ops[r->at];
        s->result->events++;
        switch ((stretto_action_kind)op->kind) {
        case STRETTO_SEND: {
            int ordinal = issue(s, r, false);
            r->at++;
            price_send(s, rank, price_peer(program, op->peer, rank, s->nranks), ordinal, op);
            break;
        }
        case STRETTO_RECV: {
            int ordinal = issue(s, r, true);
            r->at++;
            price_recv(s, rank, price_peer(program, op->peer, rank, s->nranks), ordinal);
            break;
        }
        case STRETTO_COPY:
        case STRETTO_REDUCE_LOCAL:
            if (!local_work(s, r, op))
                return;
            r->at++;
            break;
        case STRETTO_WAIT:
        case STRETTO_FENCE:
            if (!wait(s, r, op))
                return;
            r->at++;
            break;
        default: /* a node action */
            r->at++;
            r->in_node = true;
            price_node_arrive(s, rank, op);
            if (r->in_node)
                return;
        }
    }
}

static void end_call(price_state *s, price_rank *r) {
    if (r->clock.t > s->call_end[r->call])
        s->call_end[r->call] = r->clock.t;
    r->at = r->issued = r->covered = 0;
    if (++r->call == s->call->calls) {
        r->done = true;
        s->finished++;
        s->result->finish[r - s->ranks] = r->clock.t;
    } else if (r->call == s->call->calls - 1) {
        s->result->enter[r - s->ranks] = r->clock.t;
    }
}

void price_wake(price_state *s, int rank) {
    if (!s->ranks[rank].queued) {
        s->ranks[rank].queued = true;
        s->ready[s->nready++] = rank;
    }
}

void price_run(price_state *s) {
    price_event event;
    while (!s->failed && !price_stopped(s) && price_queue_take(&s->queue, &event)) {
        s->result->events++;
        s->now = event.t;
        switch (event.kind) {
        case PRICE_INJECT: price_inject(s, event.message); break;
        case PRICE_RECEIVE: price_receive(s, event.message); break;
        case PRICE_RESUME: price_wake(s, event.rank); break;
        }
        while (s->nready > 0 && !s->failed) {
            int rank = s->ready[--s->nready];
            s->ranks[rank].queued = false;
            go_on(s, rank);
        }
    }
}
