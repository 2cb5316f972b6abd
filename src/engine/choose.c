/* The public API: choosing and asking, for programs that know of Stretto. */
#include "engine/engine.h"
#include "engine/operation.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stretto.h"

#define API __attribute__((visibility("default")))

int stretto_choice_agreed(stretto_comm *c, const char *collective, const char *choice,
                          stretto_row *row, char *reason, size_t size) {
    char words[2][256] = {{0}};
    *row = (stretto_row){.high = SIZE_MAX};
    snprintf(words[0], sizeof words[0], "%s", collective ? collective : "");
    snprintf(words[1], sizeof words[1], "%s", choice ? choice : "");
    stretto_outstanding_lend();
    int rc = PMPI_Bcast(words, sizeof words, MPI_CHAR, 0, c->comm);
    stretto_outstanding_return();
    if (rc != MPI_SUCCESS) {
        snprintf(reason, size, "the MPI failed");
        return -1;
    }
    const stretto_collective which = stretto_collective_parse(words[0]);
    row->collective = which;
    if (which == STRETTO_COLLECTIVES) {
        snprintf(reason, size, "no such collective: '%s'", words[0]);
        return -1;
    }
    if (!*words[1]) {
        row->choice.kind = STRETTO_CHOICE_NATIVE;
        row->line = -1; /* no choice */
        return 0;
    }
    if (stretto_choice_parse(which, words[1], &row->choice, reason, size))
        return -1;
    if (row->choice.kind != STRETTO_CHOICE_NATIVE)
        stretto_comm_shadow(c);
    const char *refused =
        stretto_choice_refused(c, which, &row->choice, 1 << 20, 1 << 20, false, true);
    if (refused)
        snprintf(reason, size, "%s", refused);
    return refused ? -1 : 0;
}

stretto_comm *stretto_comm_for_api(MPI_Comm comm, char *reason, size_t size) {
    if (!stretto_the_world.active) {
        snprintf(reason, size,
                 "Stretto is not set up in this job (start it with STRETTO_API=1 or a table)");
        return NULL;
    }
    stretto_comm *c = stretto_comm_ready(comm);
    if (c && stretto_outstanding_now())
        stretto_outstanding_drain(c);
    if (c && c->status == STRETTO_COMM_READY)
        return c;
    snprintf(reason, size, "this communicator stays with the MPI: %s",
             c && c->why ? c->why : "no memory");
    return NULL;
}

API int stretto_choose(MPI_Comm comm, const char *collective, const char *choice, char *error,
                       size_t error_size) {
    char reason[400] = "";
    stretto_row row;
    stretto_comm *c = stretto_comm_for_api(comm, reason, sizeof reason);
    if (c && stretto_choice_agreed(c, collective, choice, &row, reason, sizeof reason) == 0) {
        stretto_comm_calls *calls = &c->coll[row.collective];
        if (!calls->forced && !(calls->forced = malloc(sizeof row)))
            stretto_no_memory(); /* the others have it */
        calls->is_forced = row.line == 0;
        *calls->forced = row;
        calls->looked_at = true;
        for (int i = 0; calls->decisions && i < STRETTO_DECISIONS; i++)
            calls->decisions[i].run = STRETTO_RUN_UNDECIDED;
        calls->told = 0;
    }
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
    else if (d->row->line > 0)
        snprintf(text, size, "%s: %s:%d", choice, stretto_the_table.name, d->row->line);
    else
        snprintf(text, size, "%s: %s", choice, stretto_row_origin(d->row));
    const size_t used = size ? strlen(text) : 0;
    if (which == STRETTO_ALLTOALLV && stretto_exchange_was_known(c))
        snprintf(text + used, size - used, "; sizes of an earlier exchange");
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
