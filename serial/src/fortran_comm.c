/* Fortran: beginning and end, communicators, groups, topologies. */
#include "fortran.h"

int stretto_serial_bottom_[1], stretto_serial_in_place_[1], stretto_serial_status_ignore_[6],
    stretto_serial_statuses_ignore_[6], stretto_serial_unweighted_[1],
    stretto_serial_weights_empty_[1], stretto_serial_errcodes_ignore_[1];
char stretto_serial_argv_null_[1], stretto_serial_argvs_null_[1];

/* As MPI-1 has it: a default integer. */
static int old_address(const void *location, int *address) {
    *address = (int)(intptr_t)location;
    return MPI_SUCCESS;
}

#pragma GCC visibility push(default)
double mpi_wtime_(void);
double mpi_wtime_(void) {
    return MPI_Wtime();
}
double mpi_wtick_(void);
double mpi_wtick_(void) {
    return MPI_Wtick();
}
/* Only its call matters: the compiler must take the variable for changed. */
void mpi_f_sync_reg_(void *data);
void mpi_f_sync_reg_(void *data) {
    (void)data;
}
MPI_Aint mpi_aint_add_(const MPI_Aint *a, const MPI_Aint *b);
MPI_Aint mpi_aint_add_(const MPI_Aint *a, const MPI_Aint *b) {
    return *a + *b;
}
MPI_Aint mpi_aint_diff_(const MPI_Aint *a, const MPI_Aint *b);
MPI_Aint mpi_aint_diff_(const MPI_Aint *a, const MPI_Aint *b) {
    return *a - *b;
}

/* Which has no ierror. */
void mpi_pcontrol_(int *level);
void mpi_pcontrol_(int *level) {
    MPI_Pcontrol(*level);
}

#pragma GCC visibility pop

/* ---- beginning, end, time ---------------------------------------------------------------------
 */

FORTRAN(init, (int *ierr), MPI_Init(NULL, NULL))
FORTRAN(init_thread, (int *required, int *provided, int *ierr),
        MPI_Init_thread(NULL, NULL, *required, provided))
FORTRAN(initialized, (int *flag, int *ierr), MPI_Initialized(flag))
FORTRAN(finalized, (int *flag, int *ierr), MPI_Finalized(flag))
FORTRAN(finalize, (int *ierr), MPI_Finalize())
FORTRAN(abort, (int *comm, int *code, int *ierr), MPI_Abort(*comm, *code))
FORTRAN(query_thread, (int *provided, int *ierr), MPI_Query_thread(provided))
FORTRAN(is_thread_main, (int *flag, int *ierr), MPI_Is_thread_main(flag))
FORTRAN(get_version, (int *version, int *subversion, int *ierr),
        MPI_Get_version(version, subversion))
FORTRAN(get_address, (const void *location, MPI_Aint *address, int *ierr),
        MPI_Get_address(location, address))
FORTRAN(address, (const void *location, int *address, int *ierr), old_address(location, address))
FORTRAN(alloc_mem, (MPI_Aint * size, int *info, void *memory, int *ierr),
        MPI_Alloc_mem(*size, *info, memory))
FORTRAN(free_mem, (void *memory, int *ierr), MPI_Free_mem(memory))
FORTRAN(error_class, (int *code, int *error_class, int *ierr), MPI_Error_class(*code, error_class))

/* ---- communicators and groups -----------------------------------------------------------------
 */

FORTRAN(comm_size, (int *comm, int *size, int *ierr), MPI_Comm_size(*comm, size))
FORTRAN(comm_rank, (int *comm, int *rank, int *ierr), MPI_Comm_rank(*comm, rank))
FORTRAN(comm_compare, (int *a, int *b, int *result, int *ierr), MPI_Comm_compare(*a, *b, result))
FORTRAN(comm_dup, (int *comm, int *made, int *ierr), MPI_Comm_dup(*comm, made))
FORTRAN(comm_dup_with_info, (int *comm, int *info, int *made, int *ierr),
        MPI_Comm_dup_with_info(*comm, *info, made))
FORTRAN(comm_idup, (int *comm, int *made, int *request, int *ierr),
        MPI_Comm_idup(*comm, made, request))
FORTRAN(comm_split, (int *comm, int *color, int *key, int *made, int *ierr),
        MPI_Comm_split(*comm, *color, *key, made))
