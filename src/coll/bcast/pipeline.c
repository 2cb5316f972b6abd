/* Broadcast along a chain of ranks, in segments.
 *
 * Idea: the message flows from the root to root + 1, root + 2, ...; a rank passes segment s on
 * while segment s + 1 comes in, so that for many segments every link is busy all the time. Receives
 * are posted a few segments ahead, so that a segment finds its place ready.
 *
 * Source: J. L. Traeff, A. Ripke, "Optimal Broadcast for Fully Connected Processor-Node Networks",
 * JPDC 68(7), 2008, discusses the pipeline and its best segment size.
 * Cost: (P - 2 + S) (alpha + n/S beta), S segments; best S about sqrt((P - 2) n beta / alpha).
 * Memory: none. Limits: none; for few segments a tree is faster.
 */
#include "coll/stage.h"

int stretto_build_bcast_pipeline(stretto_plan *plan, const stretto_shape *shape) {
    const stretto_stage stage = stretto_stage_chain(shape, false, 1);
    stretto_plan_blocks(plan, shape->segments);
    stretto_stage_bcast(plan, &stage, 0, shape->segments);
    return 0;
}
