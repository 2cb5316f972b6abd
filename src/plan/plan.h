/* The plan: the program that one rank executes for one collective call.
 *
 * A plan is a stream of actions, issued in order. SEND and RECV start when the stream reaches them
 * and complete in the background. COPY and REDUCE complete immediately. WAIT(i) blocks the stream
 * until action i is complete, FENCE until all earlier actions are. So a WAIT or FENCE must precede
 * every action that depends on an earlier one.
 *
 * Spans are counted in blocks of named buffers, never in bytes, so that one plan serves every
 * datatype and (for a given number of blocks) every count. This code does not use MPI, and no
 * system call except malloc.
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
/* Does the call have a root? Does it combine contributions by an operation? Are IN and OUT vectors
 * that an algorithm may cut into any blocks (allreduce, reduce, bcast, scan, exscan)? */
bool stretto_collective_rooted(stretto_collective collective);
bool stretto_collective_reduces(stretto_collective collective);
bool stretto_collective_vector(stretto_collective collective);
/* Is it a neighbourhood collective, whose blocks move along the edges of shape.graph? Does a rank
 * have one block for all its neighbours (neighbor_allgather(v)), not one for each? */
bool stretto_collective_neighbor(stretto_collective collective);
bool stretto_collective_neighbor_gathers(stretto_collective collective);
/* May the blocks of a rank be apart in memory (alltoallv, gatherv, scatterv, neighbourhoods)? */
bool stretto_collective_apart(stretto_collective collective);

/* The nodes of the ranks of a communicator. Shared and immutable while a plan is built. */
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

/* The facts about one call that an algorithm may use. */
typedef struct {
    stretto_collective collective;
    int rank, nranks;
    int root;         /* rooted collectives only, else 0 */
    int radix;        /* the algorithm's k; 0 = its default */
    int segments;     /* number of segments for pipelined algorithms, >= 1 */
    int window;       /* most messages in flight for windowed algorithms; 0 = unlimited */
    bool in_place;    /* IN is absent: the contribution of this rank is already in OUT */
    bool commutative; /* operation may be reordered */
    const stretto_layout *layout; /* NULL: unknown, treat as flat */
    const stretto_graph *graph;   /* neighbourhood collectives only */
} stretto_shape;

