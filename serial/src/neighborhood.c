/* Neighbourhood collectives: all neighbours are this rank or MPI_PROC_NULL. On a periodic grid what
 * goes to the neighbour below arrives from the neighbour above, and the other way round (MPI-4.1
 * section 8.6); the k-th edge of a graph to oneself meets the k-th edge from oneself. */
#include "internal.h"

#include <stdlib.h>

/* The block that was sent to this rank as its j-th source, or -1. */
static int partner(const serial_comm *c, int j, const int *in, int ntargets, const int *out) {
    if (in[j] == MPI_PROC_NULL)
        return -1;
    int k = c->topology.kind == MPI_CART ? j ^ 1 : j;
    return k < ntargets && out[k] == 0 ? k : -1;
}

typedef struct {
    const void *in;
    const int *in_counts; /* NULL: in_count each */
    int in_count;
    const MPI_Aint *in_bytes; /* byte displacement of each block, or NULL: one block for all */
    const MPI_Datatype *in_types;
    void *out;
    const int *out_counts;
    int out_count;
    const MPI_Aint *out_bytes;
    const MPI_Datatype *out_types;
    bool same_in, same_out; /* types: one for all */
} exchange;

static int run(const char *function, MPI_Comm comm, const exchange *e) {
    CHECK_COMM(c, comm, function);
    int nsources, ntargets, *in, *out, rc = serial_neighbors(c, &nsources, &in, &ntargets, &out);
    if (rc != MPI_SUCCESS)
        return serial_error(comm, rc, function, "the communicator has no topology");
    for (int j = 0; j < nsources && rc == MPI_SUCCESS; j++) {
        int k = partner(c, j, in, ntargets, out);
        if (k < 0)
            continue;
        rc = serial_transfer(
            comm, function, (const char *)e->in + (e->in_bytes ? e->in_bytes[k] : 0),
            e->in_counts ? e->in_counts[k] : e->in_count, e->in_types[e->same_in ? 0 : k],
            (char *)e->out + e->out_bytes[j], e->out_counts ? e->out_counts[j] : e->out_count,
            e->out_types[e->same_out ? 0 : j]);
    }
    free(in);
    free(out);
    return rc;
}

/* Byte displacements: displs[i], or i blocks of count, in extents of the type. */
static MPI_Aint *places(MPI_Comm comm, bool incoming, const int *displs, int count,
                        MPI_Datatype type) {
    const serial_comm *c = serial_comm_at(comm);
    int nsources, ntargets, *in, *out;
    if (!c || serial_neighbors(c, &nsources, &in, &ntargets, &out) != MPI_SUCCESS)
        return serial_memory(0); /* run() raises the error */
    free(in);
    free(out);
    int n = incoming ? nsources : ntargets;
    MPI_Aint extent = serial_extent(type), *bytes = serial_memory((size_t)n * sizeof *bytes);
    for (int i = 0; i < n; i++)
        bytes[i] = (displs ? displs[i] : (MPI_Aint)i * count) * extent;
    return bytes;
}

int MPI_Neighbor_allgather(const void *in, int n, MPI_Datatype in_type, void *out, int m,
                           MPI_Datatype out_type, MPI_Comm comm) {
    MPI_Aint *to = places(comm, true, NULL, m, out_type);
    exchange e = {in, NULL, n, NULL, &in_type, out, NULL, m, to, &out_type, true, true};
    int rc = run("MPI_Neighbor_allgather", comm, &e);
    free(to);
    return rc;
}

int MPI_Neighbor_allgatherv(const void *in, int n, MPI_Datatype in_type, void *out, const int *m,
                            const int *where, MPI_Datatype out_type, MPI_Comm comm) {
    MPI_Aint *to = places(comm, true, where, 0, out_type);
    exchange e = {in, NULL, n, NULL, &in_type, out, m, 0, to, &out_type, true, true};
    int rc = run("MPI_Neighbor_allgatherv", comm, &e);
    free(to);
    return rc;
}

int MPI_Neighbor_alltoall(const void *in, int n, MPI_Datatype in_type, void *out, int m,
                          MPI_Datatype out_type, MPI_Comm comm) {
    MPI_Aint *from = places(comm, false, NULL, n, in_type),
             *to = places(comm, true, NULL, m, out_type);
    exchange e = {in, NULL, n, from, &in_type, out, NULL, m, to, &out_type, true, true};
    int rc = run("MPI_Neighbor_alltoall", comm, &e);
    free(from);
    free(to);
    return rc;
}

int MPI_Neighbor_alltoallv(const void *in, const int *n, const int *source, MPI_Datatype in_type,
                           void *out, const int *m, const int *target, MPI_Datatype out_type,
                           MPI_Comm comm) {
    MPI_Aint *from = places(comm, false, source, 0, in_type),
             *to = places(comm, true, target, 0, out_type);
    exchange e = {in, n, 0, from, &in_type, out, m, 0, to, &out_type, true, true};
    int rc = run("MPI_Neighbor_alltoallv", comm, &e);
    free(from);
    free(to);
    return rc;
}

int MPI_Neighbor_alltoallw(const void *in, const int *n, const MPI_Aint *source,
                           const MPI_Datatype *in_types, void *out, const int *m,
                           const MPI_Aint *target, const MPI_Datatype *out_types, MPI_Comm comm) {
    exchange e = {in, n, 0, source, in_types, out, m, 0, target, out_types, false, false};
    return run("MPI_Neighbor_alltoallw", comm, &e);
}

#define NONBLOCKING(name, parameters, call)                                                        \
    int MPI_##name parameters {                                                                    \
        return serial_request_done(request, call);                                                 \
    }

NONBLOCKING(Ineighbor_allgather,
            (const void *in, int n, MPI_Datatype in_type, void *out, int m, MPI_Datatype out_type,
             MPI_Comm comm, MPI_Request *request),
            MPI_Neighbor_allgather(in, n, in_type, out, m, out_type, comm))
NONBLOCKING(Ineighbor_allgatherv,
            (const void *in, int n, MPI_Datatype in_type, void *out, const int *m, const int *where,
             MPI_Datatype out_type, MPI_Comm comm, MPI_Request *request),
            MPI_Neighbor_allgatherv(in, n, in_type, out, m, where, out_type, comm))
NONBLOCKING(Ineighbor_alltoall,
            (const void *in, int n, MPI_Datatype in_type, void *out, int m, MPI_Datatype out_type,
             MPI_Comm comm, MPI_Request *request),
            MPI_Neighbor_alltoall(in, n, in_type, out, m, out_type, comm))
NONBLOCKING(Ineighbor_alltoallv,
            (const void *in, const int *n, const int *source, MPI_Datatype in_type, void *out,
             const int *m, const int *target, MPI_Datatype out_type, MPI_Comm comm,
             MPI_Request *request),
            MPI_Neighbor_alltoallv(in, n, source, in_type, out, m, target, out_type, comm))
NONBLOCKING(Ineighbor_alltoallw,
            (const void *in, const int *n, const MPI_Aint *source, const MPI_Datatype *in_types,
             void *out, const int *m, const MPI_Aint *target, const MPI_Datatype *out_types,
             MPI_Comm comm, MPI_Request *request),
            MPI_Neighbor_alltoallw(in, n, source, in_types, out, m, target, out_types, comm))
