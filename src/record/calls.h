/* How each recorded function is to be understood: ROW(function, what is done, what is measured).
 * The words are the DO_ and OF_ macros of wrap.c, which use the parameter names of functions.def.
 * HAND: written out there. A function without a row is not recorded. */
#ifndef STRETTO_RECORD_CALLS_H
#define STRETTO_RECORD_CALLS_H

/* clang-format off */
#if defined(STRETTO_OPENMPI4)
#define STRETTO_HAS_MPI4 0
#else
#define STRETTO_HAS_MPI4 1
#endif
#define ROW(function, action, measure) ~, action, measure, function

/* ---- collectives ------------------------------------------------------------------------------- */
#define REC_Barrier ROW(Barrier, COLLECTIVE, BARRIER)
#define REC_Bcast ROW(Bcast, COLLECTIVE, ROOTED)
#define REC_Reduce ROW(Reduce, COLLECTIVE, ROOTED_REDUCTION)
#define REC_Allreduce ROW(Allreduce, COLLECTIVE, REDUCTION)
#define REC_Scan ROW(Scan, COLLECTIVE, REDUCTION)
#define REC_Exscan ROW(Exscan, COLLECTIVE, REDUCTION)
#define REC_Gather ROW(Gather, COLLECTIVE, GATHER)
#define REC_Gatherv ROW(Gatherv, COLLECTIVE, GATHERV)
#define REC_Scatter ROW(Scatter, COLLECTIVE, SCATTER)
#define REC_Scatterv ROW(Scatterv, COLLECTIVE, SCATTERV)
#define REC_Allgather ROW(Allgather, COLLECTIVE, BLOCK)
#define REC_Allgatherv ROW(Allgatherv, COLLECTIVE, BLOCKV)
#define REC_Alltoall ROW(Alltoall, COLLECTIVE, BLOCK)
#define REC_Alltoallv ROW(Alltoallv, COLLECTIVE, BLOCKS)
#define REC_Alltoallw ROW(Alltoallw, COLLECTIVE, BLOCKS_TYPED)
#define REC_Reduce_scatter ROW(Reduce_scatter, COLLECTIVE, SCATTERED)
#define REC_Reduce_scatter_block ROW(Reduce_scatter_block, COLLECTIVE, SCATTERED_BLOCK)
#define REC_Ibarrier ROW(Ibarrier, NONBLOCKING, BARRIER)
#define REC_Ibcast ROW(Ibcast, NONBLOCKING, ROOTED)
#define REC_Ireduce ROW(Ireduce, NONBLOCKING, ROOTED_REDUCTION)
#define REC_Iallreduce ROW(Iallreduce, NONBLOCKING, REDUCTION)
#define REC_Iscan ROW(Iscan, NONBLOCKING, REDUCTION)
#define REC_Iexscan ROW(Iexscan, NONBLOCKING, REDUCTION)
#define REC_Igather ROW(Igather, NONBLOCKING, GATHER)
#define REC_Igatherv ROW(Igatherv, NONBLOCKING, GATHERV)
#define REC_Iscatter ROW(Iscatter, NONBLOCKING, SCATTER)
#define REC_Iscatterv ROW(Iscatterv, NONBLOCKING, SCATTERV)
#define REC_Iallgather ROW(Iallgather, NONBLOCKING, BLOCK)
#define REC_Iallgatherv ROW(Iallgatherv, NONBLOCKING, BLOCKV)
#define REC_Ialltoall ROW(Ialltoall, NONBLOCKING, BLOCK)
#define REC_Ialltoallv ROW(Ialltoallv, NONBLOCKING, BLOCKS)
#define REC_Ialltoallw ROW(Ialltoallw, NONBLOCKING, BLOCKS_TYPED)
#define REC_Ireduce_scatter ROW(Ireduce_scatter, NONBLOCKING, SCATTERED)
#define REC_Ireduce_scatter_block ROW(Ireduce_scatter_block, NONBLOCKING, SCATTERED_BLOCK)
#define REC_Neighbor_allgather ROW(Neighbor_allgather, NEIGHBORHOOD, SENT)
#define REC_Neighbor_allgatherv ROW(Neighbor_allgatherv, NEIGHBORHOOD, SENT)
#define REC_Neighbor_alltoall ROW(Neighbor_alltoall, NEIGHBORHOOD, SENT)
#define REC_Neighbor_alltoallv ROW(Neighbor_alltoallv, NEIGHBORHOOD, NEIGHBORS)
#define REC_Neighbor_alltoallw ROW(Neighbor_alltoallw, NEIGHBORHOOD, NEIGHBORS_TYPED)
#define REC_Ineighbor_allgather ROW(Ineighbor_allgather, INEIGHBORHOOD, SENT)
#define REC_Ineighbor_allgatherv ROW(Ineighbor_allgatherv, INEIGHBORHOOD, SENT)
#define REC_Ineighbor_alltoall ROW(Ineighbor_alltoall, INEIGHBORHOOD, SENT)
#define REC_Ineighbor_alltoallv ROW(Ineighbor_alltoallv, INEIGHBORHOOD, NEIGHBORS)
#define REC_Ineighbor_alltoallw ROW(Ineighbor_alltoallw, INEIGHBORHOOD, NEIGHBORS_TYPED)
#if STRETTO_HAS_MPI4 /* Open MPI 4 lacks them */
#define REC_Barrier_init ROW(Barrier_init, PERSISTENT, BARRIER)
#define REC_Bcast_init ROW(Bcast_init, PERSISTENT, ROOTED)
#define REC_Reduce_init ROW(Reduce_init, PERSISTENT, ROOTED_REDUCTION)
#define REC_Allreduce_init ROW(Allreduce_init, PERSISTENT, REDUCTION)
#define REC_Scan_init ROW(Scan_init, PERSISTENT, REDUCTION)
#define REC_Exscan_init ROW(Exscan_init, PERSISTENT, REDUCTION)
#define REC_Gather_init ROW(Gather_init, PERSISTENT, GATHER)
#define REC_Gatherv_init ROW(Gatherv_init, PERSISTENT, GATHERV)
#define REC_Scatter_init ROW(Scatter_init, PERSISTENT, SCATTER)
#define REC_Scatterv_init ROW(Scatterv_init, PERSISTENT, SCATTERV)
#define REC_Allgather_init ROW(Allgather_init, PERSISTENT, BLOCK)
#define REC_Allgatherv_init ROW(Allgatherv_init, PERSISTENT, BLOCKV)
#define REC_Alltoall_init ROW(Alltoall_init, PERSISTENT, BLOCK)
#define REC_Alltoallv_init ROW(Alltoallv_init, PERSISTENT, BLOCKS)
#define REC_Alltoallw_init ROW(Alltoallw_init, PERSISTENT, BLOCKS_TYPED)
#define REC_Reduce_scatter_init ROW(Reduce_scatter_init, PERSISTENT, SCATTERED)
#define REC_Reduce_scatter_block_init ROW(Reduce_scatter_block_init, PERSISTENT, SCATTERED_BLOCK)
#define REC_Neighbor_allgather_init ROW(Neighbor_allgather_init, PERSISTENT, SENT)
#define REC_Neighbor_allgatherv_init ROW(Neighbor_allgatherv_init, PERSISTENT, SENT)
#define REC_Neighbor_alltoall_init ROW(Neighbor_alltoall_init, PERSISTENT, SENT)
#define REC_Neighbor_alltoallv_init ROW(Neighbor_alltoallv_init, PERSISTENT, NEIGHBORS)
#define REC_Neighbor_alltoallw_init ROW(Neighbor_alltoallw_init, PERSISTENT, NEIGHBORS_TYPED)
#endif

