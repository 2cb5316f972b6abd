/* Each communicator's plans: built once for a shape, kept, the oldest replaced. */
#include "engine/engine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void drop(stretto_cached_plan *cached) {
    if (!cached)
        return;
    stretto_plan_free(&cached->plan);
    free(cached->tmp_offset);
    free(cached);
}

/* Where the search for a plan begins: its own place, unless another had it first. */
static unsigned place_of(stretto_collective collective, const stretto_choice *choice, int root,
                         int segments, bool in_place, bool commutative) {
    uint64_t h = (uint64_t)(uintptr_t)choice->algorithm;
    h = h * 31 + (uint64_t)collective;
    h = h * 31 + (uint64_t)root;
    h = h * 31 + (uint64_t)segments;
    h = h * 31 + (uint64_t)(choice->param + choice->fanout + choice->lanes);
    h = h * 31 + (uint64_t)(4 * (int)choice->kind + 2 * in_place + commutative);
    return (unsigned)(h * UINT64_C(0x9e3779b97f4a7c15) >> 32) % STRETTO_PLANS;
}

stretto_cached_plan *stretto_plan_for(stretto_comm *c, stretto_collective collective,
                                      const stretto_choice *choice, int root, size_t bytes,
                                      bool in_place, bool commutative, char *error, size_t size) {
    int segments = stretto_choice_segments(choice, bytes);
    if (!c->plans && !(c->plans = calloc(STRETTO_PLANS, sizeof *c->plans))) {
        snprintf(error, size, "out of memory");
        return NULL;
    }
    const unsigned place = place_of(collective, choice, root, segments, in_place, commutative);
    stretto_cached_plan **oldest = NULL; /* or the first free place */
    for (unsigned i = 0; i < STRETTO_PLANS; i++) {
        stretto_cached_plan **at = &c->plans[(place + i) % STRETTO_PLANS], *p = *at;
        if (p && p->collective == collective && p->root == root && p->segments == segments &&
            p->in_place == in_place && p->commutative == commutative &&
            stretto_choice_same(&p->choice, choice)) {
            p->age = ++c->plan_clock;
            return p;
        }
        if ((!p || p != c->pinned) && (!oldest || (*oldest && (!p || p->age < (*oldest)->age))))
            oldest = at;
    }
    stretto_cached_plan *fresh = calloc(1, sizeof *fresh);
    if (!fresh) {
        snprintf(error, size, "out of memory");
        return NULL;
    }
    *fresh = (stretto_cached_plan){.collective = collective,
                                   .choice = *choice,
                                   .root = root,
                                   .segments = segments,
                                   .in_place = in_place,
                                   .commutative = commutative,
                                   .count = -1,
                                   .age = ++c->plan_clock};
    const stretto_shape shape = {
        .collective = collective,
        .rank = c->rank,
        .nranks = c->nranks,
        .root = root,
        .segments = 1,
        .in_place = in_place,
        .commutative = commutative,
        .layout = &c->layout,
        .graph = stretto_collective_neighbor(collective) && c->graph ? &c->graph->graph : NULL};
    if (stretto_plan_build(&fresh->plan, choice, &shape, bytes, error, size)) {
        drop(fresh);
        return NULL;
    }
    fresh->tmp_offset = calloc((size_t)fresh->plan.tmp_blocks + 1, sizeof *fresh->tmp_offset);
    if (!fresh->tmp_offset) {
        drop(fresh);
        snprintf(error, size, "out of memory");
        return NULL;
    }
    drop(*oldest);
    return *oldest = fresh;
}

void stretto_plans_forget(stretto_comm *c) {
    for (int i = 0; c->plans && i < STRETTO_PLANS; i++)
        drop(c->plans[i]);
    free(c->plans);
    c->plans = NULL;
    stretto_exchanges_forget(c);
}
