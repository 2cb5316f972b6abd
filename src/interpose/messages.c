/* Messages and probes that block: while collectives of ours are under way, the nonblocking form and
 * a loop of tests that goes on with them. Errors are those of the nonblocking form and of the test:
 * the same classes, raised by the MPI on the same communicator.
 *
 * Not here: MPI_Bsend, which is local, and MPI_Sendrecv_replace, which has no nonblocking form
 * before MPI-4 and is lent (functions.def). */
#include "abi/host.h"
#include "interpose/guard.h"
#include "engine/engine.h"

#include <sched.h>

/* Between two tests of the MPI: the MPI's own waits do not hog a core that others need, either. */
static void go_on(int *turns) {
    enum { TURNS = 20 };
    stretto_outstanding_progress();
    if (stretto_the_world.wait.yield && ++*turns > TURNS)
        sched_yield();
}

static int finish(MPI_Request *request, MPI_Status *status) {
    for (int done = 0, turns = 0; stretto_under_way(); go_on(&turns)) {
        int rc = PMPI_Test(request, &done, status);
        if (rc != MPI_SUCCESS || done)
            return rc;
    }
    return PMPI_Wait(request, status);
}

#define SEND(name, nonblocking, COUNT)                                                             \
    STRETTO_SLOW(name)                                                                             \
    (const void *buf, COUNT count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm) {      \
        MPI_Request request;                                                                       \
        int rc = PMPI_##nonblocking(buf, count, datatype, dest, tag, comm, &request);              \
        return rc == MPI_SUCCESS ? finish(&request, MPI_STATUS_IGNORE) : rc;                       \
    }                                                                                              \
    STRETTO_GUARDED(                                                                               \
        name,                                                                                      \
        (const void *buf, COUNT count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm),   \
        (buf, count, datatype, dest, tag, comm))

#define RECV(name, nonblocking, COUNT)                                                             \
    STRETTO_SLOW(name)                                                                             \
    (void *buf, COUNT count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm,            \
     MPI_Status *status) {                                                                         \
        MPI_Request request;                                                                       \
        int rc = PMPI_##nonblocking(buf, count, datatype, source, tag, comm, &request);            \
        return rc == MPI_SUCCESS ? finish(&request, status) : rc;                                  \
    }                                                                                              \
    STRETTO_GUARDED(name,                                                                          \
                    (void *buf, COUNT count, MPI_Datatype datatype, int source, int tag,           \
                     MPI_Comm comm, MPI_Status *status),                                           \
                    (buf, count, datatype, source, tag, comm, status))

#define MRECV(name, nonblocking, COUNT)                                                            \
    STRETTO_SLOW(name)                                                                             \
    (void *buf, COUNT count, MPI_Datatype datatype, MPI_Message *message, MPI_Status *status) {    \
        MPI_Request request;                                                                       \
        int rc = PMPI_##nonblocking(buf, count, datatype, message, &request);                      \
        return rc == MPI_SUCCESS ? finish(&request, status) : rc;                                  \
    }                                                                                              \
    STRETTO_GUARDED(                                                                               \
        name,                                                                                      \
        (void *buf, COUNT count, MPI_Datatype datatype, MPI_Message *message, MPI_Status *status), \
        (buf, count, datatype, message, status))

static int take_back(MPI_Request *request, int rc) {
    PMPI_Cancel(request);
    finish(request, MPI_STATUS_IGNORE);
    return rc;
}

/* The receive first, as it can be taken back when the send is refused. */
#define SENDRECV(name, isend, irecv, COUNT)                                                        \
    STRETTO_SLOW(name)                                                                             \
    (const void *sendbuf, COUNT sendcount, MPI_Datatype sendtype, int dest, int sendtag,           \
     void *recvbuf, COUNT recvcount, MPI_Datatype recvtype, int source, int recvtag,               \
     MPI_Comm comm, MPI_Status *status) {                                                          \
        MPI_Request send, receive;                                                                 \
        int rc = PMPI_##irecv(recvbuf, recvcount, recvtype, source, recvtag, comm, &receive);      \
        if (rc != MPI_SUCCESS)                                                                     \
            return rc;                                                                             \
        rc = PMPI_##isend(sendbuf, sendcount, sendtype, dest, sendtag, comm, &send);               \
        if (rc != MPI_SUCCESS)                                                                     \
            return take_back(&receive, rc);                                                        \
        rc = finish(&receive, status);                                                             \
        int sent = finish(&send, MPI_STATUS_IGNORE);                                               \
        return rc != MPI_SUCCESS ? rc : sent;                                                      \
    }                                                                                              \
    STRETTO_GUARDED(name,                                                                          \
                    (const void *sendbuf, COUNT sendcount, MPI_Datatype sendtype, int dest,        \
                     int sendtag, void *recvbuf, COUNT recvcount, MPI_Datatype recvtype,           \
                     int source, int recvtag, MPI_Comm comm, MPI_Status *status),                  \
                    (sendbuf, sendcount, sendtype, dest, sendtag, recvbuf, recvcount, recvtype,    \
                     source, recvtag, comm, status))

SEND(Send, Isend, int)
SEND(Ssend, Issend, int)
SEND(Rsend, Irsend, int)
RECV(Recv, Irecv, int)
MRECV(Mrecv, Imrecv, int)
SENDRECV(Sendrecv, Isend, Irecv, int)
#ifndef STRETTO_ABI_OPENMPI /* as in collectives.c */
SEND(Send_c, Isend_c, MPI_Count)
SEND(Ssend_c, Issend_c, MPI_Count)
SEND(Rsend_c, Irsend_c, MPI_Count)
RECV(Recv_c, Irecv_c, MPI_Count)
MRECV(Mrecv_c, Imrecv_c, MPI_Count)
SENDRECV(Sendrecv_c, Isend_c, Irecv_c, MPI_Count)
#endif

STRETTO_SLOW(Probe)(int source, int tag, MPI_Comm comm, MPI_Status *status) {
    for (int flag = 0, turns = 0; stretto_under_way(); go_on(&turns)) {
        int rc = PMPI_Iprobe(source, tag, comm, &flag, status);
        if (rc != MPI_SUCCESS || flag)
            return rc;
    }
    return PMPI_Probe(source, tag, comm, status);
}
STRETTO_GUARDED(Probe, (int source, int tag, MPI_Comm comm, MPI_Status *status),
                (source, tag, comm, status))

STRETTO_SLOW(Mprobe)(int source, int tag, MPI_Comm comm, MPI_Message *message, MPI_Status *status) {
    for (int flag = 0, turns = 0; stretto_under_way(); go_on(&turns)) {
        int rc = PMPI_Improbe(source, tag, comm, &flag, message, status);
        if (rc != MPI_SUCCESS || flag)
            return rc;
    }
    return PMPI_Mprobe(source, tag, comm, message, status);
}
STRETTO_GUARDED(Mprobe,
                (int source, int tag, MPI_Comm comm, MPI_Message *message, MPI_Status *status),
                (source, tag, comm, message, status))