/* ---- point-to-point ---------------------------------------------------------------------------- */
#define REC_Send ROW(Send, SEND, COUNT)
#define REC_Bsend ROW(Bsend, SEND, COUNT)
#define REC_Ssend ROW(Ssend, SEND, COUNT)
#define REC_Rsend ROW(Rsend, SEND, COUNT)
#define REC_Isend ROW(Isend, SEND, COUNT)
#define REC_Ibsend ROW(Ibsend, SEND, COUNT)
#define REC_Issend ROW(Issend, SEND, COUNT)
#define REC_Irsend ROW(Irsend, SEND, COUNT)
#define REC_Send_init ROW(Send_init, SEND_INIT, COUNT)
#define REC_Bsend_init ROW(Bsend_init, SEND_INIT, COUNT)
#define REC_Ssend_init ROW(Ssend_init, SEND_INIT, COUNT)
#define REC_Rsend_init ROW(Rsend_init, SEND_INIT, COUNT)
#define REC_Recv ROW(Recv, RECV, COUNT)
#define REC_Mrecv ROW(Mrecv, MRECV, COUNT)
#define REC_Irecv ROW(Irecv, IRECV, COUNT)
#define REC_Imrecv ROW(Imrecv, IMRECV, COUNT)
#define REC_Recv_init ROW(Recv_init, RECV_INIT, COUNT)
#define REC_Sendrecv ROW(Sendrecv, SEND, SENDTYPE)
#define REC_Sendrecv_replace ROW(Sendrecv_replace, REPLACE, COUNT)
#define REC_Probe ROW(Probe, PROBE, NOTHING)
#define REC_Iprobe ROW(Iprobe, PROBE, NOTHING)
#define REC_Mprobe ROW(Mprobe, PROBE, NOTHING)
#define REC_Improbe ROW(Improbe, PROBE, NOTHING)
#define REC_Start ROW(Start, START, NOTHING)
#define REC_Startall ROW(Startall, STARTALL, NOTHING)
#define REC_Request_free ROW(Request_free, REQUEST_FREE, NOTHING)
#define REC_Cancel ROW(Cancel, PLAIN_P2P, NOTHING)
#if STRETTO_HAS_MPI4
#define REC_Isendrecv ROW(Isendrecv, SEND, SENDTYPE)
#define REC_Isendrecv_replace ROW(Isendrecv_replace, REPLACE, COUNT)
#define REC_Psend_init ROW(Psend_init, SEND_INIT, PARTITIONS)
#define REC_Precv_init ROW(Precv_init, RECV_INIT, PARTITIONS)
#define REC_Pready ROW(Pready, PLAIN_P2P, NOTHING)
#define REC_Pready_range ROW(Pready_range, PLAIN_P2P, NOTHING)
#define REC_Pready_list ROW(Pready_list, PLAIN_P2P, NOTHING)
#define REC_Parrived ROW(Parrived, PLAIN_P2P, NOTHING)
#endif

