/* Sequenced lines (protocol 1 of internal.h): how a call of small messages begins, writes its lines
 * and reads those of others. */
#ifndef STRETTO_NODE_LINES_H
#define STRETTO_NODE_LINES_H

#include "node/internal.h"

static inline stretto_line *stretto_tiny_of(const stretto_node *node, int rank, int way,
                                            uint64_t call) {
    return &stretto_area_of(node, rank)->tiny[call & (node->tiny - 1)][way].line;
}

static inline stretto_line *stretto_lines_of(const stretto_node *node, int rank, int way,
                                             uint64_t call, size_t bytes) {
    return bytes <= STRETTO_LINE_DATA
               ? stretto_tiny_of(node, rank, way, call)
               : stretto_area_of(node, rank)->small[way][call % STRETTO_NODE_SMALL_RING];
}

static inline void stretto_copy_tail(void *to, const void *from, size_t bytes) {
    if (bytes == 8)
        memcpy(to, from, 8);
    else if (bytes)
        stretto_copy(to, from, bytes);
}

/* Begins a call: its number, and the certainty that its lines may be overwritten. bytes: the
 * longest message of any rank. */
static inline uint64_t stretto_lines_begin(stretto_node *node, size_t bytes) {
    uint64_t call = ++node->seq;
    uint64_t ring = bytes <= STRETTO_LINE_DATA ? node->tiny : STRETTO_NODE_SMALL_RING;
    if (call > ring)
        stretto_catch_up(node, call - ring);
    return call;
}

/* A message of at most one line. */
static inline void stretto_tiny_put(const stretto_node *node, int way, uint64_t call,
                                    const void *from, size_t bytes) {
    stretto_line *line = stretto_tiny_of(node, node->me, way, call);
    stretto_copy_tail(line->data, from, bytes);
    atomic_store_explicit(&line->seq, call, memory_order_release);
}

static inline void stretto_lines_put(const stretto_node *node, int way, uint64_t call,
                                     const void *from, size_t bytes) {
    stretto_line *line = stretto_lines_of(node, node->me, way, call, bytes);
    const unsigned char *data = from;
    const size_t whole = bytes;
    for (; bytes > STRETTO_LINE_DATA; bytes -= STRETTO_LINE_DATA, data += STRETTO_LINE_DATA) {
        memcpy(line->data, data, STRETTO_LINE_DATA);
        atomic_store_explicit(&line->seq, call, memory_order_release);
        line++;
    }
    stretto_copy_tail(line->data, data, bytes);
    atomic_store_explicit(&line->seq, call, memory_order_release);
    if (whole < STRETTO_NODE_OWN)
        return;
    line = stretto_lines_of(node, node->me, way, call + 1, whole);
    for (size_t i = 0; i < whole; i += STRETTO_LINE_DATA)
        stretto_own(line++);
}

static inline void stretto_lines_get(const stretto_node *node, int rank, int way, uint64_t call,
                                     void *to, size_t bytes) {
    const stretto_line *line = stretto_lines_of(node, rank, way, call, bytes);
    unsigned char *data = to;
    for (; bytes > STRETTO_LINE_DATA; bytes -= STRETTO_LINE_DATA, data += STRETTO_LINE_DATA) {
        stretto_await(node, &line->seq, call);
        memcpy(data, line->data, STRETTO_LINE_DATA);
        line++;
    }
    stretto_await(node, &line->seq, call);
    stretto_copy_tail(data, line->data, bytes);
}

/* A message written piece by piece. Begin with {first line, 0}. */
typedef struct {
    stretto_line *line;
    size_t used; /* bytes of it */
} stretto_line_writer;

static inline void stretto_lines_write(stretto_line_writer *writer, uint64_t call, const void *from,
                                       size_t bytes) {
    const unsigned char *data = from;
    while (bytes) {
        size_t part = stretto_least(bytes, STRETTO_LINE_DATA - writer->used);
        memcpy(writer->line->data + writer->used, data, part);
        data += part, bytes -= part;
        if ((writer->used += part) == STRETTO_LINE_DATA) {
            atomic_store_explicit(&writer->line->seq, call, memory_order_release);
            writer->line++;
            writer->used = 0;
        }
    }
}

static inline void stretto_lines_end(stretto_line_writer *writer, uint64_t call) {
    if (writer->used)
        atomic_store_explicit(&writer->line->seq, call, memory_order_release);
}

/* Bytes offset.. of a message that begins in `line`. */
static inline void stretto_lines_read(const stretto_node *node, const stretto_line *line,
                                      uint64_t call, size_t offset, void *to, size_t bytes) {
    unsigned char *data = to;
    line += offset / STRETTO_LINE_DATA;
    offset %= STRETTO_LINE_DATA;
    for (; bytes; line++, offset = 0) {
        size_t part = stretto_least(bytes, STRETTO_LINE_DATA - offset);
        stretto_await(node, &line->seq, call);
        memcpy(data, line->data + offset, part);
        data += part, bytes -= part;
    }
}

#endif
