/* Calls that combine contributions: allreduce, reduce, reduce_scatter(_block), scan, exscan. */
#include "engine/call.h"

/* Elements of a reduction: bytes of the predefined type, or the application's type and operation.
 */
static int reduction_elements(const stretto_decision *d, stretto_elements *e, bool *commutative) {
    *commutative = !stretto_config.reproducible;
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
        *commutative = *commutative && commutes;
    }
    return rc;
}

static int run(stretto_comm *c, const stretto_decision *d, stretto_collective collective,
               const stretto_buffers *b, int root, bool in_place) {
    stretto_elements e;
    bool commutative;
    int rc = reduction_elements(d, &e, &commutative);
    if (rc == MPI_SUCCESS)
        rc = stretto_call_plan(c, d, collective, &e, b, root, in_place, commutative);
    return rc;
}

static inline int ended(stretto_comm *c, const stretto_decision *d, int rc) {
    return d->run == STRETTO_RUN_NODE && !d->store ? rc : stretto_call_end(c, rc);
}

/* Pairs with a gap: the result is made elsewhere, never in place, and its members are stored. */
static void *aside(stretto_comm *c, const stretto_decision *d, size_t n) {
    return stretto_comm_scratch(c, STRETTO_SCRATCH_UNPACK, n ? n * d->extent : 1);
}

static int stored(stretto_comm *c, const stretto_decision *d, int rc, void *out, const void *result,
                  size_t n) {
    if (rc == MPI_SUCCESS)
        d->store(out, result, n);
    return ended(c, d, rc);
}

static int allreduce(stretto_comm *c, const stretto_decision *d, const void *in, void *out) {
    bool in_place = in == MPI_IN_PLACE;
    if (d->run == STRETTO_RUN_NODE) {
        stretto_node_allreduce(c->node, in_place ? out : in, out, (size_t)d->elements, d->extent,
                               d->reduce);
        return MPI_SUCCESS;
    }
    const stretto_buffers b = {.in = in_place ? NULL : in, .out = out, .count = d->elements};
    return run(c, d, STRETTO_ALLREDUCE, &b, 0, in_place);
}

int stretto_call_allreduce(stretto_comm *c, const stretto_decision *d, const void *in, void *out) {
    if (!d->store)
        return ended(c, d, allreduce(c, d, in, out));
    void *result = aside(c, d, (size_t)d->elements);
    int rc = allreduce(c, d, in == MPI_IN_PLACE ? out : in, result);
    return stored(c, d, rc, out, result, (size_t)d->elements);
}

static int reduce(stretto_comm *c, const stretto_decision *d, const void *in, void *out, int root) {
    bool in_place = in == MPI_IN_PLACE || (c->rank == root && in == out);
    if (d->run == STRETTO_RUN_NODE) {
        stretto_node_reduce(c->node, in_place ? out : in, out, (size_t)d->elements, d->extent,
                            d->reduce, root);
        return MPI_SUCCESS;
    }
    const stretto_buffers b = {.in = in_place ? NULL : in,
                               .out = out,
                               .out_is_scratch = c->rank != root,
                               .count = d->elements};
    return run(c, d, STRETTO_REDUCE, &b, root, in_place);
}

int stretto_call_reduce(stretto_comm *c, const stretto_decision *d, const void *in, void *out,
                        int root) {
    if (!d->store || c->rank != root)
        return ended(c, d, reduce(c, d, in, out, root));
    void *result = aside(c, d, (size_t)d->elements);
    int rc = reduce(c, d, in == MPI_IN_PLACE ? out : in, result, root);
    return stored(c, d, rc, out, result, (size_t)d->elements);
}

/* at and n = offsets and sizes of the blocks in elements, NULL for equal ones; own: my block's
 * size. In place the result goes to the front of the vector when all is done. */
