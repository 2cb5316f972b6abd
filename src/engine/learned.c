/* What was learned: said at the end, and written into a table for the next run, on rank 0 of
 * MPI_COMM_WORLD alone, of the communicators that it was in. Output only.
 */
#include "engine/learned.h"
#include "engine/memory.h"
#include "engine/shadow.h"

#include <errno.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { WRITE_SECONDS = 30 };

static pthread_mutex_t keeping = PTHREAD_MUTEX_INITIALIZER; /* for all that follows */
static stretto_learned_list gone;                           /* of communicators that were freed */
static double total_lost, total_taken;
static time_t written; /* the last table */

/* Numbers have a point here, whatever locale the application has set. Returns what uselocale gets
 * afterwards. */
static locale_t with_points(void) {
    return uselocale(newlocale(LC_NUMERIC_MASK, "C", (locale_t)0)); /* no memory: glibc's own */
}

void stretto_learned_spent(double lost, double taken, double *all_lost, double *all_taken) {
    pthread_mutex_lock(&keeping);
    *all_lost = total_lost += lost;
    *all_taken = total_taken += taken;
    pthread_mutex_unlock(&keeping);
}

static stretto_learned *place_for(stretto_learned_list *rs, const stretto_learned *key) {
    for (int i = 0; i < rs->n; i++) {
        stretto_learned *r = &rs->all[i];
        if (r->collective == key->collective && r->nodes == key->nodes && r->ppn == key->ppn &&
            r->low == key->low)
            return r;
    }
    if (rs->n == rs->room) {
        const int room = rs->room ? 2 * rs->room : 16;
        stretto_learned *more = realloc(rs->all, (size_t)room * sizeof *more);
        if (!more)
            return NULL; /* it is not reported */
        rs->all = more;
        rs->room = room;
    }
    rs->all[rs->n] = (stretto_learned){.collective = key->collective,
                                       .nodes = key->nodes,
                                       .ppn = key->ppn,
                                       .low = key->low,
                                       .high = key->high,
                                       .open = true,
                                       .pairs = -1};
    return &rs->all[rs->n++];
}

static void name_candidates(const stretto_trial *t, char *text, size_t size) {
    char choice[256];
    size_t used = 0;
    *text = '\0';
    for (int i = 1; i < t->learner.ncandidates; i++) {
        stretto_choice_format(&t->rows[i].choice, choice, sizeof choice);
        if (used + strlen(choice) + 2 <= size)
            used += (size_t)snprintf(text + used, size - used, "%s%s", i > 1 ? ";" : "", choice);
    }
}

static void merge(stretto_learned_list *rs, const stretto_learned *one) {
    stretto_learned *r = place_for(rs, one);
    if (!r)
        return;
    const stretto_learned before = *r;
    /* a verdict says more than none, and more pairs more than few */
    if (r->open > one->open || (r->open == one->open && one->pairs > r->pairs))
        *r = *one;
    r->saved = before.saved + one->saved;
    r->spread = before.spread + one->spread; /* they see the same pauses of the machine */
    r->calls = before.calls + one->calls;
    r->chosen_calls = before.chosen_calls + one->chosen_calls;
    r->anew = before.anew + one->anew;
    r->other_order = before.other_order || one->other_order;
}

static void add(stretto_learned_list *rs, const stretto_learning *list) {
    for (const stretto_learning *l = list; l; l = l->next) {
        if (!l->trial)
            continue;
        const stretto_learner *learner = &l->trial->learner;
        const stretto_learned_gain g = stretto_learner_gain(learner);
        stretto_learned one = {
            .collective = l->collective,
            .nodes = l->nodes,
            .ppn = l->ppn,
            .low = l->low,
            .high = l->high,
            .choice = l->trial->rows[learner->chosen].choice,
            .open = !learner->chosen && !learner->native_won,
            .chosen = learner->chosen != 0,
            .other_order = stretto_collective_reduces(l->collective) && learner->ncandidates > 1 &&
                           l->nodes * l->ppn > 2, /* a + b is b + a */
            .pairs = learner->chosen ? g.pairs : learner->tested[0].n,
            .anew = learner->learned_anew,
            .native = g.pairs ? g.native : learner->reference,
            .time = g.chosen,
            .low_gain = g.low,
            .high_gain = g.high,
            .saved = g.saved,
            .spread = g.spread,
            .calls = (unsigned long long)(learner->calls + learner->length - learner->left),
            .chosen_calls = (unsigned long long)g.calls,
        };
        name_candidates(l->trial, one.tried, sizeof one.tried);
        merge(rs, &one);
    }
}

void stretto_learned_add(const stretto_comm *c) {
    if (stretto_the_world.rank || !c->learning)
        return;
    pthread_mutex_lock(&keeping);
    add(&gone, c->learning);
    pthread_mutex_unlock(&keeping);
}

