/* Two ranks that exchange data: a place of the rings is written by one rank in one
 * lap and by the other one in the next: by who has read it a lap ago.
 *
 * The first fetch of a line that another core has modified brings it to the reader in a state in
 * which the reader may write without asking (AMD: migratory sharing). A core that writes where it
 * alone writes, and another reads, has to take each line back instead (Zen 4, GB/s:
 * node-limits.md). Places are few, so that they stay in the L2 caches of both cores.
 *
 * Only `posted` is needed (protocol 3 of internal.h), as a rank reads chunk c before it writes
 * chunk c + AHEAD + 1, and posts after that. With P > AHEAD places, where chunk c is written there
 * lay chunk c - P of the other rank, which this rank has read; and before that chunk c - 2P of its
 * own, which the other rank had read when it posted c - P. The last call that used the rings in
 * another way is over (pair_begin). */
#include "node/pair.h"

enum { AHEAD = STRETTO_NODE_PAIR_AHEAD };
_Static_assert(AHEAD >= 1 && STRETTO_NODE_AREA_MODEST / STRETTO_NODE_PAIR_CHUNK > AHEAD &&
                   STRETTO_NODE_PAIR / STRETTO_NODE_PAIR_CHUNK > AHEAD,
               "too few places");

static uint64_t places(const stretto_node *node) {
    return stretto_least(node->area, STRETTO_NODE_PAIR) / STRETTO_NODE_PAIR_CHUNK;
}

/* Where `rank` writes at this turn, and the other one reads. */
static unsigned char *place(const stretto_node *node, int rank, uint64_t turn) {
    const uint64_t n = places(node);
    return stretto_area_of(node, turn / n % 2 ? 1 - rank : rank)->chunks +
           turn % n * STRETTO_NODE_PAIR_CHUNK;
}

static uint64_t pair_begin(stretto_node *node, uint64_t nchunks, uint64_t *turn) {
    node->seq++;
    stretto_catch_up(node, node->last_ring);
    node->last_bulk = node->seq;
    *turn = node->turn;
    node->turn += nchunks;
    const uint64_t base = node->chunks;
    node->chunks += nchunks;
    return base;
}

/* A chunk is written in turn with reading the one AHEAD before it, so that the waiting for lines of
 * the other core is used. Chunks without data are posted and waited for as well: the rank whose
 * message is longer could otherwise not know that the other one has read. */
void stretto_pair_exchange(stretto_node *node, const void *to_other, size_t out_bytes,
                           void *from_other, size_t in_bytes, stretto_copying own) {
    const size_t size = STRETTO_NODE_PAIR_CHUNK, most = out_bytes > in_bytes ? out_bytes : in_bytes;
    const uint64_t n = (most + size - 1) / size;
    const int me = node->me, other = 1 - me;
    uint64_t turn, base = pair_begin(node, n, &turn);
    stretto_flag *mine = &stretto_area_of(node, me)->posted;
    stretto_copying out = {NULL, to_other, out_bytes}, in = {from_other, NULL, in_bytes};
    for (uint64_t c = 0; c < n + AHEAD; c++) {
        out.to = place(node, me, turn + c);
        const stretto_copying write = stretto_copy_part(&out, size);
        if (c < AHEAD) {
            stretto_copy_rest(write);
        } else {
            in.from = place(node, other, turn + c - AHEAD);
            const stretto_copying read = stretto_copy_part(&in, size);
            stretto_await(node, &stretto_area_of(node, other)->posted.value, base + c - AHEAD + 1);
            stretto_copy_three(read, write, stretto_copy_part(&own, read.bytes));
        }
        if (c < n)
            stretto_set(mine, base + c + 1);
        if (c == 0)
            stretto_copy_rest(stretto_copy_part(&own, size));
    }
    stretto_copy_rest(own);
    stretto_finish(node, true);
}

/* In place: the result of a chunk is written after its operand was copied. */
void stretto_pair_allreduce(stretto_node *node, const void *src_, void *dst_, size_t count,
                            size_t size, stretto_reduce_fn reduce) {
    const unsigned char *src = src_;
    unsigned char *dst = dst_;
    const size_t elements = STRETTO_NODE_PAIR_CHUNK / size;
    const uint64_t n = (count + elements - 1) / elements;
    const int me = node->me, other = 1 - me;
    uint64_t turn, base = pair_begin(node, n, &turn);
    stretto_flag *mine = &stretto_area_of(node, me)->posted;
    for (uint64_t c = 0; c < n + AHEAD; c++) {
        if (c < n) {
            const size_t first = c * elements, part = stretto_least(elements, count - first);
            stretto_copy(place(node, me, turn + c), src + first * size, part * size);
            stretto_set(mine, base + c + 1);
        }
        if (c >= AHEAD) {
            const uint64_t t = c - AHEAD;
            const size_t first = t * elements, part = stretto_least(elements, count - first);
            const void *operands[2];
            operands[me] = src + first * size;
            operands[other] = place(node, other, turn + t);
            stretto_await(node, &stretto_area_of(node, other)->posted.value, base + t + 1);
            reduce(operands[0], operands[1], dst + first * size, part);
        }
    }
    stretto_finish(node, true);
}