FORTRAN(comm_split_type, (int *comm, int *type, int *key, int *info, int *made, int *ierr),
        MPI_Comm_split_type(*comm, *type, *key, *info, made))
FORTRAN(comm_create, (int *comm, int *group, int *made, int *ierr),
        MPI_Comm_create(*comm, *group, made))
FORTRAN(comm_create_group, (int *comm, int *group, int *tag, int *made, int *ierr),
        MPI_Comm_create_group(*comm, *group, *tag, made))
FORTRAN(comm_free, (int *comm, int *ierr), MPI_Comm_free(comm))
FORTRAN(comm_disconnect, (int *comm, int *ierr), MPI_Comm_disconnect(comm))
FORTRAN(comm_test_inter, (int *comm, int *flag, int *ierr), MPI_Comm_test_inter(*comm, flag))
FORTRAN(comm_group, (int *comm, int *group, int *ierr), MPI_Comm_group(*comm, group))
FORTRAN(comm_get_parent, (int *parent, int *ierr), MPI_Comm_get_parent(parent))
FORTRAN(comm_remote_size, (int *comm, int *size, int *ierr), MPI_Comm_remote_size(*comm, size))
FORTRAN(comm_set_errhandler, (int *comm, int *handler, int *ierr),
        MPI_Comm_set_errhandler(*comm, *handler))
FORTRAN(comm_get_errhandler, (int *comm, int *handler, int *ierr),
        MPI_Comm_get_errhandler(*comm, handler))
FORTRAN(errhandler_set, (int *comm, int *handler, int *ierr), MPI_Errhandler_set(*comm, *handler))
FORTRAN(errhandler_get, (int *comm, int *handler, int *ierr), MPI_Errhandler_get(*comm, handler))
FORTRAN(errhandler_free, (int *handler, int *ierr), MPI_Errhandler_free(handler))
FORTRAN(intercomm_create,
        (int *local, int *leader, int *peer, int *remote, int *tag, int *made, int *ierr),
        MPI_Intercomm_create(*local, *leader, *peer, *remote, *tag, made))
FORTRAN(intercomm_merge, (int *inter, int *high, int *made, int *ierr),
        MPI_Intercomm_merge(*inter, *high, made))
FORTRAN(group_size, (int *group, int *size, int *ierr), MPI_Group_size(*group, size))
FORTRAN(group_rank, (int *group, int *rank, int *ierr), MPI_Group_rank(*group, rank))
FORTRAN(group_compare, (int *a, int *b, int *result, int *ierr), MPI_Group_compare(*a, *b, result))
FORTRAN(group_translate_ranks, (int *from, int *n, int *ranks, int *to, int *out, int *ierr),
        MPI_Group_translate_ranks(*from, *n, ranks, *to, out))
FORTRAN(group_union, (int *a, int *b, int *made, int *ierr), MPI_Group_union(*a, *b, made))
FORTRAN(group_intersection, (int *a, int *b, int *made, int *ierr),
        MPI_Group_intersection(*a, *b, made))
FORTRAN(group_difference, (int *a, int *b, int *made, int *ierr),
        MPI_Group_difference(*a, *b, made))
FORTRAN(group_incl, (int *group, int *n, int *ranks, int *made, int *ierr),
        MPI_Group_incl(*group, *n, ranks, made))
FORTRAN(group_excl, (int *group, int *n, int *ranks, int *made, int *ierr),
        MPI_Group_excl(*group, *n, ranks, made))
FORTRAN(group_range_incl, (int *group, int *n, int ranges[][3], int *made, int *ierr),
        MPI_Group_range_incl(*group, *n, ranges, made))
FORTRAN(group_range_excl, (int *group, int *n, int ranges[][3], int *made, int *ierr),
        MPI_Group_range_excl(*group, *n, ranges, made))
FORTRAN(group_free, (int *group, int *ierr), MPI_Group_free(group))

/* ---- topologies -------------------------------------------------------------------------------
 */

FORTRAN(cart_create,
        (int *comm, int *n, int *dims, int *periods, int *reorder, int *made, int *ierr),
        MPI_Cart_create(*comm, *n, dims, periods, *reorder, made))
FORTRAN(dims_create, (int *nranks, int *n, int *dims, int *ierr),
        MPI_Dims_create(*nranks, *n, dims))
FORTRAN(cartdim_get, (int *comm, int *n, int *ierr), MPI_Cartdim_get(*comm, n))
FORTRAN(cart_get, (int *comm, int *n, int *dims, int *periods, int *coords, int *ierr),
        MPI_Cart_get(*comm, *n, dims, periods, coords))