/* Named buffers and their content, by collective (P ranks):
 *   allreduce, reduce: IN = my vector, OUT = the result (reduce: on the root; elsewhere OUT exists
 *     as scratch of the same size, provided by the executor). Both are the same `vector_blocks`
 *     blocks; block b of n covers elements [b*count/n, (b+1)*count/n) (64-bit, floor).
 *   bcast: OUT = the user's buffer on every rank, `vector_blocks` blocks; IN unused.
 *   allgather: IN = 1 block (mine), OUT = P blocks, block r from rank r.
 *   allgatherv: as allgather, the blocks of any sizes (zero too), known on every rank.
 *   alltoall(v): IN = P blocks, block r for rank r; OUT = P blocks, block r from rank r. For
 *     alltoallv a rank knows only the sizes of its own blocks (of IN and of OUT). The sizes of
 * other blocks that its plan names in TMP (stretto_shape_pair) are exchanged first, see `carries`.
 *   gather(v): IN = 1 block (mine); OUT on the root = P blocks, elsewhere empty. For gatherv the
 *     root knows all sizes, each other rank only its own. Sizes of other blocks that a plan names
 *     in TMP are exchanged first, see `carries`.
 *   scatter(v): IN on the root = P blocks, elsewhere empty; OUT = 1 block (mine); sizes as gather.
 *   reduce_scatter_block, reduce_scatter: IN = P blocks, OUT = 1 block (my share of the result);
 *     sizes of all blocks known on every rank, equal for reduce_scatter_block.
 *   scan, exscan: as reduce; every rank has the reduction of ranks 0..rank (exscan: 0..rank-1; rank
 *     0 never writes its OUT, which need not exist and stays unchanged in place).
 *   neighbor_allgather(v): IN = 1 block (mine); OUT = one block per in-slot of graph.
 *   neighbor_alltoall(v): IN = one block per out-slot, OUT = one per in-slot.
 *     In all four neighbourhood collectives a rank knows only the sizes of its own blocks. Blocks
 *     of slots without a neighbour are neither read nor written. TMP names edges of the graph
 *     (neighbor_allgather(v): source ranks). A rank that forwards blocks of other ranks receives
 *     their sizes first: a message with an empty span sends the sizes that the sender knows of all
 *     messages between the two ranks. Of the sender's messages these are the blocks that come from
 *     the sender itself, of the receiver's messages those that do not come from the receiver. These
 *     messages precede all others (src/engine/call_neighbor.c).
 *   barrier: all empty; its messages have empty spans.
 *   TMP: private scratch; block j has the size of the block named by tmp_shape[j].
 * Neighbouring blocks are adjacent in memory, so that a span of several blocks is one message. For
 * allgatherv the executor ensures this (by scratch and a copy, if the displacements differ). For
 * alltoallv, gatherv, scatterv and neighbourhood collectives blocks may be apart: there, only spans
 * in TMP have several blocks.
 * With in_place (stretto_shape_in_place), the contribution is in OUT for allreduce, scan, exscan
 * (on every rank that passes it) and reduce (root); in OUT block `rank` for allgather(v) and
 * gather(v) (root); in OUT block r for alltoall(v). IN must then not be used. Begin with
 * stretto_plan_load, which hides the difference. scatter(v) on the root: OUT is empty, its own
 * block stays in IN. reduce_scatter(_block): plans do not see the difference; IN is the caller's
 * buffer, OUT is scratch that the executor copies to the front of that buffer at the end. */
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
    STRETTO_FENCE, /* all earlier actions must be complete. At the end of a plan no message is
                      in flight: each one is covered by a WAIT or a FENCE */
    /* Node actions: all ranks of a node issue the same node actions in the same order. peer = local
     * index (position on the node) of the root, if there is one (stretto_action_rooted). Counts are
     * in blocks. Counts and block sizes are equal on all ranks of the node, but the blocks of a run
     * may differ in size (each rank knows them from its own spans). src may be at its place in dst
     * for allgather and the root of gather; dst may be at its place in src for the root of scatter.
     * If blocks may be apart (see stretto_buffer), the executor passes the position of each block
     * to the node phase; for alltoallv only the two ranks concerned know a size. Messages may be in
     * flight meanwhile: waiting for the node drives the progress of the MPI. */
    STRETTO_NODE_BARRIER,
    STRETTO_NODE_BCAST,     /* dst on every rank = dst of local root */
    STRETTO_NODE_REDUCE,    /* dst of local root = src_0 op src_1 op ... in local order; src may
                               equal dst on the root */
    STRETTO_NODE_ALLREDUCE, /* dst on every rank, same order on all; src may equal dst */
    STRETTO_NODE_ALLGATHER, /* dst blocks on every rank = src of local 0, 1, ...; dst.count =
                               nlocal * src.count */
    STRETTO_NODE_GATHER,    /* the same at the local root only; elsewhere dst is empty */
    STRETTO_NODE_SCATTER,   /* dst of local rank l = dst.count blocks of the local root's src, from
                               block l * dst.count on; src is empty elsewhere. The root's dst may be
                               empty: its share then stays in src */
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
    int round; /* for texts and pictures: number of stretto_plan_fence calls before this action */
    stretto_span src, dst;
} stretto_action;

/* tmp_shape values that do not name a single block. A LARGEST block is alone in its span. A message
 * received into it may be shorter. A COPY or REDUCE between it and a named block has the size of
 * the named block. It is never sent, unless all blocks of the call are equal. */
#define STRETTO_SHAPE_LARGEST (-1) /* as large as the largest block of the call */
/* For alltoallv plans with `carries`: the block that `source` has for `target`. Such a TMP block is
 * written at least once. At most STRETTO_PAIRS_MOST ranks. */
enum { STRETTO_PAIRS_MOST = 46000 };
static inline int stretto_shape_pair(const stretto_shape *shape, int source, int target) {
    return shape->nranks + source * shape->nranks + target;
}

/* A piece of TMP that recv_reduce reuses (private to the builder). Its blocks have the shapes like,
 * like + 1, ...; if like_tmp >= 0, those of the TMP blocks from like_tmp on. */
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
    /* Store-and-forward: this rank forwards blocks of other ranks (alltoallv, gatherv, scatterv
     * whose row has STRETTO_CARRIES; gatherv and scatterv also with shm+X; equal on all ranks).
     * The plan is executed twice. The first execution moves the sizes, one number per block, so
     * that TMP then contains the sizes of its blocks. The second moves the data. Node actions are
     * possible in gatherv and scatterv only. */
    bool carries;
    /* Private to the builder; freed by stretto_plan_finish. */
    int capacity, tmp_capacity, round;
    int first_pending, npending, pending_capacity;
    stretto_action *pending; /* messages in flight (peer = index of their action), in issue order,
                                from first_pending on; kind REDUCE if a reduction follows, round =
                                its scratch */
    int nscratch, scratch_capacity, free_scratch; /* free_scratch: as `next`, the last freed */
    stretto_scratch *scratch;
} stretto_plan;

