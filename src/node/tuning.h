/* Every number that can be tuned in the node phases, in one place. All are the same on all ranks of
 * a job (they are compiled in), so that ranks always agree on which path a call takes.
 * bench/README.md tells how to measure them with bench/node_bench.c.
 */
#ifndef STRETTO_NODE_TUNING_H
#define STRETTO_NODE_TUNING_H

/* Small messages. */
#define STRETTO_NODE_FAN 8          /* ranks that read one another's lines directly; more: a tree */
#define STRETTO_NODE_TINY_RING 16   /* calls that a root may run ahead, messages of one line */
#define STRETTO_NODE_SMALL_RING 8   /* the same for longer ones */
#define STRETTO_NODE_SMALL_LINES 74 /* longest small message: 74 * 56 = 4144 bytes */

/* Large messages through shared buffers. */
#define STRETTO_NODE_CHUNK_AREA (256 * 1024)  /* shared buffer of one rank */
#define STRETTO_NODE_BCAST_CHUNK (16 * 1024)  /* bcast, allgather: transferred at a time */
#define STRETTO_NODE_REDUCE_CHUNK (16 * 1024) /* reduce with few ranks */
#define STRETTO_NODE_FOLD_RANKS 3             /* so few that the root of a reduce folds alone */
#define STRETTO_NODE_FOLD_ALL                                                                      \
    2 /* so few that everybody folds everything in an allreduce; <= FOLD_RANKS */
#define STRETTO_NODE_SEGMENT (32 * 1024) /* reductions: cut into so large segments, all shares */
#define STRETTO_NODE_SHARE 4096          /* but a share of a rank is at least this if it fits */
#define STRETTO_NODE_DEPTH 3             /* segments under way in the reductions */
#define STRETTO_NODE_STREAM                                                                        \
    2048 /* shared buffers are written past the caches from this size on                           \
          */

/* Large messages copied directly (CMA), where that works: from so many bytes on. */
#define STRETTO_NODE_DIRECT_BCAST (96 * 1024)
#define STRETTO_NODE_DIRECT_ALLREDUCE (512 * 1024)
#define STRETTO_NODE_DIRECT_ALLGATHER (32 * 1024) /* of a block */
#define STRETTO_NODE_DIRECT_PIECE                                                                  \
    (64 * 1024) /* at a time: half of a cache, and progress between                                \
                 */

/* How long to poll between two calls of the MPI's progress once `spins` are used up. */
#define STRETTO_NODE_POLLS 16

#endif
