/* Candidates are tried in the application's own calls, in blocks whose order and length all ranks
 * know (learn/learner.h). What is measured (learn/estimate.h) is agreed at the end of a block
 * inside the application's call. There a rank that is early in a collective with a root waits for
 * the others, as the standard lets every collective do; the wait counts as a cost of learning.
 */
#include "engine/learn.h"
#include "engine/fibre.h"
#include "engine/memory.h"

#include <limits.h>
#include <stdlib.h>
#include <time.h>

enum {
    MOST_SHAPES = 64,      /* of a communicator */
    MOST_BYTES = 64 << 10, /* of shapes and trials (docs/decisions/0030-learn.md) */
    EACH = sizeof(stretto_row) + sizeof(stretto_decision) /* a candidate */
};
/* Seconds that reading it takes. What a call spends in this library before and after what is
 * measured is about as much. */
static double clock_seconds;

/* exploring may cost so much of the time in collectives, and STRETTO_LEARN_SECONDS */
static const double SHARE = 0.02;

/* The last timed call of a collective with a root, until this process enters its next collective.
 * Always NULL where several threads may make calls at once. */
static struct {
    const stretto_comm *on;
    stretto_timed_call *call;
} awaiting_next;

static double seconds_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

bool stretto_learns(stretto_collective collective) {
    return !stretto_config.reproducible || !stretto_collective_reduces(collective);
}

/* Every rank knows the block of each. */
static bool knows_all_blocks(stretto_collective collective) {
    return collective == STRETTO_ALLGATHERV || collective == STRETTO_REDUCE_SCATTER;
}

static stretto_flow flow_of(stretto_collective collective) {
    if (!stretto_size_is_known(collective) || collective == STRETTO_SCAN ||
        collective == STRETTO_EXSCAN)
        return STRETTO_LEARN_LOOSE;
    if (!stretto_collective_rooted(collective))
        return STRETTO_LEARN_SYMMETRIC;
    return collective == STRETTO_BCAST || collective == STRETTO_SCATTER ? STRETTO_LEARN_FROM_ROOT
                                                                        : STRETTO_LEARN_TO_ROOT;
}

/* Sizes for which no row of the table begins or ends: each has one row of it, or none. */
static void cut_at_rows(const stretto_comm *c, stretto_learning *l, size_t bytes) {
    for (int i = 0; i < stretto_the_table.nrows; i++) {
        const stretto_row *row = &stretto_the_table.rows[i];
        if (row->collective != l->collective || (row->nodes && row->nodes != c->layout.nnodes) ||
            (row->ppn && row->ppn != c->ppn))
            continue;
        if (row->low > bytes) {
            if (row->low <= l->high)
                l->high = row->low - 1;
        } else if (row->low > l->low) {
            l->low = row->low;
        }
        if (row->high < bytes) {
            if (row->high >= l->low)
                l->low = row->high + 1;
        } else if (row->high < l->high) {
            l->high = row->high;
        }
    }
}

static stretto_learning *find(stretto_comm *c, stretto_collective collective, size_t bytes) {
    int shapes = 0;
    for (stretto_learning *l = c->learning; l; l = l->next) {
        shapes++;
        if (l->collective == collective && l->low <= bytes && bytes <= l->high)
            return l;
    }
    if (shapes >= MOST_SHAPES)
        return NULL;
    stretto_learning *l = calloc(1, sizeof *l);
    if (!l)
        stretto_no_memory(); /* the other ranks learn */
    l->collective = collective;
    l->flow = flow_of(collective);
    l->nodes = c->layout.nnodes;
    l->ppn = c->ppn;
    if (collective == STRETTO_BARRIER || !stretto_size_is_known(collective)) {
        l->high = SIZE_MAX; /* there is no size, or no rank knows it: one shape */
    } else if (bytes) {
        l->low = (size_t)1 << (63 - __builtin_clzll(bytes));
        l->high = 2 * l->low - 1;
        cut_at_rows(c, l, bytes);
    }
    l->waits = stretto_config.learn_after;
    l->next = c->learning;
    return c->learning = l;
}

