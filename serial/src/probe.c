/* Probing: looking at a message before receiving it, and taking it out of the queue for a receive
 * of its own (matched probes). */
#include "message.h"

static serial_table matched = {.size = sizeof(serial_message *), .first = 2};

int MPI_Iprobe(int source, int tag, MPI_Comm comm, int *flag, MPI_Status *status) {
    int rc = serial_check_message("MPI_Iprobe", comm, source, tag, MPI_BYTE, 0, true);
    if (rc != MPI_SUCCESS)
        return rc;
    *flag = source == MPI_PROC_NULL;
    if (*flag) {
        SERIAL_PROC_NULL_STATUS(status);
        return MPI_SUCCESS;
    }
    const serial_message *m = *serial_look(comm, source, tag);
    *flag = m != NULL;
    if (m)
        serial_status(status, 0, m->tag, (long long)m->bytes);
    return MPI_SUCCESS;
}

int MPI_Probe(int source, int tag, MPI_Comm comm, MPI_Status *status) {
    int flag, rc = MPI_Iprobe(source, tag, comm, &flag, status);
    if (rc == MPI_SUCCESS && !flag)
        return serial_no_message(comm, "MPI_Probe", tag);
    return rc;
}

int MPI_Improbe(int source, int tag, MPI_Comm comm, int *flag, MPI_Message *message,
                MPI_Status *status) {
    int rc = MPI_Iprobe(source, tag, comm, flag, status);
    if (rc != MPI_SUCCESS || !*flag)
        return rc;
    *message = MPI_MESSAGE_NO_PROC;
    if (source == MPI_PROC_NULL)
        return MPI_SUCCESS;
    serial_message *m = serial_take(serial_look(comm, source, tag));
    *(serial_message **)serial_add(&matched, message) = m;
    return MPI_SUCCESS;
}

int MPI_Mprobe(int source, int tag, MPI_Comm comm, MPI_Message *message, MPI_Status *status) {
    int flag, rc = MPI_Improbe(source, tag, comm, &flag, message, status);
    if (rc == MPI_SUCCESS && !flag)
        return serial_no_message(comm, "MPI_Mprobe", tag);
    return rc;
}

int MPI_Mrecv(void *buffer, int count, MPI_Datatype type, MPI_Message *message,
              MPI_Status *status) {
    if (*message == MPI_MESSAGE_NO_PROC) {
        SERIAL_PROC_NULL_STATUS(status);
        *message = MPI_MESSAGE_NULL;
        return MPI_SUCCESS;
    }
    serial_message **m = serial_at(&matched, *message);
    if (!m || !serial_type_at(type) || count < 0)
        return serial_error(0,
                            !m          ? MPI_ERR_REQUEST
                            : count < 0 ? MPI_ERR_COUNT
                                        : MPI_ERR_TYPE,
                            "MPI_Mrecv",
                            !m          ? "no valid message"
                            : count < 0 ? "negative count"
                                        : "no valid datatype");
    int rc = serial_deliver("MPI_Mrecv", *m, buffer, count, type, (*m)->comm, status);
    serial_free_message(*m);
    serial_drop(&matched, *message);
    *message = MPI_MESSAGE_NULL;
    return rc;
}

int MPI_Imrecv(void *buffer, int count, MPI_Datatype type, MPI_Message *message,
               MPI_Request *request) {
    MPI_Status status;
    int rc = MPI_Mrecv(buffer, count, type, message, &status);
    serial_request *r = serial_request_new(request);
    r->active = r->done = r->is_receive = true;
    r->status = status;
    r->error = rc;
    return rc;
}
