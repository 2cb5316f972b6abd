/* See estimate.h. */
#include "learn/estimate.h"

static bool is_early(stretto_flow flow, bool is_root) {
    return stretto_learn_sides(flow) > 1 && is_root == (flow == STRETTO_LEARN_FROM_ROOT);
}

int stretto_learn_sides(stretto_flow flow) {
    return flow == STRETTO_LEARN_SYMMETRIC || flow == STRETTO_LEARN_LOOSE ? 1 : 2;
}

bool stretto_learn_by_one_clock(stretto_flow flow) {
    return flow != STRETTO_LEARN_LOOSE;
}

double stretto_learn_start(stretto_flow flow, const stretto_timed_call *call) {
    return flow == STRETTO_LEARN_FROM_ROOT && !call->is_root ? STRETTO_LEARN_NEVER : call->entered;
}

void stretto_learn_seconds(stretto_flow flow, const stretto_timed_call *call, double start,
                           double seconds[2]) {
    const bool early = is_early(flow, call->is_root);
    const double from = early || call->entered > start ? call->entered : start;
    seconds[early ? STRETTO_LEARN_EARLY : STRETTO_LEARN_WAITING] = call->returned - from;
    seconds[early ? STRETTO_LEARN_WAITING : STRETTO_LEARN_EARLY] = 0;
}

int stretto_learn_ranks(stretto_flow flow, int side, int n) {
    const int early = is_early(flow, true) ? 1 : is_early(flow, false) ? n - 1 : 0;
    return side == STRETTO_LEARN_EARLY ? early : n - early;
}
