/* What is tried for a shape: native, and ours that fit the layout, the cheapest by what the busiest
 * rank sends.
 */
#include "engine/learn.h"
#include "engine/outstanding.h"

#include <stdlib.h>

enum {
    FEW_RANKS = 16,
    MOST_FITTING = 32, /* native and all that fit, before the cheapest are kept */
    MESSAGE = 4096,    /* bytes that take about as long as a message costs */
    DEARER = 4         /* times the price of the cheapest, and MORE messages: never tried */
};
static const int64_t MORE = 8 * MESSAGE;

void stretto_learn_agree(const stretto_comm *c, const void *mine, void *all, int n,
                         MPI_Datatype type, MPI_Op op) {
    stretto_outstanding_lend();
    const int rc = PMPI_Allreduce(mine, all, n, type, op, c->has_shadow ? c->shadow : c->comm);
    stretto_outstanding_return();
    if (rc == MPI_SUCCESS)
        return;
    stretto_say("the MPI failed while ranks agreed on what they learned; the job is ended");
    stretto_host_end_job();
}

static bool is_there(const stretto_trial *t, int n, const stretto_choice *choice) {
    for (int i = 1; i < n; i++)
        if (stretto_choice_same(&t->rows[i].choice, choice))
            return true;
    return false;
}

/* Takes a choice into the list if calls such as d would be carried out by it. */
static int add(stretto_comm *c, stretto_learning *l, int n, const stretto_choice *choice,
               const stretto_decision *d) {
    stretto_trial *t = l->trial;
    stretto_decision by = {.run = STRETTO_RUN_UNDECIDED};
    if (n == MOST_FITTING || is_there(t, n, choice))
        return n;
    t->rows[n] = t->rows[0];
    t->rows[n].choice = *choice;
    stretto_decide_by(c, l->collective, &by, d->elements, d->datatype, d->op, &t->rows[n]);
    return by.run != STRETTO_RUN_NATIVE ? n + 1 : n;
}

/* What this rank sends, in bytes: messages cost something, too. Blocks of TMP count as others. */
static int64_t price_of(stretto_comm *c, stretto_collective collective,
                        const stretto_choice *choice, size_t bytes) {
    char error[400];
    int64_t price = 0;
    const stretto_cached_plan *p =
        stretto_plan_for(c, collective, choice, 0, bytes, false, true, error, sizeof error);
    if (!p)
        return 0; /* all of it in the node's memory: cannot be compared */
    const int blocks = stretto_collective_vector(collective) ? p->plan.vector_blocks : 1;
    for (int i = 0; i < p->plan.nactions; i++) {
        const stretto_action *a = &p->plan.actions[i];
        if (a->kind == STRETTO_SEND)
            price += MESSAGE + (int64_t)bytes * a->src.count / (blocks ? blocks : 1);
    }
    return price;
}

/* Keeps the cheapest of n rows, by the rank that sends most, and in any case the first `fixed`;
 * how many. Agreed. */
static int cheapest(stretto_comm *c, const stretto_learning *l, int n, int fixed, size_t bytes) {
    int64_t mine[MOST_FITTING] = {0}, price[MOST_FITTING] = {0};
    stretto_row *rows = l->trial->rows;
    if (!stretto_size_is_known(l->collective))
        return n < STRETTO_LEARN_CANDIDATES ? n : STRETTO_LEARN_CANDIDATES;
    for (int i = 1; i < n; i++)
        mine[i] = price_of(c, l->collective, &rows[i].choice, bytes);
    stretto_learn_agree(c, mine, price, n, MPI_INT64_T, MPI_MAX);
    for (int i = fixed + 1; i < n; i++) { /* sorts; what costs the same stays as it is */
        const stretto_row row = rows[i];
        const int64_t its = price[i];
        int j = i;
        for (; j > fixed && price[j - 1] > its; j--) {
            rows[j] = rows[j - 1];
            price[j] = price[j - 1];
        }
        rows[j] = row;
        price[j] = its;
    }
    int kept = fixed, least = fixed; /* least: the first that sends anything */
    while (least < n && !price[least])
        least++;
    while (kept < n && kept < STRETTO_LEARN_CANDIDATES &&
           (kept <= least || price[kept] <= DEARER * price[least] + MORE))
        kept++;
    return kept;
}

static void resize(stretto_trial *t, int rows) {
    stretto_row *all = realloc(t->rows, (size_t)rows * sizeof *all);
    if (!all)
        stretto_no_memory(); /* the other ranks learn */
    t->rows = all;
}

void stretto_learn_choose_candidates(stretto_comm *c, stretto_learning *l,
                                     const stretto_decision *d) {
    const stretto_row *row = stretto_row_for(c, l->collective, d->bytes);
    stretto_trial *t = l->trial;
    int rows, n = 1;
    resize(t, MOST_FITTING);
    if (row && row->choice.kind != STRETTO_CHOICE_NATIVE)
        n = add(c, l, n, &row->choice, d);
    const bool from_table = n == 2;
    const stretto_algorithm *all = stretto_algorithms(&rows);
    const bool composes = stretto_collective_composes(l->collective);
    if (c->one_node && !stretto_collective_neighbor(l->collective))
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
    n = cheapest(c, l, n, from_table ? 2 : 1, d->bytes);
    resize(t, n);
    if (!(t->by = calloc((size_t)n, sizeof *t->by)))
        stretto_no_memory(); /* the other ranks learn */
    stretto_learner_candidates(&t->learner, n, from_table ? 1 : 0);
}
