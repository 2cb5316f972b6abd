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
#ifndef STRETTO_NODE_TINY_RING /* a power of two */
#define STRETTO_NODE_TINY_RING 64
#endif
/* The same of a group in a short piece, which is to be small: 2.6 KiB a rank with 8, 4.6 with 16,
 * 16.6 with 64. */
#ifndef STRETTO_NODE_SHORT_RING /* a power of two */
#define STRETTO_NODE_SHORT_RING 8
#endif
#ifndef STRETTO_NODE_SMALL_RING
#define STRETTO_NODE_SMALL_RING 8
#endif
/* Lines of the longest small message: 74 * 56 = 4144 bytes. */
#ifndef STRETTO_NODE_SMALL_LINES
#define STRETTO_NODE_SMALL_LINES 74
#endif

/* The same up to FOLD_RANKS ranks in a group with a large ring: 1064 bytes. Beyond, whole chunks
 * are quicker than a sequence number for each line (Zen 4, 4 KiB: 0.35 against 0.74 us). */
#ifndef STRETTO_NODE_SMALL_LINES_FEW
#define STRETTO_NODE_SMALL_LINES_FEW 19
#endif

/* Who has written so many bytes in lines asks for the lines of its next message as well, which
 * their readers still hold. Zen 3, 2 ranks that come at the same time or up to 2 us apart, near and
 * far: allgather of 1 KiB 340 -> 250 ns, of 768 B 280 -> 210, of 512 B 200 -> 180; 384 B the same
 * or 14 % less. Shorter ones are the same near, and where they come apart up to a fifth longer far:
 * who waits has taken the line back before it is written. */
#ifndef STRETTO_NODE_OWN
#define STRETTO_NODE_OWN 384
#endif

/* Where ranks lie in several domains: groups of more ranks pass small messages domain by domain.
 * Up to FAN ranks the flat way is one hop, in which each rank reads at most FAN - 1 lines at the
 * same time; by domain it is three, one after another. By the model's figures
 * (docs/explanation/model.md: near 60 ns, far 150, each further line 20) that is 290 against 350 ns
 * for 2 x 4 ranks. Not measured on a machine with several domains. Long messages, where bytes
 * count, go by domain in any group. */
#ifndef STRETTO_NODE_DOMAIN_RANKS
#define STRETTO_NODE_DOMAIN_RANKS STRETTO_NODE_FAN
#endif

/* ---- large messages through the shared buffers ------------------------------------------------
 */

/* Shared buffer of one rank, in bytes, and in L2 caches of a core (512 KiB on Zen 3, 1 MiB on Zen 4
 * and Graviton 3, 2 MiB on Sapphire Rapids): the smaller of the two. A line that is written again
 * while it still lies in a reader's cache costs 6 to 27 ns, one that has left it 1 to 3, so the
 * ring should be larger than L2. But what it takes of L3 the application loses, and where that has
 * used L3 between two calls, the ring comes from memory. Zen 3, 2 ranks, an L3 that a neighbour
 * used, native calls in between, 1 MiB against 2: allgather of 1 MiB 118 against 149 us, alltoall
 * of 64 KiB 6.7 against 10.5; back to back they are alike, and with 512 KiB short messages take
 * longer. A group that gets only the modest size writes past the caches instead (STREAM). */
#ifndef STRETTO_NODE_AREA
#define STRETTO_NODE_AREA (2 * 1024 * 1024)
#endif
#ifndef STRETTO_NODE_AREA_LEVEL2
#define STRETTO_NODE_AREA_LEVEL2 2
#endif
#ifndef STRETTO_NODE_AREA_ALL /* of all ranks of the group together, unless that is too modest */
#define STRETTO_NODE_AREA_ALL (16 * 1024 * 1024)
#endif
#ifndef STRETTO_NODE_AREA_MODEST
#define STRETTO_NODE_AREA_MODEST (256 * 1024)
#endif
/* Transferred at a time; twice as much in bcast, allgather, gather, scatter and a reduce of few
 * ranks from LONG bytes on (Zen 5, far, us with 16 and with 32 KiB: bcast of 64 KiB 3.0 and 3.4, of
 * 1 MiB 37.9 and 32.8; reduce of 1 MiB 37.3 and 34.9; near alike. Why is not known;
 * what it is not: node-limits.md). */
