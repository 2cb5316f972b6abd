/* Messages to oneself. A send leaves a copy of its data in a queue, unless a receive waits for it
 * already; messages match in the order in which they were sent and posted (MPI-3.1 section 3.5). */
#include "message.h"

#include <stdlib.h>

typedef struct serial_posted {
    struct serial_posted *next;
    MPI_Request request;
} serial_posted;

static serial_message *queue, **queue_end = &queue;
static serial_posted *posted, **posted_end = &posted;

int serial_no_message(MPI_Comm comm, const char *function, int tag) {
    return serial_error(
        comm, MPI_ERR_OTHER, function,
        "would wait for ever: no message with tag %d was sent on this communicator, "
        "and there is no other process that could send one",
        tag);
}

static bool fits(int wanted_tag, int wanted_source, const serial_message *m) {
    return (wanted_tag == MPI_ANY_TAG || wanted_tag == m->tag) &&
           (wanted_source == MPI_ANY_SOURCE || wanted_source == 0);
}

int serial_check_message(const char *function, MPI_Comm comm, int peer, int tag, MPI_Datatype type,
                         long long count, bool receives) {
    if (!serial_comm_at(comm))
        return serial_error(0, MPI_ERR_COMM, function, "no valid communicator (handle %d)", comm);
    if (peer != 0 && peer != MPI_PROC_NULL && !(receives && peer == MPI_ANY_SOURCE))
        return serial_error(comm, MPI_ERR_RANK, function, "rank %d: the only rank is 0", peer);
    if (tag < 0 && peer != MPI_PROC_NULL && !(receives && tag == MPI_ANY_TAG))
        return serial_error(comm, MPI_ERR_TAG, function, "the tag is %d", tag);
    if (!serial_type_at(type) && peer != MPI_PROC_NULL)
        return serial_error(comm, MPI_ERR_TYPE, function, "no valid datatype (handle %d)", type);
    if (count < 0)
        return serial_error(comm, MPI_ERR_COUNT, function, "the count is %lld", count);
    return MPI_SUCCESS;
}

void serial_free_message(serial_message *m) {
    free(m->data);
    free(m);
}

int serial_deliver(const char *function, const serial_message *m, void *buffer, long long count,
                   MPI_Datatype handle, MPI_Comm comm, MPI_Status *status) {
    const serial_type *type = serial_type_at(handle);
    size_t room = type->size * (size_t)count;
    serial_unpack(type, m->data, m->bytes < room ? m->bytes : room, buffer, count);
    serial_status(status, 0, m->tag, (long long)(m->bytes < room ? m->bytes : room));
    serial_request_over(m->sender);
    if (m->bytes <= room)
        return MPI_SUCCESS;
    return serial_error(comm, MPI_ERR_TRUNCATE, function,
                        "%zu bytes were sent with tag %d, and there is room for %zu", m->bytes,
                        m->tag, room);
}

serial_message *serial_take(serial_message **place) {
    serial_message *m = *place;
    if (!(*place = m->next))
        queue_end = place;
    m->next = NULL;
    return m;
}

bool serial_comm_in_use(MPI_Comm comm) {
    for (const serial_message *m = queue; m; m = m->next)
        if (m->comm == comm)
            return true;
    for (const serial_posted *p = posted; p; p = p->next)
        if (serial_request_at(p->request)->comm == comm)
            return true;
    return false;
}

serial_message **serial_look(MPI_Comm comm, int source, int tag) {
    serial_message **m = &queue;
    while (*m && ((*m)->comm != comm || !fits(tag, source, *m)))
        m = &(*m)->next;
    return m;
}

int serial_send(const char *function, const void *data, int count, MPI_Datatype handle, int peer,
                int tag, MPI_Comm comm, MPI_Request sender) {
    int rc = serial_check_message(function, comm, peer, tag, handle, count, false);
    serial_request *waiting = serial_request_at(sender);
    if (rc != MPI_SUCCESS)
        return rc;
    if (peer == MPI_PROC_NULL) {
        if (waiting)
            waiting->done = true;
        return MPI_SUCCESS;
    }
    const serial_type *type = serial_type_at(handle);
    serial_message *m = serial_memory(sizeof *m);
    *m = (serial_message){.comm = comm,
                          .tag = tag,
                          .bytes = type->size * (size_t)count,
                          .sender = waiting ? sender : MPI_REQUEST_NULL};
    m->data = serial_memory(m->bytes);
    serial_pack(type, data, count, m->data);
    for (serial_posted **p = &posted; *p; p = &(*p)->next) {
        serial_posted *match = *p;
        serial_request *r = serial_request_at(match->request);
        if (r->comm != comm || !fits(r->tag, r->peer, m))
            continue;
        const MPI_Request waiting_receive = match->request;
        if (!(*p = match->next))
            posted_end = p;
        free(match);
        r->error = serial_deliver("MPI_Irecv", m, r->buffer, r->count, r->type, comm, &r->status);
        serial_request_over(waiting_receive);
        serial_free_message(m);
        return MPI_SUCCESS;
    }
    *queue_end = m;
    queue_end = &m->next;
    return MPI_SUCCESS;
}

