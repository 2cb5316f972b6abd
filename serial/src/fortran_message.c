/* Fortran: messages and requests. */
#include "fortran.h"

/* Indices count from 1; MPI_UNDEFINED stays. *n is set by the call whose result rc is. */
static int counted_from_1(int rc, const int *n, int *indices) {
    for (int i = 0; i < *n; i++)
        indices[i] += indices[i] == MPI_UNDEFINED ? 0 : 1;
    return rc;
}

/* ---- messages ---------------------------------------------------------------------------------
 */

FORTRAN(send, (const void *data, int *count, int *type, int *peer, int *tag, int *comm, int *ierr),
        MPI_Send(BUFFER(data), *count, *type, *peer, *tag, *comm))
FORTRAN(bsend, (const void *data, int *count, int *type, int *peer, int *tag, int *comm, int *ierr),
        MPI_Bsend(BUFFER(data), *count, *type, *peer, *tag, *comm))
FORTRAN(rsend, (const void *data, int *count, int *type, int *peer, int *tag, int *comm, int *ierr),
        MPI_Rsend(BUFFER(data), *count, *type, *peer, *tag, *comm))
FORTRAN(ssend, (const void *data, int *count, int *type, int *peer, int *tag, int *comm, int *ierr),
        MPI_Ssend(BUFFER(data), *count, *type, *peer, *tag, *comm))
FORTRAN(isend,
        (const void *data, int *count, int *type, int *peer, int *tag, int *comm, int *request,
         int *ierr),
        MPI_Isend(BUFFER(data), *count, *type, *peer, *tag, *comm, request))
FORTRAN(ibsend,
        (const void *data, int *count, int *type, int *peer, int *tag, int *comm, int *request,
         int *ierr),
        MPI_Ibsend(BUFFER(data), *count, *type, *peer, *tag, *comm, request))
FORTRAN(irsend,
        (const void *data, int *count, int *type, int *peer, int *tag, int *comm, int *request,
         int *ierr),
        MPI_Irsend(BUFFER(data), *count, *type, *peer, *tag, *comm, request))
FORTRAN(issend,
        (const void *data, int *count, int *type, int *peer, int *tag, int *comm, int *request,
         int *ierr),
        MPI_Issend(BUFFER(data), *count, *type, *peer, *tag, *comm, request))
FORTRAN(send_init,
        (const void *data, int *count, int *type, int *peer, int *tag, int *comm, int *request,
         int *ierr),
        MPI_Send_init(BUFFER(data), *count, *type, *peer, *tag, *comm, request))
FORTRAN(bsend_init,
        (const void *data, int *count, int *type, int *peer, int *tag, int *comm, int *request,
         int *ierr),
        MPI_Bsend_init(BUFFER(data), *count, *type, *peer, *tag, *comm, request))
FORTRAN(rsend_init,
        (const void *data, int *count, int *type, int *peer, int *tag, int *comm, int *request,
         int *ierr),
        MPI_Rsend_init(BUFFER(data), *count, *type, *peer, *tag, *comm, request))
FORTRAN(ssend_init,
        (const void *data, int *count, int *type, int *peer, int *tag, int *comm, int *request,
         int *ierr),
        MPI_Ssend_init(BUFFER(data), *count, *type, *peer, *tag, *comm, request))
FORTRAN(recv,
        (void *data, int *count, int *type, int *peer, int *tag, int *comm, int *status, int *ierr),
        MPI_Recv(BUFFER(data), *count, *type, *peer, *tag, *comm, STATUS(status)))
FORTRAN(irecv,
        (void *data, int *count, int *type, int *peer, int *tag, int *comm, int *request,
         int *ierr),
        MPI_Irecv(BUFFER(data), *count, *type, *peer, *tag, *comm, request))
FORTRAN(recv_init,
        (void *data, int *count, int *type, int *peer, int *tag, int *comm, int *request,
         int *ierr),
        MPI_Recv_init(BUFFER(data), *count, *type, *peer, *tag, *comm, request))
FORTRAN(sendrecv,
        (const void *data, int *n, int *in_type, int *peer, int *sendtag, void *out, int *m,
         int *out_type, int *source, int *recvtag, int *comm, int *status, int *ierr),
        MPI_Sendrecv(BUFFER(data), *n, *in_type, *peer, *sendtag, BUFFER(out), *m, *out_type,
                     *source, *recvtag, *comm, STATUS(status)))
FORTRAN(sendrecv_replace,
        (void *data, int *count, int *type, int *peer, int *sendtag, int *source, int *recvtag,
         int *comm, int *status, int *ierr),
        MPI_Sendrecv_replace(BUFFER(data), *count, *type, *peer, *sendtag, *source, *recvtag, *comm,
                             STATUS(status)))
