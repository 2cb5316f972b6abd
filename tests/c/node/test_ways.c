/* Whether a rank copies in pieces or by the string instruction (ways.h): the decisions alone, on
 * costs that are made up. */
#include "node/ways.h"
#include "../check.h"

enum { BYTES = STRETTO_NODE_WAY_TIMED, TRIAL = STRETTO_NODE_WAY_TRIAL * STRETTO_NODE_WAY_RUN };

/* So many copies, of which those in pieces and by string cost so much. Returns how many of them
 * were of a trial. Every `bad`-th one of a trial is interrupted. */
static unsigned copy(stretto_way *way, unsigned n, uint64_t pieces, uint64_t string, unsigned bad) {
    unsigned trials = 0;
    for (unsigned i = 0; i < n; i++) {
        const stretto_copies copies = stretto_copies_begin(way, BYTES);
        if (copies <= 1)
            continue;
        trials++;
        const uint64_t cost = stretto_by_string(copies) ? string : pieces;
        stretto_way_count(way, stretto_by_string(copies),
                          bad && trials % bad == 0 ? 8 * 1024 : cost);
    }
    return trials;
}

static void try_one_machine(uint64_t pieces, uint64_t string, bool is) {
    stretto_way way = {0};
    copy(&way, TRIAL, pieces, string, 0);
    CHECK_MSG(way.string == is, "pieces %lu, string %lu", pieces, string);
    const unsigned trials = copy(&way, 1000000, pieces, string, 0);
    CHECK_MSG(way.string == is, "pieces %lu, string %lu, later", pieces, string);
    CHECK_MSG(trials < 1000000 / 100, "%u of 1000000 copies are trials", trials);
}

int main(void) {
    if (!STRETTO_MAY_STREAM) { /* no clock: pieces always (node_test has both ways, in turn) */
        stretto_way way = {0};
        for (int i = 0; i < 100; i++)
            CHECK(stretto_copies_begin(&way, BYTES) == 0);
        return check_report("ways of copying");
    }
    try_one_machine(300, 200, true);
    try_one_machine(200, 300, false);
    try_one_machine(200, 200, false);
    try_one_machine(200, 195, false); /* too little to change for */

    stretto_way way = {0};
    copy(&way, TRIAL, 300, 200, TRIAL); /* its last copy, by string, is interrupted */
    CHECK(way.string);
    copy(&way, 1000, 300, 305, 0); /* no change, as near as that */
    CHECK(way.string);
    copy(&way, 2 * STRETTO_NODE_WAY_STAY_MOST, 200, 300, 0); /* the host has moved the cores */
    CHECK(!way.string);

    /* short copies go the way that was found, and are no trials */
    stretto_way found = {.string = true};
    CHECK(stretto_copies_begin(&found, BYTES - 1) == 1 && found.left == 0);
    CHECK(stretto_copies_begin(&found, STRETTO_NODE_STRING - 1) == 0);
    CHECK(stretto_copies_begin(&found, BYTES) > 1);
    return check_report("ways of copying");
}
