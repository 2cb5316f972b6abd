/* The engine inside the application: the state of the job and of each communicator, and how a call
 * is decided and executed.
 *
 * Every decision depends only on values that are equal on all ranks of the communicator: the group,
 * the table that rank 0 broadcast in MPI_Init, the collective, its size in bytes, its operation. If
 * a resource may be missing on one rank (memory, an arena), the ranks agree on it once, when the
 * communicator is set up.
 */
#ifndef STRETTO_ENGINE_H
#define STRETTO_ENGINE_H

#include "coll/coll.h"
#include "abi/host.h"
#include "node/node.h"
#include "engine/table.h"

#include <pthread.h>
#include <stdatomic.h>

#define STRETTO_HOT __attribute__((hot))
#define STRETTO_COLD __attribute__((cold, noinline))
#define STRETTO_LIKELY(x) __builtin_expect(!!(x), 1)
#define STRETTO_TLS static _Thread_local __attribute__((tls_model("initial-exec")))

/* ---- settings (config.c): the environment of rank 0, equal on all ranks ---------------------- */

typedef struct {
    int disable, verbose, after, arena_mb, max_communicators, api, fake_ppn, devices, xpmem;
    int check_calls, check_seconds, reproducible, reorder;
    int learn, learn_after;         /* learn.h; number of calls before learning */
    int learn_seconds, learn_block; /* limit for exploring; calls in the first blocks */
    int domains, fake_domains;
    int nonblocking;            /* 0: native, 1: progress in calls of the application, 2: also in a
                                   helper thread */
    char nonblocking_cpus[128]; /* hardware threads of the helper threads, by rank on the node; "":
                                   anywhere */
    int has_table;              /* a table or forced choices were given and are valid */
} stretto_settings;

extern stretto_settings stretto_config;
extern stretto_table stretto_the_table;

/* Collective over the world, in MPI_Init. Rank 0 reports what it cannot use. */
int stretto_config_load(void);
/* The family of the MPI as in tables ("openmpi", "mpich", "intel"); "" for any other. */
const char *stretto_host_family(void);

/* Before MPI_Init: whether this process should request MPI_THREAD_MULTIPLE. Afterwards all ranks
 * agree on the provided level. */
bool stretto_config_wants_threads(void);
/* Ends the job, because a rank without memory can no longer agree with the others. */
_Noreturn void stretto_no_memory(void);
/* A line on stderr, "stretto: ..." */
void stretto_say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* ---- the world (world.c, arena.c) ------------------------------------------------------------ */

/* CHECKED: each call is first compared with the calls of the other ranks (check.c). */
typedef enum { STRETTO_OFF, STRETTO_ON, STRETTO_CHECKED } stretto_activity;

typedef struct {
    stretto_activity active; /* ON or CHECKED: set up; calls are looked at */
    int rank, nranks;        /* in MPI_COMM_WORLD */
    int *node_of;            /* [nranks] lowest world rank on the same node */
    int *domain_of;          /* [nranks] in the same domain of it; with STRETTO_REORDER only */
    int *place_of;           /* [2 * nranks] packages, then NUMA domains; NULL: on one node */
    MPI_Group group;         /* of MPI_COMM_WORLD */
    MPI_Comm self;           /* a private communicator of one, for progress and local copies */
    MPI_Comm node_comm;      /* the ranks of this node */
    int node_rank, node_nranks;
    int *node_world; /* [node_nranks] world ranks of this node's ranks, ascending */
    int *node_pids;  /* [node_nranks] process ids, or 0 where they mean nothing here */
    stretto_wait wait;
    size_t ring;         /* bytes of each rank's, where memory is plenty; of this node's cores */
    bool xpmem;          /* works among this node's ranks */
    int *node_domain;    /* [node_nranks] numbers of the domains they lie in; NULL: in one */
    int nonblocking;     /* as the setting, but 0 where this job cannot; the same on all ranks */
    MPI_Comm probe_comm; /* to drive the MPI with, and a tag */
    int probe_tag;
} stretto_world;

extern stretto_world stretto_the_world;

