/* Requests of ours and the MPI's own mixed in one array: between requests.c and started.c. */
#ifndef STRETTO_MIXTURE_H
#define STRETTO_MIXTURE_H

#include "interpose/guard.h"
#include "engine/operation.h"

#include <stdlib.h>
#include <string.h>

/* No request is ours. */
#define PLAIN STRETTO_LIKELY(!stretto_requests_live)

/* The requests of a call: the MPI's own in `host`, ours in `ours`, NULL elsewhere. */
typedef struct {
    int n, mine; /* mine: how many are ours */
    MPI_Request *host;
    stretto_operation **ours;
    MPI_Request some_host[32];
    stretto_operation *some_ours[32];
    int *indices, *errors; /* [n] of MPI_Testsome, made when needed, with the next */
    MPI_Status *told;
} mixture;

static inline void mix(mixture *m, int n, const MPI_Request *requests) {
    m->n = n;
    m->mine = 0;
    m->host = m->some_host;
    m->ours = m->some_ours;
    m->indices = m->errors = NULL;
    m->told = NULL;
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
static inline void unmix(mixture *m, MPI_Request *requests) {
    for (int i = 0; requests && i < m->n; i++)
        if (!m->ours[i])
            requests[i] = m->host[i];
    if (m->host != m->some_host) {
        free(m->host);
        free(m->ours);
    }
    free(m->indices);
    free(m->errors);
    free(m->told);
}

/* The MPI may be left alone with them: none is ours, and nothing of ours waits for progress. What
 * is inactive for long must not slow every wait down. */
static inline bool hosts_alone(int n, const MPI_Request *requests) {
    if (stretto_under_way())
        return false;
    for (int i = 0; i < n; i++)
        if (stretto_operation_of(requests[i]))
            return false;
    return true;
}

static inline bool all_done(const mixture *m) {
    for (int i = 0; i < m->n; i++)
        if (m->ours[i] && stretto_operation_is(m->ours[i], STRETTO_ACTIVE))
            return false;
    return true;
}

/* The first of ours that can be told of, or -1. */
static inline int any_done(const mixture *m, bool *active) {
    *active = false;
    for (int i = 0; i < m->n; i++)
        if (m->ours[i]) {
            *active |= !stretto_operation_is(m->ours[i], STRETTO_INACTIVE);
            if (stretto_operation_is(m->ours[i], STRETTO_DONE))
                return i;
        }
    return -1;
}

/* Its error is set only where a call tells of several, and one failed (MPI-4.1, 3.2.5); MPICH sets
 * it here. */
static inline void empty(MPI_Status *status) {
    MPI_Request null = MPI_REQUEST_NULL;
    int flag;
    if (status == MPI_STATUS_IGNORE)
        return;
    const int before = status->MPI_ERROR;
    PMPI_Test(&null, &flag, status);
    status->MPI_ERROR = before;
}

static inline int raise_on(MPI_Comm comm, int rc) {
    if (rc != MPI_SUCCESS)
        PMPI_Comm_call_errhandler(comm, rc);
    return rc;
}

#endif
