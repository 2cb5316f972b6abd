/* Reading and searching tables; see table.h. */
#include "engine/table.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WORDS = 6 };

static int fail(stretto_table *table, char *error, size_t size, int line, const char *format, ...) {
    int n = line ? snprintf(error, size, "%s:%d: ", table->name, line)
                 : snprintf(error, size, "%s: ", table->name);
    if (n >= 0 && (size_t)n < size) {
        va_list args;
        va_start(args, format);
        vsnprintf(error + n, size - (size_t)n, format, args);
        va_end(args);
    }
    stretto_table_free(table);
    return -1;
}

/* "7" or "*" (0). -1 when neither. */
static int layout_number(const char *word) {
    if (strcmp(word, "*") == 0)
        return 0;
    char *end;
    errno = 0;
    long value = strtol(word, &end, 10);
    return (*end || end == word || errno || value < 1 || value > 1 << 24) ? -1 : (int)value;
}

/* "0-2047", "2048-inf" */
static int byte_range(const char *word, size_t *low, size_t *high) {
    char *end;
    errno = 0;
    if (*word < '0' || *word > '9')
        return -1;
    *low = strtoull(word, &end, 10);
    if (*end != '-' || errno)
        return -1;
    const char *rest = end + 1;
    if (strcmp(rest, "inf") == 0) {
        *high = SIZE_MAX;
        return 0;
    }
    if (*rest < '0' || *rest > '9')
        return -1;
    *high = strtoull(rest, &end, 10);
    return (*end || errno || *high < *low) ? -1 : 0;
}

static stretto_row *new_row(stretto_table *table, int where) {
    stretto_row *rows = realloc(table->rows, (size_t)(table->nrows + 1) * sizeof *rows);
    if (!rows)
        return NULL;
    table->rows = rows;
    memmove(rows + where + 1, rows + where, (size_t)(table->nrows - where) * sizeof *rows);
    table->nrows++;
    memset(rows + where, 0, sizeof *rows);
    return rows + where;
}

/* Splits line in place at blanks; the last word keeps the rest of the line. */
static int split(char *line, char *words[WORDS]) {
    int n = 0;
    while (n < WORDS) {
        line += strspn(line, " \t\r");
        if (!*line)
            break;
        words[n++] = line;
        if (n == WORDS)
            break;
        line += strcspn(line, " \t\r");
        if (*line)
            *line++ = '\0';
    }
    return n;
}

static int parse_row(stretto_table *table, char *words[WORDS], int n, int number, char *error,
                     size_t size) {
    if (n < WORDS)
        return fail(table, error, size, number,
                    "a row is 'row COLLECTIVE NODES PPN BYTES CHOICE [EVIDENCE]'");
    char *choice = words[5], *evidence = choice + strcspn(choice, " \t\r");
    if (*evidence)
        *evidence++ = '\0';
    stretto_collective collective = stretto_collective_parse(words[1]);
    if (collective == STRETTO_COLLECTIVES)
        return fail(table, error, size, number, "unknown collective '%s'", words[1]);
    int nodes = layout_number(words[2]), ppn = layout_number(words[3]);
    if (nodes < 0 || ppn < 0)
        return fail(table, error, size, number,
                    "nodes and ppn are numbers from 1, or '*': '%s' '%s'", words[2], words[3]);
    size_t low, high;
    if (byte_range(words[4], &low, &high))
        return fail(table, error, size, number, "bytes are written LOW-HIGH or LOW-inf: '%s'",
                    words[4]);
    stretto_choice parsed;
    char reason[400];
    if (stretto_choice_parse(collective, choice, &parsed, reason, sizeof reason))
        return fail(table, error, size, number, "%s", reason);
    stretto_row *row = new_row(table, table->nrows);
    if (!row)
        return fail(table, error, size, number, "out of memory");
    *row = (stretto_row){collective, nodes, ppn, low, high, parsed, number, evidence};
    return 0;
}

/* What stands between the first two quotation marks; the second one goes. */
static const char *quoted(char *words) {
    char *from = strchr(words, '"'), *to = from ? strchr(from + 1, '"') : NULL;
    if (!to)
        return "";
    *to = '\0';
    return from + 1;
}