FORTRAN(cart_rank, (int *comm, int *coords, int *rank, int *ierr),
        MPI_Cart_rank(*comm, coords, rank))
FORTRAN(cart_coords, (int *comm, int *rank, int *n, int *coords, int *ierr),
        MPI_Cart_coords(*comm, *rank, *n, coords))
FORTRAN(cart_shift, (int *comm, int *direction, int *by, int *source, int *target, int *ierr),
        MPI_Cart_shift(*comm, *direction, *by, source, target))
FORTRAN(cart_sub, (int *comm, int *remain, int *made, int *ierr), MPI_Cart_sub(*comm, remain, made))
FORTRAN(cart_map, (int *comm, int *n, int *dims, int *periods, int *rank, int *ierr),
        MPI_Cart_map(*comm, *n, dims, periods, rank))
FORTRAN(topo_test, (int *comm, int *kind, int *ierr), MPI_Topo_test(*comm, kind))
FORTRAN(graph_create,
        (int *comm, int *n, int *index, int *edges, int *reorder, int *made, int *ierr),
        MPI_Graph_create(*comm, *n, index, edges, *reorder, made))
FORTRAN(graph_neighbors_count, (int *comm, int *rank, int *n, int *ierr),
        MPI_Graph_neighbors_count(*comm, *rank, n))
FORTRAN(graph_neighbors, (int *comm, int *rank, int *max, int *ranks, int *ierr),
        MPI_Graph_neighbors(*comm, *rank, *max, ranks))
FORTRAN(dist_graph_create_adjacent,
        (int *comm, int *nsources, int *sources, int *in_weights, int *ntargets, int *targets,
         int *out_weights, int *info, int *reorder, int *made, int *ierr),
        MPI_Dist_graph_create_adjacent(*comm, *nsources, sources, WEIGHTS(in_weights), *ntargets,
                                       targets, WEIGHTS(out_weights), *info, *reorder, made))
FORTRAN(dist_graph_neighbors_count,
        (int *comm, int *nsources, int *ntargets, int *weighted, int *ierr),
        MPI_Dist_graph_neighbors_count(*comm, nsources, ntargets, weighted))
FORTRAN(dist_graph_neighbors,
        (int *comm, int *max_in, int *sources, int *in_weights, int *max_out, int *targets,
         int *out_weights, int *ierr),
        MPI_Dist_graph_neighbors(*comm, *max_in, sources, WEIGHTS(in_weights), *max_out, targets,
                                 WEIGHTS(out_weights)))
FORTRAN(dist_graph_create,
        (int *comm, int *n, int *sources, int *degrees, int *targets, int *weights, int *info,
         int *reorder, int *made, int *ierr),
        MPI_Dist_graph_create(*comm, *n, sources, degrees, targets, WEIGHTS(weights), *info,
                              *reorder, made))
FORTRAN(graphdims_get, (int *comm, int *nnodes, int *nedges, int *ierr),
        MPI_Graphdims_get(*comm, nnodes, nedges))
FORTRAN(graph_get, (int *comm, int *max_index, int *max_edges, int *index, int *edges, int *ierr),
        MPI_Graph_get(*comm, *max_index, *max_edges, index, edges))
FORTRAN(graph_map, (int *comm, int *n, int *index, int *edges, int *rank, int *ierr),
        MPI_Graph_map(*comm, *n, index, edges, rank))

/* ---- info objects -----------------------------------------------------------------------------
 */

FORTRAN(info_create, (int *info, int *ierr), MPI_Info_create(info))
FORTRAN(info_free, (int *info, int *ierr), MPI_Info_free(info))
FORTRAN(info_dup, (int *info, int *made, int *ierr), MPI_Info_dup(*info, made))
FORTRAN(info_get_nkeys, (int *info, int *n, int *ierr), MPI_Info_get_nkeys(*info, n))
FORTRAN(comm_set_info, (int *comm, int *info, int *ierr), MPI_Comm_set_info(*comm, *info))
FORTRAN(comm_get_info, (int *comm, int *info, int *ierr), MPI_Comm_get_info(*comm, info))
FORTRAN(comm_remote_group, (int *comm, int *group, int *ierr), MPI_Comm_remote_group(*comm, group))
FORTRAN(comm_join, (int *fd, int *made, int *ierr), MPI_Comm_join(*fd, made))
