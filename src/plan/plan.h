/* The plan: the program that one rank carries out for one collective call.
 *
 * A plan is a stream of actions in issue order. SEND and RECV are started when the stream reaches
 * them and go on in the background; COPY and REDUCE are done on the spot; WAIT(i) holds the stream
 * until action i is complete, FENCE until all earlier ones are. A dependency is therefore written
 * as a WAIT or a FENCE before the action that depends: issue in order, complete out of order.
 *
 * Spans are counted in blocks of named buffers, never in bytes, so that one plan serves every
 * datatype and (for a given number of blocks) every count. Nothing here knows MPI, and nothing
 * here makes a system call but malloc.
 *
 * Matching: messages between a pair of ranks match in the order in which both sides issue them
 * (one tag; the non-overtaking rule, MPI-4.1 section 3.5).
 */
#ifndef STRETTO_PLAN_H
#define STRETTO_PLAN_H

#include "plan/graph.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum {
    STRETTO_ALLREDUCE,
    STRETTO_BCAST,
    STRETTO_REDUCE,
    STRETTO_ALLGATHER,
    STRETTO_BARRIER,
    STRETTO_ALLTOALL,
    STRETTO_ALLTOALLV,
    STRETTO_GATHER,
    STRETTO_SCATTER,
    STRETTO_ALLGATHERV,
    STRETTO_GATHERV,
    STRETTO_SCATTERV,
    STRETTO_REDUCE_SCATTER_BLOCK,
    STRETTO_REDUCE_SCATTER,
    STRETTO_SCAN,
    STRETTO_EXSCAN,
    STRETTO_NEIGHBOR_ALLGATHER,
    STRETTO_NEIGHBOR_ALLGATHERV,
    STRETTO_NEIGHBOR_ALLTOALL,
    STRETTO_NEIGHBOR_ALLTOALLV,
    STRETTO_COLLECTIVES
} stretto_collective;

/* Lower-case name as used in choices, tables and on the command line ("allreduce"). */
const char *stretto_collective_name(stretto_collective collective);
/* The collective with that name, or STRETTO_COLLECTIVES when there is none. */
stretto_collective stretto_collective_parse(const char *name);
/* Does the call have a root; does it combine contributions by an operation; are IN and OUT vectors
 * that an algorithm may cut into blocks as it likes (allreduce, reduce, bcast, scan, exscan)? */
bool stretto_collective_rooted(stretto_collective collective);
bool stretto_collective_reduces(stretto_collective collective);
bool stretto_collective_vector(stretto_collective collective);
/* Is it a neighbourhood collective: blocks go along the edges of shape.graph? Has a rank one block
 * for all its neighbours (neighbor_allgather(v)), not one for each? */
bool stretto_collective_neighbor(stretto_collective collective);
bool stretto_collective_neighbor_gathers(stretto_collective collective);
/* Need a rank's blocks not lie side by side (alltoallv, gatherv, scatterv, neighbourhoods)? */
bool stretto_collective_apart(stretto_collective collective);

/* Where the ranks of a communicator live. Shared and immutable while a plan is built. */
typedef struct {
    int nranks;
    int nnodes;
    const int *node_of;  /* [nranks] node index 0..nnodes-1, nodes numbered by their lowest rank */
    const int *local_of; /* [nranks] position of the rank on its node, 0 is the leader */
    const int *node_start; /* [nnodes + 1] prefix sums into node_ranks */
    const int *node_ranks; /* [nranks] ranks grouped by node, ascending within a node */
    bool consecutive;      /* each node holds one run of consecutive ranks */
    const int *lane_ranks; /* as node_ranks, each node's in the order in which they become lanes;
                            * NULL: ascending */
} stretto_layout;

/* One call, as far as an algorithm may know it. */
typedef struct {
    stretto_collective collective;
    int rank, nranks;
    int root;         /* rooted collectives only, else 0 */
    int radix;        /* the algorithm's k; 0 = its default */
    int segments;     /* number of segments for pipelined algorithms, >= 1 */
    int window;       /* most messages in flight for windowed algorithms; 0 = unlimited */
    bool in_place;    /* IN is absent: this rank's contribution already lies in OUT */
    bool commutative; /* operation may be reordered */
    const stretto_layout *layout; /* NULL: unknown, treat as flat */
    const stretto_graph *graph;   /* neighbourhood collectives only */
} stretto_shape;