void stretto_learn_take(stretto_comm *c, stretto_collective collective, stretto_decision *d) {
    if (d->row && d->row->line == STRETTO_LINE_FORCED)
        return;
    if (stretto_collective_reduces(collective)) { /* the same handles on all ranks */
        size_t extent;
        stretto_store_fn store;
        if (!stretto_is_predefined_op(d->op) ||
            !stretto_kernel_for(d->op, d->datatype, &extent, &store))
            return;
    }
    d->learning = find(c, collective, d->bytes);
    if (d->learning && d->learning->trial)
        d->row = &d->learning->trial->rows[d->learning->trial->learner.chosen];
}

/* False: there are too many, on all ranks. */
static STRETTO_COLD bool begin_trial(const stretto_comm *c, stretto_learning *l) {
    size_t bytes = MOST_SHAPES * sizeof *l + sizeof *l->trial + STRETTO_LEARN_CANDIDATES * EACH;
    for (const stretto_learning *other = c->learning; other; other = other->next)
        if (other->trial)
            bytes += sizeof *l->trial + (size_t)other->trial->learner.ncandidates * EACH;
    if (bytes > MOST_BYTES)
        return false;
    stretto_trial *t = l->trial = calloc(1, sizeof *t);
    if (!t || !(t->rows = malloc(sizeof *t->rows)))
        stretto_no_memory(); /* the other ranks learn */
    t->rows[0] = (stretto_row){.collective = l->collective,
                               .high = SIZE_MAX,
                               .choice = {.kind = STRETTO_CHOICE_NATIVE},
                               .line = STRETTO_LINE_LEARNED};
    stretto_learner_begin(&t->learner, stretto_learn_sides(l->flow), 0, stretto_config.learn_block,
                          (uint64_t)l->collective << 48 ^ (uint64_t)l->low ^
                              (uint64_t)c->nranks << 32);
    t->learner.resolution = clock_seconds;
    return true;
}

/* ---- calls ----------------------------------------------------------------------------------- */

/* The choice is another one: calls are decided anew. */
static void forget_decisions(stretto_comm *c, const stretto_learning *l) {
    stretto_comm_calls *calls = &c->coll[l->collective];
    for (int i = 0; calls->decisions && i < STRETTO_DECISIONS; i++)
        if (calls->decisions[i].learning == l)
            calls->decisions[i].run = STRETTO_RUN_UNDECIDED;
}

/* The application's ranks may round in different ways; the same values must lead all of them to the
 * same choice. What was set before. */
static uint64_t modes_of_all(void) {
    const uint64_t before = stretto_modes_now();
    stretto_modes_set(STRETTO_MODES_DEFAULT);
    return before;
}

static void ended(stretto_comm *c, stretto_learning *l, const double *seconds, int last, bool may) {
    stretto_learner *learner = &l->trial->learner;
    const int chosen = learner->chosen;
    const bool waited = learner->phase == STRETTO_LEARN_WAIT;
    stretto_learner_ended(learner, seconds, last, may);
    if (waited || learner->chosen != chosen)
        forget_decisions(c, l);
}

static const stretto_decision *by_candidate(stretto_comm *c, stretto_learning *l, int candidate,
                                            const stretto_decision *d) {
    stretto_decision *own = &l->trial->by[candidate];
    const stretto_row *row = &l->trial->rows[candidate];
    if (own->run == STRETTO_RUN_UNDECIDED || own->count != d->elements ||
        own->datatype != d->datatype || own->op != d->op)
        stretto_decide_by(c, l->collective, own, d->elements, d->datatype, d->op, row);
    return own;
}

/* The calls at hand that nobody measures are through: what comes next. Decides d's call anew. */
static STRETTO_COLD const stretto_decision *end_unmeasured(stretto_comm *c, stretto_learning *l,
                                                           const stretto_decision *d) {
    const long long count = d->elements;
    const MPI_Datatype datatype = d->datatype;
    const MPI_Op op = d->op;
    const double begin = seconds_now();
    double lost, taken;
    if (l->trial->learner.phase == STRETTO_LEARN_WAIT)
        stretto_learn_choose_candidates(c, l, d);
    const uint64_t modes = modes_of_all();
    ended(c, l, NULL, -1, true);
    stretto_modes_set(modes);
    stretto_learned_spent(seconds_now() - begin, 0, &lost, &taken);
    return stretto_decide(c, l->collective, count, datatype, op);
}

/* The call at hand does not count. */
static void not_made(stretto_comm *c) {
    stretto_learning *l = c->at_hand;
    c->at_hand = NULL;
    stretto_memory_uncount(c);
    if (l->trial)
        l->trial->learner.left++;
    else if (l->waits >= 0)
        l->waits++;
}

