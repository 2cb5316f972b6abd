/* MPI_Wait, MPI_Test and all else that takes a request: ours and the MPI's own, mixed in one array
 * as well.
 *
 * The MPI is shown MPI_REQUEST_NULL in the places of ours, for which it fills in the empty status
 * that a collective has. While anything of ours is under way, waiting is testing in a loop that
 * goes on with it.
 */
#include "interpose/mixture.h"

/* Completes one of ours that was told of alone. */
static int tell(stretto_operation *o, MPI_Request *request, MPI_Status *status) {
    MPI_Comm comm;
    empty(status);
    if (stretto_operation_is(o, STRETTO_INACTIVE))
        return MPI_SUCCESS;
    return raise_on(stretto_operation_comm(o), stretto_operation_complete(o, request, &comm));
}

/* Completes those of ours that are done, of many, with their errors in the statuses; rc: what the
 * MPI said of the others. */
static int tell_all(mixture *m, MPI_Request *requests, MPI_Status *statuses, int rc) {
    bool in_status = false, tells = statuses != MPI_STATUSES_IGNORE;
    MPI_Comm comm = MPI_COMM_SELF, failed = MPI_COMM_SELF;
    for (int i = 0; i < m->n; i++) {
        if (!m->ours[i])
            continue;
        int error = MPI_SUCCESS;
        if (stretto_operation_is(m->ours[i], STRETTO_ACTIVE))
            error = MPI_ERR_PENDING;
        else if (stretto_operation_is(m->ours[i], STRETTO_DONE))
            error = stretto_operation_complete(m->ours[i], &requests[i], &comm);
        if (error != MPI_SUCCESS && error != MPI_ERR_PENDING) {
            for (int k = 0; tells && !in_status && rc == MPI_SUCCESS && k < m->n; k++)
                statuses[k].MPI_ERROR = MPI_SUCCESS; /* the first that failed: all are told now */
            in_status = true;
            failed = comm;
        }
        if (tells && (in_status || rc != MPI_SUCCESS))
            statuses[i].MPI_ERROR = error;
    }
    if (!in_status || rc != MPI_SUCCESS)
        return rc;
    return raise_on(failed, MPI_ERR_IN_STATUS);
}

/* What is not done at once. o: the request when it is ours, else NULL. */
__attribute__((noinline)) static int wait_further(stretto_operation *o, MPI_Request *request,
                                                  MPI_Status *status) {
    if (o) {
        for (int i = 0; stretto_operation_is(o, STRETTO_ACTIVE); i++)
            if (i < 4)
                stretto_outstanding_progress();
            else
                stretto_outstanding_wait_step();
        return tell(o, request, status);
    }
    while (stretto_under_way()) {
        int flag, rc = PMPI_Test(request, &flag, status);
        if (rc != MPI_SUCCESS || flag)
            return rc;
        stretto_outstanding_wait_step();
    }
    return PMPI_Wait(request, status);
}

int MPI_Wait(MPI_Request *request, MPI_Status *status) {
    if (PLAIN)
        return PMPI_Wait(request, status);
    stretto_operation *o = stretto_operation_of(*request);
    if (!o)
        return wait_further(NULL, request, status);
    if (stretto_operation_is(o, STRETTO_ACTIVE))
        stretto_outstanding_poll(o);
    if (!stretto_operation_rest(o, request))
        return wait_further(o, request, status);
    if (status != MPI_STATUS_IGNORE)
        empty(status);
    return MPI_SUCCESS;
}

int MPI_Test(MPI_Request *request, int *flag, MPI_Status *status) {
    if (PLAIN)
        return PMPI_Test(request, flag, status);
    stretto_outstanding_progress();
    stretto_operation *o = stretto_operation_of(*request);
    if (!o)
        return PMPI_Test(request, flag, status);
    *flag = !stretto_operation_is(o, STRETTO_ACTIVE);
    if (*flag)
        return tell(o, request, status);
    stretto_drive_mpi();
    return MPI_SUCCESS;
}

