/* The table of what was learned, on rank 0 of MPI_COMM_WORLD alone: its rows, and those of the
 * table of before that stay. */
#include "engine/learned.h"
#include "files/regular.h"

#include "stretto.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { MOST_EVIDENCE = 1000 /* bytes of a row's words */ };

static char path[PATH_MAX]; /* from Init on */
static bool failed;         /* to write it, and that was said */

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

static void put_row(FILE *file, const stretto_learned *r) {
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
        fprintf(file, " saved_s=%.4g saved_spread_s=%.2g", r->saved, r->spread);
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

static bool same_calls(const stretto_learned *r, const stretto_row *row) {
    return row->line > 0 && r->collective == row->collective && r->nodes == row->nodes &&
           r->ppn == row->ppn && r->low == row->low && r->high == row->high;
}

/* Whether a row of the table of before stays for these calls: nothing was found, or its choice is
 * still used and this run was too short to test it again. */
static bool stays(const stretto_row *row, const stretto_learned *r, const machine *here) {
    return r->open || (r->chosen && r->pairs < STRETTO_LEARN_FEWEST && has_evidence(row, here) &&
                       stretto_choice_same(&row->choice, &r->choice));
}

static bool is_replaced(const stretto_learned_list *rs, const stretto_row *row,
                        const machine *here) {
    for (int i = 0; i < rs->n; i++)
        if (same_calls(&rs->all[i], row) && !stays(row, &rs->all[i], here))
            return true;
    return false;
}

static bool is_written(const stretto_learned *r, const machine *here) {
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
void stretto_learned_table_write(const stretto_learned_list *rs) {
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

const char *stretto_learned_table_name(void) {
    return failed ? NULL : path;
}