/* ---- building (called by the algorithm files) ------------------------------------------------ */

/* Begins an empty plan for this shape (a vector is 1 block). stretto_plan_build calls this before
 * the algorithm and stretto_plan_finish after it. */
void stretto_plan_init(stretto_plan *plan, const stretto_shape *shape);
/* Ends building: adds a fence for messages in flight and frees the memory of the builder. */
void stretto_plan_finish(stretto_plan *plan);
/* Number of blocks of IN and OUT (also valid on a finished plan). */
int stretto_plan_blocks_of(const stretto_plan *plan, stretto_buffer buffer);
/* Number of blocks that tmp_shape may name: those of the vector; or one per rank (allgather,
 * gather, scatter, reduce_scatter, neighbor_allgather(v): the share of rank r; alltoallv: OUT block
 * r); or one per edge of the graph (neighbor_alltoall(v), without LARGEST). For gatherv and
 * scatterv, a rank other than the root may name only its own block, unless the plan has `carries`;
 * no rank may name LARGEST. */
int stretto_plan_call_blocks(const stretto_plan *plan);
/* The location of blocks [first, first + count) of this rank's contribution to a vector collective
 * before stretto_plan_load: IN, or OUT with in_place. A rank that only sends them needs no copy. */
stretto_span stretto_plan_mine(const stretto_plan *plan, int first, int count);
/* Cuts the vector into n blocks (default 1). Call before any span of a vector buffer is used. */
void stretto_plan_blocks(stretto_plan *plan, int n);
/* Reserves one TMP block of the size of the call's block `shape` (or LARGEST); returns its index.
 * Blocks reserved one after another are adjacent and may be used as one span. */
int stretto_plan_tmp(stretto_plan *plan, int shape);
/* The same for n blocks with the sizes of blocks shape, shape + step, ...; returns the first index.
 */
int stretto_plan_tmp_run(stretto_plan *plan, int shape, int n, int step);
/* Brings this rank's contribution into OUT: by a COPY of IN to its place (scatter, alltoall,
 * reduce_scatter: of this rank's block for itself). With in_place, does nothing. */
void stretto_plan_load(stretto_plan *plan);
/* Each returns the index of its action, for stretto_plan_wait. */
int stretto_plan_send(stretto_plan *plan, int peer, stretto_span src);
int stretto_plan_recv(stretto_plan *plan, int peer, stretto_span dst);
/* Receives into TMP. At the next wait on the returned action, or the next fence, reduces it into
 * dst with the given operand side. Several reductions at a fence run in the order of the calls.
 * Later calls reuse the TMP after the reduction. */
int stretto_plan_recv_reduce(stretto_plan *plan, int peer, stretto_span dst, stretto_side side);
void stretto_plan_copy(stretto_plan *plan, stretto_span src, stretto_span dst);
void stretto_plan_reduce(stretto_plan *plan, stretto_span src, stretto_span dst, stretto_side side);
/* Waits for the oldest messages until at most `messages` are in flight (below 0: no limit). */
void stretto_plan_limit(stretto_plan *plan, int messages);
/* A wait or fence without an incomplete action is left out of the plan. */
void stretto_plan_wait(stretto_plan *plan, int action);
void stretto_plan_fence(stretto_plan *plan); /* also ends the round */
void stretto_plan_node(stretto_plan *plan, stretto_action_kind kind, int local_root,
                       stretto_span src, stretto_span dst);

/* Appends an action unchanged, for compositions (algorithms use the calls above); returns its
 * index. */
int stretto_plan_append(stretto_plan *plan, const stretto_action *action);

/* Frees what the plan owns (not the struct). Safe on a zeroed plan and twice. */
void stretto_plan_free(stretto_plan *plan);
/* Text for `stretto plan show`, one action per line; malloc'd, NULL when out of memory. */
char *stretto_plan_text(const stretto_plan *plan);
/* Lower-case name of an action ("send", "node_bcast"). */
const char *stretto_action_name(stretto_action_kind kind);
/* Is it a node action with a local root? */
bool stretto_action_rooted(stretto_action_kind kind);

#endif
