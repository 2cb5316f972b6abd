/* The verifier's state, shared by its files: verify.c (set-up, result), verify_match.c (what can be
 * seen without running), verify_run.c (the run). */
#ifndef STRETTO_VERIFY_RUN_H
#define STRETTO_VERIFY_RUN_H

#include "plan/expr.h"
#include "plan/plan.h"

/* One block of one rank. */
typedef struct {
    int value;     /* expression, 0 = never written, or destroyed by a REDUCE_LOCAL */
    int size;      /* size class: equal numbers, equal bytes; ANY_SIZE for a LARGEST block */
    int sends;     /* messages under way that read it */
    bool arriving; /* a message under way writes it */
    bool unread;   /* came by message, and nothing has read it since */
} verify_block;

enum { ANY_SIZE = -1 };

typedef struct {
    const stretto_plan *plan;
    verify_block *blocks[3]; /* by buffer */
    int base;                /* its actions are base, base + 1, ... among all ranks' */
    int at;                  /* the next action */
    int open, open_from;     /* messages under way, and the first action that may be one */
    bool queued;
    bool at_node; /* has arrived at the node action it stands at */
} verify_rank;

typedef struct {
    int partner;  /* the matching action, among all ranks' */
    int payload;  /* SEND: where its values are */
    bool started; /* SEND, RECV: under way or done */
    bool done;    /* known to be complete on its own rank: a WAIT or FENCE has passed */
} verify_action;

typedef struct {
    const stretto_plan *plans;
    const stretto_shape *shape; /* of rank 0, for what is equal on all ranks */
    int nranks, nactions;
    verify_rank *ranks;
    verify_action *actions;
    verify_block *all_blocks;
    int *payload;
    int *queue, nqueue; /* ranks that may run */
    int *arrived;       /* [nodes] ranks at their node action */
    stretto_exprs exprs;
    int words;       /* barrier: of a set of ranks */
    uint64_t *heard; /* barrier: [rank] of whom it knows that they have entered */
    uint64_t *told;  /* barrier: [action] what a message says */
    char *error;
    size_t error_size;
} verify_state;

/* Notes what is wrong; returns -1. Action -1: no action in particular. */
__attribute__((format(printf, 4, 5))) int stretto_verify_fail(verify_state *v, int rank, int action,
                                                              const char *format, ...);
/* Spans, peers and buffers of all actions make sense in themselves; 0 or -1. */
int stretto_verify_static(verify_state *v);
/* Finds the partner of each message; counts and sizes agree; 0 or -1. */
int stretto_verify_match(verify_state *v);
/* Runs all streams to their ends; 0 or -1. */
int stretto_verify_run(verify_state *v);

static inline verify_block *stretto_verify_blocks(verify_rank *r, stretto_span span) {
    return r->blocks[span.buffer] + span.first;
}

#endif
