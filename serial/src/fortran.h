/* How a Fortran name is made of an MPI function: lower case with an underscore, as gfortran, ifx
 * and flang do; arguments by reference, handles as they are. */
#ifndef STRETTO_SERIAL_FORTRAN_H
#define STRETTO_SERIAL_FORTRAN_H

#include "internal.h"

/* The common blocks of mpif.h whose addresses stand for MPI_IN_PLACE and the like. */
#pragma GCC visibility push(default)
extern int stretto_serial_bottom_[1], stretto_serial_in_place_[1], stretto_serial_status_ignore_[6],
    stretto_serial_statuses_ignore_[6], stretto_serial_unweighted_[1],
    stretto_serial_weights_empty_[1], stretto_serial_errcodes_ignore_[1];
extern char stretto_serial_argv_null_[1], stretto_serial_argvs_null_[1];
#pragma GCC visibility pop

/* By mpi_f08 ierror is optional: NULL where it is left out. */
static inline int serial_tell(int *ierr, int rc) {
    if (ierr)
        *ierr = rc;
    return rc;
}

#define FORTRAN(name, parameters, call)                                                            \
    __attribute__((visibility("default"))) void mpi_##name##_ parameters;                          \
    void mpi_##name##_ parameters {                                                                \
        serial_tell(ierr, call);                                                                   \
    }
#define BUFFER(p)                                                                                  \
    ((const void *)(p) == stretto_serial_in_place_ ? MPI_IN_PLACE                                  \
     : (const void *)(p) == stretto_serial_bottom_ ? MPI_BOTTOM                                    \
                                                   : (void *)(uintptr_t)(p))
#define STATUS(p) ((p) == stretto_serial_status_ignore_ ? MPI_STATUS_IGNORE : (MPI_Status *)(p))
#define STATUSES(p)                                                                                \
    ((p) == stretto_serial_statuses_ignore_ ? MPI_STATUSES_IGNORE : (MPI_Status *)(p))
#define WEIGHTS(p)                                                                                 \
    ((p) == stretto_serial_unweighted_      ? MPI_UNWEIGHTED                                       \
     : (p) == stretto_serial_weights_empty_ ? MPI_WEIGHTS_EMPTY                                    \
                                            : (p))

#endif
