/* Composition: shm (one node), shm+X (node phase, X over the leaders, node phase) and lanes+X (X
 * over several ranks of each node). Who builds what, and what is refused.
 *
 * X is any flat plan, built as for a communicator whose ranks are the nodes, and then translated:
 * node numbers become ranks, and a node's block the blocks of its ranks. All ranks of a node build
 * X, so that all refuse, and cut a vector, alike. */
#include "coll/network.h"

#include <stdio.h>

bool stretto_collective_composes(stretto_collective c) {
    if (stretto_collective_neighbor(c))
        return false;
    switch (c) {
    case STRETTO_ALLTOALLV: return false; /* ranks know the sizes of their own blocks only */
    default: return true;
    }
}

bool stretto_collective_has_lanes(stretto_collective c) {
    switch (c) {
    case STRETTO_ALLREDUCE:
    case STRETTO_BCAST:
    case STRETTO_REDUCE:
    case STRETTO_ALLGATHER:
    case STRETTO_ALLGATHERV:
    case STRETTO_REDUCE_SCATTER_BLOCK:
    case STRETTO_REDUCE_SCATTER:
    case STRETTO_ALLTOALL: return true;
    default: return false; /* docs/explanation/plans.md says why */
    }
}

static stretto_span whole(const stretto_plan *plan) {
    return stretto_span_of(STRETTO_OUT, 0, stretto_plan_blocks_of(plan, STRETTO_OUT));
}

static stretto_span own_block(const stretto_shape *shape) {
    return shape->in_place ? stretto_span_of(STRETTO_OUT, shape->rank, 1)
                           : stretto_span_of(STRETTO_IN, 0, 1);
}

/* The one node action that does it all, with what it reads and writes. */
static void build_one_node(stretto_plan *plan, const stretto_shape *shape) {
    const stretto_span none = stretto_span_of(STRETTO_OUT, 0, 0);
    const int root = shape->layout->local_of[shape->root];
    const bool is_root = shape->rank == shape->root;
    stretto_action_kind kind = STRETTO_NODE_BARRIER;
    stretto_span src = none, dst = whole(plan);
    switch (shape->collective) {
    case STRETTO_ALLREDUCE: kind = STRETTO_NODE_ALLREDUCE; break;
    case STRETTO_REDUCE: kind = STRETTO_NODE_REDUCE; break;
    case STRETTO_SCAN: kind = STRETTO_NODE_SCAN; break;
    case STRETTO_EXSCAN: kind = STRETTO_NODE_EXSCAN; break;
    case STRETTO_BCAST: kind = STRETTO_NODE_BCAST; break;
    case STRETTO_ALLGATHER:
    case STRETTO_ALLGATHERV:
        kind = STRETTO_NODE_ALLGATHER;
        src = own_block(shape);
        break;
    case STRETTO_GATHER:
    case STRETTO_GATHERV:
        kind = STRETTO_NODE_GATHER;
        src = own_block(shape);
        break;
    case STRETTO_SCATTER:
    case STRETTO_SCATTERV:
        kind = STRETTO_NODE_SCATTER;
        src = stretto_span_of(STRETTO_IN, 0, is_root ? shape->nranks : 0);
        break;
    case STRETTO_ALLTOALL:
    case STRETTO_ALLTOALLV:
        kind = STRETTO_NODE_ALLTOALL;
        src = stretto_plan_mine(plan, 0, shape->nranks);
        break;
    case STRETTO_REDUCE_SCATTER_BLOCK:
    case STRETTO_REDUCE_SCATTER:
        kind = STRETTO_NODE_REDUCE_SCATTER;
        src = stretto_span_of(STRETTO_IN, 0, shape->nranks);
        break;
    default: break;
    }
    if (stretto_collective_vector(shape->collective) && kind != STRETTO_NODE_BCAST)
        src = stretto_plan_mine(plan, 0, 1);
    if (kind == STRETTO_NODE_EXSCAN && shape->rank == 0)
        dst = none;
    stretto_plan_node(plan, kind, stretto_action_rooted(kind) ? root : 0, src, dst);
}