static int scatter_plan(stretto_comm *c, const stretto_decision *d, stretto_collective collective,
                        const void *in, void *out, const size_t *at, const size_t *n, size_t own) {
    bool in_place = in == MPI_IN_PLACE || in == out;
    const stretto_buffers b = {.in = in_place ? out : in,
                               .out = out,
                               .out_is_scratch = in_place,
                               .back = in_place ? out : NULL,
                               .count = (long long)own,
                               .in_at = at,
                               .in_n = n,
                               .block_n = n};
    return run(c, d, collective, &b, 0, false);
}

static int reduce_scatter_block(stretto_comm *c, const stretto_decision *d, const void *in,
                                void *out) {
    size_t own = (size_t)d->elements;
    if (d->run == STRETTO_RUN_NODE) {
        size_t *n = stretto_blocks_memory(c, 0);
        for (int r = 0; r < c->nranks; r++)
            n[r] = own;
        stretto_node_reduce_scatter(c->node, in == MPI_IN_PLACE ? out : in, out, n, d->extent,
                                    d->reduce);
        return MPI_SUCCESS;
    }
    return scatter_plan(c, d, STRETTO_REDUCE_SCATTER_BLOCK, in, out, NULL, NULL, own);
}

int stretto_call_reduce_scatter_block(stretto_comm *c, const stretto_decision *d, const void *in,
                                      void *out) {
    if (!d->store)
        return ended(c, d, reduce_scatter_block(c, d, in, out));
    void *result = aside(c, d, (size_t)d->elements);
    int rc = reduce_scatter_block(c, d, in == MPI_IN_PLACE ? out : in, result);
    return stored(c, d, rc, out, result, (size_t)d->elements);
}

static int reduce_scatter(stretto_comm *c, const stretto_decision *d, const void *in, void *out,
                          const size_t *at, const size_t *n) {
    if (d->run == STRETTO_RUN_NODE) {
        stretto_node_reduce_scatter(c->node, in == MPI_IN_PLACE ? out : in, out, n, d->extent,
                                    d->reduce);
        return MPI_SUCCESS;
    }
    return scatter_plan(c, d, STRETTO_REDUCE_SCATTER, in, out, at, n, n[c->rank]);
}

int stretto_call_reduce_scatter(stretto_comm *c, const stretto_decision *d, const void *in,
                                void *out, const stretto_ragged *blocks) {
    size_t *at = stretto_blocks_memory(c, 0), next = 0;
    size_t *n = at + c->nranks;
    for (int r = 0; r < c->nranks; r++) {
        n[r] = (size_t)(blocks->large ? (long long)((const MPI_Count *)blocks->counts)[r]
                                      : ((const int *)blocks->counts)[r]);
        at[r] = next;
        next += n[r];
    }
    if (!d->store)
        return ended(c, d, reduce_scatter(c, d, in, out, at, n));
    void *result = aside(c, d, n[c->rank]);
    int rc = reduce_scatter(c, d, in == MPI_IN_PLACE ? out : in, result, at, n);
    return stored(c, d, rc, out, result, n[c->rank]);
}

static int scan(stretto_comm *c, const stretto_decision *d, const void *in, void *out,
                bool exclusive) {
    bool in_place = in == MPI_IN_PLACE || in == out;
    if (d->run == STRETTO_RUN_NODE) {
        stretto_node_scan(c->node, in_place ? out : in, out, (size_t)d->elements, d->extent,
                          d->reduce, exclusive);
        return MPI_SUCCESS;
    }
    const stretto_buffers b = {.in = in_place ? NULL : in, .out = out, .count = d->elements};
    return run(c, d, exclusive ? STRETTO_EXSCAN : STRETTO_SCAN, &b, 0, in_place);
}

int stretto_call_scan(stretto_comm *c, const stretto_decision *d, const void *in, void *out,
                      bool exclusive) {
    if (!d->store)
        return ended(c, d, scan(c, d, in, out, exclusive));
    void *result = aside(c, d, (size_t)d->elements);
    int rc = scan(c, d, in == MPI_IN_PLACE ? out : in, result, exclusive);
    if (exclusive && c->rank == 0) /* which has no result */
        return ended(c, d, rc);
    return stored(c, d, rc, out, result, (size_t)d->elements);
}