/* Instead of PMPI_Testall in a wait, once the MPI has persistent collectives of its own: those of
 * MPICH 5.0.2 make it fail. True: nothing of the MPI's is active any more. *rc: MPI_ERR_IN_STATUS
 * when some failed; the errors are in m->errors then. */
static bool test_each(mixture *m, MPI_Status *statuses, int *rc) {
    int n = MPI_UNDEFINED;
    if (!m->indices) {
        m->indices = malloc((size_t)m->n * sizeof *m->indices);
        m->errors = calloc((size_t)m->n, sizeof *m->errors);
        m->told = malloc((size_t)m->n * sizeof *m->told);
        if (!m->indices || !m->errors || !m->told)
            stretto_no_memory();
        for (int i = 0; statuses != MPI_STATUSES_IGNORE && i < m->n; i++)
            empty(&statuses[i]);
    }
    const int now = PMPI_Testsome(m->n, m->host, &n, m->indices, m->told);
    if (now != MPI_SUCCESS)
        *rc = now;
    if (now != MPI_SUCCESS && now != MPI_ERR_IN_STATUS)
        return true;
    for (int k = 0; n != MPI_UNDEFINED && k < n; k++) {
        const int i = m->indices[k];
        if (now != MPI_SUCCESS)
            m->errors[i] = m->told[k].MPI_ERROR;
        if (statuses == MPI_STATUSES_IGNORE)
            continue;
        const int before = statuses[i].MPI_ERROR;
        statuses[i] = m->told[k];
        statuses[i].MPI_ERROR = before;
    }
    return n == MPI_UNDEFINED;
}

static int all_each(int n, MPI_Request requests[], MPI_Status statuses[]) {
    mixture m;
    int rc = MPI_SUCCESS;
    bool host_done = false;
    mix(&m, n, requests);
    while (!host_done || !all_done(&m)) {
        stretto_outstanding_wait_step();
        host_done = host_done || test_each(&m, statuses, &rc);
    }
    for (int i = 0; rc == MPI_ERR_IN_STATUS && statuses != MPI_STATUSES_IGNORE && i < n; i++)
        statuses[i].MPI_ERROR = m.errors[i];
    rc = tell_all(&m, requests, statuses, rc);
    unmix(&m, requests);
    return rc;
}

/* wait: until all are complete. */
static int all(int n, MPI_Request requests[], int *flag, MPI_Status statuses[], bool wait) {
    mixture m;
    int rc = MPI_SUCCESS, host_done = 0;
    mix(&m, n, requests);
    *flag = 0;
    do {
        stretto_outstanding_progress();
        /* what the MPI's own test completes is gone: not before ours are, unless we shall wait */
        if (!host_done && (wait || all_done(&m)))
            rc = PMPI_Testall(n, m.host, &host_done, statuses);
        else
            stretto_drive_mpi();
        *flag = host_done && all_done(&m);
        if (rc == MPI_SUCCESS && !*flag && wait && stretto_the_world.wait.yield)
            stretto_outstanding_wait_step();
    } while (rc == MPI_SUCCESS && !*flag && wait);
    if (rc != MPI_SUCCESS || *flag) {
        *flag = 1;
        rc = tell_all(&m, requests, statuses, rc);
    }
    unmix(&m, requests);
    return rc;
}

int MPI_Waitall(int count, MPI_Request array_of_requests[], MPI_Status array_of_statuses[]) {
    int flag;
    if (PLAIN || count <= 0 || hosts_alone(count, array_of_requests))
        return PMPI_Waitall(count, array_of_requests, array_of_statuses);
    if (stretto_native_persistent)
        return all_each(count, array_of_requests, array_of_statuses);
    return all(count, array_of_requests, &flag, array_of_statuses, true);
}

int MPI_Testall(int count, MPI_Request array_of_requests[], int *flag,
                MPI_Status array_of_statuses[]) {
    if (PLAIN || count <= 0)
        return PMPI_Testall(count, array_of_requests, flag, array_of_statuses);
    return all(count, array_of_requests, flag, array_of_statuses, false);
}

