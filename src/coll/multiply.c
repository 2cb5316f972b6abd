/* Exchange within a group: see multiply.h. */
#include "coll/multiply.h"

static int member(const stretto_group *g, int j) {
    const int team = g->first + j * g->stride;
    return team < g->paired ? 2 * team + 1 : team + g->paired;
}

void stretto_multiply(stretto_plan *plan, const stretto_group *g) {
    const stretto_span all = stretto_span_of(STRETTO_OUT, 0, 1);
    /* room for the others' vectors, taken again in every round */
    while (!plan->failed && plan->tmp_blocks < g->n - 1)
        stretto_plan_tmp(plan, 0);
    for (int i = 1; i < g->n; i++) {
        const int j = (g->me + i) % g->n, from = (g->me - i + g->n) % g->n;
        stretto_plan_recv(plan, member(g, from),
                          stretto_span_of(STRETTO_TMP, from - (from > g->me), 1));
        stretto_plan_send(plan, member(g, j), all);
    }
    stretto_plan_fence(plan);
    const stretto_span below =
        stretto_span_of(STRETTO_TMP, 0, 1); /* of member 0, if that is not me */
    for (int j = 1; j < g->me; j++)
        stretto_plan_reduce(plan, stretto_span_of(STRETTO_TMP, j, 1), below, STRETTO_SRC_RIGHT);
    if (g->me > 0)
        stretto_plan_reduce(plan, below, all, STRETTO_SRC_LEFT);
    for (int j = g->me + 1; j < g->n; j++)
        stretto_plan_reduce(plan, stretto_span_of(STRETTO_TMP, j - 1, 1), all, STRETTO_SRC_RIGHT);
}
