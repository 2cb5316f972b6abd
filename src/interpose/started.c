/* What takes a request and neither waits for it nor completes it: starting, asking, freeing. */
#include "interpose/mixture.h"

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

#ifndef STRETTO_ABI_OPENMPI /* which has not these of MPI-4.1 */
/* As the tests, but everything stays as it is. */
int MPI_Request_get_status_all(int count, const MPI_Request array_of_requests[], int *flag,
                               MPI_Status array_of_statuses[]) {
    if (PLAIN || count <= 0)
        return PMPI_Request_get_status_all(count, array_of_requests, flag, array_of_statuses);
    mixture m;
    mix(&m, count, array_of_requests);
    stretto_outstanding_progress();
    int rc = PMPI_Request_get_status_all(count, m.host, flag, array_of_statuses);
    *flag = *flag && all_done(&m);
    unmix(&m, NULL);
    return rc;
}

int MPI_Request_get_status_any(int count, const MPI_Request array_of_requests[], int *indx,
                               int *flag, MPI_Status *status) {
    if (PLAIN || count <= 0)
        return PMPI_Request_get_status_any(count, array_of_requests, indx, flag, status);
    mixture m;
    bool active;
    mix(&m, count, array_of_requests);
    stretto_outstanding_progress();
    int rc = PMPI_Request_get_status_any(count, m.host, indx, flag, status);
    const int mine = any_done(&m, &active);
    if (rc == MPI_SUCCESS && (!*flag || *indx == MPI_UNDEFINED)) {
        *flag = mine >= 0 || (*flag && !active);
        *indx = mine >= 0 ? mine : MPI_UNDEFINED;
        if (mine >= 0)
            empty(status);
    }
    unmix(&m, NULL);
    return rc;
}

int MPI_Request_get_status_some(int incount, const MPI_Request array_of_requests[], int *outcount,
                                int array_of_indices[], MPI_Status array_of_statuses[]) {
    if (PLAIN || incount <= 0)
        return PMPI_Request_get_status_some(incount, array_of_requests, outcount, array_of_indices,
                                            array_of_statuses);
    mixture m;
    bool active;
    mix(&m, incount, array_of_requests);
    stretto_outstanding_progress();
    int rc = PMPI_Request_get_status_some(incount, m.host, outcount, array_of_indices,
                                          array_of_statuses);
    any_done(&m, &active);
    if (rc == MPI_SUCCESS && active && *outcount == MPI_UNDEFINED)
        *outcount = 0;
    for (int i = 0; rc == MPI_SUCCESS && active && i < incount; i++) {
        if (!m.ours[i] || !stretto_operation_is(m.ours[i], STRETTO_DONE))
            continue;
        array_of_indices[*outcount] = i;
        if (array_of_statuses != MPI_STATUSES_IGNORE)
            empty(&array_of_statuses[*outcount]);
        ++*outcount;
    }
    unmix(&m, NULL);
    return rc;
}
#endif

/* A collective cannot be cancelled, nor freed unless it is persistent and inactive, nor started
 * unless so (MPI-4.1, 6.12 and 6.13). */
static int refuse(const stretto_operation *o) {
    return raise_on(stretto_operation_comm(o), MPI_ERR_REQUEST);
}

int MPI_Cancel(MPI_Request *request) {
    stretto_operation *o = PLAIN ? NULL : stretto_operation_of(*request);
    return o ? refuse(o) : PMPI_Cancel(request);
}

int MPI_Request_free(MPI_Request *request) {
    stretto_operation *o = PLAIN ? NULL : stretto_operation_of(*request);
    if (!o)
        return PMPI_Request_free(request);
    return stretto_operation_free(o, request) ? MPI_SUCCESS : refuse(o);
}

int MPI_Start(MPI_Request *request) {
    stretto_operation *o = PLAIN ? NULL : stretto_operation_of(*request);
    stretto_outstanding_progress();
    if (!o) {
        stretto_before_start(1);
        return PMPI_Start(request);
    }
    return stretto_operation_restart(o) ? MPI_SUCCESS : refuse(o);
}

/* The MPI's own ones together, in their order; nothing when one of ours cannot be started. */
int MPI_Startall(int count, MPI_Request array_of_requests[]) {
    mixture m;
    int rc = MPI_SUCCESS, hosts = 0;
    stretto_outstanding_progress();
    stretto_before_start(count);
    if (PLAIN || count <= 0)
        return PMPI_Startall(count, array_of_requests);
    mix(&m, count, array_of_requests);
    for (int i = 0; i < count && rc == MPI_SUCCESS; i++)
        if (!m.ours[i])
            m.host[hosts++] = array_of_requests[i];
        else if (!stretto_operation_can_restart(m.ours[i]))
            rc = refuse(m.ours[i]);
    if (rc == MPI_SUCCESS && hosts) {
        rc = PMPI_Startall(hosts, m.host);
        for (int i = count; i-- > 0;) /* back to their places */
            m.host[i] = m.ours[i] ? MPI_REQUEST_NULL : m.host[--hosts];
        for (int i = 0; i < count; i++)
            if (!m.ours[i])
                array_of_requests[i] = m.host[i];
    }
    for (int i = 0; i < count && rc == MPI_SUCCESS; i++)
        if (m.ours[i] && !stretto_operation_restart(m.ours[i]))
            rc = refuse(m.ours[i]); /* the same one twice */
    unmix(&m, NULL);
    return rc;
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
