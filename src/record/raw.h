/* The recorder's raw file: one a rank, mapped while the program runs, so that whatever ends the
 * program leaves what was recorded. python/stretto/profile/raw.py reads it; both change together
 * with STRETTO_RAW_VERSION.
 *
 * A header page range of STRETTO_RAW_HEADER bytes, then sections named by the directory in the
 * header. All numbers in the writer's byte order (byte_order tells), times in ticks of the clock
 * that `first` and `last` relate to CLOCK_MONOTONIC. The file has a fixed size for a rank and
 * thread: counters are summed by key, and of the time-stamped events one in 2^k is kept, chosen by
 * a hash that is the same on all ranks.
 */
#ifndef STRETTO_RECORD_RAW_H
#define STRETTO_RECORD_RAW_H

#include <stdint.h>

#define STRETTO_RAW_MAGIC "STRETRAW"
#define STRETTO_RAW_VERSION 9
#define STRETTO_RAW_HEADER 16384

enum { STRETTO_RAW_RUNNING = 1, STRETTO_RAW_FINALIZED, STRETTO_RAW_ABORTED, STRETTO_RAW_EXITED };
enum { STRETTO_CLOCK_TSC = 1, STRETTO_CLOCK_CNTVCT, STRETTO_CLOCK_MONOTONIC };

typedef struct {
    uint64_t ticks;
    uint64_t ns; /* CLOCK_MONOTONIC */
} stretto_raw_instant;

/* This rank's CLOCK_MONOTONIC minus that of world rank 0. */
typedef struct {
    int64_t at_ns; /* by this rank's clock; 0: not measured */
    int64_t offset_ns;
    int64_t error_ns;
} stretto_raw_offset;

enum {
    STRETTO_RAW_NONE,
    STRETTO_RAW_FUNCTIONS, /* stretto_raw_function */
    STRETTO_RAW_NAMES,     /* stretto_raw_name: datatypes, then operations */
    STRETTO_RAW_SHAPES,    /* stretto_raw_shape */
    STRETTO_RAW_EVENTS,    /* stretto_raw_event */
    STRETTO_RAW_ENTRIES,   /* stretto_raw_entry, one section a thread */
    STRETTO_RAW_PEERS,     /* stretto_raw_peer, one section a thread */
    STRETTO_RAW_FILES,     /* stretto_raw_file; the first row is of those that found no room */
    STRETTO_RAW_BLOCKS,    /* stretto_raw_blocks */
    STRETTO_RAW_PACKS,     /* stretto_raw_pack */
    STRETTO_RAW_ZEROS      /* stretto_raw_zeros */
};

typedef struct {
    uint32_t kind, item_bytes;
    uint64_t offset, items; /* bytes from the start of the file; room for so many */
} stretto_raw_section;

#define STRETTO_RAW_SECTIONS 520

typedef struct {
    char magic[8];
    uint32_t version, byte_order; /* 0x01020304 */
    uint64_t world;               /* the same on all ranks of one MPI_COMM_WORLD */
    uint32_t rank, nranks;
    uint32_t state, exit_code; /* of MPI_Abort */
    uint32_t clock, thread_level;
    int32_t pid;
    uint32_t nsections;
    stretto_raw_instant first, last;  /* recording began; last refreshed */
    uint64_t began_ticks, last_ticks; /* end of MPI_Init; end of the last call seen */
    uint64_t clock_domain;            /* ranks with equal numbers share CLOCK_MONOTONIC */
    uint64_t started_realtime_ns;
    stretto_raw_offset offsets[2]; /* at MPI_Init and at MPI_Finalize, for the first rank of each
                                      domain but that of rank 0 */
    uint64_t nevents, stride_log2; /* kept; those with hash below 2^-stride_log2 are */
    uint64_t dropped_calls;        /* not recorded for want of memory or disk */
    uint64_t paused_ticks;         /* switched off by MPI_Pcontrol(0), while that lasted */
    uint64_t paused_since;         /* it is now, from there on; 0: it is not */
    uint64_t cpu_ns, core_wait_ns, involuntary; /* since MPI_Init: see topo/usage.h */
    /* Page faults since MPI_Init, and how far the most memory that the rank had exceeds what it had
     * then, in pages. At the end, where there are many more faults than that: what one takes. */
    uint64_t faults, grown_pages;
    double fault_ns; /* 0: not measured */
    double load;     /* of the node, at MPI_Init; negative: not known */
    int64_t cores;   /* of the node, online */
    /* At the end, or in between where they are more: threads that wanted a core for a tenth of the
     * run or more, and the cores that they may use; 0: not known. */
    uint32_t busy_threads, allowed_cores;
    char host[64];
    char family[16];
    char library[256]; /* first line of MPI_Get_library_version */
    char program[256];
    char front[256]; /* what takes MPI calls before the recorder; "": nothing */
    stretto_raw_section sections[STRETTO_RAW_SECTIONS];
} stretto_raw_header;
_Static_assert(sizeof(stretto_raw_header) <= STRETTO_RAW_HEADER, "the header has grown");

typedef struct {
    char name[44]; /* "MPI_Allreduce"; "" = no such number */
    uint32_t kind; /* stretto_kind */
} stretto_raw_function;

enum { STRETTO_RAW_DATATYPE = 1, STRETTO_RAW_OPERATION };

typedef struct {
    char name[60];
    uint32_t kind;
} stretto_raw_name;

