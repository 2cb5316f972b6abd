/* How long a call takes, from when the ranks entered it and returned. No MPI.
 *
 * Some ranks can return before others have entered: the root of bcast and scatter, and all but the
 * root of reduce and gather. They are the EARLY side; for them any time in the call is the
 * collective's doing. The others WAIT: they cannot return before `start`, when the root has entered
 * (bcast, scatter) or the last rank (all others), and only what comes after it counts.
 *
 * The time of a side is that of its slowest rank by one clock, and otherwise the sum over its
 * ranks. A choice must make both sides shorter: a root that runs ahead may hide the time of the
 * others, and the others that of the root. Maxima and sums are compared, not each rank: a single
 * rank may leave later than before.
 *
 * What the program gains is the gain of the side that it then waits for: the one that is last to
 * enter the next call on the communicator. (Only the gain that is reported looks at that.)
 *
 * LOOSE: who waits for whom depends on sizes that no rank knows of the others, or on the rank
 * (scan). Any time in the call counts, of all ranks together: where a rank no longer leaves early,
 * the time that it waits is in the sum, and so is what others gain.
 */
#ifndef STRETTO_ESTIMATE_H
#define STRETTO_ESTIMATE_H

#include <math.h>
#include <stdbool.h>

typedef enum {
    STRETTO_LEARN_SYMMETRIC,
    STRETTO_LEARN_FROM_ROOT,
    STRETTO_LEARN_TO_ROOT,
    STRETTO_LEARN_LOOSE
} stretto_flow;
enum { STRETTO_LEARN_WAITING, STRETTO_LEARN_EARLY };
enum { STRETTO_LEARN_BLOCK = 32 }; /* calls that are measured together, at most */

/* By one clock, or by each rank's own: then no rank knows `start`. */
typedef struct {
    double entered, returned;
    float until_next; /* seconds from then to the entry to the next call on the communicator, or: */
    bool is_root;
} stretto_timed_call;

#define STRETTO_LEARN_UNKNOWN INFINITY /* until_next */
#define STRETTO_LEARN_NEVER (-1e300)   /* before any rank's entry */

int stretto_learn_sides(stretto_flow flow);
int stretto_learn_side_of(stretto_flow flow, bool is_root);
/* Whether one clock helps: a side is then what its slowest rank takes. */
bool stretto_learn_by_one_clock(stretto_flow flow);
/* The largest of these over the ranks is `start`. */
double stretto_learn_start(stretto_flow flow, const stretto_timed_call *call);
/* This rank's seconds on its side, and 0 on the other. start: or STRETTO_LEARN_NEVER. */
void stretto_learn_seconds(stretto_flow flow, const stretto_timed_call *call, double start,
                           double seconds[2]);
/* Ranks of n on a side. */
int stretto_learn_ranks(stretto_flow flow, int side, int n);
/* Seconds of a call from those of a block's n, at most STRETTO_LEARN_BLOCK. Of calls of one size
 * the first ones are left out, whose code has left the caches, and those that a pause of the
 * machine made many times as long as the others. */
double stretto_learn_block(const double *values, int n, bool one_size);
/* The side whose last rank was the last of all to enter the next call, after most of n calls.
 * Given: when the last rank of each side did. Below 0: neither, or it is mostly unknown. */
int stretto_learn_side_awaited(const double *waiting, const double *early, int n);

#endif
