/* Learning while the job runs (STRETTO_LEARN): learn.c, what is tried: learn_candidates.c,
 * and what is left of it: learned.c. */
#ifndef STRETTO_LEARN_H
#define STRETTO_LEARN_H

#include "engine/engine.h"
#include "learn/estimate.h"
#include "learn/learner.h"

/* What is tried for a shape that is called often. */
typedef struct {
    stretto_learner learner;
    stretto_row *rows;                             /* [learner.ncandidates], the first is native */
    stretto_decision *by;                          /* the last call's, by each of them */
    stretto_timed_call timed[STRETTO_LEARN_BLOCK]; /* of the block at hand */
    int measured;
    long long counted; /* of learner.calls, those in the process's total */
} stretto_trial;

/* Calls of one shape on a communicator: a collective, and sizes up to twice one another for which
 * the table has one row, or none; all calls where the ranks do not know the size alike. */
struct stretto_learning {
    struct stretto_learning *next;
    stretto_collective collective;
    stretto_flow flow;
    int nodes, ppn;       /* of the communicator */
    size_t low, high;     /* bytes, inclusive */
    int waits;            /* calls before anything is tried; below 0: nothing ever is */
    stretto_trial *trial; /* NULL: not yet */
};

/* Whether calls of this collective are learned. */
bool stretto_learns(stretto_collective collective);
/* d->bytes and d->row are known, from the table: says what the learner wants instead. The same on
 * all ranks. */
void stretto_learn_take(stretto_comm *c, stretto_collective collective, stretto_decision *d);
/* c is the next communicator of ranks that have learned this on one before: goes on with it. The
 * same on all ranks. */
void stretto_learn_go_on(stretto_comm *c, stretto_learning *list);

/* ---- learn_candidates.c ---------------------------------------------------------------------- */

/* l->trial has the row of native: adds what is tried for calls such as d. The same on all ranks. */
void stretto_learn_choose_candidates(stretto_comm *c, stretto_learning *l,
                                     const stretto_decision *d);
/* An allreduce of what ranks measured. The job ends where the MPI fails: ranks that do not know
 * what the others know must not go on. */
void stretto_learn_agree(const stretto_comm *c, const void *mine, void *all, int n,
                         MPI_Datatype type, MPI_Op op);

/* ---- learned.c ------------------------------------------------------------------------------- */

/* The exploring of this process in seconds, and that of its collectives in which it learned. */
void stretto_learned_spent(double lost, double taken, double *all_lost, double *all_taken);
/* Where it is time, on rank 0 of the world: writes what is known into the table. */
void stretto_learned_write(bool now);

#endif
