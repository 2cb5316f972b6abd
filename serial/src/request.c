/* Requests: all but receives without a message and unmatched synchronous sends are over when they
 * are made. Waiting for one of those would never end, so it is an error. */
#include "internal.h"

#include <stdlib.h>

static serial_table requests = {.size = sizeof(serial_request), .first = 1};

serial_request *serial_request_new(MPI_Request *handle) {
    return serial_add(&requests, handle);
}

serial_request *serial_request_at(MPI_Request handle) {
    return serial_at(&requests, handle);
}

/* Without anybody asking for its status. */
static int let_go(MPI_Request handle) {
    const serial_request *r = serial_request_at(handle);
    int rc = r->free_extra && r->active ? r->free_extra(r->extra) : MPI_SUCCESS;
    serial_request_drop(handle);
    return rc;
}

void serial_request_drop(MPI_Request handle) {
    const serial_request *r = serial_request_at(handle);
    if (r && r->type)
        serial_type_leave(r->type);
    serial_drop(&requests, handle);
}

void serial_request_over(MPI_Request handle) {
    serial_request *r = serial_request_at(handle);
    if (!r)
        return;
    r->done = true;
    if (r->freed)
        let_go(handle);
}

void serial_status(MPI_Status *status, int source, int tag, long long bytes) {
    if (status == MPI_STATUS_IGNORE)
        return;
    status->MPI_SOURCE = source;
    status->MPI_TAG = tag;
    status->stretto_cancelled = 0;
    status->stretto_bytes = bytes;
}

int serial_request_done(MPI_Request *handle, int rc) {
    if (rc != MPI_SUCCESS) {
        *handle = MPI_REQUEST_NULL;
        return rc;
    }
    serial_request *r = serial_request_new(handle);
    r->active = r->done = true;
    serial_status(&r->status, MPI_ANY_SOURCE, MPI_ANY_TAG, 0);
    return MPI_SUCCESS;
}

/* An empty status for what is null or inactive (MPI-3.1 section 3.7.3). */
static void empty(MPI_Status *status) {
    serial_status(status, MPI_ANY_SOURCE, MPI_ANY_TAG, 0);
    if (status != MPI_STATUS_IGNORE)
        status->MPI_ERROR = MPI_SUCCESS;
}

static bool is_over(MPI_Request handle) {
    const serial_request *r = serial_request_at(handle);
    return !r || !r->active || r->done;
}

/* Ends a request that is over: status out, handle back. Its error, which was raised before. */
static int end(MPI_Request *handle, MPI_Status *status) {
    serial_request *r = serial_request_at(*handle);
    if (!r || !r->active) {
        empty(status);
        return MPI_SUCCESS;
    }
    int rc = r->error;
    if (r->query) {
        MPI_Status own;
        empty(&own);
        rc = r->query(r->extra, &own);
        r->status = own;
    }
    if (status != MPI_STATUS_IGNORE) {
        int code = status->MPI_ERROR; /* single completions leave it alone */
        *status = r->status;
        status->MPI_ERROR = code;
    }
    if (r->free_extra) {
        int freed = r->free_extra(r->extra);
        rc = rc == MPI_SUCCESS ? freed : rc;
    }
    if (r->persistent) {
        r->active = false;
        return rc;
    }
    serial_request_drop(*handle);
    *handle = MPI_REQUEST_NULL;
    return rc;
}

static int for_ever(const char *function, MPI_Request handle) {
    const serial_request *r = serial_request_at(handle);
    return serial_error(r->comm, MPI_ERR_OTHER, function,
                        r->query ? "would wait for ever: nobody completes this generalised request"
                        : r->is_receive
                            ? "would wait for ever: no message with tag %d was sent on this "
                              "communicator, and there is no other process that could send one"
                            : "would wait for ever: no receive for tag %d was posted",
                        r->tag);
}

/* Handles that never were requests, or are no longer. */
static int check(const char *function, int n, const MPI_Request *handles) {
    if (n < 0)
        return serial_error(0, MPI_ERR_ARG, function, "the number of requests is %d", n);
    for (int i = 0; i < n; i++)
        if (handles[i] != MPI_REQUEST_NULL && !serial_request_at(handles[i]))
            return serial_error(0, MPI_ERR_REQUEST, function, "no valid request (handle %d)",
                                handles[i]);
    return MPI_SUCCESS;
}
#define CHECK_REQUESTS(n, handles, function)                                                       \
    do {                                                                                           \
        int rc_ = check(function, n, handles);                                                     \
        if (rc_ != MPI_SUCCESS)                                                                    \
            return rc_;                                                                            \
    } while (0)

int MPI_Wait(MPI_Request *request, MPI_Status *status) {
    CHECK_REQUESTS(1, request, "MPI_Wait");
    return is_over(*request) ? end(request, status) : for_ever("MPI_Wait", *request);
}

int MPI_Test(MPI_Request *request, int *flag, MPI_Status *status) {
    CHECK_REQUESTS(1, request, "MPI_Test");
    *flag = is_over(*request);
    return *flag ? end(request, status) : MPI_SUCCESS;
}

