/* Persistent messages. */
#include "message.h"

static int persistent(const char *function, const void *data, int count, MPI_Datatype type,
                      int peer, int tag, MPI_Comm comm, MPI_Request *request, bool receives,
                      int mode) {
    int rc = serial_check_message(function, comm, peer, tag, type, count, receives);
    if (rc != MPI_SUCCESS)
        return rc;
    serial_request *r = serial_request_new(request);
    serial_describe(r, data, count, type, peer, tag, comm, receives);
    r->persistent = true;
    r->mode = mode;
    return MPI_SUCCESS;
}

int MPI_Send_init(const void *data, int count, MPI_Datatype type, int peer, int tag, MPI_Comm comm,
                  MPI_Request *request) {
    return persistent("MPI_Send_init", data, count, type, peer, tag, comm, request, false, 0);
}

int MPI_Bsend_init(const void *data, int count, MPI_Datatype type, int peer, int tag, MPI_Comm comm,
                   MPI_Request *request) {
    return persistent("MPI_Bsend_init", data, count, type, peer, tag, comm, request, false, 0);
}

int MPI_Rsend_init(const void *data, int count, MPI_Datatype type, int peer, int tag, MPI_Comm comm,
                   MPI_Request *request) {
    return persistent("MPI_Rsend_init", data, count, type, peer, tag, comm, request, false, 0);
}

int MPI_Ssend_init(const void *data, int count, MPI_Datatype type, int peer, int tag, MPI_Comm comm,
                   MPI_Request *request) {
    return persistent("MPI_Ssend_init", data, count, type, peer, tag, comm, request, false, 's');
}

int MPI_Recv_init(void *buffer, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm,
                  MPI_Request *request) {
    return persistent("MPI_Recv_init", buffer, count, type, source, tag, comm, request, true, 0);
}

int serial_start(MPI_Request handle, const char *function) {
    serial_request *r = serial_request_at(handle);
    if (!r || !r->persistent || r->active)
        return serial_error(0, MPI_ERR_REQUEST, function,
                            "the request is not persistent, or under way already");
    if (r->is_receive)
        return serial_start_receive(function, handle);
    r->active = true;
    r->done = false;
    serial_status(&r->status, MPI_ANY_SOURCE, MPI_ANY_TAG, 0);
    int rc = serial_send(function, r->buffer, (int)r->count, r->type, r->peer, r->tag, r->comm,
                         r->mode == 's' ? handle : MPI_REQUEST_NULL);
    if (r->mode != 's')
        r->done = true; /* serial_deliver() ends a synchronous one */
    return rc;
}
