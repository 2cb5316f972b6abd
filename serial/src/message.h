/* What messages, persistent operations and probes share: the queue of what was sent and not yet
 * received. */
#ifndef STRETTO_SERIAL_MESSAGE_H
#define STRETTO_SERIAL_MESSAGE_H

#include "internal.h"

typedef struct serial_message {
    struct serial_message *next;
    MPI_Comm comm;
    int tag;
    size_t bytes;
    void *data;
    MPI_Request sender; /* of a synchronous send, which ends when the message is received */
} serial_message;

/* The arguments of a message, in words when they are wrong. */
int serial_check_message(const char *function, MPI_Comm comm, int peer, int tag, MPI_Datatype type,
                         long long count, bool receives);
/* The link to the first message that fits, or to the end of the queue (NULL there). */
serial_message **serial_look(MPI_Comm comm, int source, int tag);
/* Takes the message at that link out of the queue. */
serial_message *serial_take(serial_message **place);
/* The message into the buffer; raises truncation. The message is still the caller's. */
int serial_deliver(const char *function, const serial_message *m, void *buffer, long long count,
                   MPI_Datatype type, MPI_Comm comm, MPI_Status *status);
void serial_free_message(serial_message *m);
/* sender: a request to be completed on matching, or MPI_REQUEST_NULL. */
int serial_send(const char *function, const void *data, int count, MPI_Datatype type, int peer,
                int tag, MPI_Comm comm, MPI_Request sender);
/* Keeps the arguments in the request; it holds the datatype from now on. */
void serial_describe(serial_request *r, const void *buffer, int count, MPI_Datatype type, int peer,
                     int tag, MPI_Comm comm, bool receives);
/* Receives into the request: at once when the message is there, else when it comes. */
int serial_start_receive(const char *function, MPI_Request handle);
/* Raises that no message with that tag can ever come. */
int serial_no_message(MPI_Comm comm, const char *function, int tag);

#endif