/* ---- waiting ----------------------------------------------------------------------------------- */
#define REC_Wait ROW(Wait, WAIT_ONE, NOTHING)
#define REC_Test ROW(Test, WAIT_ONE, NOTHING)
#define REC_Waitall ROW(Waitall, WAIT_ALL, NOTHING)
#define REC_Testall ROW(Testall, WAIT_ALL, NOTHING)
#define REC_Waitany ROW(Waitany, WAIT_ALL, NOTHING)
#define REC_Testany ROW(Testany, WAIT_ALL, NOTHING)
#define REC_Waitsome ROW(Waitsome, WAIT_SOME, NOTHING)
#define REC_Testsome ROW(Testsome, WAIT_SOME, NOTHING)

/* ---- one-sided --------------------------------------------------------------------------------- */
#define REC_Put ROW(Put, RMA, ORIGIN)
#define REC_Get ROW(Get, RMA, ORIGIN)
#define REC_Accumulate ROW(Accumulate, RMA, ORIGIN_REDUCTION)
#define REC_Get_accumulate ROW(Get_accumulate, RMA, ORIGIN_REDUCTION)
#define REC_Fetch_and_op ROW(Fetch_and_op, RMA, ONE_REDUCED)
#define REC_Compare_and_swap ROW(Compare_and_swap, RMA, ONE_ELEMENT)
#define REC_Rput ROW(Rput, RMA_REQUEST, ORIGIN)
#define REC_Rget ROW(Rget, RMA_REQUEST, ORIGIN)
#define REC_Raccumulate ROW(Raccumulate, RMA_REQUEST, ORIGIN_REDUCTION)
#define REC_Rget_accumulate ROW(Rget_accumulate, RMA_REQUEST, ORIGIN_REDUCTION)
#define REC_Win_fence ROW(Win_fence, RMA, NOTHING)
#define REC_Win_start ROW(Win_start, RMA, NOTHING)
#define REC_Win_complete ROW(Win_complete, RMA, NOTHING)
#define REC_Win_post ROW(Win_post, RMA, NOTHING)
#define REC_Win_wait ROW(Win_wait, RMA, NOTHING)
#define REC_Win_test ROW(Win_test, RMA, NOTHING)
#define REC_Win_lock ROW(Win_lock, RMA, NOTHING)
#define REC_Win_lock_all ROW(Win_lock_all, RMA, NOTHING)
#define REC_Win_unlock ROW(Win_unlock, RMA, NOTHING)
#define REC_Win_unlock_all ROW(Win_unlock_all, RMA, NOTHING)
#define REC_Win_flush ROW(Win_flush, RMA, NOTHING)
#define REC_Win_flush_all ROW(Win_flush_all, RMA, NOTHING)
#define REC_Win_flush_local ROW(Win_flush_local, RMA, NOTHING)
#define REC_Win_flush_local_all ROW(Win_flush_local_all, RMA, NOTHING)
#define REC_Win_sync ROW(Win_sync, RMA, NOTHING)
#define REC_Win_create ROW(Win_create, RMA, NOTHING)
#define REC_Win_create_dynamic ROW(Win_create_dynamic, RMA, NOTHING)
#define REC_Win_allocate ROW(Win_allocate, RMA, NOTHING)
#define REC_Win_attach ROW(Win_attach, RMA, NOTHING)
#define REC_Win_detach ROW(Win_detach, RMA, NOTHING)
#define REC_Win_free ROW(Win_free, RMA, NOTHING)
#define REC_Win_allocate_shared ROW(Win_allocate_shared, RMA_SHARED, NOTHING)

