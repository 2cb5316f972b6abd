/* Calls that move blocks of any sizes: alltoallv, alltoallw, gatherv, scatterv, allgatherv.
 *
 * Sizes are known where the standard makes them known, and nothing here is decided by them: a plan
 * is the same whatever they are, and each message is as long as the two ranks concerned both know.
 */
#include "run/call.h"

/* Stands for a buffer of a rank that has none: NULL would mean in place to the node. */
static char nothing;

static int run(stretto_comm *c, const stretto_decision *d, stretto_collective collective,
               const stretto_buffers *b, int root, bool in_place) {
    stretto_elements e = stretto_as_bytes();
    return stretto_call_plan(c, d, collective, &e, b, root, in_place, true);
}

int stretto_call_alltoallv(stretto_comm *c, const stretto_decision *d, const void *in,
                           const stretto_ragged *send, void *out, const stretto_ragged *receive) {
    bool in_place = in == MPI_IN_PLACE;
    stretto_blocks from = {.base = NULL}, to;
    int rc = stretto_blocks_open(c, STRETTO_SCRATCH_UNPACK, &to, out, receive,
                                 stretto_blocks_memory(c, 1), false, in_place, -1);
    if (rc == MPI_SUCCESS && !in_place)
        rc = stretto_blocks_open(c, STRETTO_SCRATCH_PACK, &from, in, send,
                                 stretto_blocks_memory(c, 0), false, true, -1);
    if (rc != MPI_SUCCESS)
        return stretto_call_end(c, rc);
    if (d->run == STRETTO_RUN_NODE) {
        stretto_node_alltoallv(c->node,
                               in_place    ? NULL
                               : from.base ? from.base
                                           : &nothing,
                               in_place ? to.at : from.at, in_place ? to.n : from.n, to.base,
                               to.at);
    } else {
        const stretto_buffers b = {.in = from.base,
                                   .out = to.base,
                                   .in_at = from.at,
                                   .in_n = from.n,
                                   .out_at = to.at,
                                   .out_n = to.n,
                                   .block_n = to.n};
        rc = run(c, d, STRETTO_ALLTOALLV, &b, 0, in_place);
    }
    if (rc == MPI_SUCCESS)
        rc = stretto_blocks_store(&to);
    return stretto_call_end(c, rc);
}

/* One block only, of `bytes`, to or from the root: the others' are empty. */
static size_t *lone_block(stretto_comm *c, int side, int root, size_t bytes) {
    size_t *at = stretto_blocks_memory(c, side);
    for (int r = 0; at && r < c->nranks; r++) {
        at[r] = 0;
        at[c->nranks + r] = r == root ? bytes : 0;
    }
    return at;
}

int stretto_call_gatherv(stretto_comm *c, const stretto_decision *d, const void *in,
                         long long in_count, MPI_Datatype in_type, void *out,
                         const stretto_ragged *receive, int root) {
    bool is_root = c->rank == root, in_place = is_root && in == MPI_IN_PLACE;
    stretto_view from = {.at = NULL};
    stretto_blocks to = {.base = NULL};
    int rc = MPI_SUCCESS;
    long long size = in_place || in_count == 0 ? 0 : stretto_type_bytes(in_type);
    if (size < 0 || (!in_place && in_count < 0))
        rc = STRETTO_PASS;
    size_t own = in_place || rc != MPI_SUCCESS ? 0 : (size_t)size * (size_t)in_count;
    if (rc == MPI_SUCCESS && is_root)
        rc = stretto_blocks_open(c, STRETTO_SCRATCH_UNPACK, &to, out, receive,
                                 stretto_blocks_memory(c, 1), false, in_place, root);
    if (rc == MPI_SUCCESS && !in_place)
        rc = stretto_view_open(c, STRETTO_SCRATCH_PACK, &from, in, in_count, in_type, own, true);
    if (rc != MPI_SUCCESS)
        return stretto_call_end(c, rc);
    if (d->run == STRETTO_RUN_NODE) {
        /* in place the root's own block stays where it is: nothing is sent to oneself */
        size_t *at = lone_block(c, 0, root, own);
        size_t *none = is_root ? to.at : lone_block(c, 1, root, 0);
        if (!at || !none)
            return stretto_call_end(c, MPI_ERR_NO_MEM);
        stretto_node_alltoallv(c->node, from.at ? from.at : &nothing, at, at + c->nranks,
                               is_root ? to.base : &nothing, none);
    } else {
        const stretto_buffers b = {.in = from.at,
                                   .out = to.base,
                                   .count = (long long)own,
                                   .out_at = to.at,
                                   .out_n = to.n,
                                   .block_n = to.n};
        rc = run(c, d, STRETTO_GATHERV, &b, root, in_place);
    }
    if (rc == MPI_SUCCESS && is_root)
        rc = stretto_blocks_store(&to);
    return stretto_call_end(c, rc);
}

