/* Alltoall: equal blocks. Small ones lie one behind the other in the sender's lines, in the order
 * me + 1, me + 2, ...; each reader looks at the lines that its block covers. One hop. */
#include "node/chunk.h"
#include "node/direct.h"
#include "node/lines.h"
#include "node/pair.h"

static void small_alltoall(stretto_node *node, const unsigned char *blocks, unsigned char *dst,
                           size_t bytes) {
    const size_t n = (size_t)node->nlocal, me = (size_t)node->me, all = (n - 1) * bytes;
    uint64_t call = stretto_lines_begin(node, all);
    if (n == 2) {
        stretto_lines_put(node, STRETTO_UP, call, blocks + (1 - me) * bytes, bytes);
        stretto_lines_get(node, (int)(1 - me), STRETTO_UP, call, dst + (1 - me) * bytes, bytes);
    } else {
        stretto_line_writer writer = {stretto_lines_of(node, node->me, STRETTO_UP, call, all), 0};
        stretto_lines_write(&writer, call, blocks + (me + 1) * bytes, (n - 1 - me) * bytes);
        stretto_lines_write(&writer, call, blocks, me * bytes);
        stretto_lines_end(&writer, call);
        for (size_t i = 0; i < n - 1; i++) { /* from the rank that has this one at its place i */
            size_t from = (me + n - 1 - i) % n;
            stretto_lines_read(node, stretto_lines_of(node, (int)from, STRETTO_UP, call, all), call,
                               i * bytes, dst + from * bytes, bytes);
        }
    }
    stretto_finish(node, true);
}

void stretto_node_alltoall(stretto_node *node, const void *src, void *dst, size_t bytes) {
    const unsigned char *blocks = src ? src : dst;
    unsigned char *into = dst;
    const size_t n = (size_t)node->nlocal, me = (size_t)node->me;
    if (bytes == 0)
        return;
    if (src == dst) /* a mistake, but nobody may read what is being written */
        src = NULL;
    const bool small = (n - 1) * bytes <= node->small;
    if (n == 1 || small) {
        if (blocks != into)
            stretto_copy_tail(into + me * bytes, blocks + me * bytes, bytes);
        if (n > 1)
            small_alltoall(node, blocks, into, bytes);
        return;
    }
    const stretto_judged call = stretto_judge_begin(node, STRETTO_JUDGE_EXCHANGED, bytes);
    size_t at[n], sizes[n];
    for (size_t r = 0; r < n; r++) {
        at[r] = r * bytes;
        sizes[r] = bytes;
    }
    if (call.second)
        stretto_direct_alltoall(node, src, at, sizes, dst);
    else if (n == 2)
        stretto_pair_exchange(
            node, blocks + (1 - me) * bytes, bytes, into + (1 - me) * bytes, bytes,
            (stretto_copying){into + me * bytes, blocks + me * bytes, src ? bytes : 0});
    else
        stretto_chunk_exchange(node, blocks, at, sizes, into, at, sizes, sizes, bytes, 0,
                               stretto_step(node, n - 1));
    stretto_judge_end(node, &call);
}
