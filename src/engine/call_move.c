/* Calls that move equal blocks: bcast, allgather, alltoall, gather, scatter. Data travels as bytes.
 */
#include "engine/call.h"

static int move(stretto_comm *c, const stretto_decision *d, stretto_collective collective,
                const void *in, void *out, int root, bool in_place) {
    stretto_elements e = stretto_as_bytes();
    const stretto_buffers b = {.in = in, .out = out, .count = (long long)d->bytes};
    return stretto_call_plan(c, d, collective, &e, &b, root, in_place, true);
}

int stretto_call_bcast(stretto_comm *c, const stretto_decision *d, void *buffer, int root) {
    stretto_view v;
    if (d->run == STRETTO_RUN_NODE && buffer && stretto_dense_size(d->datatype)) {
        stretto_node_bcast(c->node, buffer, d->bytes, root);
        return MPI_SUCCESS;
    }
    int rc = stretto_view_open(c, STRETTO_SCRATCH_PACK, &v, buffer, d->elements, d->datatype,
                               d->bytes, c->rank == root);
    if (rc == MPI_SUCCESS && !v.at)
        rc = MPI_ERR_BUFFER;
    if (rc != MPI_SUCCESS)
        return stretto_call_end(c, rc);
    if (d->run == STRETTO_RUN_NODE)
        stretto_node_bcast(c->node, v.at, d->bytes, root);
    else
        rc = move(c, d, STRETTO_BCAST, NULL, v.at, root, false);
    if (rc == MPI_SUCCESS && c->rank != root)
        rc = stretto_view_store(&v);
    return stretto_call_end(c, rc);
}

/* d describes the receive side: count elements of datatype from each rank. */
int stretto_call_allgather(stretto_comm *c, const stretto_decision *d, const void *in,
                           long long in_count, MPI_Datatype in_type, void *out) {
    bool in_place = in == MPI_IN_PLACE;
    if (d->run == STRETTO_RUN_NODE && stretto_dense_size(d->datatype) &&
        (in_place || stretto_dense_size(in_type))) {
        stretto_node_allgather(c->node, in_place ? (char *)out + (size_t)c->rank * d->bytes : in,
                               out, d->bytes);
        return MPI_SUCCESS;
    }
    stretto_view from = {.at = NULL}, to;
    int rc = stretto_view_open(c, STRETTO_SCRATCH_UNPACK, &to, out, d->elements * c->nranks,
                               d->datatype, d->bytes * (size_t)c->nranks, false);
    char *own = rc == MPI_SUCCESS ? to.at + (size_t)c->rank * d->bytes : NULL;
    if (rc == MPI_SUCCESS && !in_place) {
        rc = stretto_view_open(c, STRETTO_SCRATCH_PACK, &from, in, in_count, in_type, d->bytes,
                               true);
    } else if (rc == MPI_SUCCESS && to.packed) {
        MPI_Aint lb, extent;
        rc = PMPI_Type_get_extent(d->datatype, &lb, &extent);
        if (rc == MPI_SUCCESS)
            rc = stretto_pack((char *)out + (MPI_Aint)c->rank * d->elements * extent, d->elements,
                              d->datatype, d->bytes, own);
    }
    if (rc != MPI_SUCCESS)
        return stretto_call_end(c, rc);
    if (d->run == STRETTO_RUN_NODE)
        stretto_node_allgather(c->node, in_place ? own : from.at, to.at, d->bytes);
    else
        rc = move(c, d, STRETTO_ALLGATHER, from.at, to.at, 0, in_place);
    if (rc == MPI_SUCCESS)
        rc = stretto_view_store(&to);
    return stretto_call_end(c, rc);
}

