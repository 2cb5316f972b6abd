/* Where a candidate runs whose settings are made inside the launch: on a communicator of its own.
 *
 * Open MPI looks at its variables when a communicator is made, MPICH at each call. So a candidate's
 * communicator is made with its settings in force, they are in force again during its calls, and
 * in between the variables have the values that they had: the other candidates, and the MPI's own
 * choice among them, never see them. All ranks change them at the same place in their sequence of
 * calls, so each call has the same settings everywhere. */
#include "bench/measuring.h"

#include <stdio.h>

/* The settings cannot be made or unmade where that went well before: there is no way on. */
static int broken(const char *why) {
    fprintf(stderr, "stretto-bench: %s\n", why);
    return MPI_ERR_OTHER;
}

int stretto_bench_place_open(stretto_bench_case_run *m, stretto_bench_candidate *c) {
    char why[256] = "";
    if (c->choice->nsettings == 0)
        return MPI_SUCCESS;
    bool any = false;
    bool failed = stretto_bench_settings_write(c->choice, c->detail, sizeof c->detail) != 0;
    if (!failed && stretto_bench_settings_restore(why, sizeof why) != 0)
        return broken(why);
    int rc = stretto_bench_control_any(failed, &any, m->bench->control);
    if (rc != MPI_SUCCESS)
        return rc;
    if (any) {
        if (!failed)
            snprintf(c->detail, sizeof c->detail, "another rank cannot make its settings");
        c->refused = true;
        c->active = false;
        return MPI_SUCCESS;
    }
    if (stretto_bench_settings_write(c->choice, why, sizeof why) != 0)
        return broken(why);
    rc = MPI_Comm_dup(m->bench->work, &c->comm);
    if (rc == MPI_SUCCESS)
        rc = MPI_Comm_set_errhandler(c->comm, MPI_ERRORS_RETURN);
    if (stretto_bench_settings_restore(why, sizeof why) != 0)
        return broken(why);
    return rc;
}

int stretto_bench_place_enter(stretto_bench_case_run *m, stretto_bench_candidate *c) {
    char why[256] = "";
    if (c->choice->nsettings == 0)
        return MPI_SUCCESS;
    if (stretto_bench_settings_write(c->choice, why, sizeof why) != 0)
        return broken(why);
    m->call.comm = c->comm;
    return MPI_SUCCESS;
}

int stretto_bench_place_leave(stretto_bench_case_run *m, stretto_bench_candidate *c) {
    char why[256] = "";
    m->call.comm = m->bench->work;
    if (c->choice->nsettings > 0 && stretto_bench_settings_restore(why, sizeof why) != 0)
        return broken(why);
    return MPI_SUCCESS;
}

void stretto_bench_place_close(stretto_bench_candidate *c) {
    if (c->comm != MPI_COMM_NULL)
        MPI_Comm_free(&c->comm);
}
