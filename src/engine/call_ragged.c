/* Calls that move blocks of any sizes: alltoallv, alltoallw, gatherv, scatterv, allgatherv.
 *
 * Sizes are known where the standard makes them known, and nothing here is decided by them: a plan
 * is the same whatever they are, and each message is as long as the two ranks concerned both know.
 */
#include "engine/call.h"

/* Stands for a buffer of a rank that has none: NULL would mean in place to the node. */
static char nothing;

static int run(stretto_comm *c, const stretto_decision *d, stretto_collective collective,
               const stretto_buffers *b, int root, bool in_place) {
    stretto_elements e = stretto_as_bytes();
    return stretto_call_plan(c, d, collective, &e, b, root, in_place, true);
}

/* The node's result as an error: more came than there was room for, or not. */
static int judged(bool all_fit) {
    return all_fit ? MPI_SUCCESS : MPI_ERR_TRUNCATE;
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
        const stretto_blocks *sent = in_place ? &to : &from;
        const char *base = in_place ? NULL : from.base ? from.base : &nothing;
        rc = judged(stretto_node_alltoallv(c->node, base, sent->at, sent->n, to.base, to.at, to.n));
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

/* gatherv and scatterv: the root has `all` blocks of its buffer `many`, every rank its own block
 * `one`, and what differs is the direction. */
typedef struct {
    const stretto_ragged *all;
    const void *many, *one;
    long long count; /* of one */
    MPI_Datatype type;
    int root;
    bool in_place; /* the root's own block stays in `many` */
} tree;

/* The node's alltoallv in which only the root receives (gathers) or sends. In place the root's own
 * block stays where it is: nothing is sent to oneself. */
static int node_tree(stretto_comm *c, const tree *t, bool gathers, const stretto_blocks *all,
                     char *own, size_t bytes) {
    const bool is_root = c->rank == t->root;
    const size_t n = (size_t)c->nranks;
    size_t *side = stretto_blocks_memory(c, gathers ? 0 : 1);  /* one block, mine */
    size_t *other = stretto_blocks_memory(c, gathers ? 1 : 0); /* the root's */
    for (size_t r = 0; r < 2 * n; r++) {
        side[r] = 0;
        if (!is_root)
            other[r] = 0;
    }
    if (!t->in_place)
        side[n + (size_t)t->root] = bytes;
    else if (!gathers)
        all->n[t->root] = 0;
    char *many = is_root && all->base ? all->base : &nothing;
    if (!own)
        own = &nothing;
    if (gathers)
        return judged(stretto_node_alltoallv(c->node, own, side, side + n, many, other, other + n));
    return judged(stretto_node_alltoallv(c->node, many, other, other + n, own, side, side + n));
}

static int run_tree(stretto_comm *c, const stretto_decision *d, const tree *t, bool gathers) {
    const bool is_root = c->rank == t->root;
    const int many_slot = gathers ? STRETTO_SCRATCH_UNPACK : STRETTO_SCRATCH_PACK;
    const int one_slot = gathers ? STRETTO_SCRATCH_PACK : STRETTO_SCRATCH_UNPACK;
    stretto_view one = {.at = NULL};
    stretto_blocks all = {.base = NULL};
    int rc = MPI_SUCCESS;
    long long size = t->in_place || t->count == 0 ? 0 : stretto_type_bytes(t->type);
    if (size < 0 || (!t->in_place && t->count < 0))
        return STRETTO_PASS;
    const size_t bytes = t->in_place ? 0 : (size_t)size * (size_t)t->count;
    if (is_root) /* what is received comes to what is there already: rank's own block in place */
        rc = stretto_blocks_open(c, many_slot, &all, t->many, t->all,
                                 stretto_blocks_memory(c, gathers ? 1 : 0), false,
                                 !gathers || t->in_place, gathers ? t->root : -1);
    if (rc == MPI_SUCCESS && !t->in_place)
        rc = stretto_view_open(c, one_slot, &one, t->one, t->count, t->type, bytes, gathers);
    if (rc != MPI_SUCCESS)
        return rc;
    if (d->run == STRETTO_RUN_NODE) {
        rc = node_tree(c, t, gathers, &all, one.at, bytes);
    } else {
        stretto_buffers b = {.in = gathers ? one.at : all.base,
                             .out = gathers ? all.base : one.at,
                             .count = (long long)bytes,
                             .block_n = all.n};
        *(gathers ? &b.out_at : &b.in_at) = all.at;
        *(gathers ? &b.out_n : &b.in_n) = all.n;
        rc = run(c, d, gathers ? STRETTO_GATHERV : STRETTO_SCATTERV, &b, t->root, t->in_place);
    }
    if (rc == MPI_SUCCESS && gathers && is_root)
        rc = stretto_blocks_store(&all);
    if (rc == MPI_SUCCESS && !gathers && !t->in_place)
        rc = stretto_view_store(&one);
    return rc;
}

int stretto_call_gatherv(stretto_comm *c, const stretto_decision *d, const void *in,
                         long long in_count, MPI_Datatype in_type, void *out,
                         const stretto_ragged *receive, int root) {
    const bool in_place = c->rank == root && in == MPI_IN_PLACE;
    const tree t = {receive, out, in, in_count, in_type, root, in_place};
    return stretto_call_end(c, run_tree(c, d, &t, true));
}

int stretto_call_scatterv(stretto_comm *c, const stretto_decision *d, const void *in,
                          const stretto_ragged *send, void *out, long long out_count,
                          MPI_Datatype out_type, int root) {
    const bool in_place = c->rank == root && out == MPI_IN_PLACE;
    const tree t = {send, in, out, out_count, out_type, root, in_place};
    return stretto_call_end(c, run_tree(c, d, &t, false));
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
