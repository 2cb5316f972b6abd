/* Learners inside simulated programs of several ranks, of which it is known how long they run with
 * each candidate: a slow rank, a root that leaves early, pipelines. What counts is the time of the
 * whole program. Fixed seeds.
 */
#include "learn/estimate.h"
#include "learn/learner.h"
#include "../check.h"

#include <math.h>
#include <string.h>

enum { RANKS = 4, MOST = 3, CALLS = 40000, SEEDS = 5 };

static uint64_t hash(uint64_t x) {
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

/* The same in every run of a program, whatever else happens in it. */
static double noise(uint64_t seed, uint64_t rank, uint64_t call, uint64_t what) {
    return (double)(hash(seed + 1000003 * rank + UINT64_C(7919000000) * call + what) >> 11) /
           9007199254740992.0;
}

/* Microseconds. early: of a rank on the early side; waiting: of one on the other, after what it
 * waits for. waits: the early side returns only with the others. */
typedef struct {
    double early, waiting;
    bool waits;
} candidate;

typedef struct {
    const char *name;
    stretto_flow flow;
    int ncandidates;
    candidate by[MOST];
    double work[RANKS], uneven; /* between calls: mean of each rank; it varies by that part */
    bool barriers;              /* after every call */
    int right;                  /* the fastest of the candidates that are faster on both sides */
    bool misleads; /* last entry to last return calls another candidate faster than native */
} program;

/* One call of all ranks: from entries to returns. */
static void call(const program *p, int by, uint64_t seed, uint64_t i,
                 stretto_timed_call at[RANKS]) {
    const candidate *c = &p->by[by];
    double start = -1, end = -1;
    for (int r = 0; r < RANKS; r++) {
        at[r].is_root = r == 0;
        start = fmax(start, stretto_learn_start(p->flow, &at[r]));
    }
    for (int pass = 0; pass < 2; pass++)
        for (int r = 0; r < RANKS; r++) {
            double side[2] = {0, 0};
            at[r].returned = at[r].entered + 1;
            stretto_learn_seconds(p->flow, &at[r], start, side);
            const bool early = side[STRETTO_LEARN_EARLY] > 0;
            const double busy =
                (early ? c->early : c->waiting) * (0.9 + 0.2 * noise(seed, r, i, 1));
            at[r].returned = (early ? at[r].entered : fmax(at[r].entered, start)) + busy;
            if (early && c->waits && pass)
                at[r].returned = fmax(at[r].returned, end);
            end = fmax(end, early ? -1 : at[r].returned);
        }
}

static double latest(const double *t) {
    double last = t[0];
    for (int r = 1; r < RANKS; r++)
        last = fmax(last, t[r]);
    return last;
}

typedef struct {
    double seconds, naive; /* of the program; mean of last entry to last return */
    stretto_learner learner;
} outcome;

/* The block is over: its sides' medians, agreed by all ranks. */
static void agree(const program *p, stretto_timed_call block[][RANKS], int n, double seconds[2]) {
    double values[2][STRETTO_LEARN_BLOCK] = {{0}};
    for (int i = 0; i < n; i++) {
        double start = STRETTO_LEARN_NEVER, side[2];
        for (int r = 0; r < RANKS; r++)
            start = fmax(start, stretto_learn_start(p->flow, &block[i][r]));
        for (int r = 0; r < RANKS; r++) {
            stretto_learn_seconds(p->flow, &block[i][r], start, side);
            values[0][i] = fmax(values[0][i], side[0]);
            values[1][i] = fmax(values[1][i], side[1]);
        }
    }
    for (int s = 0; s < 2; s++)
        seconds[s] = 1e-6 * stretto_learn_median(values[s], n);
}

/* by: all calls by one candidate; -1: learning. */
static outcome run(const program *p, int by, uint64_t seed) {
    static stretto_timed_call block[STRETTO_LEARN_BLOCK][RANKS];
    outcome o = {.naive = 0};
    stretto_learner *l = &o.learner;
    double t[RANKS] = {0};
    int n = 0;
    stretto_learner_begin(l, p->flow == STRETTO_LEARN_SYMMETRIC ? 1 : 2, 200, 0, seed);
    for (uint64_t i = 0; i < CALLS; i++) {
        stretto_timed_call at[RANKS];
        double entered[RANKS];
        if (by < 0 && !l->timed && l->left == 0) {
            if (l->phase == STRETTO_LEARN_WAIT)
                stretto_learner_candidates(l, p->ncandidates, 0);
            stretto_learner_ended(l, NULL, true);
        }
        for (int r = 0; r < RANKS; r++) {
            t[r] += p->work[r] * (1 - p->uneven + 2 * p->uneven * noise(seed, r, i, 0));
            at[r].entered = entered[r] = t[r];
        }
        call(p, by < 0 ? l->now : by, seed, i, at);
        for (int r = 0; r < RANKS; r++)
            t[r] = at[r].returned;
        const double last = latest(t);
        o.naive += (last - latest(entered)) / CALLS;
        l->left--;
        if (by < 0 && l->timed) {
            memcpy(block[n++], at, sizeof at);
            if (l->left == 0) {
                double seconds[2];
                agree(p, block, n, seconds);
                n = 0;
                stretto_learner_ended(l, seconds, true);
            }
        }
        if (p->barriers || (by < 0 && n == 0 && l->left == l->length))
            for (int r = 0; r < RANKS; r++)
                t[r] = last + 0.5;
    }
    o.seconds = 1e-6 * latest(t);
    return o;
}

static const program programs[] = {
    {"bcast, a slow rank",
     STRETTO_LEARN_FROM_ROOT,
     3,
     {{1, 4, 0}, {0.5, 2, 0}, {0.8, 6, 0}},
     {10, 10, 10, 60},
     0.2,
     true,
     1,
     false},
    {"bcast, a root that leaves early and is what all wait for",
     STRETTO_LEARN_FROM_ROOT,
     2,
     {{1, 8, 0}, {4, 2, 0}},
     {30, 5, 5, 5},
     0.2,
     false,
     0,
     true},
    {"the same, with a candidate that is faster for the root, too",
     STRETTO_LEARN_FROM_ROOT,
     3,
     {{1, 8, 0}, {4, 2, 0}, {0.6, 5, 0}},
     {30, 5, 5, 5},
     0.2,
     false,
     2,
     true},
    {"bcast, a pipeline that a waiting root would empty",
     STRETTO_LEARN_FROM_ROOT,
     2,
     {{1, 4, 0}, {0.5, 2, 1}},
     {20, 20, 20, 20},
     0.9,
     false,
     0,
     true},
    {"bcast, a pipeline that is full",
     STRETTO_LEARN_FROM_ROOT,
     2,
     {{1, 4, 0}, {0.5, 2, 0}},
     {5, 20, 20, 20},
     0.5,
     false,
     1,
     false},
    {"reduce, ranks of ten times its time apart",
     STRETTO_LEARN_TO_ROOT,
     3,
     {{0.5, 4, 0}, {0.3, 2, 0}, {1.5, 1, 0}},
     {10, 10, 50, 10},
     0.5,
     true,
     1,
     true},
    {"reduce, ranks that wait for nobody",
     STRETTO_LEARN_TO_ROOT,
     2,
     {{0.5, 4, 0}, {3, 1, 0}},
     {5, 30, 30, 30},
     0.2,
     false,
     0,
     true},
    {"allreduce, ranks of ten times its time apart",
     STRETTO_LEARN_SYMMETRIC,
     3,
     {{0, 4, 0}, {0, 2, 0}, {0, 6, 0}},
     {10, 10, 50, 10},
     0.5,
     true,
     1,
     false},
};

static void programs_never_get_slower(void) {
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++) {
        const program *p = &programs[i];
        int right = 0, honest = 0;
        bool misled = false;
        double worst = 0;
        for (uint64_t seed = 1; seed <= SEEDS; seed++) {
            const outcome native = run(p, 0, seed), best = run(p, p->right, seed),
                          learned = run(p, -1, seed);
            for (int k = 1; k < p->ncandidates; k++) {
                const outcome other = run(p, k, seed);
                misled |= k != p->right && other.naive < native.naive;
            }
            const stretto_learned_gain g = stretto_learner_gain(&learned.learner);
            const double truth = native.seconds - best.seconds;
            right += learned.learner.chosen == p->right;
            honest += g.saved - g.spread <= truth;
            worst = fmax(worst, learned.seconds / native.seconds);
        }
        printf("%s: right choice %d of %d, program at most %.4f of native, gain not above the "
               "true one %d of %d\n",
               p->name, right, SEEDS, worst, honest, SEEDS);
        CHECK_MSG(right == SEEDS, "%s", p->name);
        CHECK_MSG(honest == SEEDS, "%s", p->name);
        CHECK_MSG(worst <= 1.005, "%s: %g", p->name, worst);
        CHECK_MSG(misled == p->misleads, "%s", p->name);
    }
}

int main(void) {
    programs_never_get_slower();
    return check_report("estimates");
}
