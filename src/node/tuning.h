/* Every number that can be tuned in the node phases, in one place. All are the same on all ranks of
 * a job (they are compiled in), so that ranks always agree on which path a call takes. To try
 * another value: -DSTRETTO_NODE_X=value (bench/README.md).
 */
#ifndef STRETTO_NODE_TUNING_H
#define STRETTO_NODE_TUNING_H

/* ---- small messages ---------------------------------------------------------------------------
 */

/* Ranks that read one another's lines directly; with more ranks a tree of such groups. */
#ifndef STRETTO_NODE_FAN
#define STRETTO_NODE_FAN 8
#endif
/* Calls that a root may run ahead of its readers: messages of one line, and longer ones. */
#ifndef STRETTO_NODE_TINY_RING
#define STRETTO_NODE_TINY_RING 16
#endif
#ifndef STRETTO_NODE_SMALL_RING
#define STRETTO_NODE_SMALL_RING 8
#endif
/* Lines of the longest small message: 74 * 56 = 4144 bytes. */
#ifndef STRETTO_NODE_SMALL_LINES
#define STRETTO_NODE_SMALL_LINES 74
#endif

/* ---- large messages through the shared buffers ------------------------------------------------
 */

/* Shared buffer of one rank, in bytes. */
#ifndef STRETTO_NODE_CHUNK_AREA
#define STRETTO_NODE_CHUNK_AREA (256 * 1024)
#endif
/* Transferred at a time: in bcast and allgather, and in reductions with few ranks. */
#ifndef STRETTO_NODE_BCAST_CHUNK
#define STRETTO_NODE_BCAST_CHUNK (16 * 1024)
#endif
#ifndef STRETTO_NODE_REDUCE_CHUNK
#define STRETTO_NODE_REDUCE_CHUNK (16 * 1024)
#endif
/* Up to so many ranks the root of a reduce folds alone, and everybody folds everything in an
 * allreduce (FOLD_ALL <= FOLD_RANKS). */
#ifndef STRETTO_NODE_FOLD_RANKS
#define STRETTO_NODE_FOLD_RANKS 3
#endif
#ifndef STRETTO_NODE_FOLD_ALL
#define STRETTO_NODE_FOLD_ALL 2
#endif
/* With more: the segment that all ranks fold together, and the least share of a rank in it. */
#ifndef STRETTO_NODE_SEGMENT
#define STRETTO_NODE_SEGMENT (32 * 1024)
#endif
#ifndef STRETTO_NODE_SHARE
#define STRETTO_NODE_SHARE 4096
#endif
/* Segments under way; the reuse argument in chunk.c is for 3. */
#define STRETTO_NODE_DEPTH 3
/* Pieces of so many bytes are written past the caches (x86-64). Zen 4: ordinary stores win below.
 */
#ifndef STRETTO_NODE_STREAM
#define STRETTO_NODE_STREAM 12288
#endif

/* ---- large messages copied directly (CMA), where that works: from so many bytes on -------------
 */

#ifndef STRETTO_NODE_DIRECT_BCAST
#define STRETTO_NODE_DIRECT_BCAST (96 * 1024)
#endif
/* bcast: up to so many ranks; with more, the shared buffers were twice as fast. */
#ifndef STRETTO_NODE_DIRECT_BCAST_RANKS
#define STRETTO_NODE_DIRECT_BCAST_RANKS 2
#endif
#ifndef STRETTO_NODE_DIRECT_ALLREDUCE
#define STRETTO_NODE_DIRECT_ALLREDUCE (4 * 1024 * 1024)
#endif
#ifndef STRETTO_NODE_DIRECT_ALLGATHER /* of a block */
#define STRETTO_NODE_DIRECT_ALLGATHER (512 * 1024)
#endif
/* Copied at a time; progress is called in between. */
#ifndef STRETTO_NODE_DIRECT_PIECE
#define STRETTO_NODE_DIRECT_PIECE (64 * 1024)
#endif

/* ---- waiting ------------------------------------------------------------------------------------
 */

/* Polls between two calls of the MPI's progress once `spins` are used up. */
#ifndef STRETTO_NODE_POLLS
#define STRETTO_NODE_POLLS 16
#endif

#endif