FORTRAN(buffer_attach, (void *data, int *size, int *ierr), MPI_Buffer_attach(BUFFER(data), *size))
FORTRAN(buffer_detach, (void *data, int *size, int *ierr),
        ((void)data, MPI_Buffer_detach(&(void *){NULL}, size)))
FORTRAN(probe, (int *source, int *tag, int *comm, int *status, int *ierr),
        MPI_Probe(*source, *tag, *comm, STATUS(status)))
FORTRAN(iprobe, (int *source, int *tag, int *comm, int *flag, int *status, int *ierr),
        MPI_Iprobe(*source, *tag, *comm, flag, STATUS(status)))
FORTRAN(mprobe, (int *source, int *tag, int *comm, int *message, int *status, int *ierr),
        MPI_Mprobe(*source, *tag, *comm, message, STATUS(status)))
FORTRAN(improbe,
        (int *source, int *tag, int *comm, int *flag, int *message, int *status, int *ierr),
        MPI_Improbe(*source, *tag, *comm, flag, message, STATUS(status)))
FORTRAN(mrecv, (void *data, int *count, int *type, int *message, int *status, int *ierr),
        MPI_Mrecv(BUFFER(data), *count, *type, message, STATUS(status)))
FORTRAN(imrecv, (void *data, int *count, int *type, int *message, int *request, int *ierr),
        MPI_Imrecv(BUFFER(data), *count, *type, message, request))
FORTRAN(cancel, (int *request, int *ierr), MPI_Cancel(request))

/* ---- requests ---------------------------------------------------------------------------------
 */

FORTRAN(wait, (int *request, int *status, int *ierr), MPI_Wait(request, STATUS(status)))
FORTRAN(test, (int *request, int *flag, int *status, int *ierr),
        MPI_Test(request, flag, STATUS(status)))
FORTRAN(waitall, (int *n, int *requests, int *statuses, int *ierr),
        MPI_Waitall(*n, requests, STATUSES(statuses)))
FORTRAN(testall, (int *n, int *requests, int *flag, int *statuses, int *ierr),
        MPI_Testall(*n, requests, flag, STATUSES(statuses)))
FORTRAN(waitany, (int *n, int *requests, int *index, int *status, int *ierr),
        counted_from_1(MPI_Waitany(*n, requests, index, STATUS(status)), &(int){1}, index))
FORTRAN(testany, (int *n, int *requests, int *index, int *flag, int *status, int *ierr),
        counted_from_1(MPI_Testany(*n, requests, index, flag, STATUS(status)), &(int){1}, index))
FORTRAN(waitsome, (int *n, int *requests, int *outcount, int *indices, int *statuses, int *ierr),
        counted_from_1(MPI_Waitsome(*n, requests, outcount, indices, STATUSES(statuses)), outcount,
                       indices))
FORTRAN(testsome, (int *n, int *requests, int *outcount, int *indices, int *statuses, int *ierr),
        counted_from_1(MPI_Testsome(*n, requests, outcount, indices, STATUSES(statuses)), outcount,
                       indices))
FORTRAN(request_free, (int *request, int *ierr), MPI_Request_free(request))
FORTRAN(request_get_status, (int *request, int *flag, int *status, int *ierr),
        MPI_Request_get_status(*request, flag, STATUS(status)))
FORTRAN(start, (int *request, int *ierr), MPI_Start(request))
FORTRAN(startall, (int *n, int *requests, int *ierr), MPI_Startall(*n, requests))
FORTRAN(get_count, (int *status, int *type, int *count, int *ierr),
        MPI_Get_count(STATUS(status), *type, count))
FORTRAN(get_elements, (int *status, int *type, int *count, int *ierr),
        MPI_Get_elements(STATUS(status), *type, count))
FORTRAN(test_cancelled, (int *status, int *flag, int *ierr),
        MPI_Test_cancelled(STATUS(status), flag))
FORTRAN(get_elements_x, (int *status, int *type, MPI_Count *count, int *ierr),
        MPI_Get_elements_x(STATUS(status), *type, count))
FORTRAN(status_set_elements, (int *status, int *type, int *count, int *ierr),
        MPI_Status_set_elements(STATUS(status), *type, *count))
FORTRAN(status_set_elements_x, (int *status, int *type, MPI_Count *count, int *ierr),
        MPI_Status_set_elements_x(STATUS(status), *type, *count))
FORTRAN(status_f2f08, (int *status, MPI_F08_status *made, int *ierr),
        MPI_Status_f2f08(status, made))
FORTRAN(status_f082f, (MPI_F08_status * status, int *made, int *ierr),
        MPI_Status_f082f(status, made))
FORTRAN(status_set_cancelled, (int *status, int *flag, int *ierr),
        MPI_Status_set_cancelled(STATUS(status), *flag))