/* ---- files ------------------------------------------------------------------------------------- */
#define REC_File_open ROW(File_open, IO, NOTHING)
#define REC_File_close ROW(File_close, IO, NOTHING)
#define REC_File_delete ROW(File_delete, IO, NOTHING)
#define REC_File_set_size ROW(File_set_size, IO, NOTHING)
#define REC_File_preallocate ROW(File_preallocate, IO, NOTHING)
#define REC_File_set_view ROW(File_set_view, IO, NOTHING)
#define REC_File_sync ROW(File_sync, IO, NOTHING)
#define REC_File_seek ROW(File_seek, IO, NOTHING)
#define REC_File_seek_shared ROW(File_seek_shared, IO, NOTHING)
#define REC_File_read ROW(File_read, IO, COUNT)
#define REC_File_read_all ROW(File_read_all, IO, COUNT)
#define REC_File_read_at ROW(File_read_at, IO, COUNT)
#define REC_File_read_at_all ROW(File_read_at_all, IO, COUNT)
#define REC_File_read_shared ROW(File_read_shared, IO, COUNT)
#define REC_File_read_ordered ROW(File_read_ordered, IO, COUNT)
#define REC_File_iread ROW(File_iread, IO_REQUEST, COUNT)
#define REC_File_iread_at ROW(File_iread_at, IO_REQUEST, COUNT)
#define REC_File_iread_shared ROW(File_iread_shared, IO_REQUEST, COUNT)
#define REC_File_iread_all ROW(File_iread_all, IO_REQUEST, COUNT)
#define REC_File_iread_at_all ROW(File_iread_at_all, IO_REQUEST, COUNT)
#define REC_File_read_all_begin ROW(File_read_all_begin, IO, COUNT)
#define REC_File_read_all_end ROW(File_read_all_end, IO, NOTHING)
#define REC_File_read_at_all_begin ROW(File_read_at_all_begin, IO, COUNT)
#define REC_File_read_at_all_end ROW(File_read_at_all_end, IO, NOTHING)
#define REC_File_read_ordered_begin ROW(File_read_ordered_begin, IO, COUNT)
#define REC_File_read_ordered_end ROW(File_read_ordered_end, IO, NOTHING)
#define REC_File_write ROW(File_write, IO, COUNT)
#define REC_File_write_all ROW(File_write_all, IO, COUNT)
#define REC_File_write_at ROW(File_write_at, IO, COUNT)
#define REC_File_write_at_all ROW(File_write_at_all, IO, COUNT)
#define REC_File_write_shared ROW(File_write_shared, IO, COUNT)
#define REC_File_write_ordered ROW(File_write_ordered, IO, COUNT)
#define REC_File_iwrite ROW(File_iwrite, IO_REQUEST, COUNT)
#define REC_File_iwrite_at ROW(File_iwrite_at, IO_REQUEST, COUNT)
#define REC_File_iwrite_shared ROW(File_iwrite_shared, IO_REQUEST, COUNT)
#define REC_File_iwrite_all ROW(File_iwrite_all, IO_REQUEST, COUNT)
#define REC_File_iwrite_at_all ROW(File_iwrite_at_all, IO_REQUEST, COUNT)
#define REC_File_write_all_begin ROW(File_write_all_begin, IO, COUNT)
#define REC_File_write_all_end ROW(File_write_all_end, IO, NOTHING)
#define REC_File_write_at_all_begin ROW(File_write_at_all_begin, IO, COUNT)
#define REC_File_write_at_all_end ROW(File_write_at_all_end, IO, NOTHING)
#define REC_File_write_ordered_begin ROW(File_write_ordered_begin, IO, COUNT)
#define REC_File_write_ordered_end ROW(File_write_ordered_end, IO, NOTHING)

