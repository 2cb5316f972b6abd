/* Calls that are ours, from the application's buffers to a node phase or a plan and back.
 *
 * Data that is only moved (bcast, allgather) travels as bytes; a datatype that is not dense is
 * packed and unpacked by each rank for itself, since contiguity is no property of the call but of
 * one rank's arguments.
 */
#include "run/engine.h"

#include <string.h>

/* The end of a call. */
static int raise_error(stretto_comm *c, int rc) {
    stretto_comm_trim(c);
    if (rc != MPI_SUCCESS && rc != STRETTO_PASS)
        PMPI_Comm_call_errhandler(c->comm, rc);
    return rc;
}

/* Builds and runs; errors are not raised yet. */
static int run_plan(stretto_comm *c, const stretto_decision *d, stretto_collective collective,
                    const stretto_elements *e, long long count, const void *in, void *out, int root,
                    bool in_place, bool commutative) {
    char error[400];
    stretto_cached_plan *plan = stretto_plan_for(c, collective, &d->row->choice, root, d->bytes,
                                                 in_place, commutative, error, sizeof error);
    if (!plan) /* lack of memory is one rank's own; a refusal is everybody's */
        return strncmp(error, "out of memory", 13) ? STRETTO_PASS : MPI_ERR_NO_MEM;
    return stretto_execute(c, plan, e, count, in, out);
}

/* Elements of a reduction: bytes of the predefined type, or the application's type and operation.
 */
static int reduction_elements(const stretto_decision *d, stretto_elements *e, bool *commutative) {
    *commutative = true;
    if (d->reduce) {
        *e = (stretto_elements){MPI_BYTE, (ptrdiff_t)d->extent, (int)d->extent, d->reduce, d->op};
        return MPI_SUCCESS;
    }
    MPI_Aint lb, extent;
    int commutes, rc = PMPI_Type_get_extent(d->datatype, &lb, &extent);
    if (rc == MPI_SUCCESS)
        rc = PMPI_Op_commutative(d->op, &commutes);
    if (rc == MPI_SUCCESS) {
        *e = (stretto_elements){d->datatype, extent, 1, NULL, d->op};
        *commutative = commutes;
    }
    return rc;
}

int stretto_call_allreduce(stretto_comm *c, const stretto_decision *d, const void *in, void *out) {
    bool in_place = in == MPI_IN_PLACE, commutative;
    if (d->run == STRETTO_RUN_NODE) {
        stretto_node_allreduce(c->node, in_place ? out : in, out, (size_t)d->elements, d->extent,
                               d->reduce);
        return MPI_SUCCESS;
    }
    stretto_elements e;
    int rc = reduction_elements(d, &e, &commutative);
    if (rc == MPI_SUCCESS)
        rc = run_plan(c, d, STRETTO_ALLREDUCE, &e, d->elements, in_place ? NULL : in, out, 0,
                      in_place, commutative);
    return raise_error(c, rc);
}

int stretto_call_reduce(stretto_comm *c, const stretto_decision *d, const void *in, void *out,
                        int root) {
    bool in_place = in == MPI_IN_PLACE || (c->rank == root && in == out), commutative;
    if (d->run == STRETTO_RUN_NODE) {
        stretto_node_reduce(c->node, in_place ? out : in, out, (size_t)d->elements, d->extent,
                            d->reduce, root);
        return MPI_SUCCESS;
    }
    stretto_elements e;
    int rc = reduction_elements(d, &e, &commutative);
    if (rc == MPI_SUCCESS)
        rc = run_plan(c, d, STRETTO_REDUCE, &e, d->elements, in_place ? NULL : in,
                      c->rank == root ? out : NULL, root, in_place, commutative);
    return raise_error(c, rc);
}

/* The application's data as bytes: where they lie, or packed into scratch. */
static int pack(const void *data, long long count, MPI_Datatype type, size_t bytes, void *packed) {
    int position = 0;
    int rc =
        PMPI_Pack(data, (int)count, type, packed, (int)bytes, &position, stretto_the_world.self);
    return rc == MPI_SUCCESS && (size_t)position != bytes ? MPI_ERR_INTERN : rc;
}

