/* See estimate.h. */
#include "learn/estimate.h"

#include <string.h>

static const double PAUSE = 4; /* times the median of a block: such a call does not count */

static bool is_early(stretto_flow flow, bool is_root) {
    return stretto_learn_sides(flow) > 1 && is_root == (flow == STRETTO_LEARN_FROM_ROOT);
}

int stretto_learn_sides(stretto_flow flow) {
    return flow == STRETTO_LEARN_SYMMETRIC || flow == STRETTO_LEARN_LOOSE ? 1 : 2;
}

int stretto_learn_side_of(stretto_flow flow, bool is_root) {
    return is_early(flow, is_root) ? STRETTO_LEARN_EARLY : STRETTO_LEARN_WAITING;
}

bool stretto_learn_by_one_clock(stretto_flow flow) {
    return flow != STRETTO_LEARN_LOOSE;
}

double stretto_learn_start(stretto_flow flow, const stretto_timed_call *call) {
    return flow == STRETTO_LEARN_FROM_ROOT && !call->is_root ? STRETTO_LEARN_NEVER : call->entered;
}

void stretto_learn_seconds(stretto_flow flow, const stretto_timed_call *call, double start,
                           double seconds[2]) {
    const int side = stretto_learn_side_of(flow, call->is_root);
    const bool early = side == STRETTO_LEARN_EARLY;
    seconds[side] = call->returned - (early || call->entered > start ? call->entered : start);
    seconds[!side] = 0;
}

int stretto_learn_ranks(stretto_flow flow, int side, int n) {
    const int early = is_early(flow, true) ? 1 : is_early(flow, false) ? n - 1 : 0;
    return side == STRETTO_LEARN_EARLY ? early : n - early;
}

/* Sorts them. */
static double median_of(double *values, int n) {
    for (int i = 1; i < n; i++) {
        double v = values[i];
        int j = i;
        for (; j > 0 && values[j - 1] > v; j--)
            values[j] = values[j - 1];
        values[j] = v;
    }
    return n == 0 ? 0 : n % 2 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

double stretto_learn_block(const double *values, int n, bool one_size) {
    double sorted[STRETTO_LEARN_BLOCK], sum = 0;
    const int cold = !one_size || n < 4 ? 0 : n < 8 ? 1 : n / 8;
    int used = 0;
    memcpy(sorted, values, (size_t)n * sizeof *values);
    const double most = one_size ? PAUSE * median_of(sorted + cold, n - cold) : INFINITY;
    for (int i = cold; i < n; i++)
        if (values[i] <= most) {
            sum += values[i];
            used++;
        }
    return used ? sum / used : 0;
}

int stretto_learn_side_awaited(const double *waiting, const double *early, int n) {
    int last[2] = {0, 0};
    for (int i = 0; i < n; i++)
        if (!isinf(waiting[i]) && !isinf(early[i]))
            last[early[i] > waiting[i] ? STRETTO_LEARN_EARLY : STRETTO_LEARN_WAITING]++;
    for (int side = 0; side < 2; side++)
        if (2 * last[side] > n)
            return side;
    return -1;
}
