/* The evaluator's state, shared by its files: price.c (input, output, the calls), price_program.c
 * (plans made compact), price_run.c (ranks and their waits), price_net.c (messages),
 * price_channel.c (pairs of ranks), price_node.c
 * (node phases), price_noise.c (random numbers), price_queue.c (events). */
#ifndef STRETTO_PRICE_STATE_H
#define STRETTO_PRICE_STATE_H

#include "plan/price.h"

#include <string.h>

/* A moment, and what it is made of: parts sum to t. */
typedef struct {
    double t;
    double parts[STRETTO_PARTS];
} price_moment;

static inline void price_add(price_moment *m, stretto_part part, double dt) {
    m->t += dt;
    m->parts[part] += dt;
}

/* m becomes `other` when that is later: the later one is what made m as late as it is. */
static inline void price_later(price_moment *m, const price_moment *other) {
    if (other->t > m->t)
        *m = *other;
}

/* m waits for something that has no chain of causes of its own here. */
static inline void price_hold(price_moment *m, double until, stretto_part part) {
    if (until > m->t)
        price_add(m, part, until - m->t);
}

/* ---- programs: what is left of a plan ---------------------------------------------------------
 * Ranks whose plans differ only by a shift or a mask of the peers share one program. */
typedef struct {
    uint32_t kind : 5, round : 27;
    int32_t peer; /* SEND, RECV: coded; WAIT: how many messages back; COPY, REDUCE_LOCAL: how many
                     alike in a row; node actions: local root */
    uint64_t bytes;
} price_op;

typedef enum { PRICE_SHIFT, PRICE_MASK } price_coding;

typedef struct {
    price_coding coding;
    int nops, window; /* the oldest message that a WAIT or FENCE still covers is so many back */
    uint64_t hash;
    price_op *ops;
} price_program;

typedef struct {
    int n, capacity;
    price_program *programs;
    int *table, table_size; /* hash table: index + 1 */
} price_programs;

int price_compile(price_programs *all, const stretto_price_call *call, const stretto_plan *plan,
                  char *error, size_t error_size); /* index, or -1 */
void price_programs_free(price_programs *all);
int price_peer(const price_program *program, int coded, int rank, int nranks);

/* ---- ranks ------------------------------------------------------------------------------------
 */
typedef struct {
    price_moment at; /* RECV: arrived; SEND: gone */
    double work;     /* RECV: receive overhead */
    double copy;     /* RECV: of an unexpected message */
    int peer, level; /* RECV, for the trace */
    uint64_t bytes;  /* for the trace */
    bool is_recv, known, taken;
} price_slot;

typedef struct {
    price_moment clock;
    double port_free;   /* gap between messages */
    double engine_free; /* moves the bytes of long messages */
    double next_detour;
    uint64_t random; /* detours drawn */
    uint64_t sent;   /* messages, for the noise */
    uint64_t phase;  /* node actions begun */
    int program, at, call;
    int issued;   /* messages of this call */
    int covered;  /* messages before this one are over */
    int waits;    /* unknown slots that it waits for; 0: runs */
    int wait_for; /* ordinal, or -1: all */
    int node, local, core, numa, cache, rail;
    bool in_node, done, queued;
    price_slot *slots; /* [window], by ordinal modulo window */
} price_rank;

/* ---- messages ---------------------------------------------------------------------------------
 */
typedef struct price_message {
    struct price_message *next; /* in its channel, or in the free list */
    int source, target, level;
    int source_slot, target_slot;
    bool sent, posted, eager, arrived, traced;
    int round;
    uint64_t bytes;
    double latency;     /* noise included */
    price_moment path;  /* eager: where it is; rendezvous: the request's arrival, then as eager */
    price_moment ready; /* receive posted */
    double began;       /* trace */
    int turns, to_send, to_come; /* of the interface: all, and those still to be taken */
    struct price_message *after; /* the pair's next message, which waits for this one's turns */
} price_message;

typedef struct price_channel {
    struct price_channel *next; /* in its bucket, or in the free list */
    int source, target;
    price_message *first, *last;           /* one side only has come */
    price_message *sending, *last_sending; /* taking its turns, and those that wait for it */
    double flow_free, arrived;
    int live; /* messages between first issue and arrival */
} price_channel;

