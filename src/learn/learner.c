/* The way of a learner through its phases; see learner.h. */
#include "learn/learner.h"

#include <string.h>

enum {
    SHORT_BASE = 4,     /* calls of a first block */
    OFTEN = 64,         /* blocks between checks, the first times */
    SELDOM = 512,       /* and later */
    OFTEN_CHECKS = 8,   /* so many times */
    LAST_OF_TEN = 9,    /* blocks of ten say which side the program waits for */
    DOUBTFUL = 4,       /* after one that shows no gain */
    EARLY = 2,          /* joins a check when at most 1/EARLY of the quiet calls is left */
    DOUBTS = 6,         /* so many of those in a row are tested */
    CONTESTS = 2,       /* so many checks for one contest */
    VICTORIES = 6,      /* pairs in a row that another candidate must win: all are tried again */
    FIRST_PAUSE = 1024, /* calls */
    REST = 15,          /* where native stays: tried again after so many times the calls so far, */
    MOST_REST = 1 << 17 /* but at the latest after so many: another phase of the application */
};
static const double LONG_CALL = 1e-3, /* seconds: one call is a block */
    HOPELESS = 3,                     /* times the best of a pass: not tried again */
    WORSE = 1.25,                     /* times native after a round */
    WORTH = 0.01,                     /* part of native's time that a choice must gain */
    NEAR = 0.97,                      /* times the choice's time, which a contender must beat */
    T_TEST = 3.67,                    /* Student's t for ten pairs, 0.5 % on one side */
    T_RECENT = 3.37;                  /* six values, 1 % */

