/* Fortran: collectives and operations. */
#include "fortran.h"

/* ---- collectives ------------------------------------------------------------------------------
 */

FORTRAN(barrier, (int *comm, int *ierr), MPI_Barrier(*comm))
FORTRAN(ibarrier, (int *comm, int *request, int *ierr), MPI_Ibarrier(*comm, request))
FORTRAN(bcast, (void *data, int *count, int *type, int *root, int *comm, int *ierr),
        MPI_Bcast(BUFFER(data), *count, *type, *root, *comm))
FORTRAN(ibcast, (void *data, int *count, int *type, int *root, int *comm, int *request, int *ierr),
        MPI_Ibcast(BUFFER(data), *count, *type, *root, *comm, request))
FORTRAN(gather,
        (const void *in, int *n, int *in_type, void *out, int *m, int *out_type, int *root,
         int *comm, int *ierr),
        MPI_Gather(BUFFER(in), *n, *in_type, BUFFER(out), *m, *out_type, *root, *comm))
FORTRAN(igather,
        (const void *in, int *n, int *in_type, void *out, int *m, int *out_type, int *root,
         int *comm, int *request, int *ierr),
        MPI_Igather(BUFFER(in), *n, *in_type, BUFFER(out), *m, *out_type, *root, *comm, request))
FORTRAN(scatter,
        (const void *in, int *n, int *in_type, void *out, int *m, int *out_type, int *root,
         int *comm, int *ierr),
        MPI_Scatter(BUFFER(in), *n, *in_type, BUFFER(out), *m, *out_type, *root, *comm))
FORTRAN(iscatter,
        (const void *in, int *n, int *in_type, void *out, int *m, int *out_type, int *root,
         int *comm, int *request, int *ierr),
        MPI_Iscatter(BUFFER(in), *n, *in_type, BUFFER(out), *m, *out_type, *root, *comm, request))
FORTRAN(allgather,
        (const void *in, int *n, int *in_type, void *out, int *m, int *out_type, int *comm,
         int *ierr),
        MPI_Allgather(BUFFER(in), *n, *in_type, BUFFER(out), *m, *out_type, *comm))
FORTRAN(iallgather,
        (const void *in, int *n, int *in_type, void *out, int *m, int *out_type, int *comm,
         int *request, int *ierr),
        MPI_Iallgather(BUFFER(in), *n, *in_type, BUFFER(out), *m, *out_type, *comm, request))
FORTRAN(alltoall,
        (const void *in, int *n, int *in_type, void *out, int *m, int *out_type, int *comm,
         int *ierr),
        MPI_Alltoall(BUFFER(in), *n, *in_type, BUFFER(out), *m, *out_type, *comm))
FORTRAN(ialltoall,
        (const void *in, int *n, int *in_type, void *out, int *m, int *out_type, int *comm,
         int *request, int *ierr),
        MPI_Ialltoall(BUFFER(in), *n, *in_type, BUFFER(out), *m, *out_type, *comm, request))
FORTRAN(gatherv,
        (const void *in, int *n, int *in_type, void *out, int *m, int *where, int *out_type,
         int *root, int *comm, int *ierr),
        MPI_Gatherv(BUFFER(in), *n, *in_type, BUFFER(out), m, where, *out_type, *root, *comm))
FORTRAN(igatherv,
        (const void *in, int *n, int *in_type, void *out, int *m, int *where, int *out_type,
         int *root, int *comm, int *request, int *ierr),
        MPI_Igatherv(BUFFER(in), *n, *in_type, BUFFER(out), m, where, *out_type, *root, *comm,
                     request))
FORTRAN(allgatherv,
        (const void *in, int *n, int *in_type, void *out, int *m, int *where, int *out_type,
         int *comm, int *ierr),
        MPI_Allgatherv(BUFFER(in), *n, *in_type, BUFFER(out), m, where, *out_type, *comm))
FORTRAN(iallgatherv,
        (const void *in, int *n, int *in_type, void *out, int *m, int *where, int *out_type,
         int *comm, int *request, int *ierr),
        MPI_Iallgatherv(BUFFER(in), *n, *in_type, BUFFER(out), m, where, *out_type, *comm, request))
