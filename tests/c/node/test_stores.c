/* When a group writes past the caches, and when a rank need not look at the time (stores.h): the
 * decisions alone, on costs that are made up. */
#include "node/chunk.h"
#include "../check.h"

#include <stdlib.h>
#include <sys/mman.h>

/* ticks for 1024 bytes: less than what is never left, and more */
enum { LIMIT = STRETTO_NODE_COST_NEAR, DEAR = 3 * LIMIT };

/* What a lap costs on a machine, written and read, with ordinary and with streaming stores. */
typedef struct {
    uint64_t ordinary[STRETTO_SIDES], streaming[STRETTO_SIDES];
} machine;

static const machine near = {{LIMIT - 1, 150}, {100, 600}}, /* streams cost the reader */
    near_busy = {{DEAR, 300}, {100, 1200}}, far = {{DEAR, 900}, {100, 500}},
                     alike = {{DEAR, 500}, {DEAR, 490}};

/* So many laps on a machine; returns in how many of them streaming stores were used. */
static unsigned laps(stretto_stores *stores, const machine *m, unsigned n) {
    unsigned streamed = 0;
    for (unsigned i = 0; i < n; i++) {
        const uint64_t *cost = stores->streaming ? m->streaming : m->ordinary;
        streamed += stores->streaming;
        stretto_stores_judge(stores, cost[STRETTO_WRITING] + cost[STRETTO_READING],
                             cost[STRETTO_WRITING]);
    }
    return streamed;
}

enum { TRIAL = STRETTO_NODE_LAPS + 1 }; /* laps of one */

/* Laps until the way changes, at most 10000. */
static unsigned until_change(stretto_stores *stores, const machine *m) {
    const bool before = stores->streaming;
    unsigned n = 0;
    while (stores->streaming == before && n < 10000)
        n++, laps(stores, m, 1);
    return n;
}

static void try_near(void) {
    stretto_stores stores = {0};
    CHECK(laps(&stores, &near, 10000) == 0); /* never left */
}

/* Dear ordinary stores alone are no reason: a trial shows it, and trials grow rare. */
static void try_near_busy(void) {
    stretto_stores stores = {0};
    CHECK(until_change(&stores, &near_busy) == TRIAL); /* at once */
    unsigned between = 0;
    for (int trial = 0; trial < 8; trial++) {
        CHECK(until_change(&stores, &near_busy) == TRIAL && !stores.streaming);
        const unsigned now = until_change(&stores, &near_busy);
        CHECK_MSG(now >= between, "%u laps to the next trial, %u before", now, between);
        between = now;
    }
    CHECK_MSG(between >= STRETTO_NODE_STAY_MOST && between <= STRETTO_NODE_STAY_MOST + TRIAL,
              "%u laps between trials", between);
    stores = (stretto_stores){0};
    const unsigned streamed = laps(&stores, &near_busy, 20000);
    CHECK_MSG(streamed < 200, "%u of 20000 laps were streamed", streamed);
}

static void try_far(void) {
    stretto_stores stores = {0};
    CHECK(until_change(&stores, &far) == TRIAL);
    for (int trial = 0; trial < 8; trial++) { /* streaming is kept, ordinary stores tried */
        const unsigned now = until_change(&stores, &far);
        CHECK_MSG(now <= STRETTO_NODE_STAY_PAST + TRIAL, "streamed for %u laps", now);
        CHECK(until_change(&stores, &far) == TRIAL && stores.streaming);
    }
    stores = (stretto_stores){0};
    const unsigned streamed = laps(&stores, &far, 20000);
    CHECK_MSG(streamed > 19000, "%u of 20000 laps were streamed", streamed);
    /* a gain too small to count */
    stores = (stretto_stores){0};
    CHECK(laps(&stores, &alike, 20000) < 200);
}

/* The virtual processors move: the way follows within some hundred laps, both ways. */
static void try_moving(void) {
    stretto_stores stores = {0};
    laps(&stores, &near, 10000);
    unsigned streamed = laps(&stores, &far, 1000);
    CHECK_MSG(streamed > 700, "%u of 1000 laps were streamed after near ones", streamed);
    streamed = laps(&stores, &near, 1000);
    CHECK_MSG(streamed < 300 && !stores.streaming, "%u of 1000 were after far ones", streamed);
    laps(&stores, &near_busy, 20000);
    streamed = laps(&stores, &far, 1000);
    CHECK_MSG(streamed > 500, "%u of 1000 were after near ones with a neighbour", streamed);
}

/* One lap in three meets something else that fills the caches; the least of them counts. */
static void try_noise(void) {
    stretto_stores stores = {0};
    unsigned streamed = 0, seed = 1;
    for (int i = 0; i < 20000; i++) {
        const uint64_t *cost = stores.streaming ? near_busy.streaming : near_busy.ordinary;
        const unsigned noise = (seed = seed * 1103515245 + 12345) >> 16 & 1023;
        streamed += stores.streaming;
        const uint64_t writing = cost[0] + noise % 100;
        stretto_stores_judge(&stores, writing + cost[1] + (noise < 340 ? 3000 : 0), writing);
    }
    CHECK_MSG(streamed < 1500, "%u of 20000 laps were streamed", streamed);
}

