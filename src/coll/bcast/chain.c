/* Broadcast along several chains of ranks, in segments.
 *
 * Idea: the root feeds `fanout` chains at once; within a chain a rank passes a segment on while the
 * next comes in. More chains are shorter, but the root sends every segment `fanout` times.
 *
 * Source: the chain of J. Pjesivac-Grbovic, T. Angskun, G. Bosilca, G. E. Fagg, E. Gabriel, J. J.
 * Dongarra, "Performance Analysis of MPI Collective Operations", Cluster Computing 10(2), 2007.
 * Cost: ((P - 1)/F - 1 + S F) (alpha + n/S beta), F chains, S segments. Memory: none. Limits: none.
 */
#include "coll/stage.h"

int stretto_build_bcast_chain(stretto_plan *plan, const stretto_shape *shape) {
    const stretto_stage stage = stretto_stage_chain(shape, false, shape->radix);
    stretto_plan_blocks(plan, shape->segments);
    stretto_stage_bcast(plan, &stage, 0, shape->segments);
    return 0;
}