int stretto_call_alltoall(stretto_comm *c, const stretto_decision *d, const void *in,
                          long long in_count, MPI_Datatype in_type, void *out) {
    bool in_place = in == MPI_IN_PLACE;
    if (d->run == STRETTO_RUN_NODE && stretto_dense_size(d->datatype) &&
        (in_place || stretto_dense_size(in_type))) {
        stretto_node_alltoall(c->node, in_place ? NULL : in, out, d->bytes);
        return MPI_SUCCESS;
    }
    size_t all = d->bytes * (size_t)c->nranks;
    stretto_view from = {.at = NULL}, to;
    int rc = stretto_view_open(c, STRETTO_SCRATCH_UNPACK, &to, out, d->elements * c->nranks,
                               d->datatype, all, in_place);
    if (rc == MPI_SUCCESS && !in_place)
        rc = stretto_view_open(c, STRETTO_SCRATCH_PACK, &from, in, in_count * c->nranks, in_type,
                               all, true);
    if (rc != MPI_SUCCESS)
        return stretto_call_end(c, rc);
    if (d->run == STRETTO_RUN_NODE)
        stretto_node_alltoall(c->node, from.at, to.at, d->bytes);
    else
        rc = move(c, d, STRETTO_ALLTOALL, from.at, to.at, 0, in_place);
    if (rc == MPI_SUCCESS)
        rc = stretto_view_store(&to);
    return stretto_call_end(c, rc);
}

/* On the root d describes what is received, elsewhere what is sent. */
int stretto_call_gather(stretto_comm *c, const stretto_decision *d, const void *in,
                        long long in_count, MPI_Datatype in_type, void *out, int root) {
    bool is_root = c->rank == root, in_place = is_root && in == MPI_IN_PLACE;
    stretto_view from = {.at = NULL}, to = {.at = NULL};
    int rc = MPI_SUCCESS;
    if (is_root) /* what is there already comes along: rank's own block in place */
        rc = stretto_view_open(c, STRETTO_SCRATCH_UNPACK, &to, out, d->elements * c->nranks,
                               d->datatype, d->bytes * (size_t)c->nranks, in_place);
    if (rc == MPI_SUCCESS && !in_place)
        rc = stretto_view_open(c, STRETTO_SCRATCH_PACK, &from, in, in_count, in_type, d->bytes,
                               true);
    if (rc != MPI_SUCCESS)
        return stretto_call_end(c, rc);
    if (d->run == STRETTO_RUN_NODE)
        stretto_node_gather(c->node, in_place ? to.at + (size_t)root * d->bytes : from.at, to.at,
                            d->bytes, root);
    else
        rc = move(c, d, STRETTO_GATHER, from.at, to.at, root, in_place);
    if (rc == MPI_SUCCESS && is_root)
        rc = stretto_view_store(&to);
    return stretto_call_end(c, rc);
}

/* On the root d describes what is sent, elsewhere what is received. */
int stretto_call_scatter(stretto_comm *c, const stretto_decision *d, const void *in, void *out,
                         long long out_count, MPI_Datatype out_type, int root) {
    bool is_root = c->rank == root, in_place = is_root && out == MPI_IN_PLACE;
    stretto_view from = {.at = NULL}, to = {.at = NULL};
    int rc = MPI_SUCCESS;
    if (is_root)
        rc = stretto_view_open(c, STRETTO_SCRATCH_PACK, &from, in, d->elements * c->nranks,
                               d->datatype, d->bytes * (size_t)c->nranks, true);
    if (rc == MPI_SUCCESS && !in_place)
        rc = stretto_view_open(c, STRETTO_SCRATCH_UNPACK, &to, out, out_count, out_type, d->bytes,
                               false);
    if (rc != MPI_SUCCESS)
        return stretto_call_end(c, rc);
    if (d->run == STRETTO_RUN_NODE)
        stretto_node_scatter(c->node, from.at, in_place ? from.at + (size_t)root * d->bytes : to.at,
                             d->bytes, root);
    else
        rc = move(c, d, STRETTO_SCATTER, from.at, to.at, root, in_place);
    if (rc == MPI_SUCCESS && !in_place)
        rc = stretto_view_store(&to);
    return stretto_call_end(c, rc);
}
