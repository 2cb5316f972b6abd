/* Schedules of alltoall: see exchange.h.
 *
 * Step i of a rank sends to me + i and receives from me - i, so that at any time the ranks talk to
 * different partners. In place the block that comes in must not overwrite the one that has still to
 * go out: there step i pairs the ranks whose sum is i (modulo P), so that both directions of a pair
 * belong to one step, and the block that comes in waits in TMP until the other has gone. */
#include "coll/exchange.h"

#include <stdlib.h>

typedef struct {
    int send, recv; /* actions */
    stretto_span arrived, place;
} step;

static void finish_step(stretto_plan *plan, const step *s) {
    stretto_plan_wait(plan, s->recv);
    stretto_plan_wait(plan, s->send);
    if (s->arrived.buffer == STRETTO_TMP)
        stretto_plan_copy(plan, s->arrived, s->place);
}

void stretto_exchange(stretto_plan *plan, const stretto_shape *shape, int window) {
    const int p = shape->nranks, me = shape->rank;
    const int width = window == 0 || window > p - 1 ? p - 1 : window;
    step *steps = calloc((size_t)width + 1, sizeof *steps); /* under way, by number % width */
    if (!steps) {
        plan->failed = true;
        return;
    }
    const stretto_buffer from = shape->in_place ? STRETTO_OUT : STRETTO_IN;
    if (!shape->in_place)
        stretto_plan_copy(plan, stretto_span_of(STRETTO_IN, me, 1),
                          stretto_span_of(STRETTO_OUT, me, 1));
    int started = 0;
    for (int i = shape->in_place ? 0 : 1; i < p; i++) {
        int to = shape->in_place ? (i - me + p) % p : (me + i) % p;
        int source = shape->in_place ? to : (me - i + p) % p;
        if (to == me)
            continue;
        step *s = &steps[started % width];
        if (started >= width)
            finish_step(plan, s);
        else if (shape->in_place)
            s->arrived =
                stretto_span_of(STRETTO_TMP, stretto_plan_tmp(plan, STRETTO_SHAPE_LARGEST), 1);
        started++;
        s->place = stretto_span_of(STRETTO_OUT, source, 1);
        if (!shape->in_place)
            s->arrived = s->place;
        s->recv = stretto_plan_recv(plan, source, s->arrived);
        s->send = stretto_plan_send(plan, to, stretto_span_of(from, to, 1));
    }
    for (int i = started > width ? started - width : 0; i < started; i++)
        finish_step(plan, &steps[i % width]);
    free(steps);
}