static int unpack(const void *packed, size_t bytes, void *data, long long count,
                  MPI_Datatype type) {
    int position = 0;
    return PMPI_Unpack(packed, (int)bytes, &position, data, (int)count, type,
                       stretto_the_world.self);
}

static stretto_elements as_bytes(void) {
    return (stretto_elements){MPI_BYTE, 1, 1, NULL, MPI_OP_NULL};
}

int stretto_call_bcast(stretto_comm *c, const stretto_decision *d, void *buffer, int root) {
    bool dense = stretto_dense_size(d->datatype) != 0;
    void *bytes = dense ? buffer : stretto_comm_scratch(c, STRETTO_SCRATCH_PACK, d->bytes);
    int rc = bytes ? MPI_SUCCESS : dense ? MPI_ERR_BUFFER : MPI_ERR_NO_MEM;
    if (rc == MPI_SUCCESS && !dense && c->rank == root)
        rc = pack(buffer, d->elements, d->datatype, d->bytes, bytes);
    if (rc != MPI_SUCCESS)
        return raise_error(c, rc);
    if (d->run == STRETTO_RUN_NODE) {
        stretto_node_bcast(c->node, bytes, d->bytes, root);
    } else {
        stretto_elements e = as_bytes();
        rc = run_plan(c, d, STRETTO_BCAST, &e, (long long)d->bytes, NULL, bytes, root, false, true);
    }
    if (rc == MPI_SUCCESS && !dense && c->rank != root)
        rc = unpack(bytes, d->bytes, buffer, d->elements, d->datatype);
    return raise_error(c, rc);
}

/* d describes the receive side: count elements of datatype from each rank. */
int stretto_call_allgather(stretto_comm *c, const stretto_decision *d, const void *in,
                           long long in_count, MPI_Datatype in_type, void *out) {
    bool in_place = in == MPI_IN_PLACE;
    bool dense_in = in_place || stretto_dense_size(in_type),
         dense_out = stretto_dense_size(d->datatype);
    size_t all = d->bytes * (size_t)c->nranks;
    char *gathered = out;
    int rc = MPI_SUCCESS;
    if (!dense_out || !dense_in) {
        char *scratch = stretto_comm_scratch(c, STRETTO_SCRATCH_PACK, all + d->bytes);
        if (!scratch)
            return raise_error(c, MPI_ERR_NO_MEM);
        if (!dense_out)
            gathered = scratch;
        if (in_place) {
            MPI_Aint lb, extent;
            rc = PMPI_Type_get_extent(d->datatype, &lb, &extent);
            if (rc == MPI_SUCCESS)
                rc = pack((char *)out + (MPI_Aint)c->rank * d->elements * extent, d->elements,
                          d->datatype, d->bytes, scratch + all);
            in = scratch + all;
            in_place = false;
        } else if (!dense_in) {
            rc = pack(in, in_count, in_type, d->bytes, scratch + all);
            in = scratch + all;
        }
    }
    if (rc != MPI_SUCCESS)
        return raise_error(c, rc);
    if (d->run == STRETTO_RUN_NODE) {
        stretto_node_allgather(c->node, in_place ? gathered + (size_t)c->rank * d->bytes : in,
                               gathered, d->bytes);
    } else {
        stretto_elements e = as_bytes();
        rc = run_plan(c, d, STRETTO_ALLGATHER, &e, (long long)d->bytes, in_place ? NULL : in,
                      gathered, 0, in_place, true);
    }
    if (rc == MPI_SUCCESS && !dense_out)
        rc = unpack(gathered, all, out, d->elements * c->nranks, d->datatype);
    return raise_error(c, rc);
}

int stretto_call_barrier(stretto_comm *c, const stretto_decision *d) {
    if (d->run == STRETTO_RUN_NODE) {
        stretto_node_barrier(c->node);
        return MPI_SUCCESS;
    }
    stretto_elements e = as_bytes();
    return raise_error(c, run_plan(c, d, STRETTO_BARRIER, &e, 0, NULL, NULL, 0, false, true));
}