/* ---- events ------------------------------------------------------------------------------------
 */
typedef enum { PRICE_INJECT, PRICE_RECEIVE, PRICE_RESUME } price_event_kind;

typedef struct {
    double t;
    uint64_t order; /* ties: in the order in which they were put */
    price_event_kind kind;
    int rank;
    price_message *message;
} price_event;

typedef struct {
    price_event *heap;
    size_t n, capacity;
    uint64_t put;
} price_queue;

bool price_queue_put(price_queue *q, double t, price_event_kind kind, int rank,
                     price_message *message);
bool price_queue_take(price_queue *q, price_event *event);

/* ---- node phases ------------------------------------------------------------------------------
 */
typedef struct price_phase {
    struct price_phase *next;
    uint64_t number;
    stretto_action_kind kind;
    int root, arrived;
    uint64_t bytes;
    double open; /* trace: when nobody waits for another's arrival any more */
    bool *released;
    price_moment at[]; /* [ranks of the node] arrival, then end */
} price_phase;

/* What the ranks of a node share. */
typedef struct {
    double *sent, *received; /* [rails] free again */
    double *memory;          /* [NUMA domains] */
    int nlocal;
    const int *ranks;
    price_phase *phases; /* open, oldest first */
} price_node;

typedef struct {
    const stretto_price_call *call;
    const stretto_platform *platform;
    int nranks, nnodes, ngroups, group_nodes, domains;
    price_rank *ranks;
    price_node *nodes;
    price_programs programs;
    price_channel **buckets;
    size_t nbuckets, nchannels;
    price_channel *free_channels;
    price_message *free_messages;
    void *blocks;      /* of pooled memory */
    double *up, *down; /* [groups * uplinks] free again */
    int nuplinks;
    double uplink_byte; /* s/B of one uplink; 0: never in the way */
    price_queue queue;
    int *ready, nready; /* ranks that can go on */
    double now;
    double *call_end; /* [calls] */
    int finished;
    stretto_price_result *result;
    int span_capacity;
    bool failed; /* out of memory */
    /* whose memory */
    double *doubles;
    int *identity;
} price_state;

/* price_run.c */
void price_run(price_state *s);
void price_wake(price_state *s, int rank);
/* The core of a rank is busy for dt, interruptions included. */
void price_busy(price_state *s, price_rank *r, stretto_part part, double dt);
void price_waited(price_state *s, price_rank *r, const price_moment *until);
void price_span(price_state *s, stretto_span_kind kind, int rank, int peer, int round, int level,
                int detail, double bytes, double begin, double end);
static inline bool price_traced(const price_state *s, const price_rank *r) {
    return s->call->trace && r->call == s->call->calls - 1;
}

/* price_channel.c; NULL without memory */
void *price_alloc(price_state *s, size_t size); /* pooled: lives as long as the state */
price_channel *price_channel_of(price_state *s, int source, int target);
/* The message of the pair that the other side began, or a new one. */
price_message *price_meet(price_state *s, price_channel *c, int source, int target,
                          bool i_am_sender);

static inline bool price_stopped(const price_state *s) {
    return s->call->stop && *s->call->stop;
}

/* price_net.c */
void price_send(price_state *s, int rank, int peer, int ordinal, const price_op *op);
void price_recv(price_state *s, int rank, int peer, int ordinal);
void price_inject(price_state *s, price_message *m);
void price_receive(price_state *s, price_message *m);
int price_level(const price_rank *a, const price_rank *b);
/* The memory of a rank's domain moves so many bytes from `at` on; when it has. */
double price_memory(price_state *s, const price_rank *r, double at, double bytes);

/* price_node.c */
/* A rank arrives at a node action; price_wake for every rank that may go on. */
void price_node_arrive(price_state *s, int rank, const price_op *op);

/* price_noise.c: functions of their arguments only, the same on every machine */
double price_uniform(uint64_t seed, uint64_t a, uint64_t b, uint64_t c); /* in (0, 1) */
double price_exponential(double uniform);                                /* mean 1 */
double price_lognormal(double sigma, double u1, double u2);              /* mean 1 */
uint64_t price_mix(uint64_t seed, uint64_t a, uint64_t b, uint64_t c);

#endif