/* In a call on another communicator, or one that is not learned, ranks may wait for each other:
 * then nobody knows for which of them the program waits. */
static void await_no_next(void) {
    if (awaiting_next.call) /* other threads may look at it */
        awaiting_next.call = NULL;
}

/* What the calls before this one left open. */
static STRETTO_COLD void close_earlier(stretto_comm *c) {
    if (awaiting_next.call && awaiting_next.on == c)
        awaiting_next.call->until_next = (float)(seconds_now() - awaiting_next.call->returned);
    await_no_next();
    if (c->at_hand) /* an error handler left the last call for good, and it is made again */
        not_made(c);
}

/* This call is measured, and by the candidate at hand. */
static __attribute__((noinline)) const stretto_decision *
begin_timed(stretto_comm *c, stretto_learning *l, const stretto_decision *d) {
    stretto_trial *t = l->trial;
    if (t->learner.now != t->learner.chosen)
        d = by_candidate(c, l, t->learner.now, d);
    if (t->measured < STRETTO_LEARN_BLOCK)
        t->timed[t->measured] = (stretto_timed_call){.entered = seconds_now(),
                                                     .until_next = STRETTO_LEARN_UNKNOWN,
                                                     .is_root = c->root == c->rank};
    return d;
}

STRETTO_HOT const stretto_decision *stretto_learn_pick(stretto_comm *c, const stretto_decision *d) {
    stretto_learning *l = d->learning;
    if (__builtin_expect(c->at_hand || awaiting_next.call, 0))
        close_earlier(c);
    if (d->count != LLONG_MIN) /* made before: it has counted nothing in this call */
        c->rooted_now = 0;
    if (c->has_empty && knows_all_blocks(l->collective))
        return d; /* ranks may leave such a call before others have entered it */
    c->at_hand = l;
    if (!l->trial && (l->waits < 0 || l->waits-- > 0 || !begin_trial(c, l)))
        return d;
    stretto_learner *learner = &l->trial->learner;
    if (!learner->timed && learner->left <= 0)
        d = end_unmeasured(c, l, d);
    learner->left--;
    if (STRETTO_LIKELY(!learner->timed)) {
        if ((learner->left & 1023) == 0)
            stretto_learned_write(false);
        return d;
    }
    return begin_timed(c, l, d);
}

/* Seconds of a call on each side, agreed, of a block of n calls. On one node all have one clock.
 * Between nodes there is none, and it is the mean of the side's times in the call, waiting
 * included: in a pair of blocks that is in both. `cost` becomes that of exploring and of
 * collectives, of all ranks. Returns the side that the program waits for, below 0: not known. */
static int agree_on_block(const stretto_comm *c, const stretto_learning *l, int n,
                          double seconds[2], double cost[2]) {
    enum { EACH_CALL = 2 * STRETTO_LEARN_SIDES }; /* seconds and next entry, by sides */
    double mine[2 + EACH_CALL * STRETTO_LEARN_BLOCK], all[2 + EACH_CALL * STRETTO_LEARN_BLOCK],
        start[STRETTO_LEARN_BLOCK];
    const bool sides = l->trial->learner.sides > 1, one_size = stretto_size_is_known(l->collective);
    const stretto_timed_call *timed = l->trial->timed;
    const bool one_clock = c->layout.nnodes == 1 && stretto_learn_by_one_clock(l->flow);
    const int columns = !sides ? 1 : one_clock ? EACH_CALL : 2;
    for (int i = 0; i < n; i++) {
        mine[i] = stretto_learn_start(l->flow, &timed[i]);
        start[i] = STRETTO_LEARN_NEVER;
    }
    if (one_clock)
        stretto_learn_agree(c, mine, start, n, MPI_DOUBLE, MPI_MAX);
    for (int i = 0; i < n; i++) {
        double both[2];
        stretto_learn_seconds(l->flow, &timed[i], start[i], both);
        const int side = stretto_learn_side_of(l->flow, timed[i].is_root);
        mine[2 + i] = both[0];
        mine[2 + n + i] = both[1];
        mine[2 + (2 + side) * n + i] = timed[i].returned + (double)timed[i].until_next;
        mine[2 + (2 + !side) * n + i] = STRETTO_LEARN_NEVER;
    }
    stretto_learned_spent(0, 0, &mine[0], &mine[1]);
    if (one_clock)
        mine[1] = -mine[1]; /* the least of all ranks */
    stretto_learn_agree(c, mine, all, 2 + columns * n, MPI_DOUBLE, one_clock ? MPI_MAX : MPI_SUM);
    for (int side = 0; side < l->trial->learner.sides; side++)
        seconds[side] = stretto_learn_block(all + 2 + side * n, n, one_size) /
                        (one_clock ? 1 : stretto_learn_ranks(l->flow, side, c->nranks));
    cost[0] = one_clock ? all[0] : all[0] / c->nranks;
    cost[1] = one_clock ? -all[1] : all[1] / c->nranks;
    return columns == EACH_CALL ? stretto_learn_side_awaited(all + 2 + 2 * n, all + 2 + 3 * n, n)
                                : -1;
}