/* ---- communicators ----------------------------------------------------------------------------- */
#define REC_Comm_dup ROW(Comm_dup, MAKE, MADE(comm, newcomm, DUP))
#define REC_Comm_dup_with_info ROW(Comm_dup_with_info, MAKE, MADE(comm, newcomm, DUP))
#define REC_Comm_split ROW(Comm_split, MAKE, MADE(comm, newcomm, SPLIT))
#define REC_Comm_split_type ROW(Comm_split_type, MAKE, MADE(comm, newcomm, SPLIT_TYPE))
#define REC_Comm_create ROW(Comm_create, MAKE, MADE(comm, newcomm, CREATE))
#define REC_Comm_create_group ROW(Comm_create_group, MAKE, MADE(comm, newcomm, CREATE))
#define REC_Cart_create ROW(Cart_create, MAKE, MADE(comm_old, comm_cart, CART))
#define REC_Cart_sub ROW(Cart_sub, MAKE, MADE(comm, newcomm, CART))
#define REC_Graph_create ROW(Graph_create, MAKE, MADE(comm_old, comm_graph, GRAPH))
#define REC_Dist_graph_create ROW(Dist_graph_create, MAKE, MADE(comm_old, comm_dist_graph, GRAPH))
#define REC_Dist_graph_create_adjacent ROW(Dist_graph_create_adjacent, MAKE, MADE(comm_old, comm_dist_graph, GRAPH))
#define REC_Intercomm_merge ROW(Intercomm_merge, MAKE, MADE(intercomm, newintracomm, MERGE))
#define REC_Comm_accept ROW(Comm_accept, MAKE, MADE(comm, newcomm, INTER))
#define REC_Comm_connect ROW(Comm_connect, MAKE, MADE(comm, newcomm, INTER))
#define REC_Comm_spawn ROW(Comm_spawn, MAKE, MADE(comm, intercomm, INTER))
#define REC_Comm_spawn_multiple ROW(Comm_spawn_multiple, MAKE, MADE(comm, intercomm, INTER))
#define REC_Intercomm_create ROW(Intercomm_create, MAKE, MADE_FROM_NONE(local_comm, newintercomm, INTER))
#define REC_Comm_join ROW(Comm_join, MAKE, MADE_FROM_NONE(MPI_COMM_SELF, intercomm, INTER))
#define REC_Comm_idup ROW(Comm_idup, COPY, NOTHING)
#define REC_Comm_free ROW(Comm_free, HAND, NOTHING)
#define REC_Comm_disconnect ROW(Comm_disconnect, HAND, NOTHING)
#define REC_Comm_set_name ROW(Comm_set_name, NAME, NOTHING)
#if STRETTO_HAS_MPI4
#define REC_Comm_create_from_group ROW(Comm_create_from_group, MAKE, MADE_FROM_NONE(MPI_COMM_SELF, newcomm, CREATE))
#define REC_Intercomm_create_from_groups ROW(Intercomm_create_from_groups, MAKE, MADE_FROM_NONE(MPI_COMM_SELF, newintercomm, INTER))
#define REC_Comm_idup_with_info ROW(Comm_idup_with_info, COPY, NOTHING)
#endif