/* Named buffers. What they hold, by collective (P ranks):
 *   allreduce, reduce: IN = my vector, OUT = the result (reduce: on the root; elsewhere OUT exists
 *     as scratch of the same size, provided by the executor). Both are the same `vector_blocks`
 *     blocks; block b of n covers elements [b*count/n, (b+1)*count/n) (64-bit, floor).
 *   bcast: OUT = the user's buffer on every rank, `vector_blocks` blocks; IN unused.
 *   allgather: IN = 1 block (mine), OUT = P blocks, block r from rank r.
 *   allgatherv: as allgather, the blocks of any sizes (zero too), known on every rank.
 *   alltoall(v): IN = P blocks, block r for rank r; OUT = P blocks, block r from rank r. For
 *     alltoallv a rank knows the sizes of its own blocks only (of IN and of OUT); the others that
 *     its plan names in TMP (stretto_shape_pair) it is told first, see `carries`.
 *   gather(v): IN = 1 block (mine); OUT on the root = P blocks, elsewhere empty. For gatherv the
 *     root knows all sizes, the others their own, and those that their plans name in TMP are told
 *     first, see `carries`.
 *   scatter(v): IN on the root = P blocks, elsewhere empty; OUT = 1 block (mine); sizes as gather.
 *   reduce_scatter_block, reduce_scatter: IN = P blocks, OUT = 1 block (my share of the result);
 *     sizes of all blocks known on every rank, equal for reduce_scatter_block.
 *   scan, exscan: as reduce, every rank with the fold of ranks 0..rank (exscan: 0..rank-1; rank 0
 *     never writes its OUT, which need not exist, and in place must stay as it is).
 *   neighbor_allgather(v): IN = 1 block (mine); OUT = one block per in-slot of graph.
 *   neighbor_alltoall(v): IN = one block per out-slot, OUT = one per in-slot. In all four a rank
 *     knows the sizes of its own blocks only. Blocks of slots that lead nowhere are neither read
 * nor written. TMP names edges of the graph (neighbor_allgather(v): source ranks), and a rank that
 *     handles others' blocks is told their sizes: a message with an empty span tells its receiver
 *     those that the sender knows of all the messages between the two: of the sender's, blocks that
 *     come from the sender itself; of the receiver's, blocks that do not come from the receiver.
 *     These messages stand before all others (src/engine/call_neighbor.c).
 *   barrier: all empty; its messages carry empty spans.
 *   TMP: private scratch; block j has the size of the block named by tmp_shape[j].
 * Neighbouring blocks are adjacent in memory, so that a span of several is one message; for
 * allgatherv the executor sees to it (scratch and a copy where the displacements are others). For
 * alltoallv, gatherv, scatterv and neighbourhood collectives they need not be: there only spans in
 * TMP have several blocks.
 * With in_place (stretto_shape_in_place): allreduce, scan, exscan (every rank for itself) and
 * reduce (root) find their contribution in OUT; allgather(v) and gather(v) (root) in OUT block
 * `rank`; alltoall(v) in OUT block r; IN must then not be touched; begin with stretto_plan_load,
 * which hides the difference. scatter(v) on the root: OUT is empty, its own block stays in IN.
 * reduce_scatter(_block): plans do not know; IN is the caller's buffer, OUT scratch of the
 * executor's, which it copies to the front of that buffer at the end. */
typedef enum { STRETTO_IN, STRETTO_OUT, STRETTO_TMP } stretto_buffer;

/* Does this rank find its contribution in OUT (scatter: is its share left in IN)? */
bool stretto_shape_in_place(const stretto_shape *shape);

typedef struct {
    stretto_buffer buffer;
    int first, count; /* blocks; count 0 = empty span */
} stretto_span;

static inline stretto_span stretto_span_of(stretto_buffer buffer, int first, int count) {
    return (stretto_span){buffer, first, count};
}

