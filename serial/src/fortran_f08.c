/* What the module mpi_f08 has and mpif.h has not: handles that are compared, and MPI_Buffer_detach
 * with an address that is given. All else is the same procedure by both (mpi_f08.table). */
#include "fortran.h"

#pragma GCC visibility push(default)
#define COMPARED(handle)                                                                           \
    int stretto_serial_##handle##_eq_(const int *a, const int *b);                                 \
    int stretto_serial_##handle##_eq_(const int *a, const int *b) {                                \
        return *a == *b;                                                                           \
    }                                                                                              \
    int stretto_serial_##handle##_ne_(const int *a, const int *b);                                 \
    int stretto_serial_##handle##_ne_(const int *a, const int *b) {                                \
        return *a != *b;                                                                           \
    }
COMPARED(comm)
COMPARED(datatype)
COMPARED(errhandler)
COMPARED(file)
COMPARED(group)
COMPARED(info)
COMPARED(message)
COMPARED(op)
COMPARED(request)
COMPARED(win)

void stretto_serial_buffer_detach_(void **buffer, int *size, int *ierr);
void stretto_serial_buffer_detach_(void **buffer, int *size, int *ierr) {
    serial_tell(ierr, MPI_Buffer_detach(buffer, size));
}
#pragma GCC visibility pop
