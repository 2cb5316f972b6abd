/* Alltoallv: messages of any size, which only sender and receiver know.
 *
 * So nothing that depends on a size may decide how a rank takes part, until all have said theirs.
 * Each rank first writes a record for each other rank: its longest message to anyone, the length
 * and place of the one to this rank, and the message itself when it fits. Having read the records
 * of all, every rank knows the longest message of all pairs and whether anyone's lie in place, and
 * all alike go on with the exchange through the shared buffers, or with single copies, or not at
 * all. One hop when all messages are short.
 *
 * Records are runs of lines, RECORD_LINES = lines / (n - 1) for each; with more ranks than lines
 * they are written to the shared buffer, without messages. */
#include "node/chunk.h"
#include "node/direct.h"
#include "node/lines.h"

typedef struct {
    uint64_t longest, bytes, address; /* address 0: in place, not to be copied from */
} record;

/* What a rank has learned. */
typedef struct {
    uint64_t longest;
    bool in_place;
    size_t *got;       /* [nlocal] size of the message from each rank */
    uint64_t *address; /* [nlocal] where it lies there */
} outlook;

static record record_for(const outlook *o, const unsigned char *source, const size_t *at,
                         const size_t *sent, size_t to) {
    return (record){o->longest, sent[to], o->in_place ? 0 : (uintptr_t)source + at[to]};
}

static void learn(outlook *seen, const record *head, size_t from) {
    seen->got[from] = head->bytes;
    seen->address[from] = head->address;
    seen->in_place |= head->address == 0;
    seen->longest = head->longest > seen->longest ? head->longest : seen->longest;
}

/* Messages up to so many bytes travel in the record. */
static size_t room_in_record(const stretto_node *node) {
    size_t lines = STRETTO_NODE_SMALL_LINES / ((size_t)node->nlocal - 1);
    if (lines == 0)
        return 0;
    return stretto_least(lines * STRETTO_LINE_DATA - sizeof(record), node->small);
}

/* Short messages are in place afterwards. mine: what this rank says; seen: begins as a copy. */
static void by_lines(stretto_node *node, const unsigned char *source, const size_t *sent_at,
                     const size_t *sent, unsigned char *dst, const size_t *got_at,
                     const size_t *fits, const outlook *mine, outlook *seen, size_t room) {
    const size_t n = (size_t)node->nlocal, me = (size_t)node->me;
    const size_t lines = STRETTO_NODE_SMALL_LINES / (n - 1);
    uint64_t call = stretto_lines_begin(node, STRETTO_SMALL_MAX);
    stretto_line *first = stretto_lines_of(node, node->me, STRETTO_UP, call, STRETTO_SMALL_MAX);
    for (size_t i = 0; i < n - 1; i++) {
        size_t to = (me + 1 + i) % n;
        record head = record_for(mine, source, sent_at, sent, to);
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
        learn(seen, &head, from);
        if (head.bytes <= room)
            stretto_lines_read(node, theirs, call, sizeof head, dst + got_at[from],
                               stretto_least(head.bytes, fits[from]));
    }
    stretto_finish(node, true);
}

static void by_buffer(stretto_node *node, const unsigned char *source, const size_t *sent_at,
                      const size_t *sent, const outlook *mine, outlook *seen) {
    const size_t n = (size_t)node->nlocal;
    uint64_t base = stretto_chunk_begin(node, 1);
    stretto_area *area = stretto_area_of(node, node->me);
    for (size_t to = 0; to < n; to++) {
        record head = record_for(mine, source, sent_at, sent, to);
        memcpy(area->chunks + to * sizeof head, &head, sizeof head);
    }
    stretto_set(&area->posted, base + 1);
    for (size_t i = 1; i < n; i++) {
        size_t from = ((size_t)node->me + i) % n;
        const stretto_area *theirs = stretto_area_of(node, (int)from);
        record head;
        stretto_await(node, &theirs->posted.value, base + 1);
        memcpy(&head, theirs->chunks + (size_t)node->me * sizeof head, sizeof head);
        learn(seen, &head, from);
    }
    stretto_finish(node, true);
}

/* The long messages by single copies; false on all ranks when one rank could not. Ordered and
 * agreed upon as in direct.c: the records told that all have come. */
static bool by_copies(stretto_node *node, unsigned char *dst, const size_t *got_at,
                      const size_t *fits, const outlook *seen, size_t room) {
    const size_t n = (size_t)node->nlocal, me = (size_t)node->me;
    bool ok = true;
    for (size_t i = 1; i < n && ok; i++) {
        size_t from = (me + i) % n;
        if (seen->got[from] > room && fits[from])
            ok = stretto_remote_copy(node, (int)from, seen->address[from], dst + got_at[from],
                                     stretto_least(seen->got[from], fits[from]));
    }
    return stretto_remote_agree(node, ok);
}

bool stretto_node_alltoallv(stretto_node *node, const void *src, const size_t *src_at,
                            const size_t *src_bytes, void *dst, const size_t *dst_at,
                            const size_t *dst_bytes) {
    const size_t n = (size_t)node->nlocal, me = (size_t)node->me;
    const unsigned char *source = src ? src : dst;
    unsigned char *into = dst;
    size_t got[n], no_limit[n], room = n > 1 ? room_in_record(node) : 0;
    const size_t *fits = dst_bytes ? dst_bytes : memset(no_limit, 0xff, sizeof no_limit);
    size_t own = stretto_least(src_bytes[me], fits[me]);
    bool all_fit = own == src_bytes[me];
    if (own && source + src_at[me] == into + dst_at[me])
        own = 0;
    if (n == 1) {
        if (own)
            stretto_copy(into + dst_at[me], source + src_at[me], own);
        return all_fit;
    }
    uint64_t address[n];
    outlook mine = {0, false, got, address};
    for (size_t r = 0; r < n; r++)
        if (r != me && src_bytes[r] > mine.longest)
            mine.longest = src_bytes[r];
    mine.in_place = source == into && mine.longest;
    got[me] = 0;
    outlook seen = mine;
    if (room)
        by_lines(node, source, src_at, src_bytes, into, dst_at, fits, &mine, &seen, room);
    else
        by_buffer(node, source, src_at, src_bytes, &mine, &seen);
    for (size_t r = 0; r < n; r++)
        all_fit &= got[r] <= fits[r];
    const bool small = seen.longest <= room;
    const bool direct =
        !seen.in_place &&
        stretto_direct_fits(node, seen.longest, STRETTO_NODE_ATTACH, STRETTO_NODE_DIRECT_BLOCK);
    if (own && (small || direct))
        stretto_copy(into + dst_at[me], source + src_at[me], own);
    if (small || (direct && by_copies(node, into, dst_at, fits, &seen, room)))
        return all_fit;
    got[me] = direct ? 0 : own;
    stretto_chunk_exchange(node, source, src_at, src_bytes, into, dst_at, got, fits, seen.longest,
                           room, stretto_step(node, n - 1));
    return all_fit;
}
