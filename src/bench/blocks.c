/* Which part of a buffer belongs to which rank.
 *
 * A block has `count` elements. In the forms with a size for each rank (v-forms) that is the mean.
 * Without a pattern the blocks that are timed are all alike, as other benchmarks have them. A
 * pattern, FACTOR:PERCENT,..., gives so many percent of the blocks so many times the mean: in
 * alltoallv on every rank, by the distance to the other one, so that all ranks give and get alike;
 * else by rank. Sizes are dealt out in strides, so that neighbours differ.
 * The check also uses ragged blocks: of two neighbours one has half a block more (at least an
 * element) and the other as much less, so that together they are what they were, and with one
 * element a block some are empty. */
#include "bench/bench.h"

#include <math.h>
#include <stdlib.h>

enum { MOST_PARTS = 16 };

typedef struct {
    double factor, share;
} part_of_all;

/* Ascending by factor. The number of parts, or 0 where the text is no pattern. */
static int read_pattern(const char *text, part_of_all *parts) {
    int n = 0;
    double all = 0, mean = 0;
    for (const char *at = text;; at++) {
        char *end;
        if (n == MOST_PARTS)
            return 0;
        part_of_all *p = &parts[n];
        p->factor = strtod(at, &end);
        if (end == at || *end != ':' || !(p->factor >= 0 && p->factor <= 1e9) ||
            (n && p->factor <= parts[n - 1].factor))
            return 0;
        at = end + 1;
        p->share = strtod(at, &end) / 100;
        if (end == at || (*end && *end != ',') || !(p->share > 0 && p->share <= 1))
            return 0;
        all += p->share;
        mean += p->share * p->factor;
        n++;
        at = end;
        if (!*at)
            break;
    }
    return fabs(all - 1) < 0.01 && mean > 0 ? n : 0;
}

const char *stretto_bench_pattern_problem(const char *pattern) {
    part_of_all parts[MOST_PARTS];
    return read_pattern(pattern, parts)
               ? NULL
               : "PATTERN is not FACTOR:PERCENT,... with ascending factors and 100 percent in all";
}

static double factor_at(const part_of_all *parts, int nparts, double place) {
    int i = 0;
    for (double before = 0; i < nparts - 1 && place > before + parts[i].share; i++)
        before += parts[i].share;
    return parts[i].factor;
}

/* n lengths, ascending but for rounding, whose mean is `count`. Where there are too few blocks for
 * the rarest size, one has the largest. */
static void deal(const char *pattern, size_t count, int *lengths, int n) {
    part_of_all parts[MOST_PARTS];
    const int nparts = read_pattern(pattern, parts);
    double sum = 0, so_far = 0;
    for (int pass = 0; pass < 2; pass++)
        for (int i = 0; i < n; i++) {
            double f = factor_at(parts, nparts, i == n - 1 ? 1 : (i + 0.5) / n);
            if (pass == 0) {
                sum += f;
                continue;
            }
            double scale = (double)count * n / sum;
            lengths[i] = (int)(llround((so_far + f) * scale) - llround(so_far * scale));
            so_far += f;
        }
}

/* Coprime with n, about 0.62 n: i, i + stride, ... are spread over 0 to n - 1. */
static int stride_of(int n) {
    for (int stride = (int)(0.618 * n) + 1;; stride++) {
        int a = stride, b = n;
        while (b) {
            int rest = a % b;
            a = b;
            b = rest;
        }
        if (a == 1)
            return stride;
    }
}

bool stretto_bench_irregular(stretto_bench_collective c) {
    return c == STRETTO_BENCH_ALLGATHERV || c == STRETTO_BENCH_ALLTOALLV ||
           c == STRETTO_BENCH_GATHERV || c == STRETTO_BENCH_SCATTERV ||
           c == STRETTO_BENCH_REDUCE_SCATTER;
}

/* Does a rank give (get) a block for (from) each rank? The root alone in gather and scatter; the
 * others have the room, too. */
static bool gives_all(stretto_bench_collective c) {
    return c == STRETTO_BENCH_ALLTOALL || c == STRETTO_BENCH_SCATTER ||
           c == STRETTO_BENCH_REDUCE_SCATTER_BLOCK || c == STRETTO_BENCH_ALLTOALLV ||
           c == STRETTO_BENCH_SCATTERV || c == STRETTO_BENCH_REDUCE_SCATTER;
}

