/* What copies the data of the node phases, against memcpy: every byte where it belongs and none
 * beside it, at all alignments of the two to a line and behind one another modulo a page, at
 * lengths about those where the way of copying changes, up to the very end of a mapping. */
#define STRETTO_NODE_COPY_MOST 20000
#include "node/copy.h"
#include "node/stores.h"
#include "../check.h"

#include <stdlib.h>
#include <sys/mman.h>

enum { PAGE = 4096, LINE = 64, MARGIN = 128, LONGEST = 40000, ROOM = 16 * PAGE };

typedef void (*copier)(void *to, const void *from, size_t bytes);

static void copies(void *to, const void *from, size_t bytes) {
    stretto_copy(to, from, bytes);
}

/* on other machines there are ordinary stores only */
static void streams(void *to, const void *from, size_t bytes) {
    if (bytes < 2 * LINE)
        memcpy(to, from, bytes);
    else
        stretto_stream(to, from, bytes);
}

static void by_string(void *to, const void *from, size_t bytes) {
    stretto_copy_string(to, from, bytes);
}

static const copier ways[] = {copies, streams, by_string};

/* ROOM bytes that end where nothing may be touched, and begin so. */
static unsigned char *fenced(void) {
    unsigned char *all =
        mmap(NULL, ROOM + 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (all == MAP_FAILED || mprotect(all, PAGE, PROT_NONE) ||
        mprotect(all + PAGE + ROOM, PAGE, PROT_NONE)) {
        perror("test_copy");
        exit(1);
    }
    return all + PAGE;
}

/* A byte of the source, another one in each line and page. */
static unsigned char pattern(size_t i) {
    return (unsigned char)(i * 7 + i / LINE * 13 + i / PAGE * 101);
}

static void try_one(copier way, unsigned char *to_room, size_t to, const unsigned char *from_room,
                    size_t from, size_t bytes) {
    const size_t low = to < MARGIN ? to : MARGIN;
    const size_t above = ROOM - to - bytes < MARGIN ? ROOM - to - bytes : MARGIN;
    memset(to_room + to - low, 0xa5, low + bytes + above);
    way(to_room + to, from_room + from, bytes);
    bool beside = false;
    for (size_t i = 0; i < low; i++)
        beside |= to_room[to - low + i] != 0xa5;
    for (size_t i = 0; i < above; i++)
        beside |= to_room[to + bytes + i] != 0xa5;
    CHECK_MSG(!beside, "%zu bytes from %zu to %zu: a byte beside them has changed", bytes, from,
              to);
    CHECK_MSG(memcmp(to_room + to, from_room + from, bytes) == 0,
              "%zu bytes from %zu to %zu: they differ", bytes, from, to);
}

/* Two or three copies in turn, whose targets lie behind one another with a byte between. */
static void try_in_turn(unsigned char *to, const unsigned char *from, const size_t bytes[3],
                        bool three) {
    const unsigned char *const at[] = {from + 1, from + PAGE + 8, from + 5 * PAGE + 3};
    memset(to, 0xa5, ROOM);
    stretto_copying copies[3];
    size_t end = 0;
    for (int i = 0; i < 3; i++) {
        copies[i] =
            (stretto_copying){bytes[i] ? to + end : NULL, bytes[i] ? at[i] : NULL, bytes[i]};
        end += bytes[i] + 1;
    }
    if (three)
        stretto_copy_three(copies[0], copies[1], copies[2]);
    else
        stretto_copy_both(copies[0], copies[1]);
    end = 0;
    for (int i = 0; i < 3; i++) {
        const bool copied = i < 2 || three;
        for (size_t b = 0; b <= bytes[i]; b++) {
            const unsigned char is = copied && b < bytes[i] ? at[i][b] : 0xa5;
            if (to[end + b] != is) {
                CHECK_MSG(false, "%zu, %zu, %zu bytes in turn: byte %zu of copy %d", bytes[0],
                          bytes[1], bytes[2], b, i);
                return;
            }
        }
        end += bytes[i] + 1;
    }
    CHECK(true);
}

static void try_all_in_turn(unsigned char *to, const unsigned char *from) {
    static const size_t turns[] = {0,
                                   1,
                                   STRETTO_NODE_COPY_TURN_THREE,
                                   STRETTO_NODE_COPY_TURN,
                                   STRETTO_NODE_COPY_TURN + 1,
                                   3 * STRETTO_NODE_COPY_TURN + 37};
    const int n = sizeof turns / sizeof *turns;
    for (int a = 0; a < n; a++)
        for (int b = 0; b < n; b++)
            for (int c = 0; c < n; c++)
                for (int three = 0; three < 2; three++)
                    try_in_turn(to, from, (size_t[]){turns[a], turns[b], turns[c]}, three);
    stretto_copying whole = {to, from, 1000};
    const stretto_copying part = stretto_copy_part(&whole, 999),
                          last = stretto_copy_part(&whole, 9);
    CHECK(part.to == to && part.from == from && part.bytes == 999);
    CHECK(last.to == to + 999 && last.from == from + 999 && last.bytes == 1 && whole.bytes == 0);
}

int main(void) {
    unsigned char *to = fenced(), *from = fenced();
    for (size_t i = 0; i < ROOM; i++)
        from[i] = pattern(i);
    static const size_t about[] = {
        256,  STRETTO_NODE_COPY_PIECE, 2 * STRETTO_NODE_COPY_PIECE, 3 * STRETTO_NODE_COPY_PIECE,
        PAGE, STRETTO_NODE_STREAM,     STRETTO_NODE_COPY_MOST};
    for (size_t w = 0; w < sizeof ways / sizeof *ways; w++) {
        for (size_t bytes = 0; bytes <= 3 * LINE; bytes++)
            for (size_t at = 0; at < LINE; at++)
                try_one(ways[w], to, PAGE + at, from, PAGE + at * 5 % LINE, bytes);
        for (size_t a = 0; a < sizeof about / sizeof *about; a++)
            for (size_t bytes = about[a] - 2; bytes <= about[a] + 2; bytes++)
                for (size_t behind = 0; behind < 2 * LINE; behind++) {
                    const size_t at = PAGE + behind * 11 % LINE;
                    try_one(ways[w], to, at + behind, from, at, bytes);
                    try_one(ways[w], to, at, from, at + behind, bytes);
                }
        for (size_t bytes = 0; bytes <= LONGEST; bytes += bytes < 4 * PAGE ? 37 : 1009) {
            try_one(ways[w], to, ROOM - bytes, from, ROOM - bytes, bytes); /* to the very ends */
            try_one(ways[w], to, 0, from, 0, bytes);
        }
    }
    try_all_in_turn(to, from);
    /* what is copied to where it lies stays */
    memcpy(to, from, ROOM);
    stretto_copy(to + 5, to + 5, 3 * STRETTO_NODE_COPY_PIECE + 7);
    CHECK(memcmp(to, from, ROOM) == 0);
    return check_report("copying");
}