FORTRAN(scatterv,
        (const void *in, int *n, int *where, int *in_type, void *out, int *m, int *out_type,
         int *root, int *comm, int *ierr),
        MPI_Scatterv(BUFFER(in), n, where, *in_type, BUFFER(out), *m, *out_type, *root, *comm))
FORTRAN(iscatterv,
        (const void *in, int *n, int *where, int *in_type, void *out, int *m, int *out_type,
         int *root, int *comm, int *request, int *ierr),
        MPI_Iscatterv(BUFFER(in), n, where, *in_type, BUFFER(out), *m, *out_type, *root, *comm,
                      request))
FORTRAN(alltoallv,
        (const void *in, int *n, int *from, int *in_type, void *out, int *m, int *to, int *out_type,
         int *comm, int *ierr),
        MPI_Alltoallv(BUFFER(in), n, from, *in_type, BUFFER(out), m, to, *out_type, *comm))
FORTRAN(ialltoallv,
        (const void *in, int *n, int *from, int *in_type, void *out, int *m, int *to, int *out_type,
         int *comm, int *request, int *ierr),
        MPI_Ialltoallv(BUFFER(in), n, from, *in_type, BUFFER(out), m, to, *out_type, *comm,
                       request))
FORTRAN(alltoallw,
        (const void *in, int *n, int *from, int *in_types, void *out, int *m, int *to,
         int *out_types, int *comm, int *ierr),
        MPI_Alltoallw(BUFFER(in), n, from, in_types, BUFFER(out), m, to, out_types, *comm))
FORTRAN(ialltoallw,
        (const void *in, int *n, int *from, int *in_types, void *out, int *m, int *to,
         int *out_types, int *comm, int *request, int *ierr),
        MPI_Ialltoallw(BUFFER(in), n, from, in_types, BUFFER(out), m, to, out_types, *comm,
                       request))
FORTRAN(reduce,
        (const void *in, void *out, int *count, int *type, int *op, int *root, int *comm,
         int *ierr),
        MPI_Reduce(BUFFER(in), BUFFER(out), *count, *type, *op, *root, *comm))
FORTRAN(ireduce,
        (const void *in, void *out, int *count, int *type, int *op, int *root, int *comm,
         int *request, int *ierr),
        MPI_Ireduce(BUFFER(in), BUFFER(out), *count, *type, *op, *root, *comm, request))
FORTRAN(allreduce,
        (const void *in, void *out, int *count, int *type, int *op, int *comm, int *ierr),
        MPI_Allreduce(BUFFER(in), BUFFER(out), *count, *type, *op, *comm))
FORTRAN(iallreduce,
        (const void *in, void *out, int *count, int *type, int *op, int *comm, int *request,
         int *ierr),
        MPI_Iallreduce(BUFFER(in), BUFFER(out), *count, *type, *op, *comm, request))
FORTRAN(scan, (const void *in, void *out, int *count, int *type, int *op, int *comm, int *ierr),
        MPI_Scan(BUFFER(in), BUFFER(out), *count, *type, *op, *comm))
FORTRAN(iscan,
        (const void *in, void *out, int *count, int *type, int *op, int *comm, int *request,
         int *ierr),
        MPI_Iscan(BUFFER(in), BUFFER(out), *count, *type, *op, *comm, request))
FORTRAN(exscan, (const void *in, void *out, int *count, int *type, int *op, int *comm, int *ierr),
        MPI_Exscan(BUFFER(in), BUFFER(out), *count, *type, *op, *comm))
FORTRAN(iexscan,
        (const void *in, void *out, int *count, int *type, int *op, int *comm, int *request,
         int *ierr),
        MPI_Iexscan(BUFFER(in), BUFFER(out), *count, *type, *op, *comm, request))
FORTRAN(reduce_scatter_block,
        (const void *in, void *out, int *count, int *type, int *op, int *comm, int *ierr),
        MPI_Reduce_scatter_block(BUFFER(in), BUFFER(out), *count, *type, *op, *comm))
FORTRAN(ireduce_scatter_block,
        (const void *in, void *out, int *count, int *type, int *op, int *comm, int *request,
         int *ierr),
        MPI_Ireduce_scatter_block(BUFFER(in), BUFFER(out), *count, *type, *op, *comm, request))
