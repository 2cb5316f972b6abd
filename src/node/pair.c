/* Two ranks that exchange data: a place of the rings is written by one rank in one
 * lap and by the other one in the next: by who has read it a lap ago.
 *
 * The first fetch of a line that another core has modified brings it to the reader in a state in
 * which the reader may write without asking (AMD: migratory sharing). A core that writes where it
 * alone writes, and another reads, has to take each line back instead (Zen 4, GB/s:
 * node-limits.md). Places are few, so that they stay in the L2 caches of both cores.
 *
 * There are two ways, and the ranks find out which is faster (judge.h): copies in turn, whose
 * waiting for lines of the other core is then used, or one after another in longer chunks by the
 * string instruction (ways.h).
 *
 * Only `posted` is needed (protocol 3 of internal.h), as a rank reads chunk c before it writes
 * chunk c + 2, and posts after that. Turns count places of short chunks, of which a ring has P; a
 * long chunk takes RUN of them. What is written at turn t overwrites what lay there at turn t - P:
 * data of the other rank, which this rank has read, since P places hold more than two chunks. And
 * before that, at t - 2P, data of its own, which the other rank had read when it posted what lies
 * at t - P. This holds as well where a chunk is short or empty.
 * A call by string begins at a multiple of RUN, and may leave out up to RUN - 1 places. Where
 * nothing was written at t - P, t overwrites this rank's own t - 2P. Between the gap and t lie at
 * least P - RUN places of later calls, so this rank has seen a post of a later call than that of
 * t - 2P, which the other rank has therefore left.
 * For an allreduce: fold_halves. The last call that used the rings in another way is over
 * (pair_begin). */
#include "node/pair.h"

enum { RUN = STRETTO_NODE_PAIR_RUN, NEAREST = STRETTO_NODE_NEAREST };
_Static_assert(RUN >= 1 && STRETTO_NODE_AREA_MODEST / STRETTO_NODE_PAIR_CHUNK >= 4 * RUN &&
                   STRETTO_NODE_PAIR / STRETTO_NODE_PAIR_CHUNK >= 4 * RUN,
               "too few places");

/* For short chunks; a multiple of RUN. */
static uint64_t places(const stretto_node *node) {
    return stretto_least(node->area, STRETTO_NODE_PAIR) / (RUN * STRETTO_NODE_PAIR_CHUNK) * RUN;
}

/* Where `rank` writes at this turn, and the other one reads. */
static unsigned char *place(const stretto_node *node, int rank, uint64_t turn) {
    const uint64_t n = places(node);
    return stretto_area_of(node, turn / n % 2 ? 1 - rank : rank)->chunks +
           turn % n * STRETTO_NODE_PAIR_CHUNK;
}

/* Returns the base of this call's values of `posted`; its turns begin at a multiple of `run`. */
static uint64_t pair_begin(stretto_node *node, uint64_t posts, uint64_t turns, uint64_t run,
                           uint64_t *turn) {
    node->seq++;
    stretto_catch_up(node, node->last_ring);
    node->last_bulk = node->seq;
    *turn = (node->turn + run - 1) / run * run;
    node->turn = *turn + turns;
    const uint64_t base = node->chunks;
    node->chunks += posts;
    return base;
}

/* Chunks without data are posted and waited for as well: the rank whose message is longer could
 * otherwise not know that the other one has read. */