static stretto_learned_list *collecting;

static void collect(const stretto_comm *c) {
    add(collecting, c->learning);
}

static void collect_left(const stretto_learning *list) {
    add(collecting, list);
}

/* What is known now, of living communicators too. With `keeping` held; free ->all. */
static stretto_learned_list all_now(void) {
    stretto_learned_list rs = {0};
    for (int i = 0; i < gone.n; i++)
        merge(&rs, &gone.all[i]);
    collecting = &rs;
    stretto_comms_each(collect);
    stretto_shadows_each(collect_left);
    return rs;
}

void stretto_learned_write(bool now) {
    if (stretto_the_world.rank || (!now && stretto_in_threads()))
        return;              /* others may be in the middle of a block */
    const int error = errno; /* the application's */
    const time_t t = time(NULL);
    pthread_mutex_lock(&keeping);
    if (!written)
        written = t;
    if (now || t - written >= WRITE_SECONDS) {
        const stretto_learned_list rs = all_now();
        const locale_t before = with_points();
        if (rs.n)
            stretto_learned_table_write(&rs);
        uselocale(before);
        free(rs.all);
        written = t;
    }
    pthread_mutex_unlock(&keeping);
    errno = error;
}

/* ---- the words ------------------------------------------------------------------------------- */

static void say_result(const stretto_learned *r) {
    char choice[256], sizes[64] = "";
    stretto_choice_format(&r->choice, choice, sizeof choice);
    if (r->low == r->high)
        snprintf(sizes, sizeof sizes, " of %zu byte%s", r->low, r->low == 1 ? "" : "s");
    else if (r->high != SIZE_MAX)
        snprintf(sizes, sizeof sizes, " of %zu to %zu bytes", r->low, r->high);
    const char *name = stretto_collective_name(r->collective);
    if (r->open)
        stretto_say("learned: %s%s on %d x %d: %llu calls after the first %d are too few for a "
                    "choice",
                    name, sizes, r->nodes, r->ppn, r->calls, stretto_config.learn_after);
    else if (!r->chosen && (r->saved < 0 || r->saved > 0))
        stretto_say("learned: %s%s on %d x %d: native again; a choice was given up (%.3g s saved "
                    "by it)",
                    name, sizes, r->nodes, r->ppn, r->saved);
    else if (!r->chosen)
        stretto_say("learned: %s%s on %d x %d: native is kept; no tried algorithm is faster", name,
                    sizes, r->nodes, r->ppn);
    else if (r->pairs < STRETTO_LEARN_FEWEST)
        stretto_say("learned: %s%s on %d x %d: %s, not yet compared with native", name, sizes,
                    r->nodes, r->ppn, choice);
    else
        stretto_say("learned: %s%s on %d x %d: %s, %.4g -> %.4g us (%.4g to %.4g us less), %llu "
                    "calls%s",
                    name, sizes, r->nodes, r->ppn, choice, 1e6 * r->native, 1e6 * r->time,
                    1e6 * r->low_gain, 1e6 * r->high_gain, r->chosen_calls,
                    r->anew ? "; another choice was best before" : "");
}

STRETTO_COLD void stretto_learned_end(void) {
    if (!stretto_config.learn || !stretto_the_world.active || stretto_the_world.rank)
        return;
    stretto_learned_write(true);
    pthread_mutex_lock(&keeping);
    const locale_t before = with_points();
    const stretto_learned_list rs = all_now();
    char interval[64] = "not measured: no choice was compared with native";
    double saved = 0, spread = 0;
    bool other_order = false;
    for (int i = 0; i < rs.n; i++) {
        say_result(&rs.all[i]);
        saved += rs.all[i].saved;
        spread += rs.all[i].spread;
        other_order |= rs.all[i].other_order;
    }
    const char *table = stretto_learned_table_name();
    if (saved < 0 || saved > 0 || spread > 0)
        snprintf(interval, sizeof interval, "%.3g to %.3g", saved - spread, saved + spread);
    if (rs.n == 0)
        stretto_say("nothing was learned: no size of a collective was called more than "
                    "%d times on a communicator that Stretto handles%s",
                    stretto_config.learn_after,
                    stretto_config.reproducible
                        ? "; reductions are not counted, as STRETTO_REPRODUCIBLE is set"
                        : "");
    else
        stretto_say("learned: %.3g s saved in this run (%s); exploring cost %.2g s%s%s", saved,
                    interval, total_lost, table ? "; table for the next run: " : "",
                    table ? table : "");
    if (other_order)
        stretto_say("learned: the order of the sums in reductions changed during the run "
                    "(STRETTO_REPRODUCIBLE=1 keeps one)");
    free(rs.all);
    uselocale(before);
    pthread_mutex_unlock(&keeping);
}