void stretto_engine_init(void); /* after PMPI_Init */
/* Drives the progress of the MPI, by the cheapest call that does so in every MPI. */
void stretto_drive_mpi(void);
void stretto_engine_finalize(void); /* before PMPI_Finalize */

/* Creates the shared memory of the node. Collective over node_comm; false if this is impossible
 * (reported once). */
bool stretto_arena_create(size_t bytes);
void stretto_arena_destroy(void);
/* Pieces of one kind have the same layout, and their memory is in the same domains. */
typedef struct {
    int64_t nlocal, area; /* as node.h has them */
    uint64_t homes;       /* in which domains the ranks lie; 0: in one, or it does not matter */
} stretto_kind;

/* Limit for large rings on a node, and separately for pieces that are kept for reuse. */
#define STRETTO_ARENA_PLENTY ((size_t)96 << 20)

/* The offset of a piece with memory, or -1. It is one that ranks of this kind left (kept; enter it
 * with stretto_arena_past), or a zeroed one. Local; other ranks need its offset to share it. */
int64_t stretto_arena_allocate(size_t bytes, int users, const stretto_kind *kind, bool *kept);
stretto_node_past stretto_arena_past(int64_t offset);
/* Reallocates the pages that are completely inside this part of a piece from the calling rank, so
 * that they are near its processor, and zeroed. Call it only while no rank uses them. Returns false
 * if another process took the memory in between: the part must then not be used. Local. */
bool stretto_arena_bring_near(int64_t offset, size_t bytes);
/* Allocated bytes on this node. Local. */
size_t stretto_arena_used(void);
void *stretto_arena_at(int64_t offset);
/* Call before this process accesses a piece. Local. */
bool stretto_arena_open(int64_t offset, size_t bytes);
/* Everything below this offset is already open. Local. */
int64_t stretto_arena_opened(void);
/* Maps the pages of a piece at once, unless this process has done so before. Local. */
void stretto_arena_populate(int64_t offset, size_t bytes);
/* One of the users leaves, and passes on the numbers that it reached. Local. */
void stretto_arena_leave(int64_t offset, stretto_node_past reached);

/* ---- operations and datatypes (types.c) ------------------------------------------------------ */

/* The kernel for a predefined operation on a predefined datatype, with the extent of an element in
 * bytes and, for pairs with padding, the function that stores results. NULL if a handle is not
 * predefined, or if there is no kernel. */
stretto_reduce_fn stretto_kernel_for(MPI_Op op, MPI_Datatype datatype, size_t *extent,
                                     stretto_store_fn *store);
/* Bytes of one element when the datatype is predefined, dense and known; else 0. */
size_t stretto_dense_size(MPI_Datatype datatype);
/* Predefined and known to Stretto; such handles never change their meaning. */
bool stretto_is_predefined_op(MPI_Op op);
bool stretto_is_predefined_type(MPI_Datatype datatype);
/* Whether stretto_kernel_for has any operation for it. */
bool stretto_has_kernels(MPI_Datatype datatype);
/* A number that is the same on all ranks, and its name; STRETTO_OPS: another operation. */
int stretto_op_number(MPI_Op op);
const char *stretto_op_name(int number);
void stretto_types_init(void);

/* ---- communicators (comm.c, setup.c) --------------------------------------------------------- */

typedef enum {
    STRETTO_RUN_UNDECIDED,
    STRETTO_RUN_NATIVE, /* pass to the MPI */
    STRETTO_RUN_NODE,   /* one node action over the whole communicator: directly in src/node */
    STRETTO_RUN_PLAN    /* the executor */
} stretto_run;

typedef struct stretto_learning stretto_learning;

/* How calls of one shape are executed. */
typedef struct {
    stretto_run run;
    stretto_collective collective;
    long long count; /* the key, with the next two; LLONG_MIN: for this one call only */
    MPI_Datatype datatype;
    MPI_Op op;
    long long elements; /* count, also if it is not a key */
    size_t bytes;       /* type size x count; must stay below 2^31 times the ranks */
    size_t extent;      /* bytes of one element in kernels and messages */
    stretto_reduce_fn reduce;
    stretto_store_fn store;     /* stores results of pairs with padding; NULL: no padding */
    const stretto_row *row;     /* its choice is executed unless run is NATIVE; NULL: no row */
    const char *why;            /* reason for native other than the table, or ""; static */
    stretto_learning *learning; /* learns the best choice for such calls; NULL: it is fixed */
} stretto_decision;

