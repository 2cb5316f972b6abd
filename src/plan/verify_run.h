/* The verifier's state, shared by its files: verify.c (set-up), verify_goal.c (what the collective
 * starts from and yields), verify_match.c (what can be seen without running), verify_run.c (the
 * run), verify_node.c (node actions in it). */
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

enum { ANY_SIZE = -1, NO_SIZE = -2 /* of a slot that leads nowhere */ };

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

/* Each rank knows, or is told, the sizes of all its TMP blocks (neighbourhood collectives, see
 * plan.h; others: nothing to see); 0 or -1. */
int stretto_verify_told(verify_state *v);

/* Sizes and contents of a rank's buffers when the call begins. */
void stretto_verify_begin(verify_state *v, int rank);
/* What a rank holds in the end is what the collective yields; 0 or -1. */
int stretto_verify_result(verify_state *v, int rank);

/* ---- of the run, for node actions ---- */
enum { VERIFY_BLOCKED = 1 }; /* beside 0 and -1: try again when somebody has moved on */
/* A rank has come to a node action: 0, -1 or VERIFY_BLOCKED. */
int stretto_verify_node(verify_state *v, int rank);
void stretto_verify_wake(verify_state *v, int rank);
int stretto_verify_read_blocks(verify_state *v, int rank, int action, stretto_span span);
int stretto_verify_write_block(verify_state *v, int rank, int action, verify_block *block,
                               int value);
/* left op right, with what is wrong about it said for this action. */
int stretto_verify_combine(verify_state *v, int rank, int action, int left, int right, bool fixed);
/* Size class of what a value holds. */
int stretto_verify_value_size(const verify_state *v, int value);

static inline verify_block *stretto_verify_blocks(verify_rank *r, stretto_span span) {
    return r->blocks[span.buffer] + span.first;
}

#endif
