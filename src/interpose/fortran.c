/* The Fortran side of the functions that this library defines: see abi/fortran.h. */
#define STRETTO_FORTRAN_Allgather ~, 1
#define STRETTO_FORTRAN_Allgatherv ~, 1
#define STRETTO_FORTRAN_Allreduce ~, 1
#define STRETTO_FORTRAN_Alltoall ~, 1
#define STRETTO_FORTRAN_Alltoallv ~, 1
#define STRETTO_FORTRAN_Alltoallw ~, 1
#define STRETTO_FORTRAN_Barrier ~, 1
#define STRETTO_FORTRAN_Bcast ~, 1
#define STRETTO_FORTRAN_Cancel ~, 2
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
#define STRETTO_FORTRAN_Ineighbor_allgather ~, 1
#define STRETTO_FORTRAN_Ineighbor_allgatherv ~, 1
#define STRETTO_FORTRAN_Ineighbor_alltoall ~, 1
#define STRETTO_FORTRAN_Ineighbor_alltoallv ~, 1
#define STRETTO_FORTRAN_Ineighbor_alltoallw ~, 1
#define STRETTO_FORTRAN_Ireduce ~, 1
#define STRETTO_FORTRAN_Ireduce_scatter ~, 1
#define STRETTO_FORTRAN_Ireduce_scatter_block ~, 1
#define STRETTO_FORTRAN_Iscan ~, 1
#define STRETTO_FORTRAN_Iscatter ~, 1
#define STRETTO_FORTRAN_Iscatterv ~, 1
#define STRETTO_FORTRAN_Neighbor_allgather ~, 1
#define STRETTO_FORTRAN_Neighbor_allgatherv ~, 1
#define STRETTO_FORTRAN_Neighbor_alltoall ~, 1
#define STRETTO_FORTRAN_Neighbor_alltoallv ~, 1
#define STRETTO_FORTRAN_Neighbor_alltoallw ~, 1
#define STRETTO_FORTRAN_Query_thread ~, 1
#define STRETTO_FORTRAN_Reduce ~, 1
#define STRETTO_FORTRAN_Reduce_scatter ~, 1
#define STRETTO_FORTRAN_Reduce_scatter_block ~, 1
#define STRETTO_FORTRAN_Request_free ~, 2
#define STRETTO_FORTRAN_Request_get_status ~, 2
#define STRETTO_FORTRAN_Scan ~, 1
#define STRETTO_FORTRAN_Scatter ~, 1
#define STRETTO_FORTRAN_Scatterv ~, 1
#define STRETTO_FORTRAN_Start ~, 2
#define STRETTO_FORTRAN_Startall ~, 2
#define STRETTO_FORTRAN_Test ~, 2
#define STRETTO_FORTRAN_Testall ~, 2
#define STRETTO_FORTRAN_Testany ~, 2
#define STRETTO_FORTRAN_Testsome ~, 2
#define STRETTO_FORTRAN_Wait ~, 2
#define STRETTO_FORTRAN_Waitall ~, 2
#define STRETTO_FORTRAN_Waitany ~, 2
#define STRETTO_FORTRAN_Waitsome ~, 2
/* as in persistent.c */
#if !defined(STRETTO_ABI_OPENMPI) || defined(STRETTO_OPENMPI5)
#define STRETTO_FORTRAN_Allgather_init ~, 1
#define STRETTO_FORTRAN_Allgatherv_init ~, 1
#define STRETTO_FORTRAN_Allreduce_init ~, 1
#define STRETTO_FORTRAN_Alltoall_init ~, 1
#define STRETTO_FORTRAN_Alltoallv_init ~, 1
#define STRETTO_FORTRAN_Alltoallw_init ~, 1
#define STRETTO_FORTRAN_Barrier_init ~, 1
#define STRETTO_FORTRAN_Bcast_init ~, 1
#define STRETTO_FORTRAN_Exscan_init ~, 1
#define STRETTO_FORTRAN_Gather_init ~, 1
#define STRETTO_FORTRAN_Gatherv_init ~, 1
#define STRETTO_FORTRAN_Neighbor_allgather_init ~, 1
#define STRETTO_FORTRAN_Neighbor_allgatherv_init ~, 1
#define STRETTO_FORTRAN_Neighbor_alltoall_init ~, 1
#define STRETTO_FORTRAN_Neighbor_alltoallv_init ~, 1
#define STRETTO_FORTRAN_Neighbor_alltoallw_init ~, 1
#define STRETTO_FORTRAN_Reduce_init ~, 1
#define STRETTO_FORTRAN_Reduce_scatter_init ~, 1
#define STRETTO_FORTRAN_Reduce_scatter_block_init ~, 1
#define STRETTO_FORTRAN_Scan_init ~, 1
#define STRETTO_FORTRAN_Scatter_init ~, 1
#define STRETTO_FORTRAN_Scatterv_init ~, 1
#endif
#ifndef STRETTO_ABI_OPENMPI
#define STRETTO_FORTRAN_Request_get_status_all ~, 2
#define STRETTO_FORTRAN_Request_get_status_any ~, 2
#define STRETTO_FORTRAN_Request_get_status_some ~, 2
#endif
/* as in started.c */
#ifdef STRETTO_ABI_OPENMPI
#define STRETTO_FORTRAN_Request_c2f ~, 1
#define STRETTO_FORTRAN_Request_f2c ~, 1
#endif
#ifdef STRETTO_ABI_MPI5
#define STRETTO_FORTRAN_Request_fromint ~, 1
#define STRETTO_FORTRAN_Request_toint ~, 1
#endif

#include "engine/operation.h"

/* 2: it takes requests. A tool in front of us that defines MPI_Wait and leaves MPI_Iallreduce to us
 * hands on requests of ours to PMPI_Wait, which the MPI does not know, and waits for others while
 * ours have to go on. */
#define STRETTO_ENTRY_IF_2(type, name, parameters, arguments)                                      \
    STRETTO_ENTRY_OR(stretto_requests_live, type, name, parameters, arguments)
/* The large-count form of what is marked, too, as in collectives.c. */
#ifdef STRETTO_ABI_OPENMPI
#define L(kind, name, parameters, arguments)
#else
#define L(kind, name, parameters, arguments)                                                       \
    STRETTO_ENTRY_IF(STRETTO_MARKED(STRETTO_FORTRAN_##name))(int, name##_c, parameters, arguments)
#endif
#include "abi/fortran_entries.h"