static void end_block(stretto_comm *c, stretto_learning *l) {
    double seconds[STRETTO_LEARN_SIDES], cost[2], lost, taken;
    stretto_trial *t = l->trial;
    const double begin = seconds_now(), before = t->learner.reference;
    const uint64_t modes = modes_of_all();
    const int n = (int)t->learner.length, candidate = t->learner.now, chosen = t->learner.chosen;
    t->measured = 0;
    const int last = agree_on_block(c, l, n, seconds, cost);
    const double value = stretto_learner_mean(&t->learner, seconds);
    ended(c, l, seconds, last, cost[0] <= SHARE * cost[1] + stretto_config.learn_seconds);
    const double calls = (double)(t->learner.calls - t->counted);
    t->counted = t->learner.calls;
    lost = candidate != chosen && candidate && value > before ? (value - before) * n : 0;
    stretto_learned_write(false);
    stretto_learned_spent(lost + seconds_now() - begin, value * calls, &lost, &taken);
    stretto_modes_set(modes);
}

static __attribute__((noinline)) void end_timed(stretto_comm *c, stretto_learning *l) {
    stretto_trial *t = l->trial;
    if (t->measured < STRETTO_LEARN_BLOCK) {
        stretto_timed_call *call = &t->timed[t->measured++];
        call->returned = seconds_now();
        if (t->learner.sides > 1 && t->learner.left > 0 && !stretto_in_threads()) {
            awaiting_next.on = c;
            awaiting_next.call = call;
        }
    }
    /* not before the first call is through: this rank may be the only one to have it refused */
    if (stretto_learner_begins_check(&t->learner))
        for (stretto_learning *other = c->learning; other; other = other->next)
            if (other->trial)
                stretto_learner_check_with(&other->trial->learner, &t->learner);
    if (t->learner.left <= 0)
        end_block(c, l);
}

STRETTO_HOT void stretto_learn_call_ended(stretto_comm *c, int rc) {
    stretto_learning *l = c ? c->at_hand : NULL;
    if (!l) {
        await_no_next();
        return;
    }
    if (__builtin_expect(rc != MPI_SUCCESS, 0) && stretto_is_refusal(rc)) {
        not_made(c);
        return;
    }
    c->at_hand = NULL;
    if (l->trial && l->trial->learner.timed)
        end_timed(c, l);
}

void stretto_learn_begin(void) {
    enum { LOOPS = 16, READINGS = 32 };
    for (int loop = 0; stretto_config.learn && loop < LOOPS; loop++) {
        const double begin = seconds_now();
        for (int i = 1; i < READINGS; i++)
            seconds_now();
        const double each = (seconds_now() - begin) / READINGS;
        clock_seconds = !loop || each < clock_seconds ? each : clock_seconds;
    }
}

void stretto_learn_go_on(stretto_comm *c, stretto_learning *list) {
    for (stretto_learning *l = c->learning = list; l; l = l->next)
        for (int i = 0; l->trial && i < l->trial->learner.ncandidates; i++)
            l->trial->by[i].run = STRETTO_RUN_UNDECIDED; /* by what c has */
}

void stretto_learn_forget(stretto_comm *c) {
    while (c->learning) {
        stretto_learning *l = c->learning;
        c->learning = l->next;
        if (l->trial) {
            free(l->trial->rows);
            free(l->trial->by);
        }
        free(l->trial);
        free(l);
    }
    c->at_hand = NULL;
    if (awaiting_next.on == c)
        await_no_next();
}
