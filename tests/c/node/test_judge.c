/* Which way long blocks go (judge.h): the decisions alone, on times that are made up. */
#include "node/judge.h"
#include "../check.h"

enum { CALLS = STRETTO_NODE_JUDGE_CALLS, RANKS = 3 };

/* A trial in which the calls by the way in use took so long, and those by the other. One rank waits
 * for the others in each call, and one call of each way was interrupted. */
static bool trial(stretto_judge *judge, uint32_t used, uint32_t other) {
    uint32_t all[RANKS][2 * CALLS];
    const bool before = judge->other;
    for (int r = 0; r < RANKS; r++)
        for (int i = 0; i < CALLS; i++) {
            const uint32_t late = (r == i % RANKS ? 0 : 1000000) + (i == 1 ? 10000000 : 0);
            all[r][i] = used + late;
            all[r][CALLS + i] = other + late;
        }
    judge->tried = 2 * CALLS;
    stretto_judge_decide(judge, all[0], RANKS);
    CHECK(judge->tried == 0 && judge->left == judge->stay);
    return judge->other != before;
}

int main(void) {
    stretto_judge judge = {.stay = STRETTO_NODE_JUDGE_STAY};
    CHECK(!trial(&judge, 200000, 200000)); /* alike: nothing changes */
    CHECK(!trial(&judge, 200000, 200000 - 200000 / STRETTO_NODE_JUDGE_GAIN));
    CHECK(judge.stay == 16 * STRETTO_NODE_JUDGE_STAY);
    for (int i = 0; i < 20; i++)
        CHECK(!trial(&judge, 200000, 300000));
    CHECK(judge.stay >= STRETTO_NODE_JUDGE_MOST && judge.stay < 4 * STRETTO_NODE_JUDGE_MOST);
    CHECK(trial(&judge, 200000, 160000) && judge.other);
    CHECK(judge.stay == STRETTO_NODE_JUDGE_STAY); /* soon looked at again */
    CHECK(!trial(&judge, 160000, 200000) && judge.other);
    CHECK(trial(&judge, 300000, 200000) && !judge.other); /* the cores moved */
    return check_report("ways of long blocks");
}
