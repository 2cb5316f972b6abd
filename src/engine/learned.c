/* What was learned: said at the end, and written into a table for the next run, on rank 0 of
 * MPI_COMM_WORLD alone, of the communicators that it was in. Output only.
 */
#include "files/regular.h"
#include "engine/learn.h"
#include "engine/memory.h"
#include "engine/shadow.h"

#include "stretto.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Communicators of one layout together. */
typedef struct {
    stretto_collective collective;
    int nodes, ppn;
    size_t low, high;
    stretto_choice choice;          /* of the communicator with the most pairs */
    bool chosen, open, other_order; /* open: candidates are being tried */
    char tried[256];                /* the candidates */
    int pairs, anew; /* pairs: with native, since the choice was made or by which native won */
    double native, time, low_gain, high_gain; /* of that one */
    double saved, spread2;                    /* of all */
    unsigned long long calls, chosen_calls;
} result;

typedef struct {
    int n, room;
    result *all;
} results;

enum { WRITE_SECONDS = 30, MOST_EVIDENCE = 1000 /* bytes of a row's words */ };

static pthread_mutex_t keeping = PTHREAD_MUTEX_INITIALIZER; /* for all that follows */
static results gone;                                        /* of communicators that were freed */
static double total_lost, total_taken;
static time_t written;      /* the last table */
static char path[PATH_MAX]; /* of the table, from Init on */
static bool failed;         /* to write it, and that was said */

void stretto_learned_spent(double lost, double taken, double *all_lost, double *all_taken) {
    pthread_mutex_lock(&keeping);
    *all_lost = total_lost += lost;
    *all_taken = total_taken += taken;
    pthread_mutex_unlock(&keeping);
}

