#include "node/judge.h"

#include "node/direct.h"

#include <time.h>

enum { CALLS = STRETTO_NODE_JUDGE_CALLS };

static uint64_t now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static bool of_pair(stretto_kind kind) {
    return kind == STRETTO_JUDGE_SWAPPED || kind == STRETTO_JUDGE_FOLDED;
}

static size_t from_bytes(stretto_kind kind) {
    return of_pair(kind) ? STRETTO_NODE_JUDGE_PAIR : STRETTO_NODE_JUDGE;
}

static stretto_judge *judge_of(stretto_node *node, stretto_kind kind, size_t bytes) {
    const int shift = of_pair(kind) ? 3 : 1;
    int class = 0;
    while (class + 1 < STRETTO_JUDGE_CLASSES && bytes >> shift * (class + 1) >= from_bytes(kind))
        class ++;
    return &node->judges[kind][class];
}

/* Whether a group begins with the second way. */
static bool begins_second(const stretto_node *node, stretto_kind kind, size_t bytes) {
    if (of_pair(kind))
        return STRETTO_NODE_PAIR_STRING;
    return node->attaches ? bytes >= STRETTO_NODE_ATTACH
                          : node->modest && node->cma && bytes >= STRETTO_NODE_JUDGE;
}

stretto_judged stretto_judge_begin(stretto_node *node, stretto_kind kind, size_t bytes) {
    stretto_judged call = {NULL, 0, bytes, begins_second(node, kind, bytes)};
    const bool both = of_pair(kind) || (node->cma && !node->attaches);
    if (!both || bytes < from_bytes(kind))
        return call;
    stretto_judge *judge = judge_of(node, kind, bytes);
    if (!judge->begun) {
        judge->begun = true;
        judge->left = STRETTO_NODE_JUDGE_AFTER;
        judge->stay = STRETTO_NODE_JUDGE_STAY;
    }
    call.second ^= judge->other;
    if (judge->left) {
        judge->left--;
        return call;
    }
    if (judge->tried >= CALLS)
        call.second = !call.second;
    call.judge = judge;
    call.began = now();
    return call;
}

/* The least over a way's calls of the least over ranks. */
static uint32_t best_of(const uint32_t *took, int ranks) {
    uint32_t best = UINT32_MAX;
    for (int r = 0; r < ranks; r++)
        for (int i = 0; i < CALLS; i++)
            best = took[r * 2 * CALLS + i] < best ? took[r * 2 * CALLS + i] : best;
    return best;
}

void stretto_judge_decide(stretto_judge *judge, const uint32_t *all, int ranks) {
    const uint32_t used = best_of(all, ranks), other = best_of(all + CALLS, ranks);
    judge->tried = 0;
    if (other < used - used / STRETTO_NODE_JUDGE_GAIN) {
        judge->other = !judge->other;
        judge->stay = STRETTO_NODE_JUDGE_STAY;
    } else if (judge->stay < STRETTO_NODE_JUDGE_MOST) {
        judge->stay *= 4;
    }
    judge->left = judge->stay;
}

void stretto_judge_end(stretto_node *node, const stretto_judged *call) {
    stretto_judge *judge = call->judge;
    if (!judge)
        return;
    const uint64_t took = (now() - call->began) * 4096 / call->bytes;
    judge->took[judge->tried++] = took < UINT32_MAX ? (uint32_t)took : UINT32_MAX;
    if (judge->tried < 2 * CALLS)
        return;
    uint32_t all[node->nlocal][2 * CALLS];
    stretto_small_allgather(node, judge->took, all, sizeof judge->took);
    stretto_judge_decide(judge, all[0], node->nlocal);
}
