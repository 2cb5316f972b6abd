/* The registry of algorithms, and the only interface for building a plan.
 *
 * An algorithm is one file src/coll/<collective>/<algorithm>.c and one row in algorithms.def. The
 * file defines
 *     int stretto_build_<collective>_<algorithm>(stretto_plan *plan, const stretto_shape *shape);
 * which returns 0, or -1 for a shape that it does not support and that its row must exclude. No
 * other code refers to an algorithm by name.
 */
#ifndef STRETTO_COLL_H
#define STRETTO_COLL_H

#include "plan/plan.h"

/* The kind of the algorithm's parameter: the number in brackets in a choice string. */
typedef enum {
    STRETTO_PARAM_NONE,
    STRETTO_PARAM_RADIX,   /* bruck_k(8) */
    STRETTO_PARAM_SEGMENT, /* pipeline(64K): segment size in bytes, suffix K or M = 2^10, 2^20 */
    STRETTO_PARAM_WINDOW,  /* linear(16): messages in flight */
    STRETTO_PARAM_SEGMENT_FANOUT /* chain(64K,4): segment size and number of branches (default:
                                    STRETTO_FANOUT_DEFAULT) */
} stretto_param;

enum { STRETTO_FANOUT_MIN = 1, STRETTO_FANOUT_DEFAULT = 4, STRETTO_FANOUT_MAX = 64 };

static inline bool stretto_param_segments(stretto_param param) {
    return param == STRETTO_PARAM_SEGMENT || param == STRETTO_PARAM_SEGMENT_FANOUT;
}

/* Preconditions, checked in one place (stretto_algorithm_fits). */
enum {
    STRETTO_NEEDS_COMMUTATIVE = 1 << 0,
    STRETTO_NEEDS_POWER_OF_TWO = 1 << 1, /* of ranks */
    STRETTO_NEEDS_EVEN = 1 << 2,         /* number of ranks */
    STRETTO_FOR_FEW_RANKS = 1 << 3,      /* only a hint: not worth trying beyond 16 ranks */
    STRETTO_NEEDS_NODES = 1 << 4,        /* combines node phases and messages itself; only as shm+X,
                                            with equal numbers of ranks on all nodes */
    STRETTO_CARRIES = 1 << 5 /* not a precondition: forwards blocks of other ranks, whose
                                sizes are exchanged first (stretto_plan.carries) */
};

typedef struct {
    stretto_collective collective;
    const char *name; /* as in a choice: "recursive_doubling" */
    stretto_param param;
    int param_min, param_default, param_max;
    unsigned needs;
    const char *help; /* one line */
    int (*build)(stretto_plan *plan, const stretto_shape *shape);
} stretto_algorithm;

/* int stretto_build_<collective>_<algorithm>(stretto_plan *, const stretto_shape *) of every row.
 */
#define ALGORITHM(lower, UPPER, name, builder, param, min, preset, max, needs, help)               \
    int stretto_build_##builder(stretto_plan *plan, const stretto_shape *shape);
#include "coll/algorithms.def"
#undef ALGORITHM

/* All rows, in the order of algorithms.def; *n = their number. Static storage. */
const stretto_algorithm *stretto_algorithms(int *n);
const stretto_algorithm *stretto_algorithm_find(stretto_collective collective, const char *name);
/* NULL if the algorithm supports this shape, else the reason in words (static storage). */
const char *stretto_algorithm_fits(const stretto_algorithm *algorithm, const stretto_shape *shape);
/* The same for an algorithm with STRETTO_NEEDS_NODES on a layout of several nodes. */
const char *stretto_algorithm_fits_nodes(const stretto_algorithm *algorithm,
                                         const stretto_layout *layout);

/* Can the collective be composed of node phases and X, so that shm+X is a choice? Plain shm (a
 * single node action on one node) is a choice for all but neighbourhood collectives. */
bool stretto_collective_composes(stretto_collective collective);
/* Is lanes+X a choice for it? */
bool stretto_collective_has_lanes(stretto_collective collective);

/* A parsed choice string. */
typedef enum {
    STRETTO_CHOICE_NATIVE, /* of the host MPI; `native` is the text after "native:" */
    STRETTO_CHOICE_FLAT,   /* X: over all ranks */
    STRETTO_CHOICE_SHM     /* shm (one node), shm+X: node phase, X over the leaders, node phase;
                              with `lanes`, lanes(n)+X: X over n ranks of each node at once */
} stretto_choice_kind;

enum { STRETTO_LANES_ALL = -1, STRETTO_LANES_MOST = 1024 };

typedef struct {
    stretto_choice_kind kind;
    const stretto_algorithm *algorithm; /* NULL for native and bare shm */
    int param;                          /* value; the default of the row if not given */
    int fanout;                         /* the second value, if the row has one; else 0 */
    int lanes; /* with SHM: 0 for shm and shm+X; else the number of lanes, or STRETTO_LANES_ALL: the
                  number of ranks on the smallest node */
    char native[200];
} stretto_choice;

/* Parses "native", "native:settings", "ring", "bruck_k(8)", "chain(64K,4)", "shm",
 * "shm+bruck_k(8)", "lanes+ring", "lanes(2)+ring".
 * Returns 0, or -1 with a message in error[error_size] that has the choice, the reason and the
 * valid names or range. */
int stretto_choice_parse(stretto_collective collective, const char *text, stretto_choice *choice,
                         char *error, size_t error_size);
/* Canonical text of a choice (parses back to the same); returns text. */
char *stretto_choice_format(const stretto_choice *choice, char *text, size_t size);

/* Whether two choices of Stretto give the same plans. */
static inline bool stretto_choice_same(const stretto_choice *a, const stretto_choice *b) {
    return a->kind == b->kind && a->algorithm == b->algorithm && a->param == b->param &&
           a->fanout == b->fanout && a->lanes == b->lanes;
}

/* The flat choice of an algorithm with its default parameters. */
stretto_choice stretto_choice_of(const stretto_algorithm *algorithm);

/* Number of segments into which a choice cuts `bytes`, 1 to 1024; 1 without segments. */
int stretto_choice_segments(const stretto_choice *choice, size_t bytes);

/* Builds the plan of shape->rank for a flat or shm choice into *plan, which need not be
 * initialised. Radix, segments and window of the shape come from the choice. `bytes` is the size of
 * the vector or block, for the number of segments (at most 1024). On one node, "shm" and "shm+X"
 * give a single node action. Returns 0, or -1 with the reason in error. Whether a choice is refused
 * depends only on values that are equal on all ranks. */
int stretto_plan_build(stretto_plan *plan, const stretto_choice *choice, const stretto_shape *shape,
                       size_t bytes, char *error, size_t error_size);

#endif
