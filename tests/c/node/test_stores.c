/* When a group writes past the caches, and when a rank need not look at the time (stores.h): the
 * decisions alone, on costs that are made up. */
#include "node/stores.h"
#include "../check.h"

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
        stretto_stores_judge(stores, cost[STRETTO_WRITING], cost[STRETTO_READING]);
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
        stretto_stores_judge(&stores, cost[0] + noise % 100, cost[1] + (noise < 340 ? 3000 : 0));
    }
    CHECK_MSG(streamed < 1500, "%u of 20000 laps were streamed", streamed);
}

/* Costs that were added up, an interruption as one slow piece. */
static void try_adding(void) {
    static stretto_costs costs;
    stretto_costs_add(&costs, STRETTO_READING, 700, 1000);
    stretto_costs_add(&costs, STRETTO_READING, 1000000, 1000);
    stretto_costs_add(&costs, STRETTO_WRITING, 1, 64);
    CHECK(costs.ticks[STRETTO_READING] == 2700 && costs.bytes[STRETTO_READING] == 2000);
    CHECK(costs.ticks[STRETTO_WRITING] == 1 && costs.bytes[STRETTO_WRITING] == 64);
}

/* A lap of one rank's own ordinary stores. */
enum { RING = 4 * STRETTO_NODE_STREAM };

static void lap(stretto_publisher *publisher, uint64_t cost) {
    stretto_publisher_add(publisher, cost * (RING / 2) / 1024, RING / 2);
    stretto_publisher_add(publisher, cost * (RING / 2) / 1024, RING / 2);
}

static size_t untimed(stretto_publisher *publisher) {
    size_t pieces = 0;
    while (stretto_may_mix(publisher, STRETTO_NODE_STREAM))
        pieces++;
    return pieces * STRETTO_NODE_STREAM;
}

static void try_mixing(void) {
    const uint64_t cheap = STRETTO_NODE_COST_CHEAP - 1, dear = STRETTO_NODE_COST_CHEAP;
    stretto_publisher publisher = {.ring = RING};
    CHECK(stretto_may_mix(&publisher, STRETTO_NODE_STREAM - 1) && untimed(&publisher) == 0);
    lap(&publisher, cheap);
    CHECK(untimed(&publisher) == 0); /* the first lap tells nothing */
    for (int i = 0; i < 3; i++) {
        lap(&publisher, cheap);
        CHECK(untimed(&publisher) == STRETTO_NODE_UNTIMED * RING);
        lap(&publisher, dear);
        CHECK(untimed(&publisher) == 0);
    }
    lap(&publisher, cheap);
    stretto_publisher_take(&publisher, false); /* as before */
    CHECK(stretto_may_mix(&publisher, STRETTO_NODE_STREAM));
    stretto_publisher_take(&publisher, true);
    CHECK(untimed(&publisher) == 0 && publisher.streaming && publisher.ring == RING);
    stretto_publisher_take(&publisher, false);
    lap(&publisher, cheap); /* the first again */
    CHECK(untimed(&publisher) == 0 && !publisher.streaming);
}

int main(void) {
    try_near();
    try_near_busy();
    try_far();
    try_moving();
    try_noise();
    try_adding();
    try_mixing();
    return check_report("ways of storing");
}