/* ---- blocking -------------------------------------------------------------------------------- */

int MPI_Send(const void *data, int count, MPI_Datatype type, int peer, int tag, MPI_Comm comm) {
    return serial_send("MPI_Send", data, count, type, peer, tag, comm, MPI_REQUEST_NULL);
}

int MPI_Bsend(const void *data, int count, MPI_Datatype type, int peer, int tag, MPI_Comm comm) {
    return serial_send("MPI_Bsend", data, count, type, peer, tag, comm, MPI_REQUEST_NULL);
}

int MPI_Rsend(const void *data, int count, MPI_Datatype type, int peer, int tag, MPI_Comm comm) {
    return serial_send("MPI_Rsend", data, count, type, peer, tag, comm, MPI_REQUEST_NULL);
}

int MPI_Ssend(const void *data, int count, MPI_Datatype type, int peer, int tag, MPI_Comm comm) {
    MPI_Request request;
    serial_request *r = serial_request_new(&request);
    int rc = serial_send("MPI_Ssend", data, count, type, peer, tag, comm, request);
    bool received = r->done;
    for (serial_message *m = queue; m; m = m->next)
        if (m->sender == request)
            m->sender = MPI_REQUEST_NULL;
    serial_request_drop(request);
    if (rc == MPI_SUCCESS && !received)
        return serial_error(comm, MPI_ERR_OTHER, "MPI_Ssend",
                            "would wait for ever: no receive for tag %d was posted before", tag);
    return rc;
}

static int receive(const char *function, void *buffer, int count, MPI_Datatype type, int source,
                   int tag, MPI_Comm comm, MPI_Status *status) {
    int rc = serial_check_message(function, comm, source, tag, type, count, true);
    if (rc != MPI_SUCCESS)
        return rc;
    if (source == MPI_PROC_NULL) {
        SERIAL_PROC_NULL_STATUS(status);
        return MPI_SUCCESS;
    }
    serial_message **place = serial_look(comm, source, tag), *m;
    if (!*place)
        return serial_no_message(comm, function, tag);
    m = serial_take(place);
    rc = serial_deliver(function, m, buffer, count, type, comm, status);
    serial_free_message(m);
    return rc;
}

int MPI_Recv(void *buffer, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm,
             MPI_Status *status) {
    return receive("MPI_Recv", buffer, count, type, source, tag, comm, status);
}

int MPI_Sendrecv(const void *data, int sendcount, MPI_Datatype sendtype, int peer, int sendtag,
                 void *buffer, int recvcount, MPI_Datatype recvtype, int source, int recvtag,
                 MPI_Comm comm, MPI_Status *status) {
    int rc = serial_send("MPI_Sendrecv", data, sendcount, sendtype, peer, sendtag, comm,
                         MPI_REQUEST_NULL);
    return rc == MPI_SUCCESS
               ? receive("MPI_Sendrecv", buffer, recvcount, recvtype, source, recvtag, comm, status)
               : rc;
}

int MPI_Sendrecv_replace(void *buffer, int count, MPI_Datatype type, int peer, int sendtag,
                         int source, int recvtag, MPI_Comm comm, MPI_Status *status) {
    return MPI_Sendrecv(buffer, count, type, peer, sendtag, buffer, count, type, source, recvtag,
                        comm, status);
}

/* Every send is buffered: the program's buffer is only remembered, to be given back. */
static void *attached;
static int attached_size;

int MPI_Buffer_attach(void *buffer, int size) {
    attached = buffer;
    attached_size = size;
    return MPI_SUCCESS;
}

int MPI_Buffer_detach(void *buffer, int *size) {
    *(void **)buffer = attached;
    *size = attached_size;
    attached = NULL;
    attached_size = 0;
    return MPI_SUCCESS;
}

/* ---- nonblocking ----------------------------------------------------------------------------- */