enum { STRETTO_DECISIONS = 8, STRETTO_PLANS = 64 };

/* Pieces of memory of a communicator, independent of each other, for one call each. */
enum {
    STRETTO_SCRATCH_TMP,     /* the plan's TMP */
    STRETTO_SCRATCH_OUT,     /* OUT if the application has none */
    STRETTO_SCRATCH_PACK,    /* packed data to send */
    STRETTO_SCRATCH_UNPACK,  /* received data to unpack; pairs to store */
    STRETTO_SCRATCH_SIZES,   /* offsets and sizes of variable-size blocks */
    STRETTO_SCRATCH_NUMBERS, /* sizes that are exchanged in every call (exec_told.c) */
    STRETTO_SCRATCHES
};

typedef struct {
    stretto_collective collective;
    stretto_choice choice;
    int root, segments;
    bool in_place, commutative;
    unsigned long age;
    stretto_plan plan;
    long long count;    /* that tmp_offset was made for */
    size_t *tmp_offset; /* [tmp_blocks + 1] elements */
} stretto_cached_plan;

/* Exchanges whose sizes are known (exec_carry.c). */
typedef struct stretto_exchanges stretto_exchanges;

typedef enum { STRETTO_COMM_NEW, STRETTO_COMM_READY, STRETTO_COMM_NATIVE } stretto_comm_status;

/* The state of one collective on one communicator. */
typedef struct {
    const stretto_decision *last; /* the MRU entry of decisions, or stretto_undecided */
    stretto_decision *decisions;  /* [STRETTO_DECISIONS], made with the first: most communicators
                                     use two or three collectives */
    int next;
    bool looked_at; /* a row that fits the layout, or a forced choice, is not native */
    bool is_forced; /* by stretto_choose */
    stretto_row *forced;
    unsigned long long ours, native;
    uint64_t told; /* verbose: size classes already explained */
} stretto_comm_calls;

extern const stretto_decision stretto_undecided;

typedef struct stretto_kept_shadow stretto_kept_shadow;

typedef struct stretto_comm {
    MPI_Comm comm;
    stretto_comm_status status;
    const char *why;   /* why NATIVE */
    int seen;          /* blocking collectives before set-up */
    long long checked; /* with STRETTO_CHECK_CALLS: blocking collectives so far */
    bool holds;        /* counted among those that hold resources */
    int rank, nranks;
    stretto_node *node; /* NULL: alone on the node, or no arena */
    bool is_short;      /* its memory is for short messages; it grows at the first long message */
    bool no_growth;     /* there was no memory for long messages */
    int rooted;         /* number of calls with a root while it is short */
    int rooted_now;     /* of these, counted by the current call */
    int root;           /* of the last call with a root */
    bool has_empty;     /* with STRETTO_LEARN: the last call with blocks for all had an empty one */
    bool is_far;        /* this rank is in another domain than the first rank of the node */
    uint64_t homes;     /* as in the kind of its pieces */
    bool node_ready;    /* agreed: every node with several ranks has a piece of its arena */
    bool one_node;      /* node_ready, and all ranks are on this node */
    int64_t arena;      /* offset of node's memory, -1 none */
    bool has_shadow;
    bool in_threads; /* several threads of a rank create communicators: no shadow (setup.c) */
    MPI_Comm shadow; /* for the messages of Stretto */
    stretto_kept_shadow *kept; /* the kept shadow that it uses (shadow.c) */
    bool is_broken;            /* messages of a failed call may be in flight on it */
    int tag;                   /* of the messages of a plan; tag + 1 is for exchanged sizes */
    stretto_layout layout;
    int *layout_memory;
    int ppn;                     /* largest number of ranks on a node */
    stretto_comm_calls *coll;    /* [STRETTO_COLLECTIVES], made with READY */
    stretto_cached_plan **plans; /* [STRETTO_PLANS], made with the first */
    unsigned long plan_clock;
    stretto_exchanges *exchanges;
    bool planned; /* a planned exchange is executing; exchanges is that one (alltoallv_plan.c) */
    void *scratch[STRETTO_SCRATCHES];
    size_t scratch_size[STRETTO_SCRATCHES];
    MPI_Request *requests;
    int nrequests;
    size_t *node_numbers; /* for node actions: arrays with a number for each rank of the node */
    bool graph_asked;     /* the graph of neighbours was gathered (neighbor_graph.c) */
    const char *no_graph; /* why there is no graph; NULL after gathering: there is one */
    stretto_graph_store *graph;
    struct stretto_operation *first, *last; /* issued nonblocking collectives, in order */
    struct stretto_comm *under_way;         /* the next communicator with such collectives */
    stretto_cached_plan *pinned;            /* in execution */
    struct stretto_channels *channels;      /* of persistent collectives (channels.h); NULL: none */
    int owed; /* persistent calls that the MPI refused here: made again, they go there at once */
    stretto_learning *learning, *at_hand; /* shapes; the shape of the current call */
} stretto_comm;

