/* The public API: choosing and asking, for programs that know of Stretto. */
#include "run/engine.h"

#include <stdio.h>
#include <string.h>

#include "stretto.h"

#define API __attribute__((visibility("default")))

/* Rank 0's word for all; both strings cut to what fits. */
static bool agree_on_words(MPI_Comm comm, char words[2][256]) {
    return PMPI_Bcast(words, 512, MPI_CHAR, 0, comm) == MPI_SUCCESS;
}

API int stretto_choose(MPI_Comm comm, const char *collective, const char *choice, char *error,
                       size_t error_size) {
    char words[2][256] = {{0}}, reason[400] = "";
    stretto_comm *c = NULL;
    stretto_row row = {.high = SIZE_MAX};
    if (!stretto_the_world.active) {
        snprintf(reason, sizeof reason,
                 "Stretto is not set up in this job (start it with STRETTO_API=1 or a table)");
        goto out;
    }
    c = stretto_comm_ready(comm);
    if (!c || c->status != STRETTO_COMM_READY) {
        snprintf(reason, sizeof reason, "this communicator stays with the MPI: %s",
                 c && c->why ? c->why : "no memory");
        goto out;
    }
    snprintf(words[0], sizeof words[0], "%s", collective ? collective : "");
    snprintf(words[1], sizeof words[1], "%s", choice ? choice : "");
    if (!agree_on_words(comm, words)) {
        snprintf(reason, sizeof reason, "the MPI failed");
        goto out;
    }
    row.collective = stretto_collective_parse(words[0]);
    if (row.collective == STRETTO_COLLECTIVES) {
        snprintf(reason, sizeof reason, "no such collective: '%s'", words[0]);
        goto out;
    }
    if (*words[1]) {
        if (stretto_choice_parse(row.collective, words[1], &row.choice, reason, sizeof reason))
            goto out;
        if (row.choice.kind != STRETTO_CHOICE_NATIVE)
            stretto_comm_shadow(c);
        const char *refused =
            stretto_choice_refused(c, row.collective, &row.choice, 1 << 20, false, true);
        if (refused) {
            snprintf(reason, sizeof reason, "%s", refused);
            goto out;
        }
    }
    c->coll[row.collective].forced = row;
    c->coll[row.collective].is_forced = *words[1] != 0;
    c->coll[row.collective].looked_at = true;
    for (int i = 0; c->coll[row.collective].decisions && i < STRETTO_DECISIONS; i++)
        c->coll[row.collective].decisions[i].run = STRETTO_RUN_UNDECIDED;
    c->coll[row.collective].told = 0;
out:
    if (error && error_size)
        snprintf(error, error_size, "%s", reason);
    return *reason ? -1 : 0;
}

/* NULL when the library does not know comm or the name. */
static stretto_comm *look_up(MPI_Comm comm, const char *name, stretto_collective *collective) {
    *collective = stretto_collective_parse(name ? name : "");
    if (!stretto_the_world.active || *collective == STRETTO_COLLECTIVES)
        return NULL;
    return stretto_comm_find(comm);
}

API int stretto_last(MPI_Comm comm, const char *collective, char *text, size_t size) {
    stretto_collective which;
    const stretto_comm *c = look_up(comm, collective, &which);
    if (!c)
        return -1;
    if (c->status == STRETTO_COMM_NATIVE) {
        snprintf(text, size, "native: %s", c->why);
        return 0;
    }
    const stretto_decision *d = c->coll ? c->coll[which].last : NULL;
    if (!d || d->run == STRETTO_RUN_UNDECIDED)
        return -1;
    char choice[256] = "native";
    if (d->run != STRETTO_RUN_NATIVE)
        stretto_choice_format(&d->row->choice, choice, sizeof choice);
    if (*d->why)
        snprintf(text, size, "%s: %s", choice, d->why);
    else if (!d->row)
        snprintf(text, size, "%s: no row in %s", choice,
                 *stretto_the_table.name ? stretto_the_table.name : "any table");
    else if (d->row->line < 0)
        snprintf(text, size, "%s: STRETTO_REPRODUCIBLE", choice);
    else if (d->row->line)
        snprintf(text, size, "%s: %s:%d", choice, stretto_the_table.name, d->row->line);
    else
        snprintf(text, size, "%s: forced", choice);
    return 0;
}

API int stretto_counters(MPI_Comm comm, const char *collective, unsigned long long *ours,
                         unsigned long long *native) {
    stretto_collective which;
    const stretto_comm *c = look_up(comm, collective, &which);
    if (!c)
        return -1;
    if (ours)
        *ours = c->coll ? c->coll[which].ours : 0;
    if (native)
        *native = c->coll ? c->coll[which].native : 0;
    return 0;
}

API const char *stretto_version(void) {
    return "0.1.0";
}