#ifndef STRETTO_NODE_CHUNK
#define STRETTO_NODE_CHUNK (16 * 1024)
#endif
#ifndef STRETTO_NODE_LONG
#define STRETTO_NODE_LONG (16 * STRETTO_NODE_CHUNK)
#endif
/* In alltoall and alltoallv: what a rank writes before it reads, for all others together, as long
 * as each gets a CHUNK. Changing from one to the other costs more than reading sooner gains
 * (Zen 3, 2 ranks, near and far alike: alltoall of 64 KiB and 1 MiB take 0.94 and 0.86 of the time
 * with 16 KiB; allgather of 64 KiB takes 1.1 times as long, gather 1.26). */
#ifndef STRETTO_NODE_STEP
#define STRETTO_NODE_STEP (64 * 1024)
#endif
/* Up to so many ranks the root of a reduce folds alone. */
#ifndef STRETTO_NODE_FOLD_RANKS
#define STRETTO_NODE_FOLD_RANKS 3
#endif
/* Two ranks both fold the whole vector in an allreduce of up to so many bytes, at most a
 * PAIR_CHUNK; beyond, each folds half (Zen 4, near and far: 16 KiB alike, 8 KiB 0.64 and 1.2 us
 * against 0.96 and 2.1; 64 KiB 5.35 and 9.3 against 5.26 and 8.2). */
#ifndef STRETTO_NODE_FOLD_ALL_BYTES
#define STRETTO_NODE_FOLD_ALL_BYTES (16 * 1024)
#endif
/* With more: the segment that all ranks fold together, and the least share of a rank in it. */
#ifndef STRETTO_NODE_SEGMENT
#define STRETTO_NODE_SEGMENT (128 * 1024)
#endif
#ifndef STRETTO_NODE_SHARE
#define STRETTO_NODE_SHARE 4096
#endif
/* Least number of segments that have a place of their own; the reuse argument in chunk.c is for 3.
 */
#define STRETTO_NODE_DEPTH 3
/* Bytes of each ring that two ranks write by turns (pair.c): both rings and the messages should
 * stay in L2. */
#ifndef STRETTO_NODE_PAIR
#define STRETTO_NODE_PAIR (256 * 1024)
#endif
#ifndef STRETTO_NODE_PAIR_CHUNK /* a ring and STRETTO_NODE_PAIR hold at least 4 RUN of them */
#define STRETTO_NODE_PAIR_CHUNK (16 * 1024)
#endif
/* Chunks that are copied at once where copies follow one another by the string instruction: it
 * reads long runs from a far core faster (Zen 5, far, allgather of 64 KiB: 1 chunk 4.1 us, 2 3.6,
 * 4 3.35).
 */
#ifndef STRETTO_NODE_PAIR_RUN
#define STRETTO_NODE_PAIR_RUN 4
#endif
/* What is read or written twice is cut so that it stays in the nearest cache meanwhile (Zen 5,
 * near: allgather of 64 KiB 2.26 -> 2.10 us, allreduce of 1 MiB 39.3 -> 37.5). */
#ifndef STRETTO_NODE_NEAREST
#define STRETTO_NODE_NEAREST (32 * 1024)
#endif
/* Copied by one memcpy on x86-64 (copy.h): less than any glibc's threshold, 2048 and more, and a
 * multiple of a line. Copies from MOST bytes on are one memcpy whatever their length. */
#ifndef STRETTO_NODE_COPY_PIECE
#define STRETTO_NODE_COPY_PIECE 1984
#endif
#ifndef STRETTO_NODE_COPY_MOST
#define STRETTO_NODE_COPY_MOST (1024 * 1024)
#endif
/* Copied in turn where two copies go on at once (copy.h). Zen 3, alltoall of 64 KiB on 2 ranks:
 * 0.89 of the time; 256 to 512 alike, 1024 and more less gain. */
#ifndef STRETTO_NODE_COPY_TURN
#define STRETTO_NODE_COPY_TURN 512
#endif
/* ... and where three do. Zen 3, allgather on 2 ranks, near: 64 KiB and 1 MiB take 0.90 and 0.86 of
 * the time; 512 alike or a little dearer, 192 at times and 128 always dearer than two. */
