/* Handles and statuses in C and Fortran: handles are the same integers, a status is the same six of
 * them. */
#include "serial/fortran.h"

#define HANDLE(name, type)                                                                         \
    MPI_Fint MPI_##name##_c2f(type handle) {                                                       \
        return handle;                                                                             \
    }                                                                                              \
    type MPI_##name##_f2c(MPI_Fint handle) {                                                       \
        return handle;                                                                             \
    }

HANDLE(Comm, MPI_Comm)
HANDLE(Type, MPI_Datatype)
HANDLE(Group, MPI_Group)
HANDLE(Request, MPI_Request)
HANDLE(Op, MPI_Op)
HANDLE(Info, MPI_Info)
HANDLE(Win, MPI_Win)
HANDLE(File, MPI_File)
HANDLE(Errhandler, MPI_Errhandler)
HANDLE(Message, MPI_Message)

MPI_Fint *MPI_F_STATUS_IGNORE = stretto_serial_status_ignore_,
         *MPI_F_STATUSES_IGNORE = stretto_serial_statuses_ignore_;

static int ignored(const char *function) {
    return serial_error(0, MPI_ERR_ARG, function, "there is no status to translate");
}

int MPI_Status_c2f(const MPI_Status *status, MPI_Fint *fortran) {
    if (status == MPI_STATUS_IGNORE)
        return ignored("MPI_Status_c2f");
    memcpy(fortran, status, sizeof *status);
    return MPI_SUCCESS;
}

int MPI_Status_f2c(const MPI_Fint *fortran, MPI_Status *status) {
    if (fortran == MPI_F_STATUS_IGNORE || fortran == MPI_F_STATUSES_IGNORE)
        return ignored("MPI_Status_f2c");
    memcpy(status, fortran, sizeof *status);
    return MPI_SUCCESS;
}
