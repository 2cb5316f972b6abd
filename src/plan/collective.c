/* What the collectives are: names, what sets them apart, and what their buffers hold. */
#include "plan/plan.h"

#include <string.h>

typedef struct {
    const char *name;
    bool rooted, reduces, vector, neighbor;
} traits;

static const traits all[STRETTO_COLLECTIVES] = {
    [STRETTO_ALLREDUCE] = {"allreduce", .reduces = true, .vector = true},
    [STRETTO_BCAST] = {"bcast", .rooted = true, .vector = true},
    [STRETTO_REDUCE] = {"reduce", .rooted = true, .reduces = true, .vector = true},
    [STRETTO_ALLGATHER] = {"allgather"},
    [STRETTO_BARRIER] = {"barrier"},
    [STRETTO_ALLTOALL] = {"alltoall"},
    [STRETTO_ALLTOALLV] = {"alltoallv"},
    [STRETTO_GATHER] = {"gather", .rooted = true},
    [STRETTO_SCATTER] = {"scatter", .rooted = true},
    [STRETTO_ALLGATHERV] = {"allgatherv"},
    [STRETTO_GATHERV] = {"gatherv", .rooted = true},
    [STRETTO_SCATTERV] = {"scatterv", .rooted = true},
    [STRETTO_REDUCE_SCATTER_BLOCK] = {"reduce_scatter_block", .reduces = true},
    [STRETTO_REDUCE_SCATTER] = {"reduce_scatter", .reduces = true},
    [STRETTO_SCAN] = {"scan", .reduces = true, .vector = true},
    [STRETTO_EXSCAN] = {"exscan", .reduces = true, .vector = true},
    [STRETTO_NEIGHBOR_ALLGATHER] = {"neighbor_allgather", .neighbor = true},
    [STRETTO_NEIGHBOR_ALLGATHERV] = {"neighbor_allgatherv", .neighbor = true},
    [STRETTO_NEIGHBOR_ALLTOALL] = {"neighbor_alltoall", .neighbor = true},
    [STRETTO_NEIGHBOR_ALLTOALLV] = {"neighbor_alltoallv", .neighbor = true},
};

const char *stretto_collective_name(stretto_collective collective) {
    return (unsigned)collective < STRETTO_COLLECTIVES ? all[collective].name : "unknown";
}

stretto_collective stretto_collective_parse(const char *name) {
    int c = 0;
    while (c < STRETTO_COLLECTIVES && strcmp(name, all[c].name) != 0)
        c++;
    return (stretto_collective)c;
}

bool stretto_collective_rooted(stretto_collective collective) {
    return all[collective].rooted;
}

bool stretto_collective_reduces(stretto_collective collective) {
    return all[collective].reduces;
}

bool stretto_collective_vector(stretto_collective collective) {
    return all[collective].vector;
}

bool stretto_collective_neighbor(stretto_collective collective) {
    return all[collective].neighbor;
}

bool stretto_collective_neighbor_gathers(stretto_collective collective) {
    return collective == STRETTO_NEIGHBOR_ALLGATHER || collective == STRETTO_NEIGHBOR_ALLGATHERV;
}

bool stretto_collective_apart(stretto_collective collective) {
    return collective == STRETTO_ALLTOALLV || collective == STRETTO_GATHERV ||
           collective == STRETTO_SCATTERV || all[collective].neighbor;
}

bool stretto_shape_in_place(const stretto_shape *shape) {
    switch (shape->collective) {
    case STRETTO_ALLREDUCE:
    case STRETTO_ALLGATHER:
    case STRETTO_ALLGATHERV:
    case STRETTO_ALLTOALL:
    case STRETTO_ALLTOALLV:
    case STRETTO_SCAN:
    case STRETTO_EXSCAN: return shape->in_place;
    case STRETTO_REDUCE:
    case STRETTO_GATHER:
    case STRETTO_GATHERV:
    case STRETTO_SCATTER:
    case STRETTO_SCATTERV: return shape->in_place && shape->rank == shape->root;
    default: return false;
    }
}

int stretto_plan_call_blocks(const stretto_plan *plan) {
    if (all[plan->shape.collective].vector)
        return plan->vector_blocks;
    if (plan->shape.collective == STRETTO_NEIGHBOR_ALLTOALL ||
        plan->shape.collective == STRETTO_NEIGHBOR_ALLTOALLV)
        return plan->shape.graph->out_start[plan->shape.nranks];
    return plan->shape.collective == STRETTO_BARRIER ? 0 : plan->shape.nranks;
}

int stretto_plan_blocks_of(const stretto_plan *plan, stretto_buffer buffer) {
    const stretto_shape *shape = &plan->shape;
    const bool root = shape->rank == shape->root, out = buffer == STRETTO_OUT;
    if (buffer == STRETTO_TMP)
        return plan->tmp_blocks;
    switch (shape->collective) {
    case STRETTO_ALLREDUCE:
    case STRETTO_REDUCE:
    case STRETTO_SCAN:
    case STRETTO_EXSCAN: return plan->vector_blocks;
    case STRETTO_BCAST: return out ? plan->vector_blocks : 0;
    case STRETTO_ALLGATHER:
    case STRETTO_ALLGATHERV: return out ? shape->nranks : 1;
    case STRETTO_ALLTOALL:
    case STRETTO_ALLTOALLV: return shape->nranks;
    case STRETTO_GATHER:
    case STRETTO_GATHERV: return !out ? 1 : root ? shape->nranks : 0;
    case STRETTO_SCATTER:
    case STRETTO_SCATTERV: return out ? !stretto_shape_in_place(shape) : root ? shape->nranks : 0;
    case STRETTO_REDUCE_SCATTER_BLOCK:
    case STRETTO_REDUCE_SCATTER: return out ? 1 : shape->nranks;
    case STRETTO_NEIGHBOR_ALLGATHER:
    case STRETTO_NEIGHBOR_ALLGATHERV:
        return out ? stretto_graph_indegree(shape->graph, shape->rank) : 1;
    case STRETTO_NEIGHBOR_ALLTOALL:
    case STRETTO_NEIGHBOR_ALLTOALLV:
        return out ? stretto_graph_indegree(shape->graph, shape->rank)
                   : stretto_graph_outdegree(shape->graph, shape->rank);
    default: return 0;
    }
}