enum {
    STRETTO_FIRST_TAG = 16
}; /* of a communicator; smaller tags: check.c; from 2 more on: channels */

/* The state of comm, or NULL if it has none yet. Thread-safe, wait-free. */
stretto_comm *stretto_comm_find(MPI_Comm comm);
/* For every blocking collective on a communicator that is not READY or NATIVE: creates the state,
 * counts, and sets it up at the N-th call (collective). NULL: comm is not a communicator, or the
 * MPI is calling itself. Ends the job when out of memory. */
stretto_comm *stretto_comm_seen(MPI_Comm comm);
/* While a call counts towards the set-up of a communicator: that one. At the end of a call of this
 * thread on comm: what was refused does not count, for the other ranks know nothing of it, nor does
 * what an error handler of the application left for good. */
extern _Thread_local __attribute__((tls_model("initial-exec"))) stretto_comm *stretto_counting;
void stretto_comm_counted(MPI_Comm comm, int rc);
/* Sets comm up immediately (collective over comm). */
stretto_comm *stretto_comm_ready(MPI_Comm comm);
/* The MPI has just created comm (MPI_COMM_NULL: not for this rank) in a call that is collective
 * over it. With STRETTO_AFTER=0 this sets it up. */
void stretto_comm_made(MPI_Comm comm);
/* The application is about to free comm (collective): releases what can be released. */
void stretto_comm_release(MPI_Comm comm);
void stretto_comms_init(void);
int stretto_comms_count(void); /* number that hold memory or a shadow here */
/* In between comm, which is being freed, gets no state on this thread: calls on it go to the MPI.
 * The end, which an error handler may skip, gets what the beginning returned (callbacks free, too).
 */
uint64_t stretto_comm_closing(MPI_Comm comm);
void stretto_comm_closed(uint64_t before);
/* Calls f for every communicator with a state; none is created or freed meanwhile. */
void stretto_comms_each(void (*f)(const stretto_comm *c));
/* Sets one communicator up (setup.c); collective. Sets status. */
void stretto_comm_setup(stretto_comm *c);
void stretto_comm_teardown(stretto_comm *c, bool free_shadow);
/* Creates the shadow communicator if there is none. Collective over c->comm; false: impossible,
 * on all ranks. */
bool stretto_comm_shadow(stretto_comm *c);
/* Gathers the graph of neighbours if needed (collective over c->comm). NULL if c->graph has one,
 * else the reason (static); equal on all ranks. */
const char *stretto_comm_graph(stretto_comm *c);
void stretto_comm_graph_forget(stretto_comm *c);

/* ---- evidence.c: counts of executed calls, for `stretto tune` ---------------------------------
 */

void stretto_evidence_begin(void);                /* in MPI_Init */
void stretto_evidence_add(const stretto_comm *c); /* before its counters are freed */
void stretto_evidence_end(void);                  /* in MPI_Finalize, before communicators end */

/* ---- calls (decide.c, call_*.c, exec.c) ------------------------------------------------------ */

/* The decision for this call. Never NULL for a READY communicator. count, datatype and op are the
 * key; root does not matter. docs/explanation/calls.md defines them for each collective. */
