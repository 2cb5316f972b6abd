/* MPI_Wait, MPI_Test and all else that takes a request: ours and the MPI's own, mixed in one array
 * as well.
 *
 * The MPI is shown MPI_REQUEST_NULL in the places of ours, for which it fills in the empty status
 * that a collective has. While anything of ours is under way, waiting is testing in a loop that
 * goes on with it.
 */
#include "pmpi/guard.h"
#include "run/operation.h"

#include <stdlib.h>
#include <string.h>

/* The requests of a call: the MPI's own in `host`, ours in `ours`, NULL elsewhere. */
typedef struct {
    int n, mine; /* mine: how many are ours */
    MPI_Request *host;
    stretto_operation **ours;
    MPI_Request some_host[32];
    stretto_operation *some_ours[32];
} mixture;

static void mix(mixture *m, int n, const MPI_Request *requests) {
    m->n = n;
    m->mine = 0;
    m->host = m->some_host;
    m->ours = m->some_ours;
    if (n > 32) {
        m->host = malloc((size_t)n * sizeof *m->host);
        m->ours = malloc((size_t)n * sizeof *m->ours);
        if (!m->host || !m->ours)
            stretto_no_memory();
    }
    for (int i = 0; i < n; i++) {
        m->ours[i] = stretto_operation_of(requests[i]);
        m->host[i] = m->ours[i] ? MPI_REQUEST_NULL : requests[i];
        m->mine += m->ours[i] != NULL;
    }
}

/* Hands the application what the MPI made of its requests. */
static void unmix(mixture *m, MPI_Request *requests) {
    for (int i = 0; requests && i < m->n; i++)
        if (!m->ours[i])
            requests[i] = m->host[i];
    if (m->host != m->some_host) {
        free(m->host);
        free(m->ours);
    }
}

static bool all_done(const mixture *m) {
    for (int i = 0; i < m->n; i++)
        if (m->ours[i] && stretto_operation_is(m->ours[i], STRETTO_ACTIVE))
            return false;
    return true;
}

/* The first of ours that can be told of, or -1. */
static int any_done(const mixture *m, bool *active) {
    *active = false;
    for (int i = 0; i < m->n; i++)
        if (m->ours[i]) {
            *active |= !stretto_operation_is(m->ours[i], STRETTO_INACTIVE);
            if (stretto_operation_is(m->ours[i], STRETTO_DONE))
                return i;
        }
    return -1;
}

static void empty(MPI_Status *status) {
    MPI_Request null = MPI_REQUEST_NULL;
    int flag;
    if (status != MPI_STATUS_IGNORE)
        PMPI_Test(&null, &flag, status);
}

static int raise_on(MPI_Comm comm, int rc) {
    if (rc != MPI_SUCCESS)
        PMPI_Comm_call_errhandler(comm, rc);
    return rc;
}

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
    bool in_status = false;
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
            in_status = true;
            failed = comm;
        }
        if (statuses != MPI_STATUSES_IGNORE)
            statuses[i].MPI_ERROR = error;
    }
    if (!in_status || rc != MPI_SUCCESS)
        return rc;
    for (int i = 0; statuses != MPI_STATUSES_IGNORE && i < m->n; i++)
        if (!m->ours[i])
            statuses[i].MPI_ERROR = MPI_SUCCESS;
    return raise_on(failed, MPI_ERR_IN_STATUS);
}

#define PLAIN STRETTO_LIKELY(!stretto_requests_live)

int MPI_Wait(MPI_Request *request, MPI_Status *status) {
    if (PLAIN)
        return PMPI_Wait(request, status);
    stretto_operation *o = stretto_operation_of(*request);
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
    if (PLAIN || count <= 0)
        return PMPI_Waitall(count, array_of_requests, array_of_statuses);
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
    if (PLAIN || count <= 0)
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
    if (PLAIN || incount <= 0)
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

int MPI_Request_get_status(MPI_Request request, int *flag, MPI_Status *status) {
    if (PLAIN)
        return PMPI_Request_get_status(request, flag, status);
    stretto_outstanding_progress();
    stretto_operation *o = stretto_operation_of(request);
    if (!o)
        return PMPI_Request_get_status(request, flag, status);
    *flag = !stretto_operation_is(o, STRETTO_ACTIVE);
    if (*flag)
        empty(status);
    else
        stretto_drive_mpi();
    return MPI_SUCCESS;
}

/* A nonblocking collective can be neither cancelled nor freed (MPI-4.1, 6.12). */
static int refuse(const stretto_operation *o) {
    return raise_on(stretto_operation_comm(o), MPI_ERR_REQUEST);
}

int MPI_Cancel(MPI_Request *request) {
    stretto_operation *o = PLAIN ? NULL : stretto_operation_of(*request);
    return o ? refuse(o) : PMPI_Cancel(request);
}

int MPI_Request_free(MPI_Request *request) {
    stretto_operation *o = PLAIN ? NULL : stretto_operation_of(*request);
    return o ? refuse(o) : PMPI_Request_free(request);
}

/* Only persistent ones can be started, and those are all the MPI's. */
int MPI_Start(MPI_Request *request) {
    stretto_operation *o = PLAIN ? NULL : stretto_operation_of(*request);
    stretto_outstanding_progress();
    return o ? refuse(o) : PMPI_Start(request);
}

int MPI_Startall(int count, MPI_Request array_of_requests[]) {
    for (int i = 0; !PLAIN && i < count; i++)
        if (stretto_operation_of(array_of_requests[i]))
            return refuse(stretto_operation_of(array_of_requests[i]));
    stretto_outstanding_progress();
    return PMPI_Startall(count, array_of_requests);
}

/* Of MPICH's family the number is the handle; the standard ABI has the functions below. */
#ifdef STRETTO_ABI_OPENMPI
MPI_Fint MPI_Request_c2f(MPI_Request request) {
    stretto_operation *o = PLAIN ? NULL : stretto_operation_of(request);
    return o ? o->face[0] : PMPI_Request_c2f(request);
}

MPI_Request MPI_Request_f2c(MPI_Fint request) {
    stretto_operation *o = PLAIN ? NULL : stretto_operation_numbered(request);
    return o ? stretto_operation_handle(o) : PMPI_Request_f2c(request);
}
#endif
#ifdef STRETTO_ABI_MPI5
int MPI_Request_toint(MPI_Request request) {
    stretto_operation *o = PLAIN ? NULL : stretto_operation_of(request);
    return o ? o->face[0] : PMPI_Request_toint(request);
}

MPI_Request MPI_Request_fromint(int request) {
    stretto_operation *o = PLAIN ? NULL : stretto_operation_numbered(request);
    return o ? stretto_operation_handle(o) : PMPI_Request_fromint(request);
}
#endif
