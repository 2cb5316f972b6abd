/* The engine inside the application: what is known of the world, of each communicator, and how a
 * call is decided and carried out.
 *
 * Every decision depends only on what the MPI standard makes equal on all ranks of the communicator
 * (the group, the table that rank 0 broadcast at Init, the collective, its size in bytes, its
 * operation), never on one rank's own view; where a resource could be missing on one rank (memory,
 * an arena), the ranks agree on it once, when the communicator is set up.
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

/* ---- settings (config.c): rank 0's environment, the same on all ranks ----------------------- */

typedef struct {
    int disable, verbose, after, arena_mb, max_communicators, api, fake_ppn, devices, xpmem;
    int check_calls, check_seconds, reproducible, reorder;
    int learn, learn_after;         /* learn.h; calls before */
    int learn_seconds, learn_block; /* that exploring may take; calls in the first blocks */
    int domains, fake_domains;
    int nonblocking; /* 0: to the MPI, 1: progressed in the application's calls, 2: by a thread too
                      */
    char nonblocking_cpus[128]; /* where those threads run, by rank on the node; "" anywhere */
    int has_table;              /* a table or forced choices were given and are valid */
} stretto_settings;

extern stretto_settings stretto_config;
extern stretto_table stretto_the_table;

/* Collective over the world, at Init. Complains on rank 0 about what it cannot use. */
int stretto_config_load(void);
/* The host's name as tables write it ("openmpi", "mpich", "intel"); "" when it is none of those. */
const char *stretto_host_family(void);

/* Before Init: whether this process was told to ask the MPI for MPI_THREAD_MULTIPLE. All ranks
 * agree afterwards on what they got. */
bool stretto_config_wants_threads(void);
/* Ends the job: a rank without memory cannot agree to anything with the others any more. */
_Noreturn void stretto_no_memory(void);
/* A line on stderr, "stretto: ..." */
void stretto_say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* ---- the world (world.c, arena.c) ------------------------------------------------------------ */

/* CHECKED: every call is compared with the other ranks' before anything else (check.c). */
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
/* The MPI's own progress: the cheapest call that makes every MPI look after what is pending. */
void stretto_drive_mpi(void);
void stretto_engine_finalize(void); /* before PMPI_Finalize */

/* The node's shared memory. Collective over node_comm; false where it cannot be had (said once). */
bool stretto_arena_create(size_t bytes);
void stretto_arena_destroy(void);
/* Pieces of one kind have the same layout, and their memory lies alike. */
typedef struct {
    int64_t nlocal, area; /* as node.h has them */
    uint64_t homes;       /* in which domains the ranks lie; 0: in one, or it does not matter */
} stretto_kind;

/* What the communicators of a node may hold in large rings, and what is kept for the next ones. */
#define STRETTO_ARENA_PLENTY ((size_t)96 << 20)

/* A piece with memory behind it, or -1: one that ranks of this kind left (kept; to be entered with
 * stretto_arena_past), or a zeroed one. Local; the piece is shared by telling its offset. */
int64_t stretto_arena_allocate(size_t bytes, int users, const stretto_kind *kind, bool *kept);
stretto_node_past stretto_arena_past(int64_t offset);
/* Reallocates the pages that are completely inside this part of a piece from the calling rank, so
 * that they are near its processor, and zeroed. Call it only while no rank uses them. Returns false
 * if another process took the memory in between: the part must then not be used. Local. */
bool stretto_arena_bring_near(int64_t offset, size_t bytes);
/* Bytes handed out on this node. Local. */
size_t stretto_arena_used(void);
void *stretto_arena_at(int64_t offset);
/* To be called before the calling process touches a piece. Local. */
bool stretto_arena_open(int64_t offset, size_t bytes);
/* What lies below this offset is open already. Local. */
int64_t stretto_arena_opened(void);
/* Maps the pages of a piece at once, unless this process has done so before. Local. */
void stretto_arena_populate(int64_t offset, size_t bytes);
/* One of the users leaves and tells what it had reached there. Local. */
void stretto_arena_leave(int64_t offset, stretto_node_past reached);

/* ---- operations and datatypes (types.c) ------------------------------------------------------ */

/* The kernel for a predefined operation on a predefined datatype, with the element's extent in
 * bytes and, for pairs with a gap, what stores results; NULL when one of the handles is not
 * predefined or there is none. */
stretto_reduce_fn stretto_kernel_for(MPI_Op op, MPI_Datatype datatype, size_t *extent,
                                     stretto_store_fn *store);
