/* Alltoallv: messages of any size, which only sender and receiver know.
 *
 * So nothing that depends on a size may decide how a rank takes part, until all have said theirs.
 * Each rank first writes a record for each other rank: its longest message to anyone, the length of
 * the one to this rank, and the message itself when it fits. Having read the records of all, every
 * rank knows the longest message of all pairs, and all alike go on with the exchange through the
 * shared buffers, or not. One hop when all messages are short.
 *
 * Records are runs of lines, RECORD_LINES = lines / (n - 1) for each; with more ranks than lines
 * they are written to the shared buffer, without messages. */
#include "node/chunk.h"
#include "node/lines.h"

typedef struct {
    uint64_t longest, bytes;
} record;

/* Messages up to so many bytes travel in the record. */
static size_t room_in_record(const stretto_node *node) {
    size_t lines = STRETTO_NODE_SMALL_LINES / ((size_t)node->nlocal - 1);
    if (lines == 0)
        return 0;
    return stretto_least(lines * STRETTO_LINE_DATA - sizeof(record), node->small);
}

/* got[r] = size of the message from r, which is in place if it was short. Returns the longest of
 * all pairs. */
static uint64_t by_lines(stretto_node *node, const unsigned char *source, const size_t *sent_at,
                         const size_t *sent, uint64_t longest, unsigned char *dst,
                         const size_t *got_at, size_t *got, size_t room) {
    const size_t n = (size_t)node->nlocal, me = (size_t)node->me;
    const size_t lines = STRETTO_NODE_SMALL_LINES / (n - 1);
    uint64_t call = stretto_lines_begin(node, STRETTO_SMALL_MAX);
    stretto_line *first = stretto_lines_of(node, node->me, STRETTO_UP, call, STRETTO_SMALL_MAX);
    for (size_t i = 0; i < n - 1; i++) {
        size_t to = (me + 1 + i) % n;
        record head = {longest, sent[to]};
        stretto_line_writer writer = {first + i * lines, 0};
        stretto_lines_write(&writer, call, &head, sizeof head);
        if (sent[to] <= room)
            stretto_lines_write(&writer, call, source + sent_at[to], sent[to]);
        stretto_lines_end(&writer, call);
    }
    for (size_t i = 0; i < n - 1; i++) {
        size_t from = (me + n - 1 - i) % n;
        const stretto_line *theirs =
            stretto_lines_of(node, (int)from, STRETTO_UP, call, STRETTO_SMALL_MAX) + i * lines;
        record head;
        stretto_lines_read(node, theirs, call, 0, &head, sizeof head);
        got[from] = head.bytes;
        longest = head.longest > longest ? head.longest : longest;
        if (head.bytes <= room)
            stretto_lines_read(node, theirs, call, sizeof head, dst + got_at[from], head.bytes);
    }
    stretto_finish(node, true);
    return longest;
}

static uint64_t by_buffer(stretto_node *node, const size_t *sent, uint64_t longest, size_t *got) {
    const size_t n = (size_t)node->nlocal;
    uint64_t base = stretto_chunk_begin(node, 1);
    stretto_area *mine = stretto_area_of(node, node->me);
    for (size_t to = 0; to < n; to++) {
        record head = {longest, sent[to]};
        memcpy(mine->chunks + to * sizeof head, &head, sizeof head);
    }
    stretto_set(&mine->posted, base + 1);
    for (size_t i = 1; i < n; i++) {
        size_t from = ((size_t)node->me + i) % n;
        const stretto_area *theirs = stretto_area_of(node, (int)from);
        record head;
        stretto_await(node, &theirs->posted.value, base + 1);
        memcpy(&head, theirs->chunks + (size_t)node->me * sizeof head, sizeof head);
        got[from] = head.bytes;
        longest = head.longest > longest ? head.longest : longest;
    }
    stretto_finish(node, true);
    return longest;
}

void stretto_node_alltoallv(stretto_node *node, const void *src, const size_t *src_at,
                            const size_t *src_bytes, void *dst, const size_t *dst_at) {
    const size_t n = (size_t)node->nlocal, me = (size_t)node->me;
    const unsigned char *source = src ? src : dst;
    unsigned char *into = dst;
    size_t got[n];
    uint64_t longest = 0;
    if (source + src_at[me] != into + dst_at[me] && src_bytes[me])
        memcpy(into + dst_at[me], source + src_at[me], src_bytes[me]);
    if (n == 1)
        return;
    for (size_t r = 0; r < n; r++)
        if (r != me && src_bytes[r] > longest)
            longest = src_bytes[r];
    size_t room = room_in_record(node);
    got[me] = 0;
    longest = room ? by_lines(node, source, src_at, src_bytes, longest, into, dst_at, got, room)
                   : by_buffer(node, src_bytes, longest, got);
    if (longest > room)
        stretto_chunk_exchange(node, source, src_at, src_bytes, into, dst_at, got, longest, room);
}
