/* Folding, halving and doubling: see fold.h. */
#include "coll/fold.h"

static stretto_span out(int first, int count) {
    return stretto_span_of(STRETTO_OUT, first, count);
}

/* The even rank of a pair. */
static void give(stretto_plan *plan, int leader, int blocks, bool halves) {
    if (!halves) {
        stretto_plan_send(plan, leader, stretto_plan_mine(plan, 0, blocks));
        stretto_plan_fence(plan);
    } else {
        const int half = blocks / 2;
        stretto_plan_send(plan, leader, stretto_plan_mine(plan, half, half));
        if (stretto_plan_mine(plan, 0, half).buffer == STRETTO_IN)
            stretto_plan_copy(plan, stretto_plan_mine(plan, 0, half), out(0, half));
        stretto_plan_recv_reduce(plan, leader, out(0, half), STRETTO_SRC_RIGHT);
        stretto_plan_fence(plan);
        stretto_plan_send(plan, leader, out(0, half));
        stretto_plan_fence(plan);
    }
    stretto_plan_recv(plan, leader, out(0, blocks));
}

/* The odd rank of a pair, halves. */
static void take(stretto_plan *plan, int other, int blocks) {
    const int half = blocks / 2;
    stretto_plan_send(plan, other, stretto_plan_mine(plan, 0, half));
    if (stretto_plan_mine(plan, half, half).buffer == STRETTO_IN)
        stretto_plan_copy(plan, stretto_plan_mine(plan, half, half), out(half, half));
    stretto_plan_recv_reduce(plan, other, out(half, half), STRETTO_SRC_LEFT);
    stretto_plan_fence(plan);
    stretto_plan_recv(plan, other, out(0, half));
    stretto_plan_fence(plan);
}

bool stretto_fold_in(stretto_plan *plan, stretto_fold fold, int blocks, bool halves) {
    const int me = plan->shape.rank;
    const bool paired = me < 2 * fold.pairs;
    if (paired && me % 2 == 0) {
        give(plan, me + 1, blocks, halves);
        return false;
    }
    if (paired && halves) {
        take(plan, me - 1, blocks);
        return true;
    }
    stretto_plan_load(plan);
    if (paired)
        stretto_plan_recv_reduce(plan, me - 1, out(0, blocks), STRETTO_SRC_LEFT);
    /* the rounds of all ranks in step, for people */
    stretto_plan_fence(plan);
    if (halves)
        stretto_plan_fence(plan);
    return true;
}

void stretto_fold_back(stretto_plan *plan, stretto_fold fold, int blocks) {
    const int me = plan->shape.rank;
    if (me < 2 * fold.pairs)
        stretto_plan_send(plan, me - 1, out(0, blocks));
}

void stretto_part_halve(stretto_plan *plan, stretto_part *part, int peer, bool lower) {
    const int half = part->count / 2;
    const int given = lower ? part->first + half : part->first;
    part->first = lower ? part->first : part->first + half;
    part->count = half;
    stretto_plan_send(plan, peer, out(given, half));
    stretto_plan_recv_reduce(plan, peer, out(part->first, half),
                             lower ? STRETTO_SRC_RIGHT : STRETTO_SRC_LEFT);
    stretto_plan_fence(plan);
}

void stretto_part_double(stretto_plan *plan, stretto_part *part, int peer, bool lower) {
    const int other = lower ? part->first + part->count : part->first - part->count;
    stretto_plan_send(plan, peer, out(part->first, part->count));
    stretto_plan_recv(plan, peer, out(other, part->count));
    stretto_plan_fence(plan);
    part->first = lower ? part->first : other;
    part->count *= 2;
}
