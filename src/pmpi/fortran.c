/* The Fortran side of the functions that this library defines: see mpi/fortran.h. */
#define STRETTO_FORTRAN_Allgather ~, 1
#define STRETTO_FORTRAN_Allreduce ~, 1
#define STRETTO_FORTRAN_Barrier ~, 1
#define STRETTO_FORTRAN_Bcast ~, 1
#define STRETTO_FORTRAN_Comm_disconnect ~, 1
#define STRETTO_FORTRAN_Comm_free ~, 1
#define STRETTO_FORTRAN_Finalize ~, 1
#define STRETTO_FORTRAN_Init ~, 1
#define STRETTO_FORTRAN_Init_thread ~, 1
#define STRETTO_FORTRAN_Reduce ~, 1
/* as in collectives.c */
#ifndef STRETTO_ABI_OPENMPI
#define STRETTO_FORTRAN_Allgather_c ~, 1
#define STRETTO_FORTRAN_Allreduce_c ~, 1
#define STRETTO_FORTRAN_Bcast_c ~, 1
#define STRETTO_FORTRAN_Reduce_c ~, 1
#endif
#include "mpi/fortran_entries.h"