#ifndef STRETTO_NODE_COPY_TURN_THREE
#define STRETTO_NODE_COPY_TURN_THREE 256
#endif
/* Bytes ahead of a copy from another core's ring at which its lines are asked for. memcpy loads the
 * end of a piece before its middle, which stops the processor's own prefetching. Zen 3, one core
 * reads 64 KiB that another has written: far 6.8 -> 10 to 13 GB/s, near the same; far allgather and
 * alltoall of 64 KiB and 1 MiB on 2 ranks take 0.69 to 0.81 of the time, bcast 0.74 to 0.85. 2048
 * alike. */
#ifndef STRETTO_NODE_AHEAD
#define STRETTO_NODE_AHEAD 1024
#endif
/* Copies to and from rings of so many bytes and more may be made by the string instruction
 * (ways.h), which takes some 9 ns to begin (Zen 5; 2048 to 4096 alike). */
#ifndef STRETTO_NODE_STRING
#define STRETTO_NODE_STRING 2048
#endif
/* Copies of at least so many bytes are timed in trials: shorter ones end before their stores do. */
#ifndef STRETTO_NODE_WAY_TIMED
#define STRETTO_NODE_WAY_TIMED 8192
#endif
/* A trial has TRIAL runs (an even number), of one way and the other by turns, of RUN copies each,
 * of which the second half counts. STAY: copies between two trials, at first; after each trial that
 * changed nothing 4 times as many, up to STAY_MOST. The other way is taken where it needs less time
 * by one part of GAIN. */
#ifndef STRETTO_NODE_WAY_RUN
#define STRETTO_NODE_WAY_RUN 8
#endif
#ifndef STRETTO_NODE_WAY_TRIAL
#define STRETTO_NODE_WAY_TRIAL 4
#endif
#ifndef STRETTO_NODE_WAY_STAY
#define STRETTO_NODE_WAY_STAY 32
#endif
#ifndef STRETTO_NODE_WAY_STAY_MOST
#define STRETTO_NODE_WAY_STAY_MOST 8192
#endif
#ifndef STRETTO_NODE_WAY_GAIN
#define STRETTO_NODE_WAY_GAIN 16
#endif
/* Where there is no clock (aarch64, ThreadSanitizer): whether both ways are taken in turn; tests.
 */
#ifndef STRETTO_NODE_WAY_UNTIMED
#define STRETTO_NODE_WAY_UNTIMED 0
#endif
/* Pieces from so many bytes on may be written past the caches (x86-64; see stores.h). */
#ifndef STRETTO_NODE_STREAM
#define STRETTO_NODE_STREAM 12288
#endif
/* Laps of the ring of which the least cost counts, since any one of them may meet something else
 * that fills the caches or takes the core. */
#ifndef STRETTO_NODE_LAPS
#define STRETTO_NODE_LAPS 3
#endif
/* The other way is kept where it costs less by one part of so many. */
#ifndef STRETTO_NODE_GAIN
#define STRETTO_NODE_GAIN 8
#endif
/* Laps until the other way is tried: after a change; at most with ordinary stores, for which a
 * trial costs LAPS + 1 laps of about twice the time; and past the caches. After each trial that
 * changed nothing 4 times as many. */
#ifndef STRETTO_NODE_STAY
#define STRETTO_NODE_STAY 4
#endif
#ifndef STRETTO_NODE_STAY_MOST
#define STRETTO_NODE_STAY_MOST 1024
#endif
#ifndef STRETTO_NODE_STAY_PAST
#define STRETTO_NODE_STAY_PAST 256
#endif
/* Ordinary stores that take fewer ticks of the time stamp counter than this for 1024 bytes are
 * never left. Laps on Zen 3 (2.4 GHz): near 32 to 96 ticks, with vectors that fill L3 up to 256,
 * and more where something else empties the caches between calls or a neighbour uses the L3; far
 * 288 to 352. */
#ifndef STRETTO_NODE_COST_NEAR
#define STRETTO_NODE_COST_NEAR 128
#endif

