/* A message for each pair of ranks, through the shared buffers.
 *
 * Rank r's buffer is a ring of steps; a step holds a slot for each other rank, in the order r + 1,
 * r + 2, ... In step s every rank writes the s-th piece of each of its messages, then reads the
 * (s - 1)-th of each message to it; a rank that has no more data for a pair skips it, which both
 * know from the message's size. Slot i of step s has the number base + s (n - 1) + i + 1: that is
 * posted_r when r has written it, and taken_d when its reader d, which has r at its own place i,
 * has read it. Both grow along a rank's own work, so a larger value says that also.
 *
 * Reuse: slot i of step s is overwritten when its reader has taken the same slot of step s - depth.
 * No deadlock, depth >= 2: of all ranks take one that has begun the fewest steps, say it is in step
 * s. Its writing waits for what others read in their step s - depth + 1 < s, its reading for what
 * they wrote in step s - 1: they have left these.
 * What a rank has for itself is copied in turn with the first message that it reads.
 * In place: piece s of a message is overwritten in step s + 1, after it was written in step s. */
#include "node/chunk.h"

void stretto_chunk_exchange(stretto_node *node, const unsigned char *source, const size_t *sent_at,
                            const size_t *sent, unsigned char *dst, const size_t *got_at,
                            const size_t *got, const size_t *fits, size_t largest,
                            size_t skip_up_to, size_t piece) {
    const size_t others = (size_t)node->nlocal - 1;
    size_t size = node->area / (2 * others) & ~(size_t)63;
    size = stretto_place(stretto_least(size, piece), largest);
    const size_t depth = node->area / (size * others), steps = (largest + size - 1) / size;
    uint64_t base = stretto_ring_begin(node, steps * others, size, others);
    /* Calls go on where the last one stopped: the front of the ring would be written again while it
     * still lies in a reader's L2 (tuning.h). */
    const size_t first = (size_t)(base / others % depth);
    stretto_area *mine = stretto_area_of(node, node->me);
    stretto_copying own = {NULL, NULL, got[node->me]}; /* what is left of it */
    if (own.bytes)
        own.to = dst + got_at[node->me], own.from = source + sent_at[node->me];
    if (own.to == own.from)
        own.bytes = 0;
    bool all = true; /* has something from everybody */
    for (int r = 0; r < node->nlocal; r++)
        all &= r == node->me || got[r] > skip_up_to;

    for (size_t s = 0; s <= steps; s++) {
        size_t place = (first + s) % depth * others, offset = s * size;
        uint64_t number = base + s * others + 1;
        for (size_t i = 0; i < others && s < steps; i++) {
            size_t to = ((size_t)node->me + 1 + i) % (others + 1);
            if (sent[to] <= offset || sent[to] <= skip_up_to)
                continue;
            if (s >= depth)
                stretto_await(node, &stretto_area_of(node, (int)to)->taken.value,
                              number + i - depth * others);
            stretto_publish(node, mine->chunks + (place + i) * size, source + sent_at[to] + offset,
                            stretto_least(size, sent[to] - offset));
            stretto_set(&mine->posted, number + i);
        }
        if (s == 0)
            continue;
        offset -= size, number -= others, place = (first + s - 1) % depth * others;
        for (size_t i = 0; i < others; i++) {
            size_t from = ((size_t)node->me + others - i) % (others + 1);
            if (got[from] <= offset || got[from] <= skip_up_to)
                continue;
            const stretto_area *theirs = stretto_area_of(node, (int)from);
            stretto_await(node, &theirs->posted.value, number + i);
            const size_t kept = stretto_least(got[from], fits[from]);
            if (kept > offset) {
                const size_t part = stretto_least(size, kept - offset);
                const stretto_copying in = {dst + got_at[from] + offset,
                                            theirs->chunks + (place + i) * size, part};
                stretto_fetch_both(node, in, stretto_copy_part(&own, i == 0 ? part : 0));
            }
            stretto_set(&mine->taken, number + i);
        }
    }
    stretto_keep(node, own);
    stretto_finish(node, all);
}