static int isend(const char *function, const void *data, int count, MPI_Datatype type, int peer,
                 int tag, MPI_Comm comm, MPI_Request *request, bool synchronous) {
    serial_request *r = serial_request_new(request);
    r->active = true;
    serial_status(&r->status, MPI_ANY_SOURCE, MPI_ANY_TAG, 0);
    int rc = serial_send(function, data, count, type, peer, tag, comm,
                         synchronous ? *request : MPI_REQUEST_NULL);
    if (!synchronous)
        r->done = true;
    if (rc != MPI_SUCCESS) {
        serial_request_drop(*request);
        *request = MPI_REQUEST_NULL;
    }
    return rc;
}

int MPI_Isend(const void *data, int count, MPI_Datatype type, int peer, int tag, MPI_Comm comm,
              MPI_Request *request) {
    return isend("MPI_Isend", data, count, type, peer, tag, comm, request, false);
}

int MPI_Ibsend(const void *data, int count, MPI_Datatype type, int peer, int tag, MPI_Comm comm,
               MPI_Request *request) {
    return isend("MPI_Ibsend", data, count, type, peer, tag, comm, request, false);
}

int MPI_Irsend(const void *data, int count, MPI_Datatype type, int peer, int tag, MPI_Comm comm,
               MPI_Request *request) {
    return isend("MPI_Irsend", data, count, type, peer, tag, comm, request, false);
}

int MPI_Issend(const void *data, int count, MPI_Datatype type, int peer, int tag, MPI_Comm comm,
               MPI_Request *request) {
    return isend("MPI_Issend", data, count, type, peer, tag, comm, request, true);
}

int serial_start_receive(const char *function, MPI_Request handle) {
    serial_request *r = serial_request_at(handle);
    r->active = true;
    r->done = false;
    r->error = MPI_SUCCESS;
    if (r->peer == MPI_PROC_NULL) {
        SERIAL_PROC_NULL_STATUS(&r->status);
        r->done = true;
        return MPI_SUCCESS;
    }
    serial_message **place = serial_look(r->comm, r->peer, r->tag);
    if (*place) {
        serial_message *m = serial_take(place);
        r->error = serial_deliver(function, m, r->buffer, r->count, r->type, r->comm, &r->status);
        r->done = true;
        serial_free_message(m);
        return MPI_SUCCESS; /* its error is told when it is completed */
    }
    serial_posted *last = serial_memory(sizeof *last);
    *last = (serial_posted){NULL, handle};
    *posted_end = last;
    posted_end = &last->next;
    return MPI_SUCCESS;
}

void serial_describe(serial_request *r, const void *buffer, int count, MPI_Datatype type, int peer,
                     int tag, MPI_Comm comm, bool receives) {
    r->buffer = (void *)(uintptr_t)buffer;
    r->count = count;
    r->type = type;
    r->peer = peer;
    r->tag = tag;
    r->comm = comm;
    r->is_receive = receives;
    if (serial_type_at(type)) /* none is needed for MPI_PROC_NULL */
        serial_type_keep(serial_type_at(type));
}

int MPI_Irecv(void *buffer, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm,
              MPI_Request *request) {
    int rc = serial_check_message("MPI_Irecv", comm, source, tag, type, count, true);
    if (rc != MPI_SUCCESS)
        return rc;
    serial_request *r = serial_request_new(request);
    serial_describe(r, buffer, count, type, source, tag, comm, true);
    return serial_start_receive("MPI_Irecv", *request);
}

/* ---- cancelling ------------------------------------------------------------------------------ */

/* Takes a waiting receive back; false when it has its message. */
static bool withdraw(MPI_Request request) {
    for (serial_posted **p = &posted; *p; p = &(*p)->next)
        if ((*p)->request == request) {
            serial_posted *gone = *p;
            if (!(*p = gone->next))
                posted_end = p;
            free(gone);
            return true;
        }
    return false;
}

int MPI_Cancel(MPI_Request *request) {
    serial_request *r = serial_request_at(*request);
    if (!r)
        return serial_error(0, MPI_ERR_REQUEST, "MPI_Cancel", "no valid request");
    if (r->cancel)
        return r->cancel(r->extra, r->done);
    bool gone = withdraw(*request);
    for (serial_message **m = &queue; *m && !gone && !r->is_receive; m = &(*m)->next)
        if ((*m)->sender == *request) { /* a synchronous send that was not received */
            serial_free_message(serial_take(m));
            gone = true;
            break;
        }
    if (gone) {
        r->done = r->cancelled = true;
        serial_status(&r->status, MPI_ANY_SOURCE, MPI_ANY_TAG, 0);
        r->status.stretto_cancelled = 1;
    }
    return MPI_SUCCESS;
}