static result *place_for(results *rs, const result *key) {
    for (int i = 0; i < rs->n; i++) {
        result *r = &rs->all[i];
        if (r->collective == key->collective && r->nodes == key->nodes && r->ppn == key->ppn &&
            r->low == key->low)
            return r;
    }
    if (rs->n == rs->room) {
        const int room = rs->room ? 2 * rs->room : 16;
        result *more = realloc(rs->all, (size_t)room * sizeof *more);
        if (!more)
            return NULL; /* it is not reported */
        rs->all = more;
        rs->room = room;
    }
    rs->all[rs->n] = (result){.collective = key->collective,
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

static void merge(results *rs, const result *one) {
    result *r = place_for(rs, one);
    if (!r)
        return;
    const result before = *r;
    /* a verdict says more than none, and more pairs more than few */
    if (r->open > one->open || (r->open == one->open && one->pairs > r->pairs))
        *r = *one;
    r->saved = before.saved + one->saved;
    r->spread2 = before.spread2 + one->spread2;
    r->calls = before.calls + one->calls;
    r->chosen_calls = before.chosen_calls + one->chosen_calls;
    r->anew = before.anew + one->anew;
    r->other_order = before.other_order || one->other_order;
}

static void add(results *rs, const stretto_learning *list) {
    for (const stretto_learning *l = list; l; l = l->next) {
        if (!l->trial)
            continue;
        const stretto_learner *learner = &l->trial->learner;
        const stretto_learned_gain g = stretto_learner_gain(learner);
        result one = {
            .collective = l->collective,
            .nodes = l->nodes,
            .ppn = l->ppn,
            .low = l->low,
            .high = l->high,
            .choice = l->trial->rows[learner->chosen].choice,
            .open = !learner->chosen && learner->phase != STRETTO_LEARN_QUIET,
            .chosen = learner->chosen != 0,
            .other_order = stretto_collective_reduces(l->collective) && learner->ncandidates > 1,
            .pairs = learner->chosen ? g.pairs : learner->tested[0].n,
            .anew = learner->learned_anew,
            .native = g.pairs ? g.native : learner->reference,
            .time = g.chosen,
            .low_gain = g.low,
            .high_gain = g.high,
            .saved = g.saved,
            .spread2 = g.spread * g.spread,
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

/* ---- the table ------------------------------------------------------------------------------- */

STRETTO_COLD void stretto_learned_begin(void) {
    const char *name = getenv("STRETTO_LEARN_TABLE");
    char here[PATH_MAX / 2] = ".";
    if (!stretto_config.learn || stretto_the_world.rank)
        return;
    if (!name || !*name)
        name = "stretto-learned.table";
    if (*name != '/' && !getcwd(here, sizeof here))
        snprintf(here, sizeof here, ".");
    MPI_Comm parent = MPI_COMM_NULL;
    PMPI_Comm_get_parent(&parent); /* it has the same environment and writes its table */
    /* the application may go elsewhere */
    snprintf(path, sizeof path, "%s%s%.2000s%s", *name == '/' ? "" : here, *name == '/' ? "" : "/",
             name, parent != MPI_COMM_NULL ? ".spawned" : "");
}

/* As stretto.files.identity names it; an Arm processor by the numbers, which that replaces. */
static void processor(char *text, size_t size) {
    enum { NAME, BOARD, POWER, RISCV, FAMILY, MODEL, MAKER, PART, KEYS };
    static const char *const keys[] = {
        "model name", "Model", "cpu", "uarch", "cpu family", "model", "CPU implementer", "CPU part",
    };
    char line[512], found[KEYS][512] = {{0}}, *colon, *rest;
    FILE *file = fopen("/proc/cpuinfo", "re");
    /* where the name is not in the first paragraph, it may be in the last one */
    while (file && fgets(line, sizeof line, file) && (*line != '\n' || !*found[NAME])) {
        const size_t length = strcspn(line, "\t:");
        for (int i = 0; i < KEYS && (colon = strchr(line + length, ':')); i++) {
            if (*found[i] || length != strlen(keys[i]) || memcmp(line, keys[i], length) != 0)
                continue;
            size_t used = 0;
            for (char *w = colon; (w = strtok_r(w == colon ? w + 1 : NULL, " \t\n", &rest));)
                used += (size_t)sprintf(found[i] + used, "%s%s", used ? " " : "", w);
            break;
        }
    }
    if (file)
        fclose(file);
    snprintf(text, size, "unknown");
    if (*found[MAKER] && *found[PART])
        snprintf(text, size, "implementer %.32s part %.32s", found[MAKER], found[PART]);
    for (int i = RISCV; i >= NAME; i--)
        if (*found[i])
            snprintf(text, size, "%.160s", found[i]);
    const size_t used = strlen(text);
    if (*found[NAME] && *found[FAMILY] && !strpbrk(text, "0123456789")) /* a virtual machine */
        snprintf(text + used, size - used, " (family %.32s, model %.32s)", found[FAMILY],
                 *found[MODEL] ? found[MODEL] : "?");
    for (char *c = text; (c = strchr(c, '"'));)
        *c = '\'';
}

/* The first number of MPI_Get_library_version, "5.0.11"; "?" without one. */
static void version(char *text, size_t size) {
    char words[8192] = "";
    int length;
    snprintf(text, size, "?");
    if (PMPI_Get_library_version(words, &length) != MPI_SUCCESS)
        return;
    const char *at = strpbrk(words, "0123456789");
    if (at)
        snprintf(text, size, "%.*s", (int)strspn(at, "0123456789."), at);
}

/* What the times in a table hold for. */
typedef struct {
    char mpi[64], cpu[256];
} machine;

static void put_header(FILE *file, const machine *here) {
    char host[65] = "", when[32];
    const time_t now = time(NULL);
    struct tm utc;
    gethostname(host, sizeof host - 1);
    gmtime_r(&now, &utc);
    strftime(when, sizeof when, "%Y-%m-%dT%H:%M:%SZ", &utc);
    fprintf(file, "stretto-table 1\nmpi %s %s\nlayout nodes=* ppn=*\n", stretto_host_family(),
            here->mpi);
    fprintf(file, "created %s stretto %s host %s cpu \"%s\"\n", when, stretto_version(),
            *host ? host : "?", here->cpu);
    fprintf(file, "# collective nodes ppn bytes choice evidence\n");
}

static void put_row(FILE *file, const result *r) {
    char choice[256], high[32] = "inf";
    stretto_choice_format(&r->choice, choice, sizeof choice);
    if (r->high != SIZE_MAX)
        snprintf(high, sizeof high, "%zu", r->high);
    fprintf(file, "row %s %d %d %zu-%s %s source=learned calls=%llu",
            stretto_collective_name(r->collective), r->nodes, r->ppn, r->low, high, choice,
            r->calls);
    if (r->native > 0)
        fprintf(file, " native_us=%.4g", 1e6 * r->native);
    if (r->chosen && r->pairs >= STRETTO_LEARN_FEWEST)
        fprintf(file, " us=%.4g ratio=%.4g low=%.4g high=%.4g pairs=%d", 1e6 * r->time,
                r->time / r->native, r->high_gain < r->native ? 1 - r->high_gain / r->native : 0,
                1 - r->low_gain / r->native, r->pairs);
    if (r->saved > 0 || r->saved < 0)
        fprintf(file, " saved_s=%.4g saved_spread_s=%.2g", r->saved,
                stretto_learn_root(r->spread2));
    if (*r->tried)
        fprintf(file, " tried=%s", r->tried);
    if (r->other_order)
        fprintf(file, " order=changed");
    fputc('\n', file);
}

/* The next word of evidence from `at` on: its length, 0 at the end. */
static size_t next_word(const char **at) {
    *at += strspn(*at, " \t\r");
    return strcspn(*at, " \t\r");
}

/* Whether a word can stand in a row that this run did not make: not what only one run can say of
 * itself, and nothing that a reader of tables refuses. */
static bool is_kept(const char *word, size_t n) {
    static const char *const of_a_run[] = {"saved_s=", "saved_spread_s=", "order="};
    const char *equals = memchr(word, '=', n);
    if (!equals || equals == word || equals + 1 == word + n || n >= MOST_EVIDENCE)
        return false;
    for (size_t i = 0; i < sizeof of_a_run / sizeof *of_a_run; i++)
        if (strncmp(word, of_a_run[i], strlen(of_a_run[i])) == 0)
            return false;
    for (size_t i = 0; i < n; i++)
        if (word[i] <= ' ' || word[i] > '~' || word[i] == '"')
            return false;
    return true;
}

/* Whether a row of the table of before has evidence, and for this machine. */
static bool has_evidence(const stretto_row *row, const machine *here) {
    const char *at = row->evidence;
    if (strcmp(stretto_the_table.version, here->mpi) || strcmp(stretto_the_table.cpu, here->cpu))
        return false;
    for (size_t n; (n = next_word(&at)); at += n)
        if (is_kept(at, n))
            return true;
    return false;
}

/* What the table of before says of other calls, with its evidence: `stretto table merge` weighs it.
 * Times of another machine are none here. */
static void put_earlier(FILE *file, const stretto_row *row, const machine *here) {
    char choice[256], nodes[16] = "*", ppn[16] = "*", high[32] = "inf";
    const char *at = row->evidence;
    size_t room = MOST_EVIDENCE;
    stretto_choice_format(&row->choice, choice, sizeof choice);
    if (row->nodes)
        snprintf(nodes, sizeof nodes, "%d", row->nodes);
    if (row->ppn)
        snprintf(ppn, sizeof ppn, "%d", row->ppn);
    if (row->high != SIZE_MAX)
        snprintf(high, sizeof high, "%zu", row->high);
    fprintf(file, "row %s %s %s %zu-%s %s", stretto_collective_name(row->collective), nodes, ppn,
            row->low, high, choice);
    if (!has_evidence(row, here))
        fputs(" source=earlier", file);
    else
        for (size_t n; (n = next_word(&at)); at += n)
            if (n < room && is_kept(at, n)) {
                fprintf(file, " %.*s", (int)n, at);
                room -= n + 1;
            }
    fputc('\n', file);
}

static bool same_calls(const result *r, const stretto_row *row) {
    return row->line > 0 && r->collective == row->collective && r->nodes == row->nodes &&
           r->ppn == row->ppn && r->low == row->low && r->high == row->high;
}

/* Whether a row of the table of before stays for these calls: nothing was found, or its choice is
 * still used and this run was too short to test it again. */
static bool stays(const stretto_row *row, const result *r, const machine *here) {
    return r->open || (r->chosen && r->pairs < STRETTO_LEARN_FEWEST && has_evidence(row, here) &&
                       stretto_choice_same(&row->choice, &r->choice));
}

static bool is_replaced(const results *rs, const stretto_row *row, const machine *here) {
    for (int i = 0; i < rs->n; i++)
        if (same_calls(&rs->all[i], row) && !stays(row, &rs->all[i], here))
            return true;
    return false;
}

static bool is_written(const result *r, const machine *here) {
    for (int i = 0; i < stretto_the_table.nrows; i++)
        if (same_calls(r, &stretto_the_table.rows[i]) && stays(&stretto_the_table.rows[i], r, here))
            return false;
    return !r->open;
}

static void not_written(const char *why) {
    if (!failed)
        stretto_say("what was learned cannot be written to %s: %s", path, why);
    failed = true;
}

/* By rename: who is killed meanwhile leaves the table of before. */
static void put_table(const results *rs) {
    char other[PATH_MAX + 32];
    const char *why;
    snprintf(other, sizeof other, "%s.%ld.part", path, (long)getpid());
    const int fd = stretto_open_regular(other, O_WRONLY | O_CREAT | O_TRUNC, &why);
    FILE *file = fd < 0 ? NULL : fdopen(fd, "w");
    if (!file) {
        not_written(why);
        return;
    }
    machine here;
    version(here.mpi, sizeof here.mpi);
    processor(here.cpu, sizeof here.cpu);
    put_header(file, &here);
    int rows = 0;
    for (int i = 0; i < rs->n; i++)
        if (is_written(&rs->all[i], &here) && ++rows)
            put_row(file, &rs->all[i]);
    for (int i = 0; i < stretto_the_table.nrows; i++) {
        const stretto_row *row = &stretto_the_table.rows[i];
        if (row->line > 0 && !is_replaced(rs, row, &here) && ++rows)
            put_earlier(file, row, &here);
    }
    fprintf(file, "end %d\n", rows);
    const bool well = !ferror(file);
    if (fclose(file) || !well || rename(other, path)) {
        not_written(strerror(errno));
        unlink(other);
    } else {
        failed = false;
    }
}

static results *collecting;

static void collect(const stretto_comm *c) {
    add(collecting, c->learning);
}

static void collect_left(const stretto_learning *list) {
    add(collecting, list);
}

/* What is known now, of living communicators too. With `keeping` held; free ->all. */
static results all_now(void) {
    results rs = {0};
    for (int i = 0; i < gone.n; i++)
        merge(&rs, &gone.all[i]);
    collecting = &rs;
    stretto_comms_each(collect);
    stretto_shadows_each(collect_left);
    return rs;
}

void stretto_learned_write(bool now) {
    if (stretto_the_world.rank || (!now && stretto_in_threads()))
        return; /* others may be in the middle of a block */
    const time_t t = time(NULL);
    pthread_mutex_lock(&keeping);
    if (!written)
        written = t;
    if (now || t - written >= WRITE_SECONDS) {
        const results rs = all_now();
        if (rs.n)
            put_table(&rs);
        free(rs.all);
        written = t;
    }
    pthread_mutex_unlock(&keeping);
}

/* ---- the words ------------------------------------------------------------------------------- */

static void say_result(const result *r) {
    char choice[256], sizes[64] = "";
    stretto_choice_format(&r->choice, choice, sizeof choice);
    if (r->high != SIZE_MAX)
        snprintf(sizes, sizeof sizes, " of %zu to %zu bytes", r->low, r->high);
    const char *name = stretto_collective_name(r->collective);
    if (r->open)
        stretto_say("learned: %s%s on %d x %d: %llu calls are too few for a choice", name, sizes,
                    r->nodes, r->ppn, r->calls);
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
    const results rs = all_now();
    double saved = 0, spread2 = 0;
    bool other_order = false;
    for (int i = 0; i < rs.n; i++) {
        say_result(&rs.all[i]);
        saved += rs.all[i].saved;
        spread2 += rs.all[i].spread2;
        other_order |= rs.all[i].other_order;
    }
    const double spread = stretto_learn_root(spread2);
    if (rs.n == 0)
        stretto_say("nothing was learned: no size of a collective was called more than "
                    "%d times",
                    stretto_config.learn_after);
    else
        stretto_say("learned: %.3g s saved in this run (%.3g to %.3g); exploring cost %.2g s%s%s",
                    saved, saved - spread, saved + spread, total_lost,
                    failed ? "" : "; table for the next run: ", failed ? "" : path);
    if (other_order)
        stretto_say("learned: the order of the sums in reductions changed during the run "
                    "(STRETTO_REPRODUCIBLE=1 keeps one)");
    free(rs.all);
    pthread_mutex_unlock(&keeping);
}