static bool gets_all(stretto_bench_collective c) {
    return c == STRETTO_BENCH_ALLTOALL || c == STRETTO_BENCH_ALLGATHER ||
           c == STRETTO_BENCH_GATHER || c == STRETTO_BENCH_ALLTOALLV ||
           c == STRETTO_BENCH_ALLGATHERV || c == STRETTO_BENCH_GATHERV;
}

int stretto_bench_blocks_sent(const stretto_bench_call *call) {
    return gives_all(call->shape->collective) ? call->nranks : 1;
}

int stretto_bench_blocks_received(const stretto_bench_call *call) {
    return gets_all(call->shape->collective) ? call->nranks : 1;
}

/* Elements of the block that goes from rank `from` to rank `to`. The forms with one block a rank
 * name that rank twice. */
static size_t length(const stretto_bench_call *call, bool ragged, int from, int to) {
    if (!ragged && call->shape->pattern) {
        const int n = call->nranks;
        const bool distance = call->shape->collective == STRETTO_BENCH_ALLTOALLV;
        const long long at = distance ? (to - from + n) % n : to;
        return (size_t)call->lengths[at * stride_of(n) % n];
    }
    const int single = call->nranks % 2 ? call->nranks - 1 : -1; /* it has no neighbour */
    if (!ragged || from == single || to == single)
        return call->count;
    size_t more = (call->count + 1) / 2;
    bool pairs = call->shape->collective == STRETTO_BENCH_ALLTOALLV;
    bool longer = pairs ? (from + to) % 2 == 0 : from % 2 == 0;
    return longer ? call->count + more : call->count - more;
}

size_t stretto_bench_room(const stretto_bench_call *call, bool sends) {
    stretto_bench_collective c = call->shape->collective;
    size_t all = call->count * (size_t)call->nranks;
    if (sends ? gives_all(c) : gets_all(c))
        return all;
    if (!stretto_bench_irregular(c))
        return call->count;
    size_t most = call->count + (call->count + 1) / 2; /* ragged */
    for (int i = 0; call->shape->pattern && i < call->nranks; i++)
        if ((size_t)call->lengths[i] > most)
            most = (size_t)call->lengths[i];
    return most;
}

int stretto_bench_blocks_open(stretto_bench_call *call) {
    if (!stretto_bench_irregular(call->shape->collective))
        return 0;
    call->sends = calloc(5 * (size_t)call->nranks, sizeof *call->sends);
    if (!call->sends)
        return -1;
    call->send_at = call->sends + call->nranks;
    call->recvs = call->send_at + call->nranks;
    call->recv_at = call->recvs + call->nranks;
    call->lengths = call->recv_at + call->nranks;
    if (call->shape->pattern)
        deal(call->shape->pattern, call->count, call->lengths, call->nranks);
    return 0;
}

void stretto_bench_blocks_set(stretto_bench_call *call, bool ragged) {
    const stretto_bench_case *shape = call->shape;
    size_t width = stretto_bench_datatype_size(shape->datatype);
    call->own = call->count;
    if (call->sends) {
        bool pairs = shape->collective == STRETTO_BENCH_ALLTOALLV;
        int from = 0, to = 0;
        for (int i = 0; i < call->nranks; i++) {
            call->sends[i] = (int)length(call, ragged, pairs ? call->rank : i, i);
            call->recvs[i] = (int)length(call, ragged, i, pairs ? call->rank : i);
            call->send_at[i] = from;
            call->recv_at[i] = to;
            from += call->sends[i];
            to += call->recvs[i];
        }
        call->own = (size_t)call->sends[call->rank];
    }
    stretto_bench_part last = stretto_bench_sent(call, stretto_bench_blocks_sent(call) - 1);
    call->send_bytes = width * (last.at + last.count);
    last = stretto_bench_received(call, stretto_bench_blocks_received(call) - 1);
    call->recv_bytes = width * (last.at + last.count);
}

static stretto_bench_part part(const stretto_bench_call *call, bool all, const int *counts,
                               const int *at, int block) {
    if (!all)
        return (stretto_bench_part){0, call->own};
    if (!counts)
        return (stretto_bench_part){(size_t)block * call->count, call->count};
    return (stretto_bench_part){(size_t)at[block], (size_t)counts[block]};
}

stretto_bench_part stretto_bench_sent(const stretto_bench_call *call, int block) {
    return part(call, gives_all(call->shape->collective), call->sends, call->send_at, block);
}

stretto_bench_part stretto_bench_received(const stretto_bench_call *call, int block) {
    return part(call, gets_all(call->shape->collective), call->recvs, call->recv_at, block);
}