const stretto_decision *stretto_decide(stretto_comm *c, stretto_collective collective,
                                       long long count, MPI_Datatype datatype, MPI_Op op);
/* Whether all ranks know the size of such a call, or that it has none. */
bool stretto_size_is_known(stretto_collective collective);
/* The row for calls of `bytes` (ignored if the ranks do not know the size), or NULL. */
const stretto_row *stretto_row_for(const stretto_comm *c, stretto_collective collective,
                                   size_t bytes);
/* The decision by a given row: fills *d in, for this key. */
void stretto_decide_by(stretto_comm *c, stretto_collective collective, stretto_decision *d,
                       long long count, MPI_Datatype datatype, MPI_Op op, const stretto_row *row);
/* The decision for this call while d->learning is not NULL (learn.c). */
const stretto_decision *stretto_learn_pick(stretto_comm *c, const stretto_decision *d);
/* Call at the end of every call, with its return code; c NULL: a call that is not learned from. */
void stretto_learn_call_ended(stretto_comm *c, int rc);
/* The MPI refused the arguments of this rank, so the other ranks wait until it calls again. After
 * any other error the call has ended on the other ranks too. */
bool stretto_is_refusal(int rc);
void stretto_learn_forget(stretto_comm *c);
/* Call when the communicator is freed or the job ends: keeps what was learned for the report. */
void stretto_learned_add(const stretto_comm *c);
void stretto_learn_begin(void);   /* in MPI_Init: measures the clock */
void stretto_learned_begin(void); /* in MPI_Init, if the setting is on */
void stretto_learned_end(void);
/* Whether a choice is possible on this communicator for calls of `bytes`, of which `wire` are sent:
 * NULL, or the reason (valid until the next call; equal on all ranks). */
const char *stretto_choice_refused(stretto_comm *c, stretto_collective collective,
                                   const stretto_choice *choice, size_t bytes, size_t wire,
                                   bool user_op, bool commutative);

/* Variable-size blocks, one per rank: arrays of int, or of MPI_Count and MPI_Aint. */
typedef struct {
    const void *counts, *displs; /* displs NULL: one after another */
    bool large;
    MPI_Datatype type;         /* displs are in extents of this type; */
    const MPI_Datatype *types; /* or one type per block: displs are in bytes */
} stretto_ragged;

/* Number of elements of all blocks; -1 if a count is negative. */
long long stretto_ragged_total(const stretto_ragged *blocks, int nranks);
bool stretto_ragged_has_empty(const stretto_ragged *blocks, int nranks);

/* Calls that Stretto executes (run is NODE or PLAN). Each returns an MPI error code that has
 * already been raised on c->comm, or STRETTO_PASS: nothing was done, and the MPI must execute the
 * call (on all ranks, or because the arguments are wrong). */
enum { STRETTO_PASS = -1 };
int stretto_call_allreduce(stretto_comm *c, const stretto_decision *d, const void *in, void *out);
int stretto_call_reduce(stretto_comm *c, const stretto_decision *d, const void *in, void *out,
                        int root);
int stretto_call_reduce_scatter_block(stretto_comm *c, const stretto_decision *d, const void *in,
                                      void *out);
int stretto_call_reduce_scatter(stretto_comm *c, const stretto_decision *d, const void *in,
                                void *out, const stretto_ragged *blocks);
/* exscan when exclusive */
int stretto_call_scan(stretto_comm *c, const stretto_decision *d, const void *in, void *out,
                      bool exclusive);
int stretto_call_barrier(stretto_comm *c, const stretto_decision *d);
int stretto_call_bcast(stretto_comm *c, const stretto_decision *d, void *buffer, int root);
/* d describes the receive side */
int stretto_call_allgather(stretto_comm *c, const stretto_decision *d, const void *in,
                           long long in_count, MPI_Datatype in_type, void *out);
int stretto_call_alltoall(stretto_comm *c, const stretto_decision *d, const void *in,
                          long long in_count, MPI_Datatype in_type, void *out);
/* d describes the receive (send) side on the root, the send (receive) side elsewhere */
int stretto_call_gather(stretto_comm *c, const stretto_decision *d, const void *in,
                        long long in_count, MPI_Datatype in_type, void *out, int root);