static void exchange(stretto_node *node, const void *to_other, size_t out_bytes, void *from_other,
                     size_t in_bytes, stretto_copying own, bool string) {
    const uint64_t run = string ? RUN : 1;
    const size_t size = run * STRETTO_NODE_PAIR_CHUNK,
                 most = out_bytes > in_bytes ? out_bytes : in_bytes;
    const uint64_t n = (most + size - 1) / size;
    const int me = node->me, other = 1 - me;
    uint64_t turn, base = pair_begin(node, n, n * run, run, &turn);
    stretto_flag *mine = &stretto_area_of(node, me)->posted;
    const stretto_flag *theirs = &stretto_area_of(node, other)->posted;
    stretto_copying out = {NULL, to_other, out_bytes}, in = {from_other, NULL, in_bytes};
    for (uint64_t c = 0; c <= n; c++) {
        out.to = place(node, me, turn + c * run);
        const stretto_copying write = stretto_copy_part(&out, size);
        if (c == 0 || string) {
            stretto_own(mine);
            stretto_copying left = write, kept = stretto_copy_part(&own, size);
            /* the same source twice: the second time it is in the nearest cache */
            while (string && kept.from == left.from && left.bytes > NEAREST) {
                stretto_copy_way(stretto_copy_part(&left, NEAREST), true);
                stretto_copy_way(stretto_copy_part(&kept, NEAREST), true);
            }
            stretto_copy_way(left, string);
            if (c < n)
                stretto_set(mine, base + c + 1);
            stretto_copy_way(kept, string);
            if (c == 0)
                continue;
        }
        in.from = place(node, other, turn + (c - 1) * run);
        const stretto_copying read = stretto_copy_part(&in, size);
        stretto_await(node, &theirs->value, base + c);
        if (string) {
            stretto_copy_way(read, true);
        } else {
            stretto_copy_three(read, write, stretto_copy_part(&own, read.bytes));
            if (c < n)
                stretto_set(mine, base + c + 1);
        }
    }
    stretto_copy_way(own, string);
    stretto_finish(node, true);
}

void stretto_pair_exchange(stretto_node *node, const void *to_other, size_t out_bytes,
                           void *from_other, size_t in_bytes, stretto_copying own) {
    const stretto_judged call = stretto_judge_begin(node, STRETTO_JUDGE_SWAPPED,
                                                    out_bytes > in_bytes ? out_bytes : in_bytes);
    exchange(node, to_other, out_bytes, from_other, in_bytes, own, call.second);
    stretto_judge_end(node, &call);
}

/* Both fold the whole vector, which is at most a chunk. */
static void fold_all(stretto_node *node, const void *src, void *dst, size_t count, size_t size,
                     stretto_reduce_fn reduce, bool string) {
    const int me = node->me, other = 1 - me;
    uint64_t turn, base = pair_begin(node, 1, 1, 1, &turn);
    const void *theirs = place(node, other, turn);
    stretto_copy_way((stretto_copying){place(node, me, turn), src, count * size}, string);
    stretto_set(&stretto_area_of(node, me)->posted, base + 1);
    stretto_await(node, &stretto_area_of(node, other)->posted.value, base + 1);
    reduce(me ? theirs : src, me ? src : theirs, dst, count);
    stretto_finish(node, true);
}

/* The half of a block that one of the ranks folds. */
typedef struct {
    size_t first, elements;
} half;

static half half_of(size_t count, size_t block, uint64_t c, int rank) {
    const size_t first = (size_t)c * block, here = stretto_least(block, count - first),
                 one = (here + 1) / 2;
    return rank ? (half){first + one, here - one} : (half){first, one};
}

/* Turns of a block's operands and results: in the order of writing, without gaps, because a place
 * that nobody writes in one lap is written in the next one by a rank that has not read it. */
static uint64_t operand_turn(uint64_t block) {
    return block ? 2 * block - 1 : 0;
}

static uint64_t result_turn(uint64_t block, uint64_t blocks) {
    return block + 1 < blocks ? 2 * block + 2 : 2 * block + 1;
}

/* What a rank does in one step; any of the three may be empty. */
typedef struct {
    const unsigned char *own, *theirs; /* operands of this rank's half of a block */
    unsigned char *to, *shown; /* its result: in this rank's vector, and for the other one */
    size_t bytes;              /* of each of these */
    stretto_copying operands;  /* of the other rank's half of the next block, to it */
    stretto_copying results;   /* of the other rank's half of the last block, from it */
} step;