static int any(int n, MPI_Request requests[], int *indx, int *flag, MPI_Status *status, bool wait) {
    mixture m;
    int rc = MPI_SUCCESS;
    mix(&m, n, requests);
    *flag = 0;
    do {
        bool active;
        stretto_outstanding_progress();
        int i = any_done(&m, &active);
        if (i >= 0) {
            *indx = i;
            *flag = 1;
            rc = tell(m.ours[i], &requests[i], status);
            break;
        }
        rc = PMPI_Testany(n, m.host, indx, flag, status);
        if (*flag && *indx == MPI_UNDEFINED && active)
            *flag = 0; /* ours are left to wait for */
        if (rc == MPI_SUCCESS && !*flag && wait)
            stretto_outstanding_wait_step();
    } while (rc == MPI_SUCCESS && !*flag && wait);
    if (!*flag)
        *indx = MPI_UNDEFINED;
    unmix(&m, requests);
    return rc;
}

int MPI_Waitany(int count, MPI_Request array_of_requests[], int *indx, MPI_Status *status) {
    int flag;
    if (PLAIN || count <= 0 || hosts_alone(count, array_of_requests))
        return PMPI_Waitany(count, array_of_requests, indx, status);
    return any(count, array_of_requests, indx, &flag, status, true);
}

int MPI_Testany(int count, MPI_Request array_of_requests[], int *indx, int *flag,
                MPI_Status *status) {
    if (PLAIN || count <= 0)
        return PMPI_Testany(count, array_of_requests, indx, flag, status);
    return any(count, array_of_requests, indx, flag, status, false);
}

static int some(int n, MPI_Request requests[], int *outcount, int indices[], MPI_Status statuses[],
                bool wait) {
    mixture m;
    int rc;
    mix(&m, n, requests);
    do {
        bool active, failed = false, told = statuses != MPI_STATUSES_IGNORE;
        MPI_Comm comm = MPI_COMM_SELF, where = MPI_COMM_SELF;
        stretto_outstanding_progress();
        rc = PMPI_Testsome(n, m.host, outcount, indices, statuses);
        const bool in_status = rc == MPI_ERR_IN_STATUS;
        if (rc != MPI_SUCCESS && !in_status)
            break;
        any_done(&m, &active);
        if (*outcount == MPI_UNDEFINED && active)
            *outcount = 0;
        for (int i = 0; active && i < n; i++) {
            if (!m.ours[i] || !stretto_operation_is(m.ours[i], STRETTO_DONE))
                continue;
            const int at = (*outcount)++;
            indices[at] = i;
            if (told)
                empty(&statuses[at]);
            int error = stretto_operation_complete(m.ours[i], &requests[i], &comm);
            if (error != MPI_SUCCESS) {
                for (int k = 0; told && !failed && !in_status && k < at; k++)
                    statuses[k].MPI_ERROR = MPI_SUCCESS;
                failed = true;
                where = comm;
            }
            if (told && (failed || in_status))
                statuses[at].MPI_ERROR = error;
        }
        if (failed && !in_status)
            rc = raise_on(where, MPI_ERR_IN_STATUS);
        if (rc == MPI_SUCCESS && *outcount == 0 && wait)
            stretto_outstanding_wait_step();
    } while (rc == MPI_SUCCESS && *outcount == 0 && wait);
    unmix(&m, requests);
    return rc;
}

int MPI_Waitsome(int incount, MPI_Request array_of_requests[], int *outcount,
                 int array_of_indices[], MPI_Status array_of_statuses[]) {
    if (PLAIN || incount <= 0 || hosts_alone(incount, array_of_requests))
        return PMPI_Waitsome(incount, array_of_requests, outcount, array_of_indices,
                             array_of_statuses);
    return some(incount, array_of_requests, outcount, array_of_indices, array_of_statuses, true);
}

int MPI_Testsome(int incount, MPI_Request array_of_requests[], int *outcount,
                 int array_of_indices[], MPI_Status array_of_statuses[]) {
    if (PLAIN || incount <= 0)
        return PMPI_Testsome(incount, array_of_requests, outcount, array_of_indices,
                             array_of_statuses);
    return some(incount, array_of_requests, outcount, array_of_indices, array_of_statuses, false);
}
