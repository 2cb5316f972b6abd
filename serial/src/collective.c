/* Collectives: each is a copy from this rank's contribution to its result, or nothing. The
 * nonblocking ones are over when they return. */
#include "internal.h"

#include <stdlib.h>

static int check(MPI_Comm comm, int root, const char *function) {
    CHECK_COMM(c, comm, function);
    (void)c;
    return serial_check_root(comm, root, function);
}

static int check_op(MPI_Comm comm, MPI_Op op, const char *function) {
    return serial_op_exists(op) ? MPI_SUCCESS
                                : serial_error(comm, MPI_ERR_OP, function, "no valid operation");
}

static void *at(const void *buffer, long long displacement, MPI_Datatype type) {
    return (char *)(uintptr_t)buffer + displacement * serial_extent(type);
}

/* The contribution to the result, unless it is there already. */
static int move(const char *function, MPI_Comm comm, int root, const void *in, int in_count,
                MPI_Datatype in_type, void *out, int out_count, MPI_Datatype out_type) {
    int rc = check(comm, root, function);
    if (rc != MPI_SUCCESS || in == MPI_IN_PLACE || out == MPI_IN_PLACE)
        return rc;
    return serial_transfer(comm, function, in, in_count, in_type, out, out_count, out_type);
}

static int reduced(const char *function, MPI_Comm comm, int root, const void *in, void *out,
                   int count, MPI_Datatype type, MPI_Op op) {
    int rc = check(comm, root, function);
    if (rc == MPI_SUCCESS)
        rc = check_op(comm, op, function);
    return rc == MPI_SUCCESS ? move(function, comm, 0, in, count, type, out, count, type) : rc;
}

int MPI_Barrier(MPI_Comm comm) {
    return check(comm, 0, "MPI_Barrier");
}

int MPI_Bcast(void *buffer, int count, MPI_Datatype type, int root, MPI_Comm comm) {
    return move("MPI_Bcast", comm, root, buffer, count, type, buffer, count, type);
}

int MPI_Gather(const void *in, int n, MPI_Datatype in_type, void *out, int m, MPI_Datatype out_type,
               int root, MPI_Comm comm) {
    return move("MPI_Gather", comm, root, in, n, in_type, out, m, out_type);
}

int MPI_Gatherv(const void *in, int n, MPI_Datatype in_type, void *out, const int *m,
                const int *where, MPI_Datatype out_type, int root, MPI_Comm comm) {
    return move("MPI_Gatherv", comm, root, in, n, in_type, at(out, where[0], out_type), m[0],
                out_type);
}

int MPI_Scatter(const void *in, int n, MPI_Datatype in_type, void *out, int m,
                MPI_Datatype out_type, int root, MPI_Comm comm) {
    return move("MPI_Scatter", comm, root, in, n, in_type, out, m, out_type);
}

int MPI_Scatterv(const void *in, const int *n, const int *where, MPI_Datatype in_type, void *out,
                 int m, MPI_Datatype out_type, int root, MPI_Comm comm) {
    return move("MPI_Scatterv", comm, root, at(in, where[0], in_type), n[0], in_type, out, m,
                out_type);
}

int MPI_Allgather(const void *in, int n, MPI_Datatype in_type, void *out, int m,
                  MPI_Datatype out_type, MPI_Comm comm) {
    return move("MPI_Allgather", comm, 0, in, n, in_type, out, m, out_type);
}

int MPI_Allgatherv(const void *in, int n, MPI_Datatype in_type, void *out, const int *m,
                   const int *where, MPI_Datatype out_type, MPI_Comm comm) {
    return move("MPI_Allgatherv", comm, 0, in, n, in_type, at(out, where[0], out_type), m[0],
                out_type);
}

int MPI_Alltoall(const void *in, int n, MPI_Datatype in_type, void *out, int m,
                 MPI_Datatype out_type, MPI_Comm comm) {
    return move("MPI_Alltoall", comm, 0, in, n, in_type, out, m, out_type);
}

int MPI_Alltoallv(const void *in, const int *n, const int *from, MPI_Datatype in_type, void *out,
                  const int *m, const int *to, MPI_Datatype out_type, MPI_Comm comm) {
    if (in == MPI_IN_PLACE)
        return check(comm, 0, "MPI_Alltoallv");
    return move("MPI_Alltoallv", comm, 0, at(in, from[0], in_type), n[0], in_type,
                at(out, to[0], out_type), m[0], out_type);
}

int MPI_Alltoallw(const void *in, const int *n, const int *from, const MPI_Datatype *in_types,
                  void *out, const int *m, const int *to, const MPI_Datatype *out_types,
                  MPI_Comm comm) {
    if (in == MPI_IN_PLACE)
        return check(comm, 0, "MPI_Alltoallw");
    return move("MPI_Alltoallw", comm, 0, at(in, from[0], MPI_BYTE), n[0], in_types[0],
                at(out, to[0], MPI_BYTE), m[0], out_types[0]);
}

int MPI_Reduce(const void *in, void *out, int count, MPI_Datatype type, MPI_Op op, int root,
               MPI_Comm comm) {
    return reduced("MPI_Reduce", comm, root, in, out, count, type, op);
}

int MPI_Allreduce(const void *in, void *out, int count, MPI_Datatype type, MPI_Op op,
                  MPI_Comm comm) {
    return reduced("MPI_Allreduce", comm, 0, in, out, count, type, op);
}

