/* Candidates are tried in the application's own calls, in blocks whose order and length all ranks
 * know (learn/learner.h). What is measured (learn/estimate.h) is agreed at the end of a block
 * inside the application's call. There a rank that is early in a collective with a root waits for
 * the others, as the standard lets every collective do; the wait counts as a cost of learning.
 */
#include "engine/learn.h"
#include "engine/outstanding.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    MOST_SHAPES = 10, /* of a communicator: 64 KiB */
    FEW_RANKS = 16,
    SMALL = 4096 /* bytes: below, a candidate's messages are what it costs */
};
_Static_assert(MOST_SHAPES * sizeof(stretto_learning) <= 64 << 10, "the bound that users are told");
/* exploring may cost so much of the time in collectives, and so many seconds */
static const double SHARE = 0.02, ALLOWANCE = 1.0;

static double seconds_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

bool stretto_learns(stretto_collective collective) {
    switch (collective) {
    case STRETTO_ALLREDUCE:
    case STRETTO_REDUCE:
    case STRETTO_REDUCE_SCATTER:
    case STRETTO_REDUCE_SCATTER_BLOCK: return !stretto_config.reproducible;
    case STRETTO_ALLGATHER:
    case STRETTO_ALLGATHERV:
    case STRETTO_ALLTOALL:
    case STRETTO_BARRIER:
    case STRETTO_BCAST:
    case STRETTO_GATHER:
    case STRETTO_SCATTER: return true;
    default: return false;
    }
}

static stretto_flow flow_of(stretto_collective collective) {
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
    if (collective == STRETTO_BARRIER)
        l->high = SIZE_MAX;
    if (bytes) {
        l->low = (size_t)1 << (63 - __builtin_clzll(bytes));
        l->high = 2 * l->low - 1;
        cut_at_rows(c, l, bytes);
    }
    l->rows[0] = (stretto_row){.collective = collective,
                               .high = SIZE_MAX,
                               .choice = {.kind = STRETTO_CHOICE_NATIVE},
                               .line = STRETTO_LINE_LEARNED};
    stretto_learner_begin(&l->learner, l->flow == STRETTO_LEARN_SYMMETRIC ? 1 : STRETTO_LEARN_SIDES,
                          stretto_config.learn_after, stretto_config.learn_block,
                          (uint64_t)collective << 48 ^ (uint64_t)l->low ^
                              (uint64_t)c->nranks << 32);
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
    if (d->learning && d->learning->learner.phase != STRETTO_LEARN_WAIT)
        d->row = &d->learning->rows[d->learning->learner.chosen];
}

/* ---- candidates ------------------------------------------------------------------------------ */

/* The job ends where the MPI fails: ranks that do not know what the others know must not go on. */
static void agree(const stretto_comm *c, const void *mine, void *all, int n, MPI_Datatype type,
                  MPI_Op op) {
    stretto_outstanding_lend();
    const int rc = PMPI_Allreduce(mine, all, n, type, op, c->has_shadow ? c->shadow : c->comm);
    stretto_outstanding_return();
    if (rc == MPI_SUCCESS)
        return;
    stretto_say("the MPI failed while ranks agreed on what they learned; the job is ended");
    stretto_host_end_job();
}

static bool is_there(const stretto_learning *l, int n, const stretto_choice *choice) {
    for (int i = 1; i < n; i++)
        if (stretto_choice_same(&l->rows[i].choice, choice))
            return true;
    return false;
}

/* Takes a choice into the list if calls such as d would be carried out by it. */
static int add(stretto_comm *c, stretto_learning *l, int n, const stretto_choice *choice,
               const stretto_decision *d) {
    if (n == STRETTO_LEARN_CANDIDATES || is_there(l, n, choice))
        return n;
    l->rows[n] = l->rows[0];
    l->rows[n].choice = *choice;
    stretto_decide_by(c, l->collective, &l->by[n], d->elements, d->datatype, d->op, &l->rows[n]);
    const bool fits = l->by[n].run != STRETTO_RUN_NATIVE;
    l->by[n].run = STRETTO_RUN_UNDECIDED;
    return fits ? n + 1 : n;
}

/* Leaves out those of which some rank sends far more messages than by another: for short calls they
 * are what takes the time. Agreed. */
