/* Which part of a buffer belongs to which rank.
 *
 * A block has `count` elements. In the forms with a size for each rank (v-forms) the blocks that
 * are timed are all alike, as other benchmarks have them; the check also uses ragged ones: of two
 * neighbours one has half a block more (at least an element) and the other as much less, so that
 * together they are what they were, and with one element a block some are empty. */
#include "bench/bench.h"

#include <stdlib.h>

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

/* Elements of the block that goes from rank `from` to rank `to`; the same in both directions. The
 * forms with one block a rank name that rank twice. */
static size_t length(const stretto_bench_call *call, bool ragged, int from, int to) {
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
    return stretto_bench_irregular(c) ? call->count + (call->count + 1) / 2 : call->count;
}

int stretto_bench_blocks_open(stretto_bench_call *call) {
    if (!stretto_bench_irregular(call->shape->collective))
        return 0;
    call->sends = calloc(4 * (size_t)call->nranks, sizeof *call->sends);
    if (!call->sends)
        return -1;
    call->send_at = call->sends + call->nranks;
    call->recvs = call->send_at + call->nranks;
    call->recv_at = call->recvs + call->nranks;
    return 0;
}

void stretto_bench_blocks_set(stretto_bench_call *call, bool ragged) {
    const stretto_bench_case *shape = call->shape;
    size_t width = stretto_bench_datatype_size(shape->datatype);
    call->own = call->count;
    if (call->sends) {
        bool pairs = shape->collective == STRETTO_BENCH_ALLTOALLV;
        int at = 0;
        for (int i = 0; i < call->nranks; i++) {
            call->sends[i] = (int)length(call, ragged, pairs ? call->rank : i, i);
            call->recvs[i] = call->sends[i];
            call->send_at[i] = call->recv_at[i] = at;
            at += call->sends[i];
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
