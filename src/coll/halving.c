/* Reduce-scatter by halving: see halving.h.
 *
 * The ranks form a power of two of teams, the first of them pairs (2i, 2i+1) where P is no power of
 * two: their even rank gives its whole vector to the odd one, and gets its block in the end. The
 * vector lies in TMP, a team's blocks together, the teams in the order in which halves are split
 * off: by number when the farthest team comes first, by reversed number when the nearest does. */
#include "coll/halving.h"

#include <stdlib.h>

typedef struct {
    int teams, extra; /* extra: so many teams of two, the first */
    bool ordered;
    int first;   /* TMP block of position 0 */
    int *before; /* ordered with pairs: [teams + 1] blocks of the positions before */
} halving;

/* The team at a position. */
static int team_at(const halving *h, int position) {
    if (!h->ordered)
        return position;
    int team = 0;
    for (int bit = 1; bit < h->teams; bit *= 2) {
        team = 2 * team + (position & 1);
        position /= 2;
    }
    return team;
}

static int lowest_rank(const halving *h, int team) {
    return team < h->extra ? 2 * team : team + h->extra;
}

static int leader(const halving *h, int team) {
    return lowest_rank(h, team) + (team < h->extra);
}

/* Blocks of the positions before one. */
static int blocks_before(const halving *h, int position) {
    if (h->before)
        return h->before[position];
    return position + (position < h->extra ? position : h->extra);
}

static int blocks_in(const halving *h, int first, int count) {
    return blocks_before(h, first + count) - blocks_before(h, first);
}

static stretto_span positions(const halving *h, int first, int count) {
    return stretto_span_of(STRETTO_TMP, h->first + blocks_before(h, first),
                           blocks_in(h, first, count));
}

/* The whole of IN, in the order of the positions. */
static void load(stretto_plan *plan, halving *h) {
    const int p = plan->shape.nranks;
    h->first = plan->tmp_blocks;
    if (!h->ordered) {
        stretto_plan_tmp_run(plan, 0, p, 1);
        stretto_plan_copy(plan, stretto_span_of(STRETTO_IN, 0, p), positions(h, 0, h->teams));
        return;
    }
    for (int i = 0, at = h->first, n; i < h->teams; i++, at += n) {
        const int team = team_at(h, i), lowest = lowest_rank(h, team);
        n = 1 + (team < h->extra);
        if (h->before)
            h->before[i + 1] = h->before[i] + n;
        stretto_plan_tmp_run(plan, lowest, n, 1);
        stretto_plan_copy(plan, stretto_span_of(STRETTO_IN, lowest, n),
                          stretto_span_of(STRETTO_TMP, at, n));
    }
}

static void halve(stretto_plan *plan, const stretto_shape *shape, halving *of) {
    halving h = *of;
    const int me = shape->rank;
    const bool paired = me < 2 * h.extra;
    load(plan, &h);
    const stretto_span all = positions(&h, 0, h.teams), result = stretto_span_of(STRETTO_OUT, 0, 1);
    if (paired && me % 2 == 0) {
        stretto_plan_send(plan, me + 1, all);
        stretto_plan_recv(plan, me + 1, result);
        return;
    }
    if (paired)
        stretto_plan_recv_reduce(plan, me - 1, all, STRETTO_SRC_LEFT);
    stretto_plan_fence(plan);
    const int team = paired ? me / 2 : me - h.extra;
    int first = 0, count = h.teams; /* positions this rank is still reducing */
    for (int step = 1; step < h.teams; step *= 2) {
        const int bit = h.ordered ? step : h.teams / 2 / step, other = leader(&h, team ^ bit);
        const bool low = (team & bit) == 0;
        count /= 2;
        const int given = low ? first + count : first;
        first = low ? first : first + count;
        stretto_plan_send(plan, other, positions(&h, given, count));
        stretto_plan_recv_reduce(plan, other, positions(&h, first, count),
                                 low ? STRETTO_SRC_RIGHT : STRETTO_SRC_LEFT);
        stretto_plan_fence(plan);
    }
    stretto_span mine = positions(&h, first, 1);
    if (paired) {
        stretto_plan_send(plan, me - 1, stretto_span_of(STRETTO_TMP, mine.first, 1));
        mine.first++;
    }
    stretto_plan_copy(plan, stretto_span_of(STRETTO_TMP, mine.first, 1), result);
}

void stretto_halve(stretto_plan *plan, const stretto_shape *shape, bool ordered) {
    halving h = {.teams = 1, .ordered = ordered};
    while (2 * h.teams <= shape->nranks)
        h.teams *= 2;
    h.extra = shape->nranks - h.teams;
    if (ordered && h.extra > 0) {
        h.before = calloc((size_t)h.teams + 1, sizeof *h.before);
        if (!h.before) {
            plan->failed = true;
            return;
        }
    }
    halve(plan, shape, &h);
    free(h.before);
}