static int without_hopeless(stretto_comm *c, stretto_learning *l, int n, size_t bytes,
                            bool from_table) {
    int sends[STRETTO_LEARN_CANDIDATES] = {0}, most[STRETTO_LEARN_CANDIDATES] = {0}, kept = 1;
    char error[400];
    if (bytes >= SMALL)
        return n;
    for (int i = 1; i < n; i++) {
        const stretto_cached_plan *p = stretto_plan_for(c, l->collective, &l->rows[i].choice, 0,
                                                        bytes, false, true, error, sizeof error);
        for (int a = 0; p && a < p->plan.nactions; a++)
            sends[i] += p->plan.actions[a].kind == STRETTO_SEND;
    }
    agree(c, sends, most, STRETTO_LEARN_CANDIDATES, MPI_INT, MPI_MAX);
    int fewest = most[1];
    for (int i = 2; i < n; i++)
        fewest = most[i] < fewest ? most[i] : fewest;
    for (int i = 1; i < n; i++)
        if (most[i] <= 4 * fewest + 8 || (i == 1 && from_table))
            l->rows[kept++] = l->rows[i];
    return kept;
}

/* What is tried for calls such as d; the same on all ranks. */
static void choose_candidates(stretto_comm *c, stretto_learning *l, const stretto_decision *d) {
    const stretto_row *row =
        stretto_table_find(&stretto_the_table, l->collective, c->layout.nnodes, c->ppn, d->bytes);
    int rows, n = 1;
    if (row && row->choice.kind != STRETTO_CHOICE_NATIVE)
        n = add(c, l, n, &row->choice, d);
    const bool from_table = n == 2;
    const stretto_algorithm *all = stretto_algorithms(&rows);
    const bool composes = stretto_collective_composes(l->collective);
    if (composes && c->one_node)
        n = add(c, l, n, &(const stretto_choice){.kind = STRETTO_CHOICE_SHM}, d);
    for (int pass = composes && c->node_ready && !c->one_node ? 0 : 1; pass < 2; pass++)
        for (int i = 0; i < rows; i++) {
            const stretto_algorithm *a = &all[i];
            if (a->collective != l->collective ||
                (a->needs & STRETTO_FOR_FEW_RANKS && c->nranks > FEW_RANKS) ||
                (stretto_param_segments(a->param) && d->bytes <= 2 * (size_t)a->param_default))
                continue;
            stretto_choice choice = stretto_choice_of(a);
            if (pass == 0)
                choice.kind = STRETTO_CHOICE_SHM;
            n = add(c, l, n, &choice, d);
        }
    n = without_hopeless(c, l, n, d->bytes, from_table);
    stretto_learner_candidates(&l->learner, n, from_table ? 1 : 0);
}

/* ---- calls ----------------------------------------------------------------------------------- */

/* The choice is another one: calls are decided anew. */
static void forget_decisions(stretto_comm *c, const stretto_learning *l) {
    stretto_comm_calls *calls = &c->coll[l->collective];
    for (int i = 0; calls->decisions && i < STRETTO_DECISIONS; i++)
        if (calls->decisions[i].learning == l)
            calls->decisions[i].run = STRETTO_RUN_UNDECIDED;
}

static void ended(stretto_comm *c, stretto_learning *l, const double *seconds, bool may) {
    const int chosen = l->learner.chosen;
    const bool waited = l->learner.phase == STRETTO_LEARN_WAIT;
    stretto_learner_ended(&l->learner, seconds, may);
    if (waited || l->learner.chosen != chosen)
        forget_decisions(c, l);
}

static const stretto_decision *by_candidate(stretto_comm *c, stretto_learning *l, int candidate,
                                            const stretto_decision *d) {
    stretto_decision *own = &l->by[candidate];
    const stretto_row *row = &l->rows[candidate];
    if (own->run == STRETTO_RUN_UNDECIDED || own->count != d->elements ||
        own->datatype != d->datatype || own->op != d->op)
        stretto_decide_by(c, l->collective, own, d->elements, d->datatype, d->op, row);
    return own;
}

/* The calls at hand that nobody measures are through: what comes next. */
static void end_unmeasured(stretto_comm *c, stretto_learning *l, const stretto_decision *d) {
    const double begin = seconds_now();
    double lost, taken;
    if (l->learner.phase == STRETTO_LEARN_WAIT)
        choose_candidates(c, l, d);
    ended(c, l, NULL, true);
    stretto_learned_spent(seconds_now() - begin, 0, &lost, &taken);
}

const stretto_decision *stretto_learn_pick(stretto_comm *c, const stretto_decision *d) {
    stretto_learning *l = d->learning;
    stretto_learner *learner = &l->learner;
    if (!learner->timed && learner->left <= 0) {
        const long long count = d->elements;
        const MPI_Datatype datatype = d->datatype;
        const MPI_Op op = d->op;
        end_unmeasured(c, l, d);
        d = stretto_decide(c, l->collective, count, datatype, op);
    }
    c->at_hand = l;
    learner->left--;
    if (STRETTO_LIKELY(!learner->timed)) {
        if ((learner->left & 1023) == 0)
            stretto_learned_write(false);
        return d;
    }
    if (learner->now != learner->chosen)
        d = by_candidate(c, l, learner->now, d);
    if (l->measured < STRETTO_LEARN_BLOCK)
        l->timed[l->measured] =
            (stretto_timed_call){.entered = seconds_now(), .is_root = c->root == c->rank};
    return d;
}