FORTRAN(reduce_scatter,
        (const void *in, void *out, int *counts, int *type, int *op, int *comm, int *ierr),
        MPI_Reduce_scatter(BUFFER(in), BUFFER(out), counts, *type, *op, *comm))
FORTRAN(ireduce_scatter,
        (const void *in, void *out, int *counts, int *type, int *op, int *comm, int *request,
         int *ierr),
        MPI_Ireduce_scatter(BUFFER(in), BUFFER(out), counts, *type, *op, *comm, request))
FORTRAN(neighbor_allgather,
        (const void *in, int *n, int *in_type, void *out, int *m, int *out_type, int *comm,
         int *ierr),
        MPI_Neighbor_allgather(BUFFER(in), *n, *in_type, BUFFER(out), *m, *out_type, *comm))
FORTRAN(ineighbor_allgather,
        (const void *in, int *n, int *in_type, void *out, int *m, int *out_type, int *comm,
         int *request, int *ierr),
        MPI_Ineighbor_allgather(BUFFER(in), *n, *in_type, BUFFER(out), *m, *out_type, *comm,
                                request))
FORTRAN(neighbor_alltoall,
        (const void *in, int *n, int *in_type, void *out, int *m, int *out_type, int *comm,
         int *ierr),
        MPI_Neighbor_alltoall(BUFFER(in), *n, *in_type, BUFFER(out), *m, *out_type, *comm))
FORTRAN(ineighbor_alltoall,
        (const void *in, int *n, int *in_type, void *out, int *m, int *out_type, int *comm,
         int *request, int *ierr),
        MPI_Ineighbor_alltoall(BUFFER(in), *n, *in_type, BUFFER(out), *m, *out_type, *comm,
                               request))
FORTRAN(neighbor_allgatherv,
        (const void *in, int *n, int *in_type, void *out, int *m, int *where, int *out_type,
         int *comm, int *ierr),
        MPI_Neighbor_allgatherv(BUFFER(in), *n, *in_type, BUFFER(out), m, where, *out_type, *comm))
FORTRAN(ineighbor_allgatherv,
        (const void *in, int *n, int *in_type, void *out, int *m, int *where, int *out_type,
         int *comm, int *request, int *ierr),
        MPI_Ineighbor_allgatherv(BUFFER(in), *n, *in_type, BUFFER(out), m, where, *out_type, *comm,
                                 request))
FORTRAN(neighbor_alltoallv,
        (const void *in, int *n, int *from, int *in_type, void *out, int *m, int *to, int *out_type,
         int *comm, int *ierr),
        MPI_Neighbor_alltoallv(BUFFER(in), n, from, *in_type, BUFFER(out), m, to, *out_type, *comm))
FORTRAN(ineighbor_alltoallv,
        (const void *in, int *n, int *from, int *in_type, void *out, int *m, int *to, int *out_type,
         int *comm, int *request, int *ierr),
        MPI_Ineighbor_alltoallv(BUFFER(in), n, from, *in_type, BUFFER(out), m, to, *out_type, *comm,
                                request))
FORTRAN(neighbor_alltoallw,
        (const void *in, int *n, MPI_Aint *from, int *in_types, void *out, int *m, MPI_Aint *to,
         int *out_types, int *comm, int *ierr),
        MPI_Neighbor_alltoallw(BUFFER(in), n, from, in_types, BUFFER(out), m, to, out_types, *comm))
FORTRAN(ineighbor_alltoallw,
        (const void *in, int *n, MPI_Aint *from, int *in_types, void *out, int *m, MPI_Aint *to,
         int *out_types, int *comm, int *request, int *ierr),
        MPI_Ineighbor_alltoallw(BUFFER(in), n, from, in_types, BUFFER(out), m, to, out_types, *comm,
                                request))
FORTRAN(op_create, (MPI_User_function * function, int *commute, int *op, int *ierr),
        MPI_Op_create(function, *commute, op))
FORTRAN(op_free, (int *op, int *ierr), MPI_Op_free(op))
FORTRAN(op_commutative, (int *op, int *commute, int *ierr), MPI_Op_commutative(*op, commute))
FORTRAN(reduce_local, (const void *in, void *out, int *count, int *type, int *op, int *ierr),
        MPI_Reduce_local(BUFFER(in), BUFFER(out), *count, *type, *op))