int stretto_call_scatterv(stretto_comm *c, const stretto_decision *d, const void *in,
                          const stretto_ragged *send, void *out, long long out_count,
                          MPI_Datatype out_type, int root) {
    bool is_root = c->rank == root, in_place = is_root && out == MPI_IN_PLACE;
    stretto_view to = {.at = NULL};
    stretto_blocks from = {.base = NULL};
    int rc = MPI_SUCCESS;
    long long size = in_place || out_count == 0 ? 0 : stretto_type_bytes(out_type);
    if (size < 0 || (!in_place && out_count < 0))
        rc = STRETTO_PASS;
    size_t own = in_place || rc != MPI_SUCCESS ? 0 : (size_t)size * (size_t)out_count;
    if (rc == MPI_SUCCESS && is_root)
        rc = stretto_blocks_open(c, STRETTO_SCRATCH_PACK, &from, in, send,
                                 stretto_blocks_memory(c, 0), false, true, -1);
    if (rc == MPI_SUCCESS && !in_place)
        rc =
            stretto_view_open(c, STRETTO_SCRATCH_UNPACK, &to, out, out_count, out_type, own, false);
    if (rc != MPI_SUCCESS)
        return stretto_call_end(c, rc);
    if (d->run == STRETTO_RUN_NODE) {
        size_t *none = is_root ? from.at : lone_block(c, 0, root, 0),
               *at = lone_block(c, 1, root, 0);
        if (!at || !none)
            return stretto_call_end(c, MPI_ERR_NO_MEM);
        if (in_place)
            from.n[root] = 0;
        stretto_node_alltoallv(c->node, is_root && from.base ? from.base : &nothing, none,
                               none + c->nranks, to.at ? to.at : &nothing, at);
    } else {
        const stretto_buffers b = {.in = from.base,
                                   .out = to.at,
                                   .count = (long long)own,
                                   .in_at = from.at,
                                   .in_n = from.n,
                                   .block_n = from.n};
        rc = run(c, d, STRETTO_SCATTERV, &b, root, in_place);
    }
    if (rc == MPI_SUCCESS && !in_place)
        rc = stretto_view_store(&to);
    return stretto_call_end(c, rc);
}

int stretto_call_allgatherv(stretto_comm *c, const stretto_decision *d, const void *in,
                            long long in_count, MPI_Datatype in_type, void *out,
                            const stretto_ragged *receive) {
    bool in_place = in == MPI_IN_PLACE;
    stretto_view from = {.at = NULL};
    stretto_blocks to;
    int rc = stretto_blocks_open(c, STRETTO_SCRATCH_UNPACK, &to, out, receive,
                                 stretto_blocks_memory(c, 1), true, in_place, c->rank);
    if (rc == MPI_SUCCESS && !in_place)
        rc = stretto_view_open(c, STRETTO_SCRATCH_PACK, &from, in, in_count, in_type, to.n[c->rank],
                               true);
    if (rc != MPI_SUCCESS)
        return stretto_call_end(c, rc);
    if (d->run == STRETTO_RUN_NODE) {
        stretto_node_allgatherv(c->node, in_place ? to.base + to.at[c->rank] : from.at, to.base,
                                to.at, to.n);
    } else {
        const stretto_buffers b = {.in = from.at,
                                   .out = to.base,
                                   .count = (long long)to.n[c->rank],
                                   .out_at = to.at,
                                   .out_n = to.n,
                                   .block_n = to.n};
        rc = run(c, d, STRETTO_ALLGATHERV, &b, 0, in_place);
    }
    if (rc == MPI_SUCCESS)
        rc = stretto_blocks_store(&to);
    return stretto_call_end(c, rc);
}
