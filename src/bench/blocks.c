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

/* Where there are too few blocks for the rarest size, one has the largest. */
void stretto_bench_deal(const char *pattern, size_t count, int *lengths, int n) {
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

int stretto_bench_stride(int n) {
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
           c == STRETTO_BENCH_REDUCE_SCATTER || c == STRETTO_BENCH_NEIGHBOR_ALLGATHERV ||
           c == STRETTO_BENCH_NEIGHBOR_ALLTOALLV;
}

/* Does a rank give (get) a block for (from) each rank? The root alone in gather and scatter; the
 * others have the room, too. */
static bool gives_all(stretto_bench_collective c) {
    return c == STRETTO_BENCH_ALLTOALL || c == STRETTO_BENCH_SCATTER ||
           c == STRETTO_BENCH_REDUCE_SCATTER_BLOCK || c == STRETTO_BENCH_ALLTOALLV ||
           c == STRETTO_BENCH_SCATTERV || c == STRETTO_BENCH_REDUCE_SCATTER ||
           c == STRETTO_BENCH_NEIGHBOR_ALLTOALL || c == STRETTO_BENCH_NEIGHBOR_ALLTOALLV;
}

static bool gets_all(stretto_bench_collective c) {
    return c == STRETTO_BENCH_ALLTOALL || c == STRETTO_BENCH_ALLGATHER ||
           c == STRETTO_BENCH_GATHER || c == STRETTO_BENCH_ALLTOALLV ||
           c == STRETTO_BENCH_ALLGATHERV || c == STRETTO_BENCH_GATHERV ||
           stretto_bench_neighborly(c);
}

int stretto_bench_blocks_sent(const stretto_bench_call *call) {
    return gives_all(call->shape->collective) ? call->outs : 1;
}

int stretto_bench_blocks_received(const stretto_bench_call *call) {
    return gets_all(call->shape->collective) ? call->ins : 1;
}

/* Elements of the block that goes from rank `from` to rank `to`. The forms with one block a rank
 * name that rank twice. */
static size_t length(const stretto_bench_call *call, bool ragged, int from, int to) {
    if (!ragged && call->shape->blocks) {
        const int n = call->nranks;
        const bool distance = call->shape->collective == STRETTO_BENCH_ALLTOALLV;
        const long long at = distance ? (to - from + n) % n : to;
        return (size_t)call->lengths[at * stretto_bench_stride(n) % n];
    }
    const int single = call->nranks % 2 ? call->nranks - 1 : -1; /* it has no neighbour */
    if (!ragged || from == single || to == single)
        return call->count;
    size_t more = (call->count + 1) / 2;
    bool pairs = call->shape->collective == STRETTO_BENCH_ALLTOALLV;
    bool longer = pairs ? (from + to) % 2 == 0 : from % 2 == 0;
    return longer ? call->count + more : call->count - more;
}

/* The larger of what is timed and what is ragged. */
static size_t most_of(const stretto_bench_call *call, int rank) {
    const size_t timed = length(call, false, rank, rank), ragged = length(call, true, rank, rank);
    return timed > ragged ? timed : ragged;
}

static size_t room_of_edges(const stretto_bench_call *call, bool sends) {
    const bool gathers = call->shape->collective == STRETTO_BENCH_NEIGHBOR_ALLGATHERV;
    const stretto_bench_edge *edges = sends ? call->out_edges : call->in_edges;
    size_t sum = 0;
    if (gathers && sends)
        return most_of(call, call->rank);
    for (int i = 0; i < (sends ? call->outs : call->ins); i++) {
        const stretto_bench_edge *e = &edges[i];
        if (gathers && e->from >= 0)
            sum += most_of(call, e->from);
        else if (!gathers)
            sum += (size_t)(e->timed > e->ragged ? e->timed : e->ragged);
    }
    return sum;
}

size_t stretto_bench_room(const stretto_bench_call *call, bool sends) {
    stretto_bench_collective c = call->shape->collective;
    size_t all = call->count * (size_t)(sends ? call->outs : call->ins);
    if (stretto_bench_neighborly(c) && stretto_bench_irregular(c))
        return room_of_edges(call, sends);
    if (sends ? gives_all(c) : gets_all(c))
        return all;
    return stretto_bench_irregular(c) ? most_of(call, call->rank) : call->count;
}

int stretto_bench_blocks_open(stretto_bench_call *call) {
    const stretto_bench_collective c = call->shape->collective;
    const bool near = stretto_bench_neighborly(c);
    if (!stretto_bench_irregular(c) && !near)
        return 0;
    const size_t outs = (size_t)call->outs, ins = (size_t)call->ins, n = (size_t)call->nranks;
    const size_t edges = (outs + ins) * (sizeof(stretto_bench_edge) / sizeof(int));
    call->sends = calloc(2 * outs + 2 * ins + n + (near ? edges : 0), sizeof *call->sends);
    if (!call->sends)
        return -1;
    call->send_at = call->sends + outs;
    call->recvs = call->send_at + outs;
    call->recv_at = call->recvs + ins;
    call->lengths = call->recv_at + ins;
    if (call->shape->blocks && c != STRETTO_BENCH_NEIGHBOR_ALLTOALLV)
        stretto_bench_deal(call->shape->blocks, call->count, call->lengths, call->nranks);
    if (!near)
        return 0;
    call->out_edges = (stretto_bench_edge *)(call->lengths + n);
    call->in_edges = call->out_edges + outs;
    return stretto_bench_graph_edges(call) == MPI_SUCCESS ? 0 : -1;
}

/* Elements of block i of a side. */
static size_t block_of(const stretto_bench_call *call, bool ragged, bool sends, int i) {
    const bool pairs = call->shape->collective == STRETTO_BENCH_ALLTOALLV;
    if (!stretto_bench_neighborly(call->shape->collective))
        return sends ? length(call, ragged, pairs ? call->rank : i, i)
                     : length(call, ragged, i, pairs ? call->rank : i);
    const stretto_bench_edge *e = sends ? &call->out_edges[i] : &call->in_edges[i];
    if (e->from < 0)
        return 0;
    if (call->shape->collective == STRETTO_BENCH_NEIGHBOR_ALLGATHERV)
        return length(call, ragged, e->from, e->from);
    return (size_t)(ragged ? e->ragged : e->timed);
}

void stretto_bench_blocks_set(stretto_bench_call *call, bool ragged) {
    const stretto_bench_case *shape = call->shape;
    size_t width = stretto_bench_datatype_size(shape->datatype);
    call->own = call->count;
    if (stretto_bench_irregular(shape->collective)) {
        int from = 0, to = 0;
        for (int i = 0; i < call->outs; i++) {
            call->sends[i] = (int)block_of(call, ragged, true, i);
            call->send_at[i] = from;
            from += call->sends[i];
        }
        for (int i = 0; i < call->ins; i++) {
            call->recvs[i] = (int)block_of(call, ragged, false, i);
            call->recv_at[i] = to;
            to += call->recvs[i];
        }
        call->own = length(call, ragged, call->rank, call->rank);
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
    if (!stretto_bench_irregular(call->shape->collective))
        return (stretto_bench_part){(size_t)block * call->count, call->count};
    return (stretto_bench_part){(size_t)at[block], (size_t)counts[block]};
}

stretto_bench_part stretto_bench_sent(const stretto_bench_call *call, int block) {
    return part(call, gives_all(call->shape->collective), call->sends, call->send_at, block);
}

stretto_bench_part stretto_bench_received(const stretto_bench_call *call, int block) {
    return part(call, gets_all(call->shape->collective), call->recvs, call->recv_at, block);
}