/* Bytes of one element when the datatype is predefined, dense and known; else 0. */
size_t stretto_dense_size(MPI_Datatype datatype);
/* Predefined and known to us; such handles never change their meaning. */
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
    STRETTO_RUN_NODE,   /* one node action over the whole communicator: straight to src/node */
    STRETTO_RUN_PLAN    /* the executor */
} stretto_run;

typedef struct stretto_learning stretto_learning;

/* How calls of one shape are done. */
typedef struct {
    stretto_run run;
    stretto_collective collective;
    long long count; /* the key, with the next two; LLONG_MIN: for this one call only */
    MPI_Datatype datatype;
    MPI_Op op;
    long long elements; /* count, also when it is no key */
    size_t bytes;       /* type size x count; must stay below 2^31 times the ranks */
    size_t extent;      /* bytes of one element as kernels and wires see it */
    stretto_reduce_fn reduce;
    stretto_store_fn store;     /* pairs with a gap: brings a result past it; NULL: it has none */
    const stretto_row *row;     /* NULL: no row; its choice is what is done unless run is NATIVE */
    const char *why;            /* a reason to be native that is not the table's, or ""; lasts */
    stretto_learning *learning; /* learns which choice is best for such calls; NULL: it stands */
} stretto_decision;

enum { STRETTO_DECISIONS = 8, STRETTO_PLANS = 64 };