static const char *refusal(const stretto_choice *choice, const stretto_shape *shape) {
    const stretto_layout *layout = shape->layout;
    if (!layout)
        return "shm cannot be used: which ranks share a node is not known";
    if (stretto_collective_neighbor(shape->collective))
        return "shm cannot be used: neighbourhood collectives have no node phases";
    if (choice->algorithm && !stretto_collective_composes(shape->collective))
        return "shm+X cannot be used for this collective: its node phases serve one node only";
    if (layout->nnodes > 1 && !choice->algorithm)
        return "shm alone serves one node and the ranks are on several; name the algorithm between "
               "nodes too, as in shm+X";
    bool reduces = stretto_collective_reduces(shape->collective);
    bool scans = shape->collective == STRETTO_SCAN || shape->collective == STRETTO_EXSCAN;
    if (scans && layout->nnodes > 1 && !layout->consecutive)
        return "shm cannot be used: the nodes do not hold consecutive ranks, by which a scan goes";
    if (reduces && !shape->commutative && layout->nnodes > 1 && !layout->consecutive)
        return "shm cannot be used: the operation is not commutative and the nodes do not hold "
               "consecutive ranks";
    return NULL;
}

typedef int composer(stretto_plan *, const stretto_choice *, const stretto_shape *, size_t, char *,
                     size_t);

/* Who composes a collective. */
static composer *composer_of(stretto_collective c) {
    switch (c) {
    case STRETTO_GATHER:
    case STRETTO_GATHERV:
    case STRETTO_SCATTER:
    case STRETTO_SCATTERV:
    case STRETTO_REDUCE_SCATTER_BLOCK:
    case STRETTO_REDUCE_SCATTER: return stretto_build_composed_blocks;
    case STRETTO_SCAN:
    case STRETTO_EXSCAN: return stretto_build_composed_scan;
    case STRETTO_ALLTOALL: return stretto_build_composed_alltoall;
    default: return stretto_build_composed;
    }
}

/* How many lanes there are to be; 1: shm+X, which is the same; 0: too many, with the reason. */
static int lanes_of(const stretto_choice *choice, const stretto_layout *layout, char *error,
                    size_t error_size) {
    int least = stretto_ranks_on(layout, 0);
    for (int node = 1; node < layout->nnodes; node++)
        if (stretto_ranks_on(layout, node) < least)
            least = stretto_ranks_on(layout, node);
    const int lanes = choice->lanes == STRETTO_LANES_ALL ? least : choice->lanes;
    if (lanes <= least)
        return lanes;
    snprintf(error, error_size, "lanes(%d) cannot be used: there are nodes with %d rank%s only",
             lanes, least, least == 1 ? "" : "s");
    return 0;
}

static int build_lanes(stretto_plan *plan, const stretto_choice *choice, const stretto_shape *shape,
                       int lanes, size_t bytes, char *error, size_t error_size) {
    return (stretto_collective_vector(shape->collective)
                ? stretto_build_lanes
                : stretto_build_lanes_blocks)(plan, choice, shape, lanes, bytes, error, error_size);
}

static int build_composed(stretto_plan *plan, const stretto_choice *choice,
                          const stretto_shape *shape, size_t bytes, char *error,
                          size_t error_size) {
    const stretto_algorithm *x = choice->algorithm;
    const char *reason = stretto_algorithm_fits_nodes(x, shape->layout);
    if (choice->lanes && (x->needs & STRETTO_NEEDS_NODES))
        reason = "it is made of node phases itself, and has no lanes";
    if (reason) {
        snprintf(error, error_size, "%s cannot be used: %s", x->name, reason);
        return -1;
    }
    if (choice->lanes && shape->collective != STRETTO_ALLTOALL) {
        const int lanes = lanes_of(choice, shape->layout, error, error_size);
        if (lanes != 1)
            return lanes ? build_lanes(plan, choice, shape, lanes, bytes, error, error_size) : -1;
    }
    if (x->needs & STRETTO_NEEDS_NODES) {
        plan->shape.radix = x->param == STRETTO_PARAM_RADIX ? choice->param : 0;
        return x->build(plan, &plan->shape);
    }
    return composer_of(shape->collective)(plan, choice, shape, bytes, error, error_size);
}

int stretto_build_hierarchy(stretto_plan *plan, const stretto_choice *choice,
                            const stretto_shape *shape, size_t bytes, char *error,
                            size_t error_size) {
    const char *reason = refusal(choice, shape);
    if (reason) {
        snprintf(error, error_size, "%s", reason);
        return -1;
    }
    stretto_plan_init(plan, shape);
    int status = 0;
    if (shape->nranks == 1)
        stretto_build_alone(plan);
    else if (shape->layout->nnodes == 1)
        build_one_node(plan, shape);
    else
        status = build_composed(plan, choice, shape, bytes, error, error_size);
    stretto_plan_finish(plan);
    if (status == 0 && plan->failed) {
        snprintf(error, error_size, "out of memory while building a plan");
        status = -1;
    }
    if (status != 0)
        stretto_plan_free(plan);
    return status;
}
