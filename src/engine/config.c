/* Settings and table: read by rank 0 of MPI_COMM_WORLD, broadcast, and parsed alike by every rank.
 *
 * The environment is one process's own (a launcher may hand it to some ranks only), so that nothing
 * that steers a decision is ever read anywhere but here.
 */
#include "files/regular.h"
#include "engine/engine.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

stretto_settings stretto_config;
stretto_table stretto_the_table;

static const size_t TABLE_LIMIT = 16u << 20; /* bytes; a table has tens of rows */

void stretto_say(const char *format, ...) {
    char text[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    fprintf(stderr, "stretto: %s\n", text);
    fflush(stderr);
}

void stretto_no_memory(void) {
    stretto_say(
        "out of memory on this rank, so the ranks cannot continue together; the job is ended");
    stretto_host_end_job();
}

static int number(const char *name, int fallback, int low, int high) {
    const char *text = getenv(name);
    if (!text || !*text)
        return fallback;
    char *end;
    errno = 0;
    long value = strtol(text, &end, 10);
    if (*end || errno || value < low || value > high) {
        stretto_say("%s=%s is not a number from %d to %d; using %d", name, text, low, high,
                    fallback);
        return fallback;
    }
    return (int)value;
}

static const char *const nonblocking_words[] = {"off", "calls", "thread", NULL};

/* Which of the words it is; the first when it is none. */
static int word(const char *name, const char *const words[]) {
    const char *text = getenv(name);
    if (!text || !*text)
        return 0;
    for (int i = 0; words[i]; i++)
        if (strcmp(text, words[i]) == 0)
            return i;
    stretto_say("%s=%s is none of off, calls, thread; using %s", name, text, words[0]);
    return 0;
}

bool stretto_config_wants_threads(void) {
    const char *text = getenv("STRETTO_NONBLOCKING"), *disabled = getenv("STRETTO_DISABLE");
    return text && (strcmp(text, "calls") == 0 || strcmp(text, "thread") == 0) &&
           !(disabled && strcmp(disabled, "1") == 0);
}

/* The table's text, or NULL after having said why. */
static char *read_file(const char *path) {
    const char *why = "";
    size_t size;
    char *text = stretto_read_regular(path, TABLE_LIMIT, &size, &why);
    if (!text)
        stretto_say("cannot read the table %s: %s; every call goes to the MPI", path, why);
    return text;
}

static void read_environment(void) {
    stretto_config = (stretto_settings){
        .disable = number("STRETTO_DISABLE", 0, 0, 1),
        .verbose = number("STRETTO_VERBOSE", 0, 0, 9),
        .after = number("STRETTO_AFTER", 3, 0, 1 << 30),
        .arena_mb = number("STRETTO_ARENA_MB", 1024, 1, 2047),
        .max_communicators = number("STRETTO_MAX_COMMUNICATORS", 256, 0, 1 << 20),
        .api = number("STRETTO_API", 0, 0, 1),
        .devices = number("STRETTO_DEVICES", 1, 0, 1),
        .xpmem = number("STRETTO_XPMEM", 1, 0, 1),
        .fake_ppn = number("STRETTO_FAKE_PPN", 0, 0, 1 << 20),
        .check_calls = number("STRETTO_CHECK_CALLS", 0, 0, 1),
        .check_seconds = number("STRETTO_CHECK_SECONDS", 120, 1, 1 << 20),
        .reproducible = number("STRETTO_REPRODUCIBLE", 0, 0, 1),
        .reorder = number("STRETTO_REORDER", 0, 0, 1),
        .domains = number("STRETTO_DOMAINS", 1, 0, 2),
        .fake_domains = number("STRETTO_FAKE_DOMAINS", 0, -(1 << 20), 1 << 20),
        .learn = number("STRETTO_LEARN", 0, 0, 1),
        .learn_after = number("STRETTO_LEARN_AFTER", 200, 1, 1 << 30),
        .learn_seconds = number("STRETTO_LEARN_SECONDS", 1, 0, 1 << 20),
        .learn_block = number("STRETTO_LEARN_BLOCK", 0, 0, 4),
        .nonblocking = word("STRETTO_NONBLOCKING", nonblocking_words),
    };
    const char *cpus = getenv("STRETTO_NONBLOCKING_CPU");
    if (cpus)
        snprintf(stretto_config.nonblocking_cpus, sizeof stretto_config.nonblocking_cpus, "%s",
                 cpus);
    if (stretto_config.learn) { /* shapes are learned from blocking calls alone */
        stretto_config.nonblocking = 0;
        if (!getenv("STRETTO_AFTER")) /* a communicator that is used seldom costs nothing */
            stretto_config.after = 50;
    }
    /* from the first call on, or the first ones would be evaluated otherwise */
    if (stretto_config.reproducible && stretto_config.after > 1)
        stretto_config.after = 1;
}

const char *stretto_host_family(void) {
    static const char *const names[][2] = {
        {"Open MPI", "openmpi"}, {"Intel(R) MPI", "intel"}, {"MPICH", "mpich"}};
    char version[8192] = ""; /* MPI_MAX_LIBRARY_VERSION_STRING of MPICH */
    int length;
    if (PMPI_Get_library_version(version, &length) == MPI_SUCCESS)
        for (size_t i = 0; i < sizeof names / sizeof *names; i++)
            if (strstr(version, names[i][0]))
                return names[i][1];
    return "";
}

/* On rank 0, which alone complains: whether the table can be used here. */
static bool usable(const char *path, const char *text) {
    char error[600];
    stretto_table table;
    if (stretto_table_parse(&table, path, text, error, sizeof error)) {
        stretto_say("%s; every call goes to the MPI", error);
        return false;
    }
    const char *host = stretto_host_family();
    bool same = !*table.mpi || !*host || strcmp(table.mpi, host) == 0;
    if (!same)
        stretto_say("%s: made for the MPI '%s', but this is '%s', whose native algorithms differ; "
                    "every call goes to the MPI. Make a table with 'stretto tune' under this MPI",
                    path, table.mpi, host);
    stretto_table_free(&table);
    return same;
}

/* Hands text from rank 0 to all; each gets its own copy. NULL stays NULL. */
static int broadcast_text(char **text) {
    unsigned long long length = *text ? strlen(*text) + 1 : 0;
    int rc = PMPI_Bcast(&length, 1, MPI_UNSIGNED_LONG_LONG, 0, MPI_COMM_WORLD);
    if (rc != MPI_SUCCESS || length == 0)
        return rc;
    if (!*text)
        *text = malloc(length);
    /* A rank without memory here cannot agree to anything later either: let the MPI end the job. */
    if (!*text)
        stretto_no_memory();
    return PMPI_Bcast(*text, (int)length, MPI_BYTE, 0, MPI_COMM_WORLD);
}

int stretto_config_load(void) {
    char *table = NULL, *choices = NULL, *path = NULL, error[600];
    int rank, rc;
    if ((rc = PMPI_Comm_rank(MPI_COMM_WORLD, &rank)) != MPI_SUCCESS)
        return rc;
    if (rank == 0) {
        read_environment();
        const char *name = getenv("STRETTO_TABLE"), *forced = getenv("STRETTO_CHOICE");
        if (stretto_config.disable && stretto_config.verbose)
            stretto_say("STRETTO_DISABLE=1: every call goes to the MPI");
        if (!stretto_config.disable) {
            if (name && *name && (table = read_file(name)))
                path = strdup(name);
            if (forced && *forced)
                choices = strdup(forced);
            if (table && !usable(path, table)) {
                free(table);
                table = NULL;
            }
            stretto_table probe;
            memset(&probe, 0, sizeof probe);
            if (choices && stretto_table_force(&probe, choices, error, sizeof error)) {
                stretto_say("STRETTO_CHOICE: %s; it is ignored", error);
                free(choices);
                choices = NULL;
            }
            stretto_table_free(&probe);
        }
        stretto_config.has_table = table || choices;
    }
    rc = PMPI_Bcast(&stretto_config, (int)sizeof stretto_config, MPI_BYTE, 0, MPI_COMM_WORLD);
    if (rc == MPI_SUCCESS)
        rc = broadcast_text(&path);
    if (rc == MPI_SUCCESS)
        rc = broadcast_text(&table);
    if (rc == MPI_SUCCESS)
        rc = broadcast_text(&choices);
    /* rank 0 has found both good: they can fail here for want of memory only */
    bool well = true;
    if (rc == MPI_SUCCESS && table)
        well = !stretto_table_parse(&stretto_the_table, path ? path : "table", table, error,
                                    sizeof error);
    if (rc == MPI_SUCCESS && choices)
        well = !stretto_table_force(&stretto_the_table, choices, error, sizeof error) && well;
    if (!well)
        stretto_no_memory();
    free(path);
    free(table);
    free(choices);
    return rc;
}
