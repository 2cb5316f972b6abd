/* The price of a call: when each rank is done, by event-driven evaluation of all ranks' plans on a
 * described platform (LogGP with levels, interfaces shared by a node's ranks, rails, fabric).
 * docs/explanation/model.md states the equations. No MPI, no system call but malloc; the same input
 * gives the same output to the last bit.
 *
 * Sizes follow the plans: block b of n of a vector covers the elements
 * [b * count / n, (b + 1) * count / n), as in plan.h. */
#ifndef STRETTO_PRICE_H
#define STRETTO_PRICE_H

#include "plan/plan.h"

/* How near two ranks are. */
typedef enum {
    STRETTO_LEVEL_CACHE,   /* same node, cores that share a last-level cache */
    STRETTO_LEVEL_NUMA,    /* same node and NUMA domain */
    STRETTO_LEVEL_NODE,    /* same node */
    STRETTO_LEVEL_RAIL,    /* other node, the ranks' own interfaces have the same number */
    STRETTO_LEVEL_NETWORK, /* other node, other rail; with one rail, never */
    STRETTO_LEVELS
} stretto_level;

typedef struct {
#define LEVEL(name, unit, min, max, preset, help) double name;
#define PARAM(name, unit, min, max, preset, help)
#include "plan/platform.def"
} stretto_link;

/* Every parameter with unit, range and meaning: platform.def. */
typedef struct {
    stretto_link level[STRETTO_LEVELS];
#define LEVEL(name, unit, min, max, preset, help)
#define PARAM(name, unit, min, max, preset, help) double name;
#include "plan/platform.def"
} stretto_platform;

/* The presets of platform.def, the same for all levels. */
void stretto_platform_init(stretto_platform *platform);
/* 0, or -1 with the first parameter out of its range in error. */
int stretto_platform_check(const stretto_platform *platform, char *error, size_t error_size);

/* How messages use the rails of a node (rail_use). As EFA does it each rank has one rail. */
typedef enum {
    STRETTO_RAILS_BY_CORE,       /* the rank's core says which: cores are shared out in runs */
    STRETTO_RAILS_BY_LOCAL_RANK, /* ranks of a node take the rails in turn */
    STRETTO_RAILS_STRIPED        /* long messages take all of them at once */
} stretto_rail_use;
/* The core of local rank i of n, and its rail. */
int stretto_platform_core(const stretto_platform *platform, int local, int n);
int stretto_platform_rail(const stretto_platform *platform, int local, int n);

/* Where the time of the last rank went, along the chain of causes that made it last. */
typedef enum {
    STRETTO_PART_SKEW,       /* entered late */
    STRETTO_PART_OVERHEAD,   /* send and receive overheads, gaps between messages */
    STRETTO_PART_LATENCY,    /* on the wire, fabric and packet order included */
    STRETTO_PART_TRANSFER,   /* bytes through flows and interfaces */
    STRETTO_PART_QUEUE,      /* waiting for an interface, uplink or flow that others use */
    STRETTO_PART_RENDEZVOUS, /* asking, and being allowed */
    STRETTO_PART_COPY,       /* local copies, unexpected messages' copies */
    STRETTO_PART_REDUCE,
    STRETTO_PART_NODE,  /* node phases */
    STRETTO_PART_NOISE, /* interruptions, late packets beyond the mean */
    STRETTO_PARTS
} stretto_part;
const char *stretto_level_name(stretto_level level); /* "numa" */

/* What is priced. */
typedef struct {
    const stretto_platform *platform;
    const stretto_layout *layout; /* NULL: every rank on a node of its own */
    int nranks;
    size_t bytes;        /* of the vector, or of a block (allgather, alltoall, gather, ...) */
    size_t element;      /* bytes of an element, for cutting the vector; >= 1 */
    const size_t *sizes; /* v-collectives: bytes of block r (alltoallv: [from * nranks + to]);
                            NULL: all blocks have `bytes` */
    const double *skew;  /* [nranks] seconds, >= 0: when each rank enters the first call; NULL: 0 */
    int calls;           /* so many calls in a row, each rank entering when it is done; >= 1 */
    uint64_t seed;       /* of the noise, and of the choice of uplinks */
    bool trace;          /* keep what happened, for pictures; only for the last call */
    const volatile int *stop; /* becomes nonzero: give up soon, with an error; NULL: never */
} stretto_price_call;

/* What a rank's core did, or a message (trace). */
typedef enum {
    STRETTO_SPAN_SEND, /* overhead of sending */
    STRETTO_SPAN_RECV, /* overhead of receiving */
    STRETTO_SPAN_WAIT, /* nothing: waiting for a message */
    STRETTO_SPAN_COPY,
    STRETTO_SPAN_REDUCE,
    STRETTO_SPAN_NODE,    /* in a node phase; detail = stretto_action_kind */
    STRETTO_SPAN_MESSAGE, /* in flight: rank to peer; begin = ready to go, end = there */
    STRETTO_SPAN_KINDS
} stretto_span_kind;

typedef struct {
    int kind, rank, peer, round, level, detail;
    double bytes, begin, end;
} stretto_price_span;

typedef struct {
    int nranks, calls;
    double *finish;              /* [nranks] end of the last call, from the start of the first */
    double *enter;               /* [nranks] start of the last call */
    double *took;                /* [calls] last rank's end of call i - that of call i - 1 (of the
                                    first: from the earliest entry) */
    double last;                 /* max of finish */
    int last_rank;               /* the lowest rank that ends last */
    double median;               /* of the second half of took: the steady state */
    double parts[STRETTO_PARTS]; /* of `last`; sums to it */
    double messages[STRETTO_LEVELS], bytes[STRETTO_LEVELS]; /* of one call */
    double events;                                          /* carried out, for profiling */
    int nspans;
    stretto_price_span *spans; /* [nspans], in the order in which they were found */
} stretto_price_result;

/* Builds the plan of one rank; 0, or -1 with the reason. Called once for each rank, in order; the
 * plan is freed after it has been read. */
typedef int (*stretto_plan_source)(void *arg, int rank, stretto_plan *plan, char *error,
                                   size_t error_size);

/* Prices the plans. 0, or -1 with the reason in error (bad input, no memory, plans that never end);
 * then there is nothing to free. */
int stretto_price(const stretto_price_call *call, stretto_plan_source source, void *arg,
                  stretto_price_result *result, char *error, size_t error_size);
void stretto_price_free(stretto_price_result *result);

/* No algorithm of this collective can be faster on this platform, whatever its plans (proved in
 * docs/explanation/model.md; without noise, entries at 0, from the call's first entry to its last
 * exit). The bound is the greatest of its parts; *why (may be NULL) becomes a static text that
 * names it. -1 where there is none (alltoallv and other v-forms). */
double stretto_price_bound(const stretto_price_call *call, stretto_collective collective,
                           const char **why);

#endif
