/* The Fortran side of the functions that this library defines: see mpi/fortran.h. */
#define STRETTO_FORTRAN_Allgather ~, 1
#define STRETTO_FORTRAN_Allgatherv ~, 1
#define STRETTO_FORTRAN_Allreduce ~, 1
#define STRETTO_FORTRAN_Alltoall ~, 1
#define STRETTO_FORTRAN_Alltoallv ~, 1
#define STRETTO_FORTRAN_Alltoallw ~, 1
#define STRETTO_FORTRAN_Barrier ~, 1
#define STRETTO_FORTRAN_Bcast ~, 1
#define STRETTO_FORTRAN_Cancel ~, 1
#define STRETTO_FORTRAN_Comm_disconnect ~, 1
#define STRETTO_FORTRAN_Comm_free ~, 1
#define STRETTO_FORTRAN_Exscan ~, 1
#define STRETTO_FORTRAN_Finalize ~, 1
#define STRETTO_FORTRAN_Gather ~, 1
#define STRETTO_FORTRAN_Gatherv ~, 1
#define STRETTO_FORTRAN_Iallgather ~, 1
#define STRETTO_FORTRAN_Iallgatherv ~, 1
#define STRETTO_FORTRAN_Iallreduce ~, 1
#define STRETTO_FORTRAN_Ialltoall ~, 1
#define STRETTO_FORTRAN_Ialltoallv ~, 1
#define STRETTO_FORTRAN_Ialltoallw ~, 1
#define STRETTO_FORTRAN_Ibarrier ~, 1
#define STRETTO_FORTRAN_Ibcast ~, 1
#define STRETTO_FORTRAN_Iexscan ~, 1
#define STRETTO_FORTRAN_Igather ~, 1
#define STRETTO_FORTRAN_Igatherv ~, 1
#define STRETTO_FORTRAN_Init ~, 1
#define STRETTO_FORTRAN_Init_thread ~, 1
#define STRETTO_FORTRAN_Ireduce ~, 1
#define STRETTO_FORTRAN_Ireduce_scatter ~, 1
#define STRETTO_FORTRAN_Ireduce_scatter_block ~, 1
#define STRETTO_FORTRAN_Iscan ~, 1
#define STRETTO_FORTRAN_Iscatter ~, 1
#define STRETTO_FORTRAN_Iscatterv ~, 1
#define STRETTO_FORTRAN_Query_thread ~, 1
#define STRETTO_FORTRAN_Reduce ~, 1
#define STRETTO_FORTRAN_Reduce_scatter ~, 1
#define STRETTO_FORTRAN_Reduce_scatter_block ~, 1
#define STRETTO_FORTRAN_Request_free ~, 1
#define STRETTO_FORTRAN_Request_get_status ~, 1
#define STRETTO_FORTRAN_Scan ~, 1
#define STRETTO_FORTRAN_Scatter ~, 1
#define STRETTO_FORTRAN_Scatterv ~, 1
#define STRETTO_FORTRAN_Start ~, 1
#define STRETTO_FORTRAN_Startall ~, 1
#define STRETTO_FORTRAN_Test ~, 1
#define STRETTO_FORTRAN_Testall ~, 1
#define STRETTO_FORTRAN_Testany ~, 1
#define STRETTO_FORTRAN_Testsome ~, 1
#define STRETTO_FORTRAN_Wait ~, 1
#define STRETTO_FORTRAN_Waitall ~, 1
#define STRETTO_FORTRAN_Waitany ~, 1
#define STRETTO_FORTRAN_Waitsome ~, 1
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
#define STRETTO_FORTRAN_Iallgather_c ~, 1
#define STRETTO_FORTRAN_Iallgatherv_c ~, 1
#define STRETTO_FORTRAN_Iallreduce_c ~, 1
#define STRETTO_FORTRAN_Ialltoall_c ~, 1
#define STRETTO_FORTRAN_Ialltoallv_c ~, 1
#define STRETTO_FORTRAN_Ialltoallw_c ~, 1
#define STRETTO_FORTRAN_Ibcast_c ~, 1
#define STRETTO_FORTRAN_Iexscan_c ~, 1
#define STRETTO_FORTRAN_Igather_c ~, 1
#define STRETTO_FORTRAN_Igatherv_c ~, 1
#define STRETTO_FORTRAN_Ireduce_c ~, 1
#define STRETTO_FORTRAN_Ireduce_scatter_block_c ~, 1
#define STRETTO_FORTRAN_Ireduce_scatter_c ~, 1
#define STRETTO_FORTRAN_Iscan_c ~, 1
#define STRETTO_FORTRAN_Iscatter_c ~, 1
#define STRETTO_FORTRAN_Iscatterv_c ~, 1
#define STRETTO_FORTRAN_Reduce_c ~, 1
#define STRETTO_FORTRAN_Reduce_scatter_block_c ~, 1
#define STRETTO_FORTRAN_Reduce_scatter_c ~, 1
#define STRETTO_FORTRAN_Scan_c ~, 1
#define STRETTO_FORTRAN_Scatter_c ~, 1
#define STRETTO_FORTRAN_Scatterv_c ~, 1
#endif
/* as in requests.c */
#ifdef STRETTO_ABI_OPENMPI
#define STRETTO_FORTRAN_Request_c2f ~, 1
#define STRETTO_FORTRAN_Request_f2c ~, 1
#endif
#ifdef STRETTO_ABI_MPI5
#define STRETTO_FORTRAN_Request_fromint ~, 1
#define STRETTO_FORTRAN_Request_toint ~, 1
#endif
#include "mpi/fortran_entries.h"