/* ---- large messages copied directly (CMA), where that works and the ring is modest: from so many
 * bytes on. A ring that outgrows L2 is quicker for all sizes tried (Zen 4, 1 MiB bcast: 31 against
 * 49 us). -- */

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
#ifndef STRETTO_NODE_DIRECT_BLOCK
#define STRETTO_NODE_DIRECT_BLOCK (512 * 1024)
#endif
/* Smallest block of allgather and alltoall for which the method is chosen by trial (judge.h), the
 * number of calls per method in a trial, and the number of calls before the first trial. After a
 * trial without a change, the interval grows by a factor of 4, up to a limit. */
#ifndef STRETTO_NODE_JUDGE
#define STRETTO_NODE_JUDGE (512 * 1024)
#endif
/* The same where two ranks exchange or fold, and which way they begin with (pair.c). */
#ifndef STRETTO_NODE_JUDGE_PAIR
#define STRETTO_NODE_JUDGE_PAIR 2048
#endif
#ifndef STRETTO_NODE_PAIR_STRING
#define STRETTO_NODE_PAIR_STRING false
#endif
#ifndef STRETTO_NODE_JUDGE_CALLS
#define STRETTO_NODE_JUDGE_CALLS 4
#endif
#ifndef STRETTO_NODE_JUDGE_AFTER
#define STRETTO_NODE_JUDGE_AFTER 8
#endif
#ifndef STRETTO_NODE_JUDGE_STAY
#define STRETTO_NODE_JUDGE_STAY 128
#endif
#ifndef STRETTO_NODE_JUDGE_MOST
#define STRETTO_NODE_JUDGE_MOST 8192
#endif
/* The other way is taken where it needs less time by one part of so many. */
#ifndef STRETTO_NODE_JUDGE_GAIN
#define STRETTO_NODE_JUDGE_GAIN 20
#endif
/* With XPMEM, whatever the ring: bytes of a vector or of a block. One copy instead of two, and
 * operands read where they lie, for two more exchanges of a line; not measured on a machine with
 * XPMEM. */
#ifndef STRETTO_NODE_ATTACH
#define STRETTO_NODE_ATTACH (128 * 1024)
#endif
/* Ranges of each peer's memory that stay attached, the least recently used goes first. A solver's
 * loop has a handful of long vectors in collectives, each of which lies in one range or two of 2
 * MiB grains; one range too few, and every call attaches anew (system calls and a page fault for
 * each page). Each is a mapping of this process, of which Linux allows 65530 in all: 16 for each of
 * 255 peers are 4080. Not measured on a machine with XPMEM. */
#ifndef STRETTO_NODE_ATTACHMENTS
#define STRETTO_NODE_ATTACHMENTS 16
#endif
/* Bytes of a new attachment whose pages are touched at a time; progress is called in between. */
#ifndef STRETTO_NODE_ATTACH_TOUCH
#define STRETTO_NODE_ATTACH_TOUCH (1024 * 1024)
#endif
/* Copied or folded at a time; progress is called in between. */
#ifndef STRETTO_NODE_DIRECT_PIECE
#define STRETTO_NODE_DIRECT_PIECE (64 * 1024)
#endif
/* Copied by one call of the kernel, which each time starts with cold tables of pages. Zen 4, near,
 * allgather of 1 MiB on 2 ranks: 64 KiB 202 us, 256 KiB 173, 1 MiB 152. */
#ifndef STRETTO_NODE_DIRECT_CALL
#define STRETTO_NODE_DIRECT_CALL (1024 * 1024)
#endif

/* ---- waiting ------------------------------------------------------------------------------------
 */

/* Polls between two calls of the MPI's progress once `spins` are used up. */
#ifndef STRETTO_NODE_POLLS
#define STRETTO_NODE_POLLS 16
#endif
/* With more ranks than cores: offers of the core between two calls of the MPI's progress. */
#ifndef STRETTO_NODE_YIELDS
#define STRETTO_NODE_YIELDS 4
#endif
/* Calls of progress before the core is offered to others, too; about 100 us. */
#ifndef STRETTO_NODE_PATIENCE
#define STRETTO_NODE_PATIENCE 200
#endif

#endif
