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
#include "coll/coll.h"

enum { AHEAD = 4 }; /* receives posted, and sends not yet complete, at most */

int stretto_build_bcast_chain(stretto_plan *plan, const stretto_shape *shape) {
    const int p = shape->nranks, me = shape->rank, segments = shape->segments;
    const bool first = me == shape->root, last = (me + 1) % p == shape->root;
    const int left = (me + p - 1) % p, right = (me + 1) % p;
    int received[AHEAD], sent[AHEAD]; /* actions of segments s, s + 1, ... by s % AHEAD */
    stretto_plan_blocks(plan, segments);
    for (int s = 0; !first && s < AHEAD && s < segments; s++)
        received[s] = stretto_plan_recv(plan, left, stretto_span_of(STRETTO_OUT, s, 1));
    for (int s = 0; s < segments; s++) {
        const int slot = s % AHEAD;
        if (!first) {
            stretto_plan_wait(plan, received[slot]);
            if (s + AHEAD < segments)
                received[slot] =
                    stretto_plan_recv(plan, left, stretto_span_of(STRETTO_OUT, s + AHEAD, 1));
        }
        if (last)
            continue;
        if (s >= AHEAD)
            stretto_plan_wait(plan, sent[slot]);
        sent[slot] = stretto_plan_send(plan, right, stretto_span_of(STRETTO_OUT, s, 1));
    }
    return 0;
}