int stretto_call_scatter(stretto_comm *c, const stretto_decision *d, const void *in, void *out,
                         long long out_count, MPI_Datatype out_type, int root);
int stretto_call_alltoallv(stretto_comm *c, const stretto_decision *d, const void *in,
                           const stretto_ragged *send, void *out, const stretto_ragged *receive);
int stretto_call_gatherv(stretto_comm *c, const stretto_decision *d, const void *in,
                         long long in_count, MPI_Datatype in_type, void *out,
                         const stretto_ragged *receive, int root);
int stretto_call_scatterv(stretto_comm *c, const stretto_decision *d, const void *in,
                          const stretto_ragged *send, void *out, long long out_count,
                          MPI_Datatype out_type, int root);
int stretto_call_allgatherv(stretto_comm *c, const stretto_decision *d, const void *in,
                            long long in_count, MPI_Datatype in_type, void *out,
                            const stretto_ragged *receive);

/* One side of a neighbourhood collective: a block for each slot (the sender of neighbor_allgather:
 * one for all). If blocks.counts is NULL, each block has `each` elements of blocks.type. */
typedef struct {
    stretto_ragged blocks;
    long long each;
} stretto_neighbor_blocks;

int stretto_call_neighbor(stretto_comm *c, const stretto_decision *d, stretto_collective collective,
                          const void *in, const stretto_neighbor_blocks *send, void *out,
                          const stretto_neighbor_blocks *receive);

/* The elements in the buffers and messages of a plan. */
typedef struct {
    MPI_Datatype type;        /* MPI_BYTE, or the application's type for user operations */
    ptrdiff_t stride;         /* bytes from element to element */
    int wire;                 /* items of type per element: stride for MPI_BYTE, 1 otherwise */
    stretto_reduce_fn reduce; /* NULL: PMPI_Reduce_local with op */
    MPI_Op op;
} stretto_elements;

/* The location of the blocks of a plan's IN and OUT; offsets and sizes in elements. */
typedef struct {
    const void *in; /* may be NULL if the plan does not read it */
    void *out;
    bool out_is_scratch; /* the executor provides OUT, with count elements, and copies it to `back`
                          */
    void *back;          /* at the end, unless that is NULL */
    long long count;     /* of the vector; of each equal block; of a buffer of one block */
    const size_t *in_at, *in_n; /* NULL: equal blocks or one */
    const size_t *out_at, *out_n;
    const size_t *block_n; /* sizes of the call's blocks by rank (tmp_shape); NULL: all are count */
} stretto_buffers;

/* Executes this rank's plan on the buffers. Returns an MPI error code, not yet raised. */
int stretto_execute(stretto_comm *c, stretto_cached_plan *cached, const stretto_elements *elements,
                    const stretto_buffers *buffers);
/* The plan of this rank, built or from the cache; NULL if it cannot be built (reason in error). */
stretto_cached_plan *stretto_plan_for(stretto_comm *c, stretto_collective collective,
                                      const stretto_choice *choice, int root, size_t bytes,
                                      bool in_place, bool commutative, char *error, size_t size);
void stretto_plans_forget(stretto_comm *c);
void stretto_exchanges_forget(stretto_comm *c);
/* Did the last store-and-forward exchange use sizes that were known before? */
bool stretto_exchange_was_known(const stretto_comm *c);
/* First step of the public functions: the state of comm, READY (collective), or NULL and a reason.
 */
stretto_comm *stretto_comm_for_api(MPI_Comm comm, char *reason, size_t size);
/* Stores the choice of rank 0 in *row on all ranks. Returns 0, or -1 on all ranks with the reason.
 * Collective. row->line is 0, or -1 without a choice (""). */
int stretto_choice_agreed(stretto_comm *c, const char *collective, const char *choice,
                          stretto_row *row, char *reason, size_t size);
/* Memory of at least `bytes`, valid until the next call on c; ends the job when out of memory. */
void *stretto_comm_scratch(stretto_comm *c, int slot, size_t bytes);
void stretto_comm_trim(stretto_comm *c); /* frees large scratch memory */

#endif