/* ---- large-count forms, booked under the plain function's name; Open MPI 4 and 5 have none ------ */
#ifndef STRETTO_ABI_OPENMPI
#define REC_Bcast_c REC_Bcast
#define REC_Reduce_c REC_Reduce
#define REC_Allreduce_c REC_Allreduce
#define REC_Scan_c REC_Scan
#define REC_Exscan_c REC_Exscan
#define REC_Gather_c REC_Gather
#define REC_Gatherv_c REC_Gatherv
#define REC_Scatter_c REC_Scatter
#define REC_Scatterv_c REC_Scatterv
#define REC_Allgather_c REC_Allgather
#define REC_Allgatherv_c REC_Allgatherv
#define REC_Alltoall_c REC_Alltoall
#define REC_Alltoallv_c REC_Alltoallv
#define REC_Alltoallw_c REC_Alltoallw
#define REC_Reduce_scatter_c REC_Reduce_scatter
#define REC_Reduce_scatter_block_c REC_Reduce_scatter_block
#define REC_Ibcast_c REC_Ibcast
#define REC_Ireduce_c REC_Ireduce
#define REC_Iallreduce_c REC_Iallreduce
#define REC_Iscan_c REC_Iscan
#define REC_Iexscan_c REC_Iexscan
#define REC_Igather_c REC_Igather
#define REC_Igatherv_c REC_Igatherv
#define REC_Iscatter_c REC_Iscatter
#define REC_Iscatterv_c REC_Iscatterv
#define REC_Iallgather_c REC_Iallgather
#define REC_Iallgatherv_c REC_Iallgatherv
#define REC_Ialltoall_c REC_Ialltoall
#define REC_Ialltoallv_c REC_Ialltoallv
#define REC_Ialltoallw_c REC_Ialltoallw
#define REC_Ireduce_scatter_c REC_Ireduce_scatter
#define REC_Ireduce_scatter_block_c REC_Ireduce_scatter_block
#define REC_Neighbor_allgather_c REC_Neighbor_allgather
#define REC_Neighbor_allgatherv_c REC_Neighbor_allgatherv
#define REC_Neighbor_alltoall_c REC_Neighbor_alltoall
#define REC_Neighbor_alltoallv_c REC_Neighbor_alltoallv
#define REC_Neighbor_alltoallw_c REC_Neighbor_alltoallw
#define REC_Ineighbor_allgather_c REC_Ineighbor_allgather
#define REC_Ineighbor_allgatherv_c REC_Ineighbor_allgatherv
#define REC_Ineighbor_alltoall_c REC_Ineighbor_alltoall
#define REC_Ineighbor_alltoallv_c REC_Ineighbor_alltoallv
#define REC_Ineighbor_alltoallw_c REC_Ineighbor_alltoallw
#define REC_Bcast_init_c REC_Bcast_init
#define REC_Reduce_init_c REC_Reduce_init
#define REC_Allreduce_init_c REC_Allreduce_init
#define REC_Scan_init_c REC_Scan_init
#define REC_Exscan_init_c REC_Exscan_init
#define REC_Gather_init_c REC_Gather_init
#define REC_Gatherv_init_c REC_Gatherv_init
#define REC_Scatter_init_c REC_Scatter_init
#define REC_Scatterv_init_c REC_Scatterv_init
#define REC_Allgather_init_c REC_Allgather_init
#define REC_Allgatherv_init_c REC_Allgatherv_init
#define REC_Alltoall_init_c REC_Alltoall_init
#define REC_Alltoallv_init_c REC_Alltoallv_init
#define REC_Alltoallw_init_c REC_Alltoallw_init
#define REC_Reduce_scatter_init_c REC_Reduce_scatter_init
#define REC_Reduce_scatter_block_init_c REC_Reduce_scatter_block_init
#define REC_Neighbor_allgather_init_c REC_Neighbor_allgather_init
#define REC_Neighbor_allgatherv_init_c REC_Neighbor_allgatherv_init
#define REC_Neighbor_alltoall_init_c REC_Neighbor_alltoall_init
#define REC_Neighbor_alltoallv_init_c REC_Neighbor_alltoallv_init
#define REC_Neighbor_alltoallw_init_c REC_Neighbor_alltoallw_init
#define REC_Send_c REC_Send
#define REC_Bsend_c REC_Bsend
#define REC_Ssend_c REC_Ssend
#define REC_Rsend_c REC_Rsend
#define REC_Isend_c REC_Isend
#define REC_Ibsend_c REC_Ibsend
#define REC_Issend_c REC_Issend
#define REC_Irsend_c REC_Irsend
#define REC_Send_init_c REC_Send_init
#define REC_Bsend_init_c REC_Bsend_init
#define REC_Ssend_init_c REC_Ssend_init
#define REC_Rsend_init_c REC_Rsend_init
#define REC_Recv_c REC_Recv
#define REC_Mrecv_c REC_Mrecv
#define REC_Irecv_c REC_Irecv
#define REC_Imrecv_c REC_Imrecv
#define REC_Recv_init_c REC_Recv_init
#define REC_Sendrecv_c REC_Sendrecv
#define REC_Sendrecv_replace_c REC_Sendrecv_replace
#define REC_Isendrecv_c REC_Isendrecv
#define REC_Isendrecv_replace_c REC_Isendrecv_replace
#define REC_Put_c REC_Put
#define REC_Get_c REC_Get
#define REC_Accumulate_c REC_Accumulate
#define REC_Get_accumulate_c REC_Get_accumulate
#define REC_Rput_c REC_Rput
#define REC_Rget_c REC_Rget
#define REC_Raccumulate_c REC_Raccumulate
#define REC_Rget_accumulate_c REC_Rget_accumulate
#define REC_Win_create_c REC_Win_create
#define REC_Win_allocate_c REC_Win_allocate
#define REC_Win_allocate_shared_c REC_Win_allocate_shared
#define REC_File_read_c REC_File_read
#define REC_File_read_all_c REC_File_read_all
#define REC_File_read_at_c REC_File_read_at
#define REC_File_read_at_all_c REC_File_read_at_all
#define REC_File_read_shared_c REC_File_read_shared
#define REC_File_read_ordered_c REC_File_read_ordered
#define REC_File_iread_c REC_File_iread
#define REC_File_iread_at_c REC_File_iread_at
#define REC_File_iread_shared_c REC_File_iread_shared
#define REC_File_iread_all_c REC_File_iread_all
#define REC_File_iread_at_all_c REC_File_iread_at_all
#define REC_File_read_all_begin_c REC_File_read_all_begin
#define REC_File_read_at_all_begin_c REC_File_read_at_all_begin
#define REC_File_read_ordered_begin_c REC_File_read_ordered_begin
#define REC_File_write_c REC_File_write
#define REC_File_write_all_c REC_File_write_all
#define REC_File_write_at_c REC_File_write_at
#define REC_File_write_at_all_c REC_File_write_at_all
#define REC_File_write_shared_c REC_File_write_shared
#define REC_File_write_ordered_c REC_File_write_ordered
#define REC_File_iwrite_c REC_File_iwrite
#define REC_File_iwrite_at_c REC_File_iwrite_at
#define REC_File_iwrite_shared_c REC_File_iwrite_shared
#define REC_File_iwrite_all_c REC_File_iwrite_all
#define REC_File_iwrite_at_all_c REC_File_iwrite_at_all
#define REC_File_write_all_begin_c REC_File_write_all_begin
#define REC_File_write_at_all_begin_c REC_File_write_at_all_begin
#define REC_File_write_ordered_begin_c REC_File_write_ordered_begin
#endif

#endif
