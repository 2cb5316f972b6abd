/* Candidates are tried in the application's own calls, in blocks whose order and length all ranks
 * know (learn/learner.h). What is measured is agreed at the end of a block by one Allreduce inside
 * the application's call, which waits for nobody that the call itself did not wait for.
 */
#include "engine/learn.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    MOST_SHAPES = 10, /* of a communicator: 64 KiB */
    FEW_RANKS = 16,
    SMALL = 4096 /* bytes: below, a candidate's messages are what it costs */
};
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
    case STRETTO_REDUCE_SCATTER_BLOCK: return !stretto_config.reproducible;
    case STRETTO_ALLGATHER:
    case STRETTO_ALLTOALL:
    case STRETTO_BARRIER: return true;
    default: return false;
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
    l->high = SIZE_MAX;
    if (bytes) {
        l->low = (size_t)1 << (63 - __builtin_clzll(bytes));
        l->high = 2 * l->low - 1;
    }
    l->rows[0] = (stretto_row){.collective = collective,
                               .high = SIZE_MAX,
                               .choice = {.kind = STRETTO_CHOICE_NATIVE},
                               .line = STRETTO_LINE_LEARNED};
    stretto_learner_begin(&l->learner, stretto_config.learn_after, stretto_config.learn_block,
                          (uint64_t)collective << 48 ^ (uint64_t)bytes ^ (uint64_t)c->nranks << 32);
    l->next = c->learning;
    return c->learning = l;
}

void stretto_learn_take(stretto_comm *c, stretto_collective collective, stretto_decision *d) {
    if (stretto_collective_reduces(collective) && !stretto_is_predefined_op(d->op))
        return;
    stretto_learning *l = find(c, collective, d->bytes);
    if (!l)
        return;
    d->learning = l;
    if (l->learner.phase == STRETTO_LEARN_WAIT) { /* the table's, from the first call on */
        l->from_table = d->row && d->row->choice.kind != STRETTO_CHOICE_NATIVE;
        if (l->from_table) {
            l->rows[1] = *d->row;
            l->rows[1].line = STRETTO_LINE_LEARNED;
        }
        return;
    }
    d->row = &l->rows[l->learner.chosen];
}

/* ---- candidates ------------------------------------------------------------------------------ */

static bool is_there(const stretto_learning *l, int n, const stretto_choice *choice) {
    for (int i = 1; i < n; i++) {
        const stretto_choice *other = &l->rows[i].choice;
        if (other->kind == choice->kind && other->algorithm == choice->algorithm &&
            other->param == choice->param && other->lanes == choice->lanes)
            return true;
    }
    return false;
}

static int add(stretto_comm *c, stretto_learning *l, int n, const stretto_choice *choice,
               const stretto_decision *d) {
    const size_t wire = d->extent * (size_t)d->elements;
    if (n == STRETTO_LEARN_CANDIDATES || is_there(l, n, choice) ||
        stretto_choice_refused(c, l->collective, choice, d->bytes, wire, false, true))
        return n;
    l->rows[n] = l->rows[0];
    l->rows[n].choice = *choice;
    return n + 1;
}

/* Leaves out those of which some rank sends far more messages than by another: for short calls they
 * are what takes the time. Agreed. */
static int without_hopeless(stretto_comm *c, stretto_learning *l, int n, size_t bytes) {
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
    if (PMPI_Allreduce(sends, most, STRETTO_LEARN_CANDIDATES, MPI_INT, MPI_MAX, c->comm) !=
        MPI_SUCCESS)
        return n;
    int fewest = most[1];
    for (int i = 2; i < n; i++)
        fewest = most[i] < fewest ? most[i] : fewest;
    for (int i = 1; i < n; i++)
        if (most[i] <= 4 * fewest + 8 || (i == 1 && l->from_table))
            l->rows[kept++] = l->rows[i];
    return kept;
}

/* What is tried for calls such as d; the same on all ranks. */
static void choose_candidates(stretto_comm *c, stretto_learning *l, const stretto_decision *d) {
    int rows, n = l->from_table ? 2 : 1;
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
    n = without_hopeless(c, l, n, d->bytes);
    stretto_learner_candidates(&l->learner, n, l->from_table ? 1 : 0);
}

/* ---- calls ----------------------------------------------------------------------------------- */

/* The choice is another one: calls are decided anew. */
static void forget_decisions(stretto_comm *c, const stretto_learning *l) {
    stretto_comm_calls *calls = &c->coll[l->collective];
    for (int i = 0; calls->decisions && i < STRETTO_DECISIONS; i++)
        if (calls->decisions[i].learning == l)
            calls->decisions[i].run = STRETTO_RUN_UNDECIDED;
}

static void ended(stretto_comm *c, stretto_learning *l, double seconds, bool may) {
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

const stretto_decision *stretto_learn_pick(stretto_comm *c, const stretto_decision *d) {
    stretto_learning *l = d->learning;
    const stretto_collective collective = l->collective;
    const long long count = d->elements;
    const MPI_Datatype datatype = d->datatype;
    const MPI_Op op = d->op;
    if (!l->learner.timed) {
        if (STRETTO_LIKELY(l->learner.left-- > 0))
            return d;
        l->learner.left = 0;
        if (l->learner.phase == STRETTO_LEARN_WAIT)
            choose_candidates(c, l, d);
        ended(c, l, 0, true);
        if (!l->learner.timed) { /* no candidate, or native goes on */
            l->learner.left--;
            return stretto_decide(c, collective, count, datatype, op);
        }
        d = stretto_decide(c, collective, count, datatype, op);
    }
    l->learner.left--;
    c->timing = l;
    if (l->learner.now != l->learner.chosen)
        d = by_candidate(c, l, l->learner.now, d);
    l->begun = seconds_now();
    return d;
}

/* The block is through: the ranks agree on each call's shortest time, and on what all has cost. */
static void end_block(stretto_comm *c, stretto_learning *l) {
    enum { LOST = STRETTO_LEARN_BLOCK, TAKEN, VALUES };
    double mine[VALUES], all[VALUES];
    const double begin = seconds_now(), before = l->learner.reference;
    const int n = l->measured;
    l->measured = 0;
    memcpy(mine, l->seconds, (size_t)n * sizeof *mine);
    stretto_learned_spent(0, 0, &mine[n], &mine[n + 1]);
    mine[n] = -mine[n]; /* the most of all ranks */
    if (PMPI_Allreduce(mine, all, n + 2, MPI_DOUBLE, MPI_MIN,
                       c->has_shadow ? c->shadow : c->comm) != MPI_SUCCESS)
        memcpy(all, mine, sizeof all);
    const bool may = -all[n] <= SHARE * all[n + 1] + ALLOWANCE;
    const double value = stretto_learn_median(all, n);
    const int candidate = l->learner.now, chosen = l->learner.chosen;
    ended(c, l, value, may);
    const double calls = (double)(l->learner.calls - l->counted);
    l->counted = l->learner.calls;
    double lost = seconds_now() - begin, taken;
    if (candidate != chosen && candidate && value > before)
        lost += (value - before) * n;
    stretto_learned_spent(lost, value * calls, &lost, &taken);
    stretto_learned_write(false);
}

void stretto_learn_call_ended(stretto_comm *c) {
    stretto_learning *l = c->timing;
    c->timing = NULL;
    l->seconds[l->measured++] = seconds_now() - l->begun;
    if (l->learner.left == 0)
        end_block(c, l);
}

void stretto_learn_forget(stretto_comm *c) {
    while (c->learning) {
        stretto_learning *l = c->learning;
        c->learning = l->next;
        free(l);
    }
    c->timing = NULL;
}