int stretto_table_parse(stretto_table *table, const char *name, const char *text, char *error,
                        size_t error_size) {
    memset(table, 0, sizeof *table);
    snprintf(table->name, sizeof table->name, "%s", name);
    char *line = table->text = strdup(text);
    if (!line)
        return fail(table, error, error_size, 0, "out of memory");
    table->version = table->cpu = "";
    int number = 0, ended = 0;
    while (line && *line) {
        char *next = strchr(line, '\n');
        if (!next)
            break; /* a line that was cut off */
        *next++ = '\0';
        number++;
        char *words[WORDS] = {0};
        int n = split(line, words);
        if (number == 1) {
            if (n < 2 || strcmp(words[0], "stretto-table"))
                return fail(table, error, error_size, 1,
                            "not a Stretto table (its first line is 'stretto-table 1')");
            if (strcmp(words[1], "1"))
                return fail(table, error, error_size, 1,
                            "table version %s is not known to this Stretto (it knows 1); make it "
                            "again with 'stretto tune'",
                            words[1]);
        } else if (n == 0 || words[0][0] == '#') {
            /* nothing */
        } else if (ended) {
            return fail(table, error, error_size, number, "lines after 'end'");
        } else if (strcmp(words[0], "row") == 0) {
            if (parse_row(table, words, n, number, error, error_size))
                return -1;
        } else if (strcmp(words[0], "end") == 0) {
            if (n != 2 || atoi(words[1]) != table->nrows)
                return fail(table, error, error_size, number,
                            "the table ends with %s rows announced but %d found; it was cut or "
                            "edited",
                            n > 1 ? words[1] : "no", table->nrows);
            ended = 1;
        } else if (strcmp(words[0], "mpi") == 0 && n >= 2) {
            snprintf(table->mpi, sizeof table->mpi, "%s", words[1]);
            table->version = n > 2 ? words[2] : "";
        } else if (strcmp(words[0], "created") == 0) {
            table->cpu = n < WORDS ? "" : quoted(words[WORDS - 1]);
        } else if (strcmp(words[0], "layout")) {
            return fail(table, error, error_size, number, "unknown line '%s'", words[0]);
        }
        line = next;
    }
    if (!ended)
        return fail(table, error, error_size, number,
                    "the table is truncated (no 'end' line); make it again with 'stretto tune'");
    return 0;
}

int stretto_table_force(stretto_table *table, const char *choices, char *error, size_t error_size) {
    char *copy = strdup(choices), *save = NULL;
    int where = 0, result = -1;
    char reason[400];
    if (!copy) {
        snprintf(error, error_size, "out of memory");
        return -1;
    }
    /* blanks too: Open MPI's lists of variables cannot carry a semicolon to remote ranks */
    for (char *one = strtok_r(copy, "; ", &save); one; one = strtok_r(NULL, "; ", &save)) {
        char *equals = strchr(one, '=');
        if (equals)
            *equals = '\0';
        stretto_collective collective = stretto_collective_parse(one);
        if (!equals || collective == STRETTO_COLLECTIVES) {
            snprintf(error, error_size,
                     "'%s': forced choices are written collective=choice;collective=choice", one);
            goto out;
        }
        stretto_choice choice;
        if (stretto_choice_parse(collective, equals + 1, &choice, reason, sizeof reason)) {
            snprintf(error, error_size, "%s", reason);
            goto out;
        }
        if (!strncmp(equals + 1, "native:", 7)) {
            snprintf(error, error_size,
                     "'%s': the MPI's algorithms are set by 'stretto run --choice %s=%s'",
                     equals + 1, one, equals + 1);
            goto out;
        }
        stretto_row *row = new_row(table, where);
        if (!row) {
            snprintf(error, error_size, "out of memory");
            goto out;
        }
        where++;
        *row = (stretto_row){collective, 0, 0, 0, SIZE_MAX, choice, 0, NULL};
    }
    result = 0;
out:
    free(copy);
    return result;
}

void stretto_table_free(stretto_table *table) {
    free(table->rows);
    free(table->text);
    table->rows = NULL;
    table->text = NULL;
    table->nrows = 0;
}

static const stretto_row *find(const stretto_table *table, stretto_collective collective, int nodes,
                               int ppn, size_t low, size_t high) {
    const stretto_row *best = NULL;
    int best_exact = -1;
    for (int i = 0; i < table->nrows; i++) {
        const stretto_row *row = &table->rows[i];
        if (row->collective != collective || low < row->low || high > row->high)
            continue;
        if (row->line == 0)
            return row; /* forced choices stand in front */
        if ((row->nodes && row->nodes != nodes) || (row->ppn && row->ppn != ppn))
            continue;
        int exact = (row->nodes != 0) + (row->ppn != 0);
        if (exact > best_exact ||
            (exact == best_exact && row->high - row->low < best->high - best->low)) {
            best = row;
            best_exact = exact;
        }
    }
    return best;
}

const stretto_row *stretto_table_find(const stretto_table *table, stretto_collective collective,
                                      int nodes, int ppn, size_t bytes) {
    return find(table, collective, nodes, ppn, bytes, bytes);
}

const stretto_row *stretto_table_find_any_size(const stretto_table *table,
                                               stretto_collective collective, int nodes, int ppn) {
    return find(table, collective, nodes, ppn, 0, SIZE_MAX);
}

const char *stretto_row_origin(const stretto_row *row) {
    return row->line == STRETTO_LINE_LEARNED        ? "learned in this run"
           : row->line == STRETTO_LINE_REPRODUCIBLE ? "STRETTO_REPRODUCIBLE"
                                                    : "forced";
}