/* Costs that were added up, an interruption as one slow piece. */
static void try_adding(void) {
    static stretto_costs costs;
    CHECK(stretto_piece_ticks(700, 1000) == 700 && stretto_piece_ticks(1 << 30, 1000) == 8000);
    CHECK(stretto_piece_ticks((uint64_t)-5, 1000) == 8000); /* a clock that stepped back */
    CHECK(stretto_costs_add(&costs, STRETTO_READING, 700, 1000) == 1000);
    CHECK(stretto_costs_add(&costs, STRETTO_READING, 800, 1000) == 2000);
    CHECK(stretto_costs_add(&costs, STRETTO_WRITING, 1, 64) == 64);
    CHECK(costs.ticks[STRETTO_READING] == 1500 && costs.ticks[STRETTO_WRITING] == 1);
}

#if STRETTO_MAY_STREAM
/* A group whose ranks are all this process; only rank 0 has a handle. */
enum { MOST_RANKS = 8 };

static stretto_node *group(int ranks) {
    const size_t area = stretto_node_area(ranks, 0);
    static const stretto_wait wait;
    void *memory = mmap(NULL, stretto_node_bytes(ranks, area), PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(memory != MAP_FAILED);
    stretto_node *node = stretto_node_attach(memory, ranks, 0, area, NULL, &wait);
    CHECK(node);
    return node;
}

static void dissolve(stretto_node *node) {
    munmap(node->memory, stretto_node_bytes(node->nlocal, node->area));
    stretto_node_detach(node);
}

/* Each rank writes and reads so many times its ring, at a machine's costs for 1024 bytes; rank 0
 * last, and in pieces, as in the middle of a call. */
static void turn(stretto_node *node, const machine *m, const unsigned written[],
                 const unsigned read[]) {
    const unsigned *const times[STRETTO_SIDES] = {written, read};
    for (int r = node->nlocal - 1; r >= 0; r--)
        for (int side = 0; side < STRETTO_SIDES; side++)
            for (size_t piece = 0; piece < 4 * times[side][r]; piece++) {
                const uint64_t *cost = node->stores.streaming ? m->streaming : m->ordinary;
                const size_t bytes = node->area / 4;
                if (r == 0)
                    stretto_count(node, side, cost[side] * bytes / 1024, bytes);
                else
                    stretto_costs_add(&stretto_area_of(node, r)->costs, side,
                                      cost[side] * bytes / 1024, bytes);
            }
}

static bool streams(const stretto_node *node) {
    CHECK(stretto_area_of(node, 0)->streaming.value == node->stores.streaming);
    return node->stores.streaming;
}

/* Turns, of 400, that were streamed. */
static unsigned turns(stretto_node *node, const machine *m, const unsigned written[],
                      const unsigned read[]) {
    unsigned streamed = 0;
    for (int i = 0; i < 400; i++) {
        streamed += streams(node);
        turn(node, m, written, read);
    }
    return streamed;
}

static void try_groups(void) {
    const unsigned one[MOST_RANKS] = {1, 1, 1, 1, 1, 1, 1, 1};
    const unsigned seven[MOST_RANKS] = {7, 7, 7, 7, 7, 7, 7, 7};
    /* writing is 4 times as cheap past the caches, reading half as dear again: which counts for
     * more depends on how often a byte that was written is read by the same rank */
    static const machine allgathers = {{200, 80}, {50, 123}};
    stretto_node *node = group(2);
    unsigned streamed = turns(node, &allgathers, one, one);
    CHECK_MSG(streamed > 300, "%u of 400 among 2", streamed);
    dissolve(node);
    node = group(8);
    streamed = turns(node, &allgathers, one, seven);
    CHECK_MSG(streamed < 60, "%u of 400 among 8", streamed);
    dissolve(node);

    /* a bcast from rank 3: the others read at the same time */
    node = group(8);
    const unsigned root[MOST_RANKS] = {0, 0, 0, 1}, others[MOST_RANKS] = {1, 1, 1, 0, 1, 1, 1, 1};
    static const machine far_bcast = {{900, 500}, {100, 480}};
    for (int i = 0; i < 2000; i++)
        turn(node, &far_bcast, root, others);
    CHECK(streams(node));
    dissolve(node);

    /* rank 0 has no part in what the others exchange, but in the calls */
    node = group(8);
    const unsigned workers[MOST_RANKS] = {0, 1, 1, 1, 1, 1, 1, 1};
    streamed = 0;
    for (unsigned call = 1; call <= 64 * 400; call++) {
        turn(node, &far, workers, workers);
        stretto_chunk_begin(node, 1);
        for (int r = 0; r < node->nlocal; r++)
            stretto_set(&stretto_area_of(node, r)->done, call);
        streamed += streams(node);
    }
    CHECK_MSG(streamed > 64 * 200, "%u of %u calls among workers", streamed, 64 * 400);
    dissolve(node);
}
#endif

int main(void) {
    try_near();
    try_near_busy();
    try_far();
    try_moving();
    try_noise();
    try_adding();
#if STRETTO_MAY_STREAM
    try_groups();
#endif
    return check_report("ways of storing");
}