/* All in turn, so that the waiting for lines of the other core is used. */
static void step_in_turn(step s, int me, size_t size, stretto_reduce_fn reduce) {
    const size_t least = STRETTO_NODE_COPY_TURN_THREE,
                 piece = size < least ? least / size * size : size;
    stretto_copy_ask(s.theirs, s.bytes);
    stretto_copy_ask(s.results.from, s.results.bytes);
    while (s.bytes) {
        const size_t part = stretto_least(piece, s.bytes);
        const stretto_copying in = {NULL, s.theirs, s.bytes};
        stretto_copy_ahead(&in, part);
        reduce(me ? s.theirs : s.own, me ? s.own : s.theirs, s.to, part / size);
        stretto_copy_rest(stretto_copy_part(&s.operands, part));
        stretto_copy_ahead(&s.results, part);
        stretto_copy_rest(stretto_copy_part(&s.results, part));
        stretto_copy(s.shown, s.to, part);
        s.own += part, s.theirs += part, s.to += part, s.shown += part, s.bytes -= part;
    }
    stretto_copy_rest(s.operands);
    stretto_copy_foreign(s.results);
}

/* What was folded is copied while it lies in the nearest cache. */
static void step_by_string(step s, int me, size_t size, stretto_reduce_fn reduce) {
    const size_t piece = size < NEAREST / 2 ? NEAREST / 2 / size * size : size;
    stretto_copy_way(s.operands, true);
    for (size_t done = 0; done < s.bytes; done += piece) {
        const size_t part = stretto_least(piece, s.bytes - done);
        const unsigned char *own = s.own + done, *theirs = s.theirs + done;
        reduce(me ? theirs : own, me ? own : theirs, s.to + done, part / size);
        stretto_copy_way((stretto_copying){s.shown + done, s.to + done, part}, true);
    }
    stretto_copy_way(s.results, true);
}

/* Block by block; each rank folds half of each. In step c a rank writes its operands for the other
 * one's half of block c, and the results of its half of block c - 1. Meanwhile it reads what the
 * other one wrote in step c - 1: operands of block c - 1, results of block c - 2. It then posts
 * c + 1. So all that was written two steps ago has been read, and four places suffice: a step uses
 * two at most.
 * In place: this rank's half is written when its operands are read; the other one's after its
 * operands were copied. */
static void fold_halves(stretto_node *node, const unsigned char *src, unsigned char *dst,
                        size_t count, size_t size, stretto_reduce_fn reduce, bool string) {
    const uint64_t run = string ? RUN : 1;
    const size_t most = 2 * (run * STRETTO_NODE_PAIR_CHUNK / size);
    const uint64_t n = (count + most - 1) / most;
    const size_t block = 2 * ((count + 2 * n - 1) / (2 * n));
    const int me = node->me, other = 1 - me;
    uint64_t turn, base = pair_begin(node, n + 1, 2 * n * run, run, &turn);
    for (uint64_t c = 0; c < n + 2; c++) {
        step s = {0};
        if (c < n) {
            const half given = half_of(count, block, c, other);
            s.operands = (stretto_copying){place(node, me, turn + operand_turn(c) * run),
                                           src + given.first * size, given.elements * size};
        }
        if (c >= 1 && c <= n) {
            const half own = half_of(count, block, c - 1, me);
            s.own = src + own.first * size;
            s.theirs = place(node, other, turn + operand_turn(c - 1) * run);
            s.to = dst + own.first * size;
            s.shown = place(node, me, turn + result_turn(c - 1, n) * run);
            s.bytes = own.elements * size;
        }
        if (c >= 2) {
            const half got = half_of(count, block, c - 2, other);
            s.results = (stretto_copying){dst + got.first * size,
                                          place(node, other, turn + result_turn(c - 2, n) * run),
                                          got.elements * size};
        }
        if (c >= 1)
            stretto_await(node, &stretto_area_of(node, other)->posted.value, base + c);
        (string ? step_by_string : step_in_turn)(s, me, size, reduce);
        if (c <= n)
            stretto_set(&stretto_area_of(node, me)->posted, base + c + 1);
    }
    stretto_finish(node, true);
}

void stretto_pair_allreduce(stretto_node *node, const void *src, void *dst, size_t count,
                            size_t size, stretto_reduce_fn reduce) {
    const stretto_judged call = stretto_judge_begin(node, STRETTO_JUDGE_FOLDED, count * size);
    if (count * size <= stretto_least(STRETTO_NODE_FOLD_ALL_BYTES, STRETTO_NODE_PAIR_CHUNK))
        fold_all(node, src, dst, count, size, reduce, call.second);
    else
        fold_halves(node, src, dst, count, size, reduce, call.second);
    stretto_judge_end(node, &call);
}
