/* Which candidate the calls of one shape are carried out by, while the job runs. No MPI.
 *
 * A learner goes through phases of consecutive calls. All that it depends on is the order of the
 * calls on its communicator and values that all ranks have agreed on, so that learners on all ranks
 * go the same way without asking. Candidate 0 is native.
 *
 *   WAIT     so many calls natively: a shape that is called seldom is never touched
 *   EXPLORE  passes over the candidates in random order, native in each; the better half stays
 *   TEST     pairs of blocks, native and the one that is left: a test on new values
 *   QUIET    what was chosen, unmeasured
 *   CHECK    a pair of blocks now and then: the proof of the gain, and the warning when it is gone
 *   CONTEST  after some of them short pairs, what was chosen and one of the others in turn: the
 *            warning when another phase of the application has another best candidate
 *   PAUSE    exploring has cost more than it may: native, then ASK, one native block
 */
#ifndef STRETTO_LEARNER_H
#define STRETTO_LEARNER_H

#include "learn/estimate.h"
#include "learn/pairs.h"

#include <stdbool.h>
#include <stdint.h>

enum {
    STRETTO_LEARN_CANDIDATES = 12,
    STRETTO_LEARN_PAIRS = 10, /* of the test */
    STRETTO_LEARN_RECENT = 8, /* pairs that warn */
    STRETTO_LEARN_FEWEST = 4, /* pairs for which a gain is reported */
    STRETTO_LEARN_SIDES = 2   /* of a collective with a root (estimate.h) */
};

typedef enum {
    STRETTO_LEARN_WAIT,
    STRETTO_LEARN_FIRST,
    STRETTO_LEARN_EXPLORE,
    STRETTO_LEARN_TEST,
    STRETTO_LEARN_QUIET,
    STRETTO_LEARN_CHECK,
    STRETTO_LEARN_CONTEST,
    STRETTO_LEARN_PAUSE,
    STRETTO_LEARN_ASK
} stretto_learn_phase;

typedef struct {
    int ncandidates, base; /* base: calls of the first blocks */
    int sides;             /* 1, or 2: a choice must be faster on each */
    uint64_t random;
    stretto_learn_phase phase;
    int now;                /* the candidate of the calls at hand */
    long long length, left; /* calls at hand, and how many are to come before _ended */
    bool timed;             /* they are measured */
    int chosen;
    bool native_won;         /* the last verdict; it stands while candidates are tried again */
    int given_up;            /* the choice before */
    int learned_anew;        /* times that a choice was followed by another */
    double resolution;       /* seconds by which what is measured may be wrong; of this rank */
    long long calls;         /* in phases that have ended */
    long long chosen_calls;  /* of them, by the choice that stands, unless it is native */
    long long checked_calls; /* of them, those that pairs stand for */
    /* seconds of a call natively, when last measured, mean of the sides; the part gained then */
    double reference, gained;
    /* EXPLORE */
    bool alive[STRETTO_LEARN_CANDIDATES];
    int round, pass, at, norder, order[STRETTO_LEARN_CANDIDATES];
    double value[STRETTO_LEARN_CANDIDATES][STRETTO_LEARN_SIDES];
    double sum[STRETTO_LEARN_CANDIDATES]; /* of what worse_than_native() says of each pass */
    /* TEST, CHECK and CONTEST */
    int best, second;
    double first_value[STRETTO_LEARN_SIDES];
    stretto_learn_pairs tested[STRETTO_LEARN_SIDES], checked[STRETTO_LEARN_SIDES];
    int last[STRETTO_LEARN_SIDES]; /* blocks of `checked` after whose calls a side was awaited */
    double recent[STRETTO_LEARN_RECENT]; /* gains, parts of native's time */
    int doubts;               /* of them, so many in a row are less than half of `gained` */
    bool joins, native_first; /* QUIET: a check with that of another shape comes, in this order */
    int contender, won;       /* CONTEST: the candidate, and the pairs in a row that it has won */
    long long pause;          /* length of the next one */
    double past, past_spread; /* seconds saved by choices that were given up; half an interval */
} stretto_learner;

/* `after`: calls before anything is tried; `seed`: equal on all ranks. `base` 0: 4 calls for short
 * ones, 1 for long ones. */
void stretto_learner_begin(stretto_learner *l, int sides, int after, int base, uint64_t seed);
/* Candidates are known (before the first block is measured): so many; `chosen`,
 * from an earlier run, is used at once; 0: none. */
void stretto_learner_candidates(stretto_learner *l, int n, int chosen);
/* The calls at hand are through. `seconds`: of one call on each side, agreed by all ranks; not
 * looked at when they were not timed. `last`: the side that the program waits for after most of
 * them, agreed; below 0: not known. `may`: exploring has cost less than it may so far, agreed. */
void stretto_learner_ended(stretto_learner *l, const double *seconds, int last, bool may);
/* The first call of a check is through. */
bool stretto_learner_begins_check(const stretto_learner *l);
/* `other`, of another shape on the communicator, begins a check: l checks with it, in the same
 * order, if it soon would. A native call is slower while other shapes use their choices; a run
 * without Stretto has native calls only. */
void stretto_learner_check_with(stretto_learner *l, const stretto_learner *other);

/* What is known of the gain by the choice that stands: seconds of a call, and of all its calls; on
 * the side that the program waits for, and where that is not one side, the one that gains less. */
typedef struct {
    int pairs;
    double native, chosen; /* means, seconds a call */
    double low, mean,
        high;        /* native - chosen: 95 % interval of the mean, and the resolution beside */
    long long calls; /* by the choice */
    double saved, spread; /* seconds, by earlier choices too, and half of its 95 % interval */
} stretto_learned_gain;
/* Without STRETTO_LEARN_FEWEST pairs since the choice was made, only of earlier ones. */
stretto_learned_gain stretto_learner_gain(const stretto_learner *l);

/* Of the sides. */
double stretto_learner_mean(const stretto_learner *l, const double *seconds);

#endif