/* Pieces of memory of a communicator, independent of each other, for one call each. */
enum {
    STRETTO_SCRATCH_TMP,     /* the plan's TMP */
    STRETTO_SCRATCH_OUT,     /* OUT where the application has none */
    STRETTO_SCRATCH_PACK,    /* what is sent, packed */
    STRETTO_SCRATCH_UNPACK,  /* what is received, to be unpacked; pairs to be stored */
    STRETTO_SCRATCH_SIZES,   /* offsets and sizes of ragged blocks */
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

/* What is known of one collective on one communicator. */
typedef struct {
    const stretto_decision *last; /* the MRU entry of decisions, or stretto_undecided */
    stretto_decision *decisions;  /* [STRETTO_DECISIONS], made with the first: most communicators
                                     use two or three collectives */
    int next;
    bool looked_at; /* some row that fits the layout, or a forced choice, is not native */
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
    bool is_short;      /* its memory is for short messages: it grows with the first long one */
    bool no_growth;     /* and there was none for long ones */
    int rooted;         /* calls with a root while it is short */
    int rooted_now;     /* of them, by the call at hand */
    int root;           /* of the last call with one */
    bool has_empty;     /* with STRETTO_LEARN: the last call with blocks for all had an empty one */
    bool is_far;        /* this rank lies in another domain than the node's first */
    uint64_t homes;     /* of the kind of its pieces */
    bool node_ready;    /* agreed: every node with several of its ranks has its arena piece */
    bool one_node;      /* node_ready, and all ranks are on this node */
    int64_t arena;      /* offset of node's memory, -1 none */
    bool has_shadow;
    bool in_threads; /* several threads of some rank make communicators: no shadow (setup.c) */
    MPI_Comm shadow; /* for our own messages */
    stretto_kept_shadow *kept; /* it is this one (shadow.c) */
    bool is_broken;            /* messages of a failed call may be under way on it */
    int tag; /* of a plan's messages; the next one is for what they tell of each other */
    stretto_layout layout;
    int *layout_memory;
    int ppn;                     /* largest number of ranks on a node */
    stretto_comm_calls *coll;    /* [STRETTO_COLLECTIVES], made with READY */
    stretto_cached_plan **plans; /* [STRETTO_PLANS], made with the first */
    unsigned long plan_clock;
    stretto_exchanges *exchanges;
    bool planned; /* they are of the one exchange that is carried out now (alltoallv_plan.c) */
    void *scratch[STRETTO_SCRATCHES];
    size_t scratch_size[STRETTO_SCRATCHES];
    MPI_Request *requests;
    int nrequests;
    size_t *node_numbers; /* of node actions: arrays of a number for each rank of the node */
    bool graph_asked;     /* of neighbourhood collectives (neighbor_graph.c) */
    const char *no_graph; /* why there is none; asked, and NULL: there is one */
    stretto_graph_store *graph;
    struct stretto_operation *first, *last; /* nonblocking collectives that were issued, in order */
    struct stretto_comm *under_way;         /* the next communicator that has some */
    stretto_cached_plan *pinned;            /* being carried out */
    struct stretto_channels *channels;      /* of persistent collectives (channels.h); NULL: none */
    stretto_learning *learning, *at_hand;   /* shapes; that of the call at hand */
} stretto_comm;

enum {
    STRETTO_FIRST_TAG = 16
}; /* a communicator's own; below: check.c; from 2 more on: channels */

/* The state of comm, or NULL when it has none yet. Thread-safe, wait-free. */
stretto_comm *stretto_comm_find(MPI_Comm comm);
/* For every blocking collective on a communicator that is not READY or NATIVE: makes the state,
 * counts, and at the N-th call sets it up (collective). NULL: comm is none, or the MPI is calling
 * itself. Ends the job when memory is out. */
stretto_comm *stretto_comm_seen(MPI_Comm comm);
/* Sets up at once (collective over comm). */
stretto_comm *stretto_comm_ready(MPI_Comm comm);
/* The MPI has just made comm (MPI_COMM_NULL: not for this rank) in a call that is collective over
 * it: sets it up at once with STRETTO_AFTER=0. */
void stretto_comm_made(MPI_Comm comm);
/* The application is about to free comm (collective): gives back what can be given back. */
void stretto_comm_release(MPI_Comm comm);
void stretto_comms_init(void);
int stretto_comms_count(void); /* that hold memory or a shadow here */
/* Between begin (true) and end (false) no state is made on this thread: a communicator is being
 * freed, and what the application's callbacks call goes to the MPI. */
void stretto_comms_closing(bool begin);
/* Calls f for every communicator that has a state; none is made or freed meanwhile. */
void stretto_comms_each(void (*f)(const stretto_comm *c));
/* Sets one communicator up (setup.c); collective. Sets status. */
void stretto_comm_setup(stretto_comm *c);
void stretto_comm_teardown(stretto_comm *c, bool free_shadow);
/* Makes the shadow communicator if there is none. Collective over c->comm, agreed; false = cannot.
 */
bool stretto_comm_shadow(stretto_comm *c);
/* Gathers the graph of neighbours if that was not done yet (collective over c->comm, agreed): NULL
 * when there is one in c->graph, else why not (static). */
const char *stretto_comm_graph(stretto_comm *c);
void stretto_comm_graph_forget(stretto_comm *c);

/* ---- evidence.c: what ran here, for `stretto tune` ------------------------------------------- */

void stretto_evidence_begin(void);                /* at Init */
void stretto_evidence_add(const stretto_comm *c); /* its counters are about to go */
void stretto_evidence_end(void);                  /* at Finalize, communicators still there */

/* ---- calls (decide.c, call_*.c, exec.c) ------------------------------------------------------ */

/* What to do with this call. Never NULL for a READY communicator. count, datatype, op are the key;
 * root does not matter. What they are for each collective: docs/explanation/calls.md. */
const stretto_decision *stretto_decide(stretto_comm *c, stretto_collective collective,
                                       long long count, MPI_Datatype datatype, MPI_Op op);
/* Whether all ranks know the size of such a call, or that it has none. */
bool stretto_size_is_known(stretto_collective collective);
/* The row for calls of so many bytes, not looked at where the size is not known; or NULL. */
const stretto_row *stretto_row_for(const stretto_comm *c, stretto_collective collective,
                                   size_t bytes);
/* The same by a row that is not asked for here: fills *d in, for this key. */
void stretto_decide_by(stretto_comm *c, stretto_collective collective, stretto_decision *d,
                       long long count, MPI_Datatype datatype, MPI_Op op, const stretto_row *row);
/* For a decision of which d->learning is not NULL: how this call is done (learn.c). */
const stretto_decision *stretto_learn_pick(stretto_comm *c, const stretto_decision *d);
/* The end of every call, and what it returned; c NULL: one that is not looked at. */
void stretto_learn_call_ended(stretto_comm *c, int rc);
/* The MPI refused the arguments of this rank: the other ranks wait until it calls again. After any
 * other error the call has ended on the other ranks too. */
bool stretto_is_refusal(int rc);
void stretto_learn_forget(stretto_comm *c);
/* The communicator goes, or the job ends: what was learned there is kept, and reported at the end.
 */
void stretto_learned_add(const stretto_comm *c);
void stretto_learn_begin(void);   /* at Init: measures the clock */
void stretto_learned_begin(void); /* at Init, where the setting is on */
void stretto_learned_end(void);
/* Whether a choice can be carried out on this communicator for calls of that size, of which `wire`
 * bytes travel: NULL, or why not (valid until the next call; the same on all ranks). */
const char *stretto_choice_refused(stretto_comm *c, stretto_collective collective,
                                   const stretto_choice *choice, size_t bytes, size_t wire,
                                   bool user_op, bool commutative);

/* Blocks of the application's own sizes, one a rank: arrays of int, or of MPI_Count and MPI_Aint.
 */
typedef struct {
    const void *counts, *displs; /* displs NULL: one after another */
    bool large;
    MPI_Datatype type;         /* displs count its extents; */
    const MPI_Datatype *types; /* or one for each block: displs are bytes */
} stretto_ragged;

/* Elements of all blocks together; -1 when a count is negative. */
long long stretto_ragged_total(const stretto_ragged *blocks, int nranks);
bool stretto_ragged_has_empty(const stretto_ragged *blocks, int nranks);

/* Calls that were decided to be ours (run is NODE or PLAN). Each returns an MPI error code that has
 * been raised on c->comm already, or STRETTO_PASS: nothing was done, let the MPI do it (on all
 * ranks alike, or because the arguments are wrong). */
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
/* d describes the root's receive (send) side, elsewhere what is sent (received) */
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

/* One side of a neighbourhood collective: a block for each slot (as a sender of neighbor_allgather:
 * one for all), `each` elements of blocks.type one after another where blocks.counts is NULL. */
typedef struct {
    stretto_ragged blocks;
    long long each;
} stretto_neighbor_blocks;

int stretto_call_neighbor(stretto_comm *c, const stretto_decision *d, stretto_collective collective,
                          const void *in, const stretto_neighbor_blocks *send, void *out,
                          const stretto_neighbor_blocks *receive);

/* How elements lie in the buffers of a plan and travel. */
typedef struct {
    MPI_Datatype type;        /* MPI_BYTE, or the application's type for user operations */
    ptrdiff_t stride;         /* bytes from element to element */
    int wire;                 /* items of type per element: stride for MPI_BYTE, 1 otherwise */
    stretto_reduce_fn reduce; /* NULL: PMPI_Reduce_local with op */
    MPI_Op op;
} stretto_elements;

/* Where the blocks of a plan's IN and OUT lie; offsets and sizes in elements. */
typedef struct {
    const void *in; /* may be NULL where the plan does not read it */
    void *out;
    bool out_is_scratch; /* the executor brings OUT, of count elements, and copies it to `back` */
    void *back;          /* at the end, when that is not NULL */
    long long count;     /* of the vector; of one of equal blocks; of a buffer of one block */
    const size_t *in_at, *in_n; /* NULL: equal blocks or one */
    const size_t *out_at, *out_n;
    const size_t *block_n; /* sizes of the call's blocks by rank (tmp_shape); NULL: all are count */
} stretto_buffers;

/* Runs this rank's plan over the buffers. An MPI error code, not yet raised. */
int stretto_execute(stretto_comm *c, stretto_cached_plan *cached, const stretto_elements *elements,
                    const stretto_buffers *buffers);
/* The plan for this rank, built or from the cache; NULL when it cannot be built (reason in error).
 */
stretto_cached_plan *stretto_plan_for(stretto_comm *c, stretto_collective collective,
                                      const stretto_choice *choice, int root, size_t bytes,
                                      bool in_place, bool commutative, char *error, size_t size);
void stretto_plans_forget(stretto_comm *c);
void stretto_exchanges_forget(stretto_comm *c);
/* Was the last one that carried blocks carried out on sizes known before? */
bool stretto_exchange_was_known(const stretto_comm *c);
/* What the public functions begin with: comm's state, READY (collective); NULL and the reason. */
stretto_comm *stretto_comm_for_api(MPI_Comm comm, char *reason, size_t size);
/* Rank 0's choice for all, into *row: 0, or -1 on all ranks with the reason. Collective. Without a
 * choice ("") row->line is -1, with one 0. */
int stretto_choice_agreed(stretto_comm *c, const char *collective, const char *choice,
                          stretto_row *row, char *reason, size_t size);
/* Memory of at least `bytes` that lasts until the next call on c; the job ends where there is none.
 */
void *stretto_comm_scratch(stretto_comm *c, int slot, size_t bytes);
void stretto_comm_trim(stretto_comm *c); /* gives back what is large */

#endif
