/* Tests by name, and points as the command line has them. */
#include "p2p/p2p.h"

#include <stdlib.h>
#include <string.h>

static const p2p_test TESTS[] = {
    {"latency", p2p_latency, NULL},
    {"echo", p2p_echo, NULL},
    {"bandwidth", p2p_bandwidth, NULL},
    {"bidirectional", p2p_bidirectional, NULL},
    {"sends", p2p_sends, NULL},
    {"threads", p2p_threads, "multiple"},
    {"shared", p2p_shared, "multiple"},
    {"turns", p2p_turns, "serialized"},
    {"overlap", p2p_overlap, NULL},
    {"overlap-allreduce", p2p_overlap_allreduce, NULL},
    {"overlap-bcast", p2p_overlap_bcast, NULL},
    {"overlap-alltoall", p2p_overlap_alltoall, NULL},
};

const p2p_test *p2p_find(const char *name) {
    for (size_t i = 0; i < sizeof TESTS / sizeof *TESTS; i++)
        if (strcmp(TESTS[i].name, name) == 0)
            return &TESTS[i];
    return NULL;
}

int p2p_point_read(p2p_point *point, const char *word, char *error, size_t size) {
    char name[32] = "", rest = '\0';
    *point = (p2p_point){0};
    int found = sscanf(word, "%31[a-z-]:%ld:%d:%d:%d%c", name, &point->bytes, &point->pairs,
                       &point->window, &point->threads, &rest);
    point->test = p2p_find(name);
    if (found != 5 || !point->test) {
        snprintf(error, size, "not a point (TEST:BYTES:PAIRS:WINDOW:THREADS): %s", word);
        return -1;
    }
    bool fits = point->bytes >= 0 && point->bytes <= 1 << 30 && point->pairs >= 1 &&
                point->window >= 1 && point->window <= P2P_MOST_WINDOW && point->threads >= 1 &&
                point->threads <= P2P_MOST_THREADS;
    if (!fits)
        snprintf(error, size, "out of range: %s", word);
    return fits ? 0 : -1;
}
