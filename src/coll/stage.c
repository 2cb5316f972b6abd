/* Trees and the way along them in segments: see stage.h. Positions are ranks (ordered) or distances
 * above the root. */
#include "coll/stage.h"

enum { AHEAD = 4 }; /* segments received ahead, and not yet sent on, at most */

static int rank_at(const stretto_shape *shape, bool ordered, int position) {
    return ordered ? position : (shape->root + position) % shape->nranks;
}

static int position_of(const stretto_shape *shape, bool ordered) {
    return ordered ? shape->rank : (shape->rank - shape->root + shape->nranks) % shape->nranks;
}

static void add_child(stretto_stage *stage, int rank, stretto_side side) {
    stage->child[stage->n] = rank;
    stage->side[stage->n++] = side;
}

static stretto_side side_of(const stretto_shape *shape, bool ordered, int position) {
    return ordered && position < shape->root ? STRETTO_SRC_LEFT : STRETTO_SRC_RIGHT;
}

stretto_stage stretto_stage_chain(const stretto_shape *shape, bool ordered, int fanout) {
    const int p = shape->nranks, me = position_of(shape, ordered), root = shape->root;
    stretto_stage stage = {.parent = -1};
    if (ordered) {
        if (me > 0 && me <= root)
            add_child(&stage, me - 1, STRETTO_SRC_LEFT);
        if (me + 1 < p && me >= root)
            add_child(&stage, me + 1, STRETTO_SRC_RIGHT);
        stage.parent = me < root ? me + 1 : me > root ? me - 1 : -1;
        return stage;
    }
    if (fanout > p - 1)
        fanout = p - 1;
    const int length = (p - 1) / fanout, longer = (p - 1) % fanout; /* so many have one more */
    for (int c = 0, first = 1; c < fanout; c++) {
        const int n = length + (c < longer);
        if (me == 0)
            add_child(&stage, rank_at(shape, false, first), STRETTO_SRC_RIGHT);
        if (me >= first && me < first + n) {
            stage.parent = rank_at(shape, false, me == first ? 0 : me - 1);
            if (me + 1 < first + n)
                add_child(&stage, rank_at(shape, false, me + 1), STRETTO_SRC_RIGHT);
        }
        first += n;
    }
    return stage;
}

void stretto_binary_place(int first, int count, int at, int *parent, int child[2]) {
    *parent = -1;
    for (;;) {
        const int top = first + count / 2, below = top - first, above = first + count - top - 1;
        child[0] = below > 0 ? first + below / 2 : -1;
        child[1] = above > 0 ? top + 1 + above / 2 : -1;
        if (at == top)
            return;
        *parent = top;
        first = at < top ? first : top + 1;
        count = at < top ? below : above;
    }
}

stretto_stage stretto_stage_binary(const stretto_shape *shape, bool ordered) {
    const int p = shape->nranks, me = position_of(shape, ordered);
    const int top = ordered ? shape->root : 0;
    /* the two runs that the root's subtrees cover */
    const int first[2] = {ordered ? 0 : 1, ordered ? top + 1 : 1 + p / 2};
    const int count[2] = {ordered ? top : p / 2, ordered ? p - top - 1 : p - 1 - p / 2};
    stretto_stage stage = {.parent = -1};
    for (int half = 0; half < 2; half++) {
        int parent, child[2];
        if (me == top && count[half] > 0) {
            const int of_half = first[half] + count[half] / 2;
            add_child(&stage, rank_at(shape, ordered, of_half), side_of(shape, ordered, of_half));
        }
        if (me == top || me < first[half] || me >= first[half] + count[half])
            continue;
        stretto_binary_place(first[half], count[half], me, &parent, child);
        stage.parent = rank_at(shape, ordered, parent < 0 ? top : parent);
        for (int c = 0; c < 2; c++)
            if (child[c] >= 0)
                add_child(&stage, rank_at(shape, ordered, child[c]),
                          c == 0 ? STRETTO_SRC_LEFT : STRETTO_SRC_RIGHT);
    }
    return stage;
}

stretto_stage stretto_stage_binomial(const stretto_shape *shape, bool ordered) {
    const int p = shape->nranks, me = position_of(shape, ordered), root = shape->root;
    stretto_stage stage = {.parent = -1};
    if (ordered && me == root) {
        if (root > 0)
            add_child(&stage, 0, STRETTO_SRC_LEFT);
        if (root + 1 < p)
            add_child(&stage, root + 1, STRETTO_SRC_RIGHT);
        return stage;
    }
    /* the tree over n positions from `first` on */
    const int first = ordered && me > root ? root + 1 : 0;
    const int n = !ordered ? p : me < root ? root : p - first, at = me - first;
    for (int d = 1; d < n && at % (2 * d) == 0 && at + d < n; d *= 2)
        add_child(&stage, rank_at(shape, ordered, first + at + d), STRETTO_SRC_RIGHT);
    if (at > 0)
        stage.parent = rank_at(shape, ordered, first + (at & (at - 1)));
    else if (ordered)
        stage.parent = root;
    return stage;
}

void stretto_stage_bcast(stretto_plan *plan, const stretto_stage *stage, int first, int count) {
    int received[AHEAD], sent[AHEAD][STRETTO_STAGE_MOST];
    for (int s = 0; s < count + AHEAD; s++) {
        const int slot = s % AHEAD, ready = s - AHEAD; /* the segment that is to be handed on */
        if (ready >= 0) {
            if (stage->parent >= 0)
                stretto_plan_wait(plan, received[slot]);
            /* the largest subtrees stand last */
            for (int c = stage->n - 1; c >= 0; c--) {
                if (ready >= AHEAD)
                    stretto_plan_wait(plan, sent[slot][c]);
                sent[slot][c] = stretto_plan_send(plan, stage->child[c],
                                                  stretto_span_of(STRETTO_OUT, first + ready, 1));
            }
        }
        if (s < count && stage->parent >= 0)
            received[slot] =
                stretto_plan_recv(plan, stage->parent, stretto_span_of(STRETTO_OUT, first + s, 1));
    }
}

void stretto_stage_reduce(stretto_plan *plan, const stretto_stage *stage, int blocks) {
    int received[AHEAD][STRETTO_STAGE_MOST], sent[AHEAD];
    for (int s = 0; s < blocks + AHEAD; s++) {
        const int slot = s % AHEAD, ready = s - AHEAD;
        if (ready >= 0) {
            const stretto_span mine = stretto_plan_mine(plan, ready, 1);
            const stretto_span result = stretto_span_of(STRETTO_OUT, ready, 1);
            if (mine.buffer == STRETTO_IN && (stage->n > 0 || stage->parent < 0))
                stretto_plan_copy(plan, mine, result);
            for (int c = 0; c < stage->n; c++)
                stretto_plan_wait(plan, received[slot][c]);
            if (stage->parent >= 0) {
                if (ready >= AHEAD)
                    stretto_plan_wait(plan, sent[slot]);
                sent[slot] = stretto_plan_send(plan, stage->parent, stage->n > 0 ? result : mine);
            }
        }
        for (int c = 0; s < blocks && c < stage->n; c++)
            received[slot][c] = stretto_plan_recv_reduce(
                plan, stage->child[c], stretto_span_of(STRETTO_OUT, s, 1), stage->side[c]);
    }
}