typedef enum {
    STRETTO_SEND,         /* src -> peer */
    STRETTO_RECV,         /* peer -> dst */
    STRETTO_COPY,         /* dst = src, local */
    STRETTO_REDUCE_LOCAL, /* dst = src op dst (SRC_LEFT) or dst = dst op src (SRC_RIGHT); the
                       executor may destroy src, which must be in TMP */
    STRETTO_WAIT,         /* peer = index of the action that must be complete */
    STRETTO_FENCE,        /* all earlier actions must be complete. A finished plan ends with nothing
                             under way: each message is covered by a WAIT or a FENCE */
    /* Node actions: every rank of this rank's node issues the same one at the same point among its
     * node actions. peer = local index (position on the node) of the root where there is one
     * (stretto_action_rooted). The counts are of blocks, the same on all ranks of the node, and so
     * are the blocks' sizes, but the blocks of a run may differ in size (each rank knows them from
     * its own spans). Gather's root and allgather may have src at its place in dst, scatter's root
     * dst at its place in src. Where blocks need not be adjacent (see stretto_buffer) the executor
     * gives the node each block's place; alltoallv's sizes are known to the two ranks concerned.
     * Messages may be under way meanwhile: waiting for the node drives the MPI. */
    STRETTO_NODE_BARRIER,
    STRETTO_NODE_BCAST,     /* dst on every rank = dst of local root */
    STRETTO_NODE_REDUCE,    /* dst of local root = src_0 op src_1 op ... in local order; src may
                               equal dst on the root */
    STRETTO_NODE_ALLREDUCE, /* dst on every rank, same order on all; src may equal dst */
    STRETTO_NODE_ALLGATHER, /* dst blocks on every rank = src of local 0, 1, ...; dst.count =
                               nlocal * src.count */
    STRETTO_NODE_GATHER,    /* the same at the local root only; elsewhere dst is empty */
    STRETTO_NODE_SCATTER,   /* dst of local rank l = blocks l * dst.count and on of the local root's
                               src, which is empty elsewhere; the root's dst may be empty: its share
                               stays where it is */
    STRETTO_NODE_ALLTOALL,  /* src and dst of nlocal * c blocks; run l of src goes to local rank l,
                               which has it as its run `me`; src may equal dst */
    STRETTO_NODE_REDUCE_SCATTER, /* src of nlocal * dst.count blocks; dst of local rank l = the
                                    reduction in local order of run l; src and dst are apart */
    STRETTO_NODE_SCAN,   /* dst = src_0 op ... op src_l on local rank l; src may equal dst */
    STRETTO_NODE_EXSCAN, /* dst = src_0 op ... op src_l-1; local rank 0 has no dst; src may equal
                            dst */
    STRETTO_ACTION_KINDS
} stretto_action_kind;

typedef enum { STRETTO_SRC_LEFT, STRETTO_SRC_RIGHT } stretto_side;

typedef struct {
    stretto_action_kind kind;
    stretto_side side; /* REDUCE_LOCAL only */
    int peer;
    int round; /* for people and pictures: calls of stretto_plan_fence before this action */
    stretto_span src, dst;
} stretto_action;

/* tmp_shape values that name no single block. A LARGEST block stands alone in its span; a message
 * received into it may be shorter, and a COPY or REDUCE between it and a named block has the size
 * of the named block. It is never sent, except where all blocks of the call are equal. */
#define STRETTO_SHAPE_LARGEST (-1) /* as large as the largest block of the call */
/* Alltoallv, plans that carry: the block that `source` has for `target`. Such a TMP block is
 * written at least once. Ranks: at most STRETTO_PAIRS_MOST. */
enum { STRETTO_PAIRS_MOST = 46000 };
static inline int stretto_shape_pair(const stretto_shape *shape, int source, int target) {
    return shape->nranks + source * shape->nranks + target;
}

/* A piece of TMP that recv_reduce uses over and over (builder's own). Its blocks have the shapes
 * like, like + 1, ..., or where like_tmp >= 0 those of the TMP blocks from there on. */
typedef struct {
    int first, count;
    int like, like_tmp;
    int next; /* free: number of the next free piece + 1; 0: none */
} stretto_scratch;

typedef struct {
    stretto_shape shape;
    int vector_blocks; /* blocks that IN and OUT of a vector collective are cut into */
    int tmp_blocks;
    int *tmp_shape; /* [tmp_blocks] block of the call, or STRETTO_SHAPE_LARGEST */
    int nactions;
    stretto_action *actions; /* [nactions] */
    bool failed;             /* out of memory while building; stretto_plan_build reports it */
    /* Blocks of other ranks pass through (alltoallv, gatherv, scatterv: the row says
     * STRETTO_CARRIES, or for the latter two it is shm+X; the same on all ranks). Their sizes are
     * learned by carrying the same plan out twice: first on the sizes, as one number a block, and
     * what TMP holds then are the sizes of its blocks; then on the data. Node actions in gatherv
     * and scatterv only. */
    bool carries;
    /* The builder's own; gone after stretto_plan_finish. */
    int capacity, tmp_capacity, round;
    int first_pending, npending, pending_capacity;
    stretto_action *pending; /* messages under way (peer = index of their action), in issue order,
                                from first_pending on; kind REDUCE where a reduction is to follow,
                                round = its scratch */
    int nscratch, scratch_capacity, free_scratch; /* free_scratch: as `next`, the last freed */
    stretto_scratch *scratch;
} stretto_plan;