/* Communicators alike. `origin` is what made them, as in enum stretto_origin. */
typedef struct {
    uint32_t origin, size, nodes, ppn;
    uint64_t count; /* of which this rank was a member; 0 = free row */
    char name[40];  /* given by MPI_Comm_set_name to the first of them, else "" */
} stretto_raw_shape;

/* Calls alike. The key: see STRETTO_KEY_*; 0 = free. */
typedef struct {
    uint64_t key;
    uint64_t calls, bytes, ticks, min_ticks, max_ticks;
    uint64_t unused[2]; /* one cache line */
} stretto_raw_entry;

enum {
    STRETTO_KEY_FUNCTION = 0,   /* 10 bits, index of FUNCTIONS + 1 */
    STRETTO_KEY_SHAPE = 10,     /* 12 bits, index of SHAPES + 1; 0 = none; 4095 = table full */
    STRETTO_KEY_OPERATION = 22, /* 6 bits, index of NAMES + 1; 0 = none */
    STRETTO_KEY_DATATYPE = 28,  /* 8 bits, index of NAMES + 1; 0 = none */
    STRETTO_KEY_CLASS = 36,     /* 6 bits: 0 = no bytes, c = 2^(c-1) to 2^c - 1 bytes */
    STRETTO_KEY_DETAIL = 42,    /* 10 bits, by function: see enum stretto_detail */
    STRETTO_KEY_USED = 63
};

/* What the detail of a key says: for waits 1 + the function that made the awaited request (0:
 * point-to-point; the rest of the key is a nonblocking collective's); for barriers what this rank
 * did since the one before; for *_init of persistent operations whether this is the set-up (a start
 * otherwise); for alltoallv and alltoallw that a rank which sends nothing receives something. */
enum stretto_detail {
    STRETTO_DETAIL_NONE = 0,
    STRETTO_DETAIL_SETUP = 1,
    STRETTO_DETAIL_RECEIVES = 1,
    STRETTO_DETAIL_AFTER_RMA = 1,
    STRETTO_DETAIL_AFTER_IO = 2,
    STRETTO_DETAIL_SHARED_MEMORY = 4
};

/* One sampled collective: the blocking call, or the wait that completed a nonblocking one. */
typedef struct {
    uint64_t communicator; /* the same on all its members */
    uint64_t sequence; /* of the communicator's collectives, from 1; top bit: this rank is root */
    uint64_t key;
    uint64_t enter, leave; /* ticks */
    uint64_t started;      /* of a nonblocking one: its call began; else as `enter` */
} stretto_raw_event;

#define STRETTO_EVENT_ROOT (1ull << 63)

/* A file that the program opens, reads or writes itself, or that MPI-IO does for it. Calls that
 * move nothing from or to the kernel (text in a stream's buffer) may be left out of `reads`. */
typedef struct {
    uint64_t used; /* hash of the path; 0 = free */
    union {
        uint64_t counts[11];
        struct {
            uint64_t opens, mpi_opens; /* by the program itself; inside calls of MPI-IO */
            uint64_t reads, writes;
            uint64_t read_bytes, written_bytes;         /* by the program itself */
            uint64_t mpi_read_bytes, mpi_written_bytes; /* inside calls of MPI-IO */
            /* outside MPI, of threads that call it; other: open, close, flush */
            uint64_t read_ticks, write_ticks, other_ticks;
        };
    };
    uint64_t size;    /* when it was opened or met, the largest */
    uint64_t touched; /* which of 32 parts of that size were read, by bits */
    uint64_t system;  /* file system: f_type of statfs */
    char path[392];   /* its end, where it is longer */
} stretto_raw_file;
_Static_assert(sizeof(stretto_raw_file) == 512, "files are read by that size");

/* How some of the calls of a key are made up: sizes of this rank's blocks, its neighbours
 * (record/blocks.c). */
#define STRETTO_BLOCK_CLASSES 42
#define STRETTO_GRAPH_DIMS 4
#define STRETTO_GRAPH_OFFSETS 32
typedef struct {
    uint64_t key; /* 0 = free */
    uint64_t calls;
    uint64_t blocks[STRETTO_BLOCK_CLASSES]; /* by size class, as STRETTO_KEY_CLASS */
    uint64_t bytes[STRETTO_BLOCK_CLASSES];
    /* Of neighbourhoods the graph, of the first call. Cartesian: sizes, negative where open; the
     * first is 0 elsewhere. All others: how far away this rank's targets are (rank + offset, round
     * about), as many as there is room for. */
    int32_t dims[STRETTO_GRAPH_DIMS];
    int32_t degree; /* of this rank, outwards; 0: no graph, or none known */
    int32_t noffsets;
    int32_t offsets[STRETTO_GRAPH_OFFSETS];
} stretto_raw_blocks;

/* Packing of derived datatypes in some calls of a key (record/packs.c), and a copy of the packed.
 */
typedef struct {
    uint64_t key; /* 0 = free */
    uint64_t calls, bytes, pack_ticks, copy_ticks;
} stretto_raw_pack;

/* In how many of some calls of a key this rank contributed zeros only (record/zeros.c). */
typedef struct {
    uint64_t key; /* 0 = free */
    uint64_t calls, zero;
} stretto_raw_zeros;

/* Messages sent to one world rank. */
typedef struct {
    uint32_t rank1; /* rank + 1; 0 = free; UINT32_MAX = all that found no room, or no world rank */
    uint32_t unused;
    uint64_t messages, bytes;
} stretto_raw_peer;

#endif