static MPI_Status *nth(MPI_Status *statuses, int i) {
    return statuses == MPI_STATUSES_IGNORE ? MPI_STATUS_IGNORE : statuses + i;
}

int MPI_Waitall(int n, MPI_Request *requests_, MPI_Status *statuses) {
    bool failed = false;
    CHECK_REQUESTS(n, requests_, "MPI_Waitall");
    for (int i = 0; i < n; i++)
        if (!is_over(requests_[i]))
            return for_ever("MPI_Waitall", requests_[i]);
    for (int i = 0; i < n; i++) {
        int rc = end(&requests_[i], nth(statuses, i));
        failed = failed || rc != MPI_SUCCESS;
        if (statuses != MPI_STATUSES_IGNORE)
            statuses[i].MPI_ERROR = rc;
    }
    return failed ? MPI_ERR_IN_STATUS : MPI_SUCCESS;
}

int MPI_Testall(int n, MPI_Request *requests_, int *flag, MPI_Status *statuses) {
    CHECK_REQUESTS(n, requests_, "MPI_Testall");
    *flag = 1;
    for (int i = 0; i < n; i++)
        *flag = *flag && is_over(requests_[i]);
    return *flag ? MPI_Waitall(n, requests_, statuses) : MPI_SUCCESS;
}

int MPI_Testany(int n, MPI_Request *requests_, int *index, int *flag, MPI_Status *status) {
    bool any = false;
    *flag = 1; /* for MPI_Waitany */
    CHECK_REQUESTS(n, requests_, "MPI_Testany");
    for (int i = 0; i < n; i++) {
        const serial_request *r = serial_request_at(requests_[i]);
        if (!r || !r->active)
            continue;
        any = true;
        if (!r->done)
            continue;
        *index = i;
        *flag = 1;
        return end(&requests_[i], status);
    }
    *index = MPI_UNDEFINED;
    *flag = !any;
    if (!any)
        empty(status);
    return MPI_SUCCESS;
}

static MPI_Request first_active(int n, const MPI_Request *requests_) {
    for (int i = 0; i < n; i++)
        if (!is_over(requests_[i]))
            return requests_[i];
    return MPI_REQUEST_NULL;
}

int MPI_Waitany(int n, MPI_Request *requests_, int *index, MPI_Status *status) {
    int flag, rc = MPI_Testany(n, requests_, index, &flag, status);
    return flag ? rc : for_ever("MPI_Waitany", first_active(n, requests_));
}

int MPI_Testsome(int n, MPI_Request *requests_, int *outcount, int *indices, MPI_Status *statuses) {
    bool any = false, failed = false;
    *outcount = MPI_UNDEFINED; /* for MPI_Waitsome */
    CHECK_REQUESTS(n, requests_, "MPI_Testsome");
    *outcount = 0;
    for (int i = 0; i < n; i++) {
        const serial_request *r = serial_request_at(requests_[i]);
        if (!r || !r->active)
            continue;
        any = true;
        if (!r->done)
            continue;
        int rc = end(&requests_[i], nth(statuses, *outcount));
        failed = failed || rc != MPI_SUCCESS;
        if (statuses != MPI_STATUSES_IGNORE)
            statuses[*outcount].MPI_ERROR = rc;
        indices[(*outcount)++] = i;
    }
    if (!any)
        *outcount = MPI_UNDEFINED;
    return failed ? MPI_ERR_IN_STATUS : MPI_SUCCESS;
}

int MPI_Waitsome(int n, MPI_Request *requests_, int *outcount, int *indices, MPI_Status *statuses) {
    int rc = MPI_Testsome(n, requests_, outcount, indices, statuses);
    return *outcount ? rc : for_ever("MPI_Waitsome", first_active(n, requests_));
}

int MPI_Request_free(MPI_Request *request) {
    serial_request *r = serial_request_at(*request);
    if (!r)
        return serial_error(0, MPI_ERR_REQUEST, "MPI_Request_free", "no valid request");
    int rc = MPI_SUCCESS;
    if (r->active && !r->done)
        r->freed = true;
    else
        rc = let_go(*request);
    *request = MPI_REQUEST_NULL;
    return rc;
}

int MPI_Request_get_status(MPI_Request request, int *flag, MPI_Status *status) {
    const serial_request *r = serial_request_at(request);
    CHECK_REQUESTS(1, &request, "MPI_Request_get_status");
    *flag = is_over(request);
    if (*flag && r && r->active && r->query) {
        MPI_Status own;
        empty(&own);
        int rc = r->query(r->extra, &own);
        if (status != MPI_STATUS_IGNORE)
            *status = own;
        return rc;
    }
    if (*flag && r && r->active && status != MPI_STATUS_IGNORE)
        *status = r->status;
    else if (*flag)
        empty(status);
    return MPI_SUCCESS;
}

int MPI_Start(MPI_Request *request) {
    return serial_start(*request, "MPI_Start");
}

