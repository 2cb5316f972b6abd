/* Handles and statuses in C and Fortran: handles are the same integers, a status is the same six of
 * them. */
#include "fortran.h"

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
MPI_F08_status *MPI_F08_STATUS_IGNORE = (MPI_F08_status *)stretto_serial_status_ignore_,
               *MPI_F08_STATUSES_IGNORE = (MPI_F08_status *)stretto_serial_statuses_ignore_;

static int ignored(const char *function) {
    return serial_error(0, MPI_ERR_ARG, function, "there is no status to translate");
}

#define STATUS_OF(to, to_type, from, from_type, none)                                              \
    int MPI_Status_##from##2##to(const from_type *status, to_type *made) {                         \
        if (none)                                                                                  \
            return ignored("MPI_Status_" #from "2" #to);                                           \
        memcpy(made, status, sizeof(MPI_Status));                                                  \
        return MPI_SUCCESS;                                                                        \
    }
#define NONE_OF_C (status == MPI_STATUS_IGNORE)
#define NONE_OF_F (status == MPI_F_STATUS_IGNORE || status == MPI_F_STATUSES_IGNORE)
#define NONE_OF_F08 (status == MPI_F08_STATUS_IGNORE || status == MPI_F08_STATUSES_IGNORE)
STATUS_OF(f, MPI_Fint, c, MPI_Status, NONE_OF_C)
STATUS_OF(c, MPI_Status, f, MPI_Fint, NONE_OF_F)
STATUS_OF(f08, MPI_F08_status, c, MPI_Status, NONE_OF_C)
STATUS_OF(c, MPI_Status, f08, MPI_F08_status, NONE_OF_F08)
STATUS_OF(f08, MPI_F08_status, f, MPI_Fint, NONE_OF_F)
STATUS_OF(f, MPI_Fint, f08, MPI_F08_status, NONE_OF_F08)
