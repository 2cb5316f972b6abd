/* The rows of algorithms.def as data, and the one place where preconditions are checked. */
#include "coll/coll.h"

#include <string.h>

#define ALGORITHM(lower, UPPER, name, builder, param, min, preset, max, needs, help)               \
    {STRETTO_##UPPER, #name, STRETTO_PARAM_##param,  min, preset, max,                             \
     needs,           help,  stretto_build_##builder},
static const stretto_algorithm rows[] = {
#include "coll/algorithms.def"
};
#undef ALGORITHM

const stretto_algorithm *stretto_algorithms(int *n) {
    *n = (int)(sizeof rows / sizeof *rows);
    return rows;
}

const stretto_algorithm *stretto_algorithm_find(stretto_collective collective, const char *name) {
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].collective == collective && strcmp(rows[i].name, name) == 0)
            return &rows[i];
    return NULL;
}

const char *stretto_algorithm_fits(const stretto_algorithm *algorithm, const stretto_shape *shape) {
    if (algorithm->collective != shape->collective)
        return "it is an algorithm for another collective";
    if ((algorithm->needs & STRETTO_NEEDS_COMMUTATIVE) && !shape->commutative)
        return "it reorders the operands, and the operation is not commutative";
    if ((algorithm->needs & STRETTO_NEEDS_POWER_OF_TWO) &&
        (shape->nranks & (shape->nranks - 1)) != 0)
        return "it needs a power of two of ranks";
    if ((algorithm->needs & STRETTO_NEEDS_EVEN) && shape->nranks % 2 != 0 && shape->nranks > 1)
        return "it needs an even number of ranks";
    if ((algorithm->needs & STRETTO_CARRIES) && shape->collective == STRETTO_ALLTOALLV &&
        shape->nranks > STRETTO_PAIRS_MOST)
        return "it is not made for so many ranks";
    if (algorithm->needs & STRETTO_NEEDS_NODES)
        return "it is made of node phases: write shm+ before it";
    return NULL;
}

const char *stretto_algorithm_fits_nodes(const stretto_algorithm *algorithm,
                                         const stretto_layout *layout) {
    if (!(algorithm->needs & STRETTO_NEEDS_NODES))
        return NULL;
    const int ppn = layout->node_start[1];
    for (int node = 1; node < layout->nnodes; node++)
        if (layout->node_start[node + 1] - layout->node_start[node] != ppn)
            return "it needs as many ranks on every node";
    return NULL;
}
