/* The Fortran side of the functions that this library defines: see mpi/fortran.h. */
#define STRETTO_FORTRAN_Allgather ~, 1
#define STRETTO_FORTRAN_Allgatherv ~, 1
#define STRETTO_FORTRAN_Allreduce ~, 1
#define STRETTO_FORTRAN_Alltoall ~, 1
#define STRETTO_FORTRAN_Alltoallv ~, 1
#define STRETTO_FORTRAN_Alltoallw ~, 1
#define STRETTO_FORTRAN_Barrier ~, 1
#define STRETTO_FORTRAN_Bcast ~, 1
#define STRETTO_FORTRAN_Comm_disconnect ~, 1
#define STRETTO_FORTRAN_Comm_free ~, 1
#define STRETTO_FORTRAN_Exscan ~, 1
#define STRETTO_FORTRAN_Finalize ~, 1
#define STRETTO_FORTRAN_Gather ~, 1
#define STRETTO_FORTRAN_Gatherv ~, 1
#define STRETTO_FORTRAN_Init ~, 1
#define STRETTO_FORTRAN_Init_thread ~, 1
#define STRETTO_FORTRAN_Neighbor_allgather ~, 1
#define STRETTO_FORTRAN_Neighbor_allgatherv ~, 1
#define STRETTO_FORTRAN_Neighbor_alltoall ~, 1
#define STRETTO_FORTRAN_Neighbor_alltoallv ~, 1
#define STRETTO_FORTRAN_Neighbor_alltoallw ~, 1
#define STRETTO_FORTRAN_Reduce ~, 1
#define STRETTO_FORTRAN_Reduce_scatter ~, 1
#define STRETTO_FORTRAN_Reduce_scatter_block ~, 1
#define STRETTO_FORTRAN_Scan ~, 1
#define STRETTO_FORTRAN_Scatter ~, 1
#define STRETTO_FORTRAN_Scatterv ~, 1
/* as in collectives.c */
#ifndef STRETTO_ABI_OPENMPI
#define STRETTO_FORTRAN_Allgather_c ~, 1
#define STRETTO_FORTRAN_Allgatherv_c ~, 1
#define STRETTO_FORTRAN_Allreduce_c ~, 1
#define STRETTO_FORTRAN_Alltoall_c ~, 1
#define STRETTO_FORTRAN_Alltoallv_c ~, 1
#define STRETTO_FORTRAN_Alltoallw_c ~, 1
#define STRETTO_FORTRAN_Bcast_c ~, 1
#define STRETTO_FORTRAN_Exscan_c ~, 1
#define STRETTO_FORTRAN_Gather_c ~, 1
#define STRETTO_FORTRAN_Gatherv_c ~, 1
#define STRETTO_FORTRAN_Neighbor_allgather_c ~, 1
#define STRETTO_FORTRAN_Neighbor_allgatherv_c ~, 1
#define STRETTO_FORTRAN_Neighbor_alltoall_c ~, 1
#define STRETTO_FORTRAN_Neighbor_alltoallv_c ~, 1
#define STRETTO_FORTRAN_Neighbor_alltoallw_c ~, 1
#define STRETTO_FORTRAN_Reduce_c ~, 1
#define STRETTO_FORTRAN_Reduce_scatter_c ~, 1
#define STRETTO_FORTRAN_Reduce_scatter_block_c ~, 1
#define STRETTO_FORTRAN_Scan_c ~, 1
#define STRETTO_FORTRAN_Scatter_c ~, 1
#define STRETTO_FORTRAN_Scatterv_c ~, 1
#endif
#include "mpi/fortran_entries.h"