/* ---- building (called by the algorithm files) ------------------------------------------------ */

/* Begins an empty plan for this shape (a vector is 1 block). stretto_plan_build calls it and
 * stretto_plan_finish around the algorithm. */
void stretto_plan_init(stretto_plan *plan, const stretto_shape *shape);
/* Ends building: fences what is under way and frees the builder's own memory. */
void stretto_plan_finish(stretto_plan *plan);
/* Number of blocks of IN and OUT (also valid on a finished plan). */
int stretto_plan_blocks_of(const stretto_plan *plan, stretto_buffer buffer);
/* Number of blocks that tmp_shape may name: of the vector; else one a rank (allgather, gather,
 * scatter, reduce_scatter, neighbor_allgather(v): rank r's share; alltoallv: OUT block r), or one
 * an edge of the graph (neighbor_alltoall(v); LARGEST is not known to any). For gatherv and
 * scatterv a rank other than the root may name its own only, unless the plan carries; none may name
 * LARGEST. */
int stretto_plan_call_blocks(const stretto_plan *plan);
/* Where blocks [first, first + count) of this rank's contribution to a vector collective lie before
 * stretto_plan_load: in IN, or in OUT with in_place. Saves a rank that only sends them the copy. */
stretto_span stretto_plan_mine(const stretto_plan *plan, int first, int count);
/* Cuts the vector into n blocks (default 1). Call before any span of a vector buffer is used. */
void stretto_plan_blocks(stretto_plan *plan, int n);
/* Reserves one TMP block of the size of the call's block `shape` (or LARGEST); returns its index.
 * Blocks reserved one after another are adjacent and may be used as one span. */
int stretto_plan_tmp(stretto_plan *plan, int shape);
/* The same for n blocks, of the sizes of the blocks shape, shape + step, ...; the first's index. */
int stretto_plan_tmp_run(stretto_plan *plan, int shape, int n, int step);
/* Brings this rank's contribution into OUT: a COPY of the whole of IN to its place (scatter,
 * alltoall, reduce_scatter: of my block for myself), or nothing when in_place. */
void stretto_plan_load(stretto_plan *plan);
/* Each returns the index of its action, for stretto_plan_wait. */
int stretto_plan_send(stretto_plan *plan, int peer, stretto_span src);
int stretto_plan_recv(stretto_plan *plan, int peer, stretto_span dst);
/* Receives into TMP and, at the next wait on the returned action or the next fence, reduces into
 * dst with the given operand side; several reductions at a fence run in the order of the calls.
 * The TMP is taken again by later calls once it has been reduced. */
int stretto_plan_recv_reduce(stretto_plan *plan, int peer, stretto_span dst, stretto_side side);
void stretto_plan_copy(stretto_plan *plan, stretto_span src, stretto_span dst);
void stretto_plan_reduce(stretto_plan *plan, stretto_span src, stretto_span dst, stretto_side side);
/* Waits for the oldest messages until at most so many are under way (below 0: no limit). */
void stretto_plan_limit(stretto_plan *plan, int messages);
/* A wait or fence that would cover nothing is left out of the plan. */
void stretto_plan_wait(stretto_plan *plan, int action);
void stretto_plan_fence(stretto_plan *plan); /* also ends the round */
void stretto_plan_node(stretto_plan *plan, stretto_action_kind kind, int local_root,
                       stretto_span src, stretto_span dst);

/* Appends an action as it is, index returned (compositions; algorithms use the calls above). */
int stretto_plan_append(stretto_plan *plan, const stretto_action *action);

/* Frees what the plan owns (not the struct). Safe on a zeroed plan and twice. */
void stretto_plan_free(stretto_plan *plan);
/* Readable text, one action a line, for `stretto plan show`; malloc'd, NULL when out of memory. */
char *stretto_plan_text(const stretto_plan *plan);
/* Lower-case name of an action ("send", "node_bcast"). */
const char *stretto_action_name(stretto_action_kind kind);
/* Is it a node action with a local root? */
bool stretto_action_rooted(stretto_action_kind kind);

#endif