int MPI_Reduce_scatter(const void *in, void *out, const int *counts, MPI_Datatype type, MPI_Op op,
                       MPI_Comm comm) {
    return reduced("MPI_Reduce_scatter", comm, 0, in, out, counts[0], type, op);
}

int MPI_Reduce_scatter_block(const void *in, void *out, int count, MPI_Datatype type, MPI_Op op,
                             MPI_Comm comm) {
    return reduced("MPI_Reduce_scatter_block", comm, 0, in, out, count, type, op);
}

int MPI_Scan(const void *in, void *out, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
    return reduced("MPI_Scan", comm, 0, in, out, count, type, op);
}

/* Rank 0's result is undefined (MPI-3.1 section 5.11.2): left as it is. */
int MPI_Exscan(const void *in, void *out, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
    (void)in;
    return reduced("MPI_Exscan", comm, 0, MPI_IN_PLACE, out, count, type, op);
}

/* ---- nonblocking ----------------------------------------------------------------------------- */

#define NONBLOCKING(name, parameters, call)                                                        \
    int MPI_##name parameters {                                                                    \
        return serial_request_done(request, call);                                                 \
    }

NONBLOCKING(Ibarrier, (MPI_Comm comm, MPI_Request *request), MPI_Barrier(comm))
NONBLOCKING(Ibcast,
            (void *buffer, int count, MPI_Datatype type, int root, MPI_Comm comm,
             MPI_Request *request),
            MPI_Bcast(buffer, count, type, root, comm))
NONBLOCKING(Igather,
            (const void *in, int n, MPI_Datatype in_type, void *out, int m, MPI_Datatype out_type,
             int root, MPI_Comm comm, MPI_Request *request),
            MPI_Gather(in, n, in_type, out, m, out_type, root, comm))
NONBLOCKING(Igatherv,
            (const void *in, int n, MPI_Datatype in_type, void *out, const int *m, const int *where,
             MPI_Datatype out_type, int root, MPI_Comm comm, MPI_Request *request),
            MPI_Gatherv(in, n, in_type, out, m, where, out_type, root, comm))
NONBLOCKING(Iscatter,
            (const void *in, int n, MPI_Datatype in_type, void *out, int m, MPI_Datatype out_type,
             int root, MPI_Comm comm, MPI_Request *request),
            MPI_Scatter(in, n, in_type, out, m, out_type, root, comm))
NONBLOCKING(Iscatterv,
            (const void *in, const int *n, const int *where, MPI_Datatype in_type, void *out, int m,
             MPI_Datatype out_type, int root, MPI_Comm comm, MPI_Request *request),
            MPI_Scatterv(in, n, where, in_type, out, m, out_type, root, comm))
NONBLOCKING(Iallgather,
            (const void *in, int n, MPI_Datatype in_type, void *out, int m, MPI_Datatype out_type,
             MPI_Comm comm, MPI_Request *request),
            MPI_Allgather(in, n, in_type, out, m, out_type, comm))
NONBLOCKING(Iallgatherv,
            (const void *in, int n, MPI_Datatype in_type, void *out, const int *m, const int *where,
             MPI_Datatype out_type, MPI_Comm comm, MPI_Request *request),
            MPI_Allgatherv(in, n, in_type, out, m, where, out_type, comm))
NONBLOCKING(Ialltoall,
            (const void *in, int n, MPI_Datatype in_type, void *out, int m, MPI_Datatype out_type,
             MPI_Comm comm, MPI_Request *request),
            MPI_Alltoall(in, n, in_type, out, m, out_type, comm))
NONBLOCKING(Ialltoallv,
            (const void *in, const int *n, const int *from, MPI_Datatype in_type, void *out,
             const int *m, const int *to, MPI_Datatype out_type, MPI_Comm comm,
             MPI_Request *request),
            MPI_Alltoallv(in, n, from, in_type, out, m, to, out_type, comm))
NONBLOCKING(Ialltoallw,
            (const void *in, const int *n, const int *from, const MPI_Datatype *in_types, void *out,
             const int *m, const int *to, const MPI_Datatype *out_types, MPI_Comm comm,
             MPI_Request *request),
            MPI_Alltoallw(in, n, from, in_types, out, m, to, out_types, comm))
NONBLOCKING(Ireduce,
            (const void *in, void *out, int count, MPI_Datatype type, MPI_Op op, int root,
             MPI_Comm comm, MPI_Request *request),
            MPI_Reduce(in, out, count, type, op, root, comm))
NONBLOCKING(Iallreduce,
            (const void *in, void *out, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm,
             MPI_Request *request),
            MPI_Allreduce(in, out, count, type, op, comm))
NONBLOCKING(Ireduce_scatter,
            (const void *in, void *out, const int *counts, MPI_Datatype type, MPI_Op op,
             MPI_Comm comm, MPI_Request *request),
            MPI_Reduce_scatter(in, out, counts, type, op, comm))
NONBLOCKING(Ireduce_scatter_block,
            (const void *in, void *out, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm,
             MPI_Request *request),
            MPI_Reduce_scatter_block(in, out, count, type, op, comm))
NONBLOCKING(Iscan,
            (const void *in, void *out, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm,
             MPI_Request *request),
            MPI_Scan(in, out, count, type, op, comm))
NONBLOCKING(Iexscan,
            (const void *in, void *out, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm,
             MPI_Request *request),
            MPI_Exscan(in, out, count, type, op, comm))
