/* Fortran: MPI_Sizeof, which the modules give for variables of any rank: one procedure for each
 * type. The comments are the types in Fortran, which mpif.cmake writes into the modules. */
#include "fortran.h"

#pragma GCC visibility push(default)
#define SIZEOF(type, bytes)                                                                        \
    void stretto_serial_sizeof_##type##_(const void *x, int *size, int *ierr);                     \
    void stretto_serial_sizeof_##type##_(const void *x, int *size, int *ierr) {                    \
        (void)x;                                                                                   \
        *size = bytes;                                                                             \
        serial_tell(ierr, MPI_SUCCESS);                                                            \
    }
SIZEOF(integer1, 1)   /* integer(1) */
SIZEOF(integer2, 2)   /* integer(2) */
SIZEOF(integer4, 4)   /* integer(4) */
SIZEOF(integer8, 8)   /* integer(8) */
SIZEOF(logical1, 1)   /* logical(1) */
SIZEOF(logical2, 2)   /* logical(2) */
SIZEOF(logical4, 4)   /* logical(4) */
SIZEOF(logical8, 8)   /* logical(8) */
SIZEOF(real4, 4)      /* real(4) */
SIZEOF(real8, 8)      /* real(8) */
SIZEOF(complex8, 8)   /* complex(4) */
SIZEOF(complex16, 16) /* complex(8) */
SIZEOF(character, 1)  /* character(len=*) */
#pragma GCC visibility pop