static uint64_t next_random(stretto_learner *l) {
    uint64_t z = l->random += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

/* Of the sides, that on which the choice gains less. */
static const stretto_learn_pairs *gains_less(const stretto_learner *l) {
    const stretto_learn_pairs *c = l->checked;
    return l->sides > 1 && c[1].difference < c[0].difference ? &c[1] : &c[0];
}

static void begin_calls(stretto_learner *l, stretto_learn_phase phase, int candidate,
                        long long calls, bool timed) {
    l->phase = phase;
    l->now = candidate;
    l->length = l->left = calls;
    l->timed = timed;
}

static int block_of(const stretto_learner *l, int doublings) {
    const int n = l->base << doublings;
    return n > STRETTO_LEARN_BLOCK ? STRETTO_LEARN_BLOCK : n;
}

void stretto_learner_begin(stretto_learner *l, int sides, int after, int base, uint64_t seed) {
    memset(l, 0, sizeof *l);
    l->sides = sides;
    l->base = base;
    l->random = seed;
    l->ncandidates = 1;
    l->pause = FIRST_PAUSE;
    begin_calls(l, STRETTO_LEARN_WAIT, 0, after, false);
}

void stretto_learner_candidates(stretto_learner *l, int n, int chosen) {
    l->ncandidates = n;
    l->chosen = chosen;
}

static long long quiet_calls(const stretto_learner *l) {
    if (!l->chosen)
        return l->calls < MOST_REST / REST ? REST * (l->calls + 1) : MOST_REST;
    return (long long)block_of(l, 3) * (l->doubts                        ? DOUBTFUL
                                        : l->checked[0].n < OFTEN_CHECKS ? OFTEN
                                                                         : SELDOM);
}

static void quiet(stretto_learner *l) {
    begin_calls(l, STRETTO_LEARN_QUIET, l->chosen, quiet_calls(l), false);
}

static void stay_native(stretto_learner *l) {
    l->chosen = 0;
    l->native_won = true;
    quiet(l);
}

static void next_block(stretto_learner *l) {
    begin_calls(l, STRETTO_LEARN_EXPLORE, l->order[l->at], block_of(l, l->round), true);
}

static void begin_pass(stretto_learner *l) {
    l->norder = l->at = 0;
    for (int i = 0; i < l->ncandidates; i++)
        if (l->alive[i])
            l->order[l->norder++] = i;
    for (int i = l->norder - 1; i > 0; i--) {
        const int j = (int)(next_random(l) % (uint64_t)(i + 1)), other = l->order[j];
        l->order[j] = l->order[i];
        l->order[i] = other;
    }
    next_block(l);
}

static void begin_round(stretto_learner *l, int round) {
    l->round = round;
    l->pass = 0;
    memset(l->sum, 0, sizeof l->sum);
    begin_pass(l);
}

static void explore(stretto_learner *l) {
    const stretto_learned_gain until_now = stretto_learner_gain(l);
    l->past = until_now.saved;
    l->past_spread = until_now.spread;
    l->given_up = l->chosen ? l->chosen : l->given_up;
    l->chosen = 0;
    l->chosen_calls = 0;
    memset(l->tested, 0, sizeof l->tested);
    memset(l->checked, 0, sizeof l->checked);
    memset(l->last, 0, sizeof l->last);
    l->checked_calls = 0;
    l->doubts = 0;
    for (int i = 0; i < l->ncandidates; i++)
        l->alive[i] = true;
    begin_round(l, 0);
}

/* One of the pair at random first: what changes in between counts for both alike. */
static void begin_pair(stretto_learner *l, stretto_learn_phase phase, int one, int other) {
    const bool one_first = next_random(l) & 1;
    l->best = other;
    l->second = one_first ? other : one;
    begin_calls(l, phase, one_first ? one : other,
                block_of(l, phase == STRETTO_LEARN_CONTEST && !l->won ? 0 : 3), true);
}

static void begin_check(stretto_learner *l) {
    begin_pair(l, STRETTO_LEARN_CHECK, 0, l->chosen);
    if (l->joins && (l->now == 0) != l->native_first) {
        l->second = l->now;
        l->now = l->chosen - l->now;
    }
    l->joins = false;
}

bool stretto_learner_begins_check(const stretto_learner *l) {
    return l->phase == STRETTO_LEARN_CHECK && l->second >= 0 && l->left == l->length - 1;
}

void stretto_learner_check_with(stretto_learner *l, const stretto_learner *other) {
    if (l->phase != STRETTO_LEARN_QUIET || !l->chosen || EARLY * l->left > l->length ||
        EARLY * l->left > quiet_calls(other))
        return;
    l->length -= l->left;
    l->left = 0;
    l->joins = true;
    l->native_first = other->now == 0;
}

/* A first pair is short, since it may be one of those that take many times as long. */
static void begin_contest(stretto_learner *l) {
    begin_pair(l, STRETTO_LEARN_CONTEST, l->chosen, l->contender);
}

static void next_contender(stretto_learner *l) {
    l->won = 0;
    do
        l->contender = l->contender % (l->ncandidates - 1) + 1;
    while (l->contender == l->chosen);
}

static void end_round(stretto_learner *l) {
    int left = 0, keep;
    for (int i = 1; i < l->ncandidates; i++) {
        l->alive[i] = l->alive[i] && l->sum[i] <= WORSE * l->pass;
        left += l->alive[i];
    }
    keep = (left + 1) / 2;
    while (left > keep) {
        int worst = 0;
        for (int i = 1; i < l->ncandidates; i++)
            if (l->alive[i] && (!worst || l->sum[i] > l->sum[worst]))
                worst = i;
        l->alive[worst] = false;
        left--;
    }
    if (!left) {
        stay_native(l);
    } else if (left > 1) {
        begin_round(l, l->round + 1);
    } else {
        int best = 1;
        while (!l->alive[best])
            best++;
        begin_pair(l, STRETTO_LEARN_TEST, 0, best);
    }
}

/* Time of a candidate relative to native's, on the side where it does worse: the test asks for a
 * gain on both. */
static double worse_than_native(const stretto_learner *l, int i) {
    double worst = 0;
    for (int side = 0; side < l->sides; side++) {
        const double native = l->value[0][side];
        const double ratio = native > 0 ? l->value[i][side] / native : 1;
        worst = ratio > worst ? ratio : worst;
    }
    return worst;
}

static void end_pass(stretto_learner *l) {
    double ratio[STRETTO_LEARN_CANDIDATES] = {1}, least = 1;
    for (int i = 1; i < l->ncandidates; i++) {
        if (!l->alive[i])
            continue;
        ratio[i] = worse_than_native(l, i);
        least = ratio[i] < least ? ratio[i] : least;
    }
    for (int i = 1; i < l->ncandidates; i++) {
        if (!l->alive[i])
            continue;
        l->sum[i] += ratio[i];
        l->alive[i] = ratio[i] <= HOPELESS * least;
    }
    l->reference = stretto_learner_mean(l, l->value[0]);
    if (++l->pass < 3 + l->round)
        begin_pass(l);
    else
        end_round(l);
}

static void end_test(stretto_learner *l) {
    double difference = 0, native = 0;
    for (int side = 0; side < l->sides; side++) {
        const stretto_learn_pairs *p = &l->tested[side];
        const double mean = p->difference / p->calls;
        if (mean <= WORTH * p->native / p->calls ||
            mean * mean * p->n <= T_TEST * T_TEST * stretto_learn_variance(p)) {
            stay_native(l);
            return;
        }
        difference += p->difference;
        native += p->native;
    }
    l->learned_anew += l->given_up && l->given_up != l->best;
    l->chosen = l->best;
    l->native_won = false;
    l->gained = difference / native;
    quiet(l);
}

/* Whether the last pairs say that the choice gains less than half of what it did, or all that it is
 * slower than native. */
static bool is_gone(const stretto_learner *l) {
    const stretto_learn_pairs *p = gains_less(l);
    const int n = l->doubts < STRETTO_LEARN_RECENT ? l->doubts : STRETTO_LEARN_RECENT;
    const double *last = l->recent + STRETTO_LEARN_RECENT - n;
    double mean = 0, m2 = 0;
    if (p->n >= STRETTO_LEARN_FEWEST &&
        p->difference / p->calls + stretto_learn_half_interval(p) < 0)
        return true;
    if (n < DOUBTS)
        return false;
    for (int i = 0; i < n; i++)
        mean += last[i] / n;
    for (int i = 0; i < n; i++)
        m2 += (last[i] - mean) * (last[i] - mean);
    const double below = l->gained / 2 - mean;
    return below > 0 && below * below * n > T_RECENT * T_RECENT * m2 / (n - 1);
}

/* The pair stands for the quiet calls before it. */
static void end_check(stretto_learner *l, const double *native, const double *other) {
    double sum = 0, difference = 0, checked = 0, checked_native = 0;
    for (int side = 0; side < l->sides; side++) {
        stretto_learn_pairs *p = &l->checked[side];
        stretto_learn_add_pair(p, native[side], other[side],
                               (double)(l->chosen_calls - l->checked_calls));
        sum += native[side];
        difference += native[side] - other[side];
        checked += p->difference;
        checked_native += p->native;
    }
    const double gain = sum > 0 ? difference / sum : 0;
    l->checked_calls = l->chosen_calls;
    memmove(l->recent, l->recent + 1, sizeof l->recent - sizeof *l->recent);
    l->recent[STRETTO_LEARN_RECENT - 1] = gain;
    l->doubts = gain < l->gained / 2 || gain <= 0 ? l->doubts + 1 : 0;
    if (l->gained == 0 && l->checked[0].n == STRETTO_LEARN_RECENT && checked_native > 0)
        l->gained = checked / checked_native; /* the choice is of another run */
    if (is_gone(l)) {
        explore(l);
    } else if (l->ncandidates > 2 && !l->doubts && l->checked[0].n % CONTESTS == 0) {
        next_contender(l);
        begin_contest(l);
    } else {
        quiet(l);
    }
}

static void end_contest(stretto_learner *l, const double *choice, const double *contender,
                        bool may) {
    bool wins = true;
    for (int side = 0; side < l->sides; side++)
        wins = wins && contender[side] < NEAR * choice[side];
    if (!wins)
        quiet(l);
    else if (++l->won < VICTORIES)
        begin_contest(l);
    else if (may)
        explore(l);
    else
        quiet(l); /* the choice still gains */
}

double stretto_learner_mean(const stretto_learner *l, const double *seconds) {
    return l->sides == 1 ? seconds[0] : (seconds[0] + seconds[1]) / 2;
}

static void end_of_pair(stretto_learner *l, const double *seconds, bool may) {
    const bool first = l->second >= 0;
    if (first) {
        const int second = l->second;
        memcpy(l->first_value, seconds, (size_t)l->sides * sizeof *seconds);
        l->second = -1;
        begin_calls(l, l->phase, second, l->length, true);
        return;
    }
    const double *native = l->now == l->best ? l->first_value : seconds,
                 *other = l->now == l->best ? seconds : l->first_value;
    if (l->phase == STRETTO_LEARN_CONTEST) {
        end_contest(l, native, other, may);
        return;
    }
    l->reference = stretto_learner_mean(l, native);
    if (l->phase == STRETTO_LEARN_CHECK) {
        end_check(l, native, other);
        return;
    }
    for (int side = 0; side < l->sides; side++)
        stretto_learn_add_pair(&l->tested[side], native[side], other[side], 1);
    if (l->tested[0].n < STRETTO_LEARN_PAIRS)
        begin_pair(l, STRETTO_LEARN_TEST, 0, l->best);
    else
        end_test(l);
}

static void end_first(stretto_learner *l, double seconds) {
    l->reference = seconds;
    if (!l->base)
        l->base = seconds < LONG_CALL ? SHORT_BASE : 1;
    if (l->ncandidates < 2) {
        stay_native(l);
    } else if (l->chosen) {
        quiet(l);
    } else {
        explore(l);
    }
}

void stretto_learner_ended(stretto_learner *l, const double *seconds, int last, bool may) {
    const stretto_learn_phase phase = l->phase;
    const double mean = l->timed ? stretto_learner_mean(l, seconds) : 0;
    l->calls += l->length;
    if (phase == STRETTO_LEARN_CHECK && last >= 0)
        l->last[last]++;
    l->chosen_calls += l->chosen && l->now == l->chosen ? l->length : 0;
    switch (phase) {
    case STRETTO_LEARN_WAIT:
        begin_calls(l, STRETTO_LEARN_FIRST, 0, l->base ? l->base : SHORT_BASE, true);
        break;
    case STRETTO_LEARN_FIRST: end_first(l, mean); break;
    case STRETTO_LEARN_EXPLORE:
        memcpy(l->value[l->now], seconds, (size_t)l->sides * sizeof *seconds);
        if (++l->at < l->norder)
            next_block(l);
        else
            end_pass(l);
        break;
    case STRETTO_LEARN_TEST:
    case STRETTO_LEARN_CHECK:
    case STRETTO_LEARN_CONTEST: end_of_pair(l, seconds, may); break;
    case STRETTO_LEARN_QUIET:
        if (l->chosen)
            begin_check(l);
        else if (l->ncandidates > 1)
            explore(l);
        else
            quiet(l);
        break;
    case STRETTO_LEARN_PAUSE:
        l->pause *= 2;
        begin_calls(l, STRETTO_LEARN_ASK, 0, block_of(l, 0), true);
        break;
    case STRETTO_LEARN_ASK:
        l->reference = mean;
        next_block(l);
        break;
    }
    if (!may && l->phase == STRETTO_LEARN_EXPLORE && phase != STRETTO_LEARN_QUIET)
        begin_calls(l, STRETTO_LEARN_PAUSE, 0, l->pause, false);
    if (!may && l->phase == STRETTO_LEARN_CONTEST && phase == STRETTO_LEARN_CHECK)
        quiet(l);
}

/* The program waits for one side after native calls and after those by the choice alike, or the
 * gain is between those of the sides. */
static const stretto_learn_pairs *what_counts(const stretto_learner *l) {
    for (int side = 0; side < l->sides; side++)
        if (10 * l->last[side] >= LAST_OF_TEN * 2 * l->checked[side].n)
            return &l->checked[side];
    return gains_less(l);
}

stretto_learned_gain stretto_learner_gain(const stretto_learner *l) {
    stretto_learned_gain g = {.saved = l->past, .spread = l->past_spread};
    if (!l->chosen || l->checked[0].n < STRETTO_LEARN_FEWEST)
        return g; /* the pairs of the test made the choice */
    const stretto_learn_pairs *p = what_counts(l);
    const double half = stretto_learn_half_interval(p) + l->resolution;
    const long long at_hand = l->now == l->chosen ? l->length - l->left : 0;
    const double calls = (double)(l->chosen_calls + at_hand);
    g.pairs = p->n;
    g.native = p->native / p->calls;
    g.chosen = p->other / p->calls;
    g.mean = p->difference / p->calls;
    g.low = g.mean - half;
    g.high = g.mean + half;
    g.calls = l->chosen_calls + at_hand;
    g.saved += g.mean * calls;
    g.spread = l->past_spread + half * calls;
    return g;
}