/* Seconds of a call on each side, agreed: medians over a block of n calls. On one node all have one
 * clock. Between nodes there is none, and it is the mean of the side's times in the call, waiting
 * included: in a pair of blocks that is in both. `cost` becomes that of exploring and of
 * collectives, of all ranks. */
static void agree_on_block(stretto_comm *c, stretto_learning *l, int n, double seconds[2],
                           double cost[2]) {
    double mine[2 * STRETTO_LEARN_BLOCK + 2], all[2 * STRETTO_LEARN_BLOCK + 2],
        start[STRETTO_LEARN_BLOCK];
    const bool one_clock = c->layout.nnodes == 1;
    for (int i = 0; i < n; i++) {
        mine[i] = stretto_learn_start(l->flow, &l->timed[i]);
        start[i] = STRETTO_LEARN_NEVER;
    }
    if (one_clock)
        agree(c, mine, start, n, MPI_DOUBLE, MPI_MAX);
    for (int i = 0; i < n; i++) {
        double both[2];
        stretto_learn_seconds(l->flow, &l->timed[i], start[i], both);
        mine[i] = both[0];
        mine[n + i] = both[1];
    }
    stretto_learned_spent(0, 0, &mine[2 * n], &mine[2 * n + 1]);
    if (one_clock)
        mine[2 * n + 1] = -mine[2 * n + 1]; /* the least of all ranks */
    agree(c, mine, all, 2 * n + 2, MPI_DOUBLE, one_clock ? MPI_MAX : MPI_SUM);
    for (int side = 0; side < l->learner.sides; side++)
        seconds[side] = stretto_learn_median(all + side * n, n) /
                        (one_clock ? 1 : stretto_learn_ranks(l->flow, side, c->nranks));
    cost[0] = one_clock ? all[2 * n] : all[2 * n] / c->nranks;
    cost[1] = one_clock ? -all[2 * n + 1] : all[2 * n + 1] / c->nranks;
}

static void end_block(stretto_comm *c, stretto_learning *l) {
    double seconds[STRETTO_LEARN_SIDES], cost[2], lost, taken;
    const double begin = seconds_now(), before = l->learner.reference;
    const int n = (int)l->learner.length, candidate = l->learner.now, chosen = l->learner.chosen;
    l->measured = 0;
    agree_on_block(c, l, n, seconds, cost);
    const double value = stretto_learner_mean(&l->learner, seconds);
    ended(c, l, seconds, cost[0] <= SHARE * cost[1] + ALLOWANCE);
    const double calls = (double)(l->learner.calls - l->counted);
    l->counted = l->learner.calls;
    lost = candidate != chosen && candidate && value > before ? (value - before) * n : 0;
    stretto_learned_write(false);
    stretto_learned_spent(lost + seconds_now() - begin, value * calls, &lost, &taken);
}

/* The MPI did not take the arguments of this rank: the others wait, and it calls again. Any other
 * error is of a call that is over on the others, too. */
static bool refused(int rc) {
    int kind = MPI_SUCCESS;
    if (rc == MPI_SUCCESS)
        return false;
    PMPI_Error_class(rc, &kind);
    return kind == MPI_ERR_BUFFER || kind == MPI_ERR_COUNT || kind == MPI_ERR_TYPE ||
           kind == MPI_ERR_OP || kind == MPI_ERR_ROOT || kind == MPI_ERR_COMM ||
           kind == MPI_ERR_ARG;
}

void stretto_learn_call_ended(stretto_comm *c, int rc) {
    stretto_learning *l = c->at_hand;
    c->at_hand = NULL;
    if (!l)
        return;
    if (refused(rc)) {
        l->learner.left++;
        return;
    }
    if (!l->learner.timed)
        return;
    if (l->measured < STRETTO_LEARN_BLOCK)
        l->timed[l->measured++].returned = seconds_now();
    if (l->learner.left <= 0)
        end_block(c, l);
}

void stretto_learn_go_on(stretto_comm *c, stretto_learning *list) {
    for (stretto_learning *l = c->learning = list; l; l = l->next)
        for (int i = 0; i < STRETTO_LEARN_CANDIDATES; i++)
            l->by[i].run = STRETTO_RUN_UNDECIDED; /* by what c has */
}

void stretto_learn_forget(stretto_comm *c) {
    while (c->learning) {
        stretto_learning *l = c->learning;
        c->learning = l->next;
        free(l);
    }
    c->at_hand = NULL;
}