int MPI_Startall(int n, MPI_Request *requests_) {
    int rc = MPI_SUCCESS;
    for (int i = 0; i < n && rc == MPI_SUCCESS; i++)
        rc = serial_start(requests_[i], "MPI_Startall");
    return rc;
}

int MPI_Grequest_start(MPI_Grequest_query_function *query, MPI_Grequest_free_function *free_extra,
                       MPI_Grequest_cancel_function *cancel, void *extra, MPI_Request *request) {
    serial_request *r = serial_request_new(request);
    r->active = true;
    r->query = query;
    r->free_extra = free_extra;
    r->cancel = cancel;
    r->extra = extra;
    return MPI_SUCCESS;
}

int MPI_Grequest_complete(MPI_Request request) {
    serial_request *r = serial_request_at(request);
    if (!r)
        return serial_error(0, MPI_ERR_REQUEST, "MPI_Grequest_complete", "no valid request");
    serial_request_over(request);
    return MPI_SUCCESS;
}

/* ---- status ---------------------------------------------------------------------------------- */

int MPI_Get_count(const MPI_Status *status, MPI_Datatype handle, int *count) {
    const serial_type *type = serial_type_at(handle);
    if (!type)
        return serial_error(0, MPI_ERR_TYPE, "MPI_Get_count", "no valid datatype");
    *count = type->size == 0                                 ? 0
             : status->stretto_bytes % (long long)type->size ? MPI_UNDEFINED
             : status->stretto_bytes / (long long)type->size > 0x7fffffff
                 ? MPI_UNDEFINED
                 : (int)(status->stretto_bytes / (long long)type->size);
    return MPI_SUCCESS;
}

/* Adds the elements of predefined types in the first `bytes` of the data of so many elements of a
 * type, in the order of its type map; false when one of them is cut. */
static bool count_elements(MPI_Datatype handle, long long bytes, long long *count) {
    const serial_type *type = serial_type_at(handle);
    const long long size = (long long)type->size;
    if (bytes == 0)
        return true;
    if (type->predefined) { /* pairs are of two */
        const bool pair = type->kind >= KIND_FLOAT_INT && type->kind <= KIND_2DOUBLE;
        const long long first =
            type->npieces == 2 ? (long long)type->pieces[0].bytes : size / 2; /* of a pair */
        *count += bytes / size * (pair ? 2 : 1) + (pair && bytes % size == first);
        return bytes % size == 0 || (pair && bytes % size == first);
    }
    if (type->combiner != MPI_COMBINER_STRUCT) /* made of one type, again and again */
        return count_elements(type->types[0], bytes, count);
    long long in_one = 0;
    for (int i = 0; bytes >= size && i < type->ntypes; i++)
        if (type->ints[1 + i] > 0)
            count_elements(type->types[i],
                           type->ints[1 + i] * (long long)serial_type_at(type->types[i])->size,
                           &in_one);
    *count += bytes / size * in_one;
    bytes %= size;
    for (int i = 0; bytes > 0; i++) {
        if (type->ints[1 + i] <= 0)
            continue;
        const long long room = type->ints[1 + i] * (long long)serial_type_at(type->types[i])->size,
                        part = bytes < room ? bytes : room;
        if (!count_elements(type->types[i], part, count))
            return false;
        bytes -= part;
    }
    return true;
}

int MPI_Get_elements_x(const MPI_Status *status, MPI_Datatype handle, MPI_Count *count) {
    const serial_type *type = serial_type_at(handle);
    long long n = 0;
    if (!type)
        return serial_error(0, MPI_ERR_TYPE, "MPI_Get_elements", "no valid datatype");
    *count = type->size == 0                                     ? 0
             : count_elements(handle, status->stretto_bytes, &n) ? n
                                                                 : MPI_UNDEFINED;
    return MPI_SUCCESS;
}

int MPI_Get_elements(const MPI_Status *status, MPI_Datatype type, int *count) {
    MPI_Count n;
    int rc = MPI_Get_elements_x(status, type, &n);
    *count = n > 0x7fffffff ? MPI_UNDEFINED : (int)n;
    return rc;
}

int MPI_Status_set_elements_x(MPI_Status *status, MPI_Datatype handle, MPI_Count count) {
    const serial_type *type = serial_type_at(handle);
    if (!type)
        return serial_error(0, MPI_ERR_TYPE, "MPI_Status_set_elements", "no valid datatype");
    status->stretto_bytes = (long long)type->size * count;
    return MPI_SUCCESS;
}

int MPI_Status_set_elements(MPI_Status *status, MPI_Datatype type, int count) {
    return MPI_Status_set_elements_x(status, type, count);
}

int MPI_Status_set_cancelled(MPI_Status *status, int flag) {
    status->stretto_cancelled = flag != 0;
    return MPI_SUCCESS;
}

int MPI_Test_cancelled(const MPI_Status *status, int *flag) {
    *flag = status->stretto_cancelled;
    return MPI_SUCCESS;
}
