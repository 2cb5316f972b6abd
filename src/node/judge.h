/* Which of two ways all ranks of a group go in a call: found out by trying, by each group for each
 * class of sizes. Long blocks go through the rings, or are copied once by the kernel (CMA); an
 * exchange or allreduce of two ranks copies in turn, or one after another by the string instruction
 * (pair.c).
 *
 * A ring that outgrows L2 is quicker on near cores, and wherever the owner has just written the
 * data. On far cores the kernel is quicker where the owner left them alone, and with a modest ring
 * mostly (docs/explanation/node-limits.md). Neither the machine nor the program tells beforehand.
 * So some calls are timed by each way. Of a call the least time over the ranks counts, since the
 * last to come waited for nobody; of a way its least call, by time per byte. The ranks exchange
 * their times and compute the same from them, and they count the same calls: so all go the same way
 * in each call. A call may be timed for two kinds, as one that is exchanged through the rings and
 * swapped there.
 */
#ifndef STRETTO_NODE_JUDGE_H
#define STRETTO_NODE_JUDGE_H

#include "node/tuning.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct stretto_node stretto_node;

typedef enum {
    STRETTO_JUDGE_GATHERED,  /* second way: by the kernel */
    STRETTO_JUDGE_EXCHANGED, /* likewise */
    STRETTO_JUDGE_SWAPPED,   /* pair.c; second way: by string */
    STRETTO_JUDGE_FOLDED,    /* likewise */
    STRETTO_JUDGE_KINDS
} stretto_kind;
/* From JUDGE bytes on, twice that, four times that; those of pair.c from JUDGE_PAIR bytes on, 8
 * times that, 64 times that. */
enum { STRETTO_JUDGE_CLASSES = 3 };

/* Zeroed at first. */
typedef struct {
    bool begun, other; /* `other` than what the group begins with is used */
    uint32_t left;     /* calls until the next trial begins */
    uint32_t stay;     /* calls between trials */
    uint32_t tried;    /* calls of this trial; 0: none goes on */
    uint32_t took[2 * STRETTO_NODE_JUDGE_CALLS]; /* ns for 4 KiB: the way in use, then the other */
} stretto_judge;

/* One call, from begin to end. */
typedef struct {
    stretto_judge *judge; /* NULL: not timed */
    uint64_t began;
    size_t bytes;
    bool second;
} stretto_judged;

/* Every rank of the group calls both in each call of that kind, with the same number of bytes. */
stretto_judged stretto_judge_begin(stretto_node *node, stretto_kind kind, size_t bytes);
void stretto_judge_end(stretto_node *node, const stretto_judged *call);

/* A trial is over in which the ranks' calls took `all` (ranks x `took`): what is used from now on.
 */
void stretto_judge_decide(stretto_judge *judge, const uint32_t *all, int ranks);

#endif
