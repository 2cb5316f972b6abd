/* stretto-bench: measures collectives inside one process launch.
 *
 * It reads a job (job.h: which collectives, sizes and candidates), runs the candidates interleaved,
 * and appends JSON lines (docs/reference/files.md, "Bench results"). Everything that can be decided
 * from several launches (tests, intervals between launches) is Python's part.
 *
 * The program is not linked with an MPI: main.c opens the one that LD_LIBRARY_PATH leads to, then
 * every call goes through the host table (abi/host.h), which finds a preloaded libstretto first.
 */
#ifndef STRETTO_BENCH_H
#define STRETTO_BENCH_H

#include "abi/host.h"
#include "cores/flag.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- job.c: what to measure ------------------------------------------------------------------ */

typedef enum {
    STRETTO_BENCH_ALLREDUCE,
    STRETTO_BENCH_BCAST,
    STRETTO_BENCH_REDUCE,
    STRETTO_BENCH_ALLGATHER,
    STRETTO_BENCH_ALLTOALL,
    STRETTO_BENCH_GATHER,
    STRETTO_BENCH_SCATTER,
    STRETTO_BENCH_REDUCE_SCATTER_BLOCK,
    STRETTO_BENCH_ALLGATHERV,
    STRETTO_BENCH_ALLTOALLV,
    STRETTO_BENCH_GATHERV,
    STRETTO_BENCH_SCATTERV,
    STRETTO_BENCH_REDUCE_SCATTER,
    STRETTO_BENCH_SCAN,
    STRETTO_BENCH_EXSCAN,
    STRETTO_BENCH_NEIGHBOR_ALLGATHER,
    STRETTO_BENCH_NEIGHBOR_ALLGATHERV,
    STRETTO_BENCH_NEIGHBOR_ALLTOALL,
    STRETTO_BENCH_NEIGHBOR_ALLTOALLV,
    STRETTO_BENCH_BARRIER,
    STRETTO_BENCH_SELF, /* MPI_Allreduce on MPI_COMM_SELF: the price of the call itself */
    STRETTO_BENCH_COLLECTIVES
} stretto_bench_collective;

const char *stretto_bench_collective_name(stretto_bench_collective collective);
/* Allreduce (self too), reduce, reduce_scatter, reduce_scatter_block, scan, exscan. */
bool stretto_bench_reduces(stretto_bench_collective collective);

/* How each timed call is made; the job's words in job.c. */
typedef enum {
    STRETTO_BENCH_BLOCKING,
    STRETTO_BENCH_NONBLOCKING, /* MPI_Ix and MPI_Wait */
    STRETTO_BENCH_PERSISTENT,  /* MPI_Start and MPI_Wait; a request is made once */
    STRETTO_BENCH_FORMS
} stretto_bench_form;

const char *stretto_bench_form_name(stretto_bench_form form);

/* A control variable of the MPI (MPI_T) and the number that it is given. */
typedef struct {
    const char *name, *value;
} stretto_bench_setting;

typedef struct {
    const char *name; /* choice string; "bare" = do not choose */
    int nsettings;    /* that are made inside this launch; 0: those of the environment hold */
    stretto_bench_setting *settings;
} stretto_bench_choice;

typedef struct {
    stretto_bench_collective collective;
    size_t bytes;  /* of the vector; of one block where there is one for each rank */
    int datatype;  /* index for stretto_bench_datatype */
    int operation; /* index for stretto_bench_operation */
    int root;
    const char *pattern; /* "BLOCKS", of neighbourhoods "GRAPH" or "GRAPH/BLOCKS"; or NULL */
    const char *blocks;  /* its part that says how sizes of blocks differ (blocks.c), or NULL */
    int ncandidates;
    stretto_bench_choice *candidates;
} stretto_bench_case;

typedef struct {
    char *text;         /* storage of all strings below */
    const char *output; /* JSON lines are appended here */
    const char *status; /* file of STRETTO_BENCH_STATUS bytes with what is being run, or NULL */
    const char *variant;
    int launch;
    unsigned long long seed;
    double budget_s;    /* for the whole launch; 0 = none */
    double relative_ci; /* stop when the half interval of the median / median is below */
    double batch_us;    /* aimed length of a batch of back-to-back calls */
    int min_batches, max_batches;
    bool cold; /* rotate through buffers larger than the caches */
    stretto_bench_form form;
    bool throughput, latency;
    bool yield;                            /* more ranks than cores: no windows, no spinning */
    bool reference;                        /* time an exchange of messages beside every case */
    double fake_offset_us, fake_drift_ppm; /* tests: rank r's clock is off by r times this */
    int ncases;
    stretto_bench_case *cases;
} stretto_bench_job;

/* Collective over comm: rank 0 reads the file, all ranks parse it. 0, or -1 on all ranks with the
 * message (file:line) in error. */
int stretto_bench_job_read(stretto_bench_job *job, const char *path, MPI_Comm comm, char *error,
                           size_t error_size);
void stretto_bench_job_free(stretto_bench_job *job);

/* ---- data.c: datatypes, operations, contents that can be checked ----------------------------- */

int stretto_bench_datatype_index(const char *name); /* "MPI_DOUBLE"; -1 unknown */
const char *stretto_bench_datatype_name(int index);
MPI_Datatype stretto_bench_datatype(int index);
size_t stretto_bench_datatype_size(int index);
int stretto_bench_operation_index(const char *name);
const char *stretto_bench_operation_name(int index);
MPI_Op stretto_bench_operation(int index);
/* Whether MPI defines the operation on the type. */
bool stretto_bench_operation_on(int operation, int datatype);

/* What rank `from` contributes as element i to rank `to` in generation g; a small whole number. */
int stretto_bench_value(int operation, int from, int to, size_t i, int nranks, int generation);
/* The reduction of that over ranks 0 to upto - 1 (upto >= 1): exact in every type offered, in every
 * order. */
long stretto_bench_reduced(int operation, int to, size_t i, int upto, int nranks, int generation);
void stretto_bench_put(int datatype, void *buffer, size_t i, long value);
bool stretto_bench_is(int datatype, const void *buffer, size_t i, long value);

/* ---- control.c: what ranks tell one another, over single messages ---------------------------- */

/* All collective over comm; an MPI error code. */
int stretto_bench_control_bcast(void *data, size_t bytes, int root, MPI_Comm comm);
/* The largest of all ranks, for each value; in place. */
int stretto_bench_control_max(double *values, int n, MPI_Comm comm);
int stretto_bench_control_any(bool mine, bool *any, MPI_Comm comm);
int stretto_bench_control_barrier(MPI_Comm comm);

/* ---- clock.c: one time for all ranks --------------------------------------------------------- */

typedef struct stretto_bench_clock stretto_bench_clock;

/* Collective over comm. NULL when out of memory. */
stretto_bench_clock *stretto_bench_clock_new(MPI_Comm comm, const stretto_bench_job *job);
void stretto_bench_clock_free(stretto_bench_clock *clock);
/* Collective: measures the offsets once more and refits; cheap on one node. */
int stretto_bench_clock_sync(stretto_bench_clock *clock);
/* Seconds on rank 0's clock, as this rank believes. */
double stretto_bench_clock_now(const stretto_bench_clock *clock);
/* Estimated error of it over all ranks, in us: 0 on one node. Valid on rank 0. */
double stretto_bench_clock_error_us(const stretto_bench_clock *clock);
/* True error, known only with a fake clock on one node (tests); else 0. Collective. */
double stretto_bench_clock_true_error_us(const stretto_bench_clock *clock);
/* Cost of reading the clock, ns. */
double stretto_bench_clock_cost_ns(const stretto_bench_clock *clock);
int stretto_bench_clock_nodes(const stretto_bench_clock *clock);
int stretto_bench_clock_ppn(const stretto_bench_clock *clock); /* largest */

/* ---- call.c: one collective call; blocks.c: what is where in it; check.c: is it right? ------- */

/* Bytes behind the receive buffer that nobody may write. */
enum { STRETTO_BENCH_CANARY = 64 };

/* One edge of a graph, as its source made it; in-slots of no neighbour have `from` -1. */
typedef struct {
    int from, slot, timed, ragged; /* the last two: elements of its block */
} stretto_bench_edge;

typedef struct {
    const stretto_bench_case *shape;
    MPI_Comm comm;
    int rank, nranks;
    size_t count; /* elements per vector or block */
    size_t own;   /* elements of this rank's block, where a buffer has no other */
    int *sends, *send_at, *recvs, *recv_at;   /* v-forms, else NULL: elements by rank, and where */
    int *lengths;                             /* elements of the blocks, ascending: the pattern's */
    int outs, ins;                            /* blocks to and from others: ranks, or neighbours */
    stretto_bench_edge *out_edges, *in_edges; /* neighbourhoods, else NULL */
    size_t send_bytes, recv_bytes, stride;
    unsigned mask;     /* number of buffers - 1 */
    char *send, *recv; /* first buffers; buffer k at + k * stride */
    void *send_storage, *recv_storage;
    stretto_bench_form form;
    MPI_Request request;  /* of a persistent call that is made, else null */
    bool exchanges;       /* the reference is run, not the collective */
    char *sent, *arrived; /* its buffers, NULL without a reference */
} stretto_bench_call;

int stretto_bench_call_open(stretto_bench_call *call, const stretto_bench_case *shape,
                            MPI_Comm comm, bool cold, char *error, size_t error_size);
void stretto_bench_call_close(stretto_bench_call *call);
/* Sizes by rank, in elements? (allgatherv, alltoallv, gatherv, scatterv, reduce_scatter) */
bool stretto_bench_irregular(stretto_bench_collective collective);
/* Elements that the send (receive) buffer must hold, however the blocks are. */
size_t stretto_bench_room(const stretto_bench_call *call, bool sends);
/* NULL, or what is wrong with a pattern of blocks. */
const char *stretto_bench_pattern_problem(const char *pattern);
/* n lengths, ascending but for rounding, whose mean is `count`. */
void stretto_bench_deal(const char *pattern, size_t count, int *lengths, int n);
/* Coprime with n, about 0.62 n: i, i + stride, ... are spread over 0 to n - 1. */
int stretto_bench_stride(int n);
/* graph.c: is it a neighbourhood collective? */
bool stretto_bench_neighborly(stretto_bench_collective collective);
/* NULL, or what is wrong with the graph that a pattern begins with. */
const char *stretto_bench_graph_problem(const char *pattern, int nranks);
/* Collective: a communicator with the graph, ranks numbered as in comm. An MPI error code. */
int stretto_bench_graph_make(const char *pattern, MPI_Comm comm, MPI_Comm *graph);
/* Sets outs and ins of a call on such a communicator; then, collective, its edges, for which there
 * is room. MPI error codes. */
int stretto_bench_graph_degrees(stretto_bench_call *call);
int stretto_bench_graph_edges(stretto_bench_call *call);
/* 0, or -1: no memory. */
int stretto_bench_blocks_open(stretto_bench_call *call);
/* As the pattern has them, or (v-forms) ragged; sets send_bytes and recv_bytes, too. */
void stretto_bench_blocks_set(stretto_bench_call *call, bool ragged);
typedef struct {
    size_t at, count; /* elements */
} stretto_bench_part;
/* Blocks of the buffers, 1 or the number of ranks, and each one. */
int stretto_bench_blocks_sent(const stretto_bench_call *call);
int stretto_bench_blocks_received(const stretto_bench_call *call);
stretto_bench_part stretto_bench_sent(const stretto_bench_call *call, int block);
stretto_bench_part stretto_bench_received(const stretto_bench_call *call, int block);
/* Collective: makes the request of a persistent call on `comm`, unless it is there; of other forms
 * nothing. An MPI error code. */
int stretto_bench_call_make(stretto_bench_call *call);
int stretto_bench_call_free(MPI_Request *request); /* null is left alone */
/* n calls back to back (of the reference where `exchanges`); an MPI error code. */
int stretto_bench_call_run(stretto_bench_call *call, int n);
/* reference.c: makes its buffers. 0, or -1: no memory. */
int stretto_bench_reference_open(stretto_bench_call *call);
void stretto_bench_reference_close(stretto_bench_call *call);
int stretto_bench_reference_run(stretto_bench_call *call, int n);
/* Collective: fills, calls, and compares with what must come out, three times with different
 * contents (v-forms: once with ragged blocks), and looks for writes beyond the buffer. *correct is
 * the same on all ranks; where false, what was seen first stands in detail on rank 0. `clock`
 * serves the barrier's check. */
int stretto_bench_call_check(stretto_bench_call *call, MPI_Comm control,
                             const stretto_bench_clock *clock, bool *correct, char *detail,
                             size_t detail_size);

/* ---- output.c: JSON lines and status, rank 0 only -------------------------------------------- */

#define STRETTO_BENCH_STATUS 512

typedef struct stretto_bench_output stretto_bench_output;

stretto_bench_output *stretto_bench_output_open(const stretto_bench_job *job, char *error,
                                                size_t error_size);
int stretto_bench_output_close(stretto_bench_output *out);
/* What is being run, for the parent that watches a hang: cheap (shared memory). */
void stretto_bench_status(stretto_bench_output *out, int done, int total, const char *collective,
                          size_t bytes, const char *candidate);
/* Makes a parent on another node see it, too, which NFS does after half a minute by itself. May
 * take milliseconds: not near anything that is timed. */
void stretto_bench_status_sync(stretto_bench_output *out);
void stretto_bench_launch_line(stretto_bench_output *out, const stretto_bench_job *job,
                               const stretto_bench_clock *clock, int nranks, double true_error_us,
                               const char *library);

/* What the worst ranks had of their processors while the launch measured (topo/usage.h). */
typedef struct {
    double wall_s, cpu_s;            /* least CPU time */
    double core_wait_s, involuntary; /* most of both; core_wait_s negative: not known */
    double load;                     /* largest of the nodes, negative: not known */
} stretto_bench_usage;

void stretto_bench_usage_line(stretto_bench_output *out, const stretto_bench_job *job,
                              const stretto_bench_usage *usage, int cores);

typedef struct {
    const char *candidate;
    const char *mode; /* "throughput" or "latency" */
    int batch;        /* calls per value */
    const double *times_us;
    const double *flag_ns; /* of each of them, NULL: not known */
    int n;
    int missed;          /* windows or batches that began late and were dropped */
    double reference_us; /* median time of the reference in this mode; negative: none */
    bool correct;
    const char *detail;  /* reason when refused or not correct, else NULL */
    bool refused;        /* the library cannot do this candidate here */
    const char *done_by; /* stretto_last, NULL unknown */
    double clock_error_us;
} stretto_bench_sample;

/* 0, or -1 when it could not be written (disk full): the run must then stop. */
int stretto_bench_sample_line(stretto_bench_output *out, const stretto_bench_job *job,
                              const stretto_bench_case *shape, const stretto_bench_sample *sample);

/* What tells algorithms apart (fingerprint.c). */
enum {
    STRETTO_BENCH_SUMS,
    STRETTO_BENCH_OPERANDS,
    STRETTO_BENCH_MESSAGES,
    STRETTO_BENCH_ARRIVALS,
    STRETTO_BENCH_KINDS
};

/* Two takes of all kinds, 0 for what is not known; `sent` messages in the first. 0, or -1 when it
 * could not be written. */
int stretto_bench_fingerprint_line(stretto_bench_output *out, const stretto_bench_case *shape,
                                   int nranks, const uint64_t *const prints[2], uint64_t sent);

/* ---- setting.c: settings of the MPI that are made in a running process ------------------------
 */

/* Makes the choice's settings, each read back. 0, or -1 with the reason in `why`, and nothing is
 * changed then. Local; one choice at a time. */
int stretto_bench_settings_write(const stretto_bench_choice *choice, char *why, size_t size);
/* Gives the variables the values that they had. 0, or -1 when one did not take it: nothing that
 * runs after that is what its name says. */
int stretto_bench_settings_restore(char *why, size_t size);
void stretto_bench_settings_close(void);

/* ---- messages.c: what this process sends, by peer, where the MPI counts it ------------------- */

void stretto_bench_messages_open(MPI_Comm world);
bool stretto_bench_messages_known(void);
void stretto_bench_messages_begin(void);
/* Digest of messages and bytes to each peer since begin, and how many messages. */
uint64_t stretto_bench_messages_end(uint64_t *sent);

/* ---- fingerprint.c, arrivals.c: which algorithm the MPI uses --------------------------------- */

/* Collective: a line for each case and candidate (RANKS or RANKS@MS). 0, or -1 with error. */
int stretto_bench_fingerprint(stretto_bench_output *out, const stretto_bench_job *job, char *error,
                              size_t error_size);

/* ---- measure.c ------------------------------------------------------------------------------- */

typedef struct {
    const stretto_bench_job *job;
    MPI_Comm work, control; /* control: for control.c */
    int rank, nranks;
    stretto_bench_clock *clock;
    stretto_bench_output *out;                                           /* rank 0, else NULL */
    double begin;                                                        /* monotonic, this rank */
    int (*choose)(MPI_Comm, const char *, const char *, char *, size_t); /* NULL: not preloaded */
    int (*last)(MPI_Comm, const char *, char *, size_t);
    int (*counters)(MPI_Comm, const char *, unsigned long long *, unsigned long long *);
    stretto_flags *flags; /* of two ranks on one node, else NULL */
    unsigned flag_count;
    double flag_ns; /* the last delay */
} stretto_bench;

/* ---- flag.c: how far apart the cores of two ranks are ---------------------------------------- */

/* Collective. An MPI error code; without two ranks on one node there is no flag. */
int stretto_bench_flag_open(stretto_bench *bench);
void stretto_bench_flag_close(stretto_bench *bench);
/* Collective: times the flag. ns one way since the last call, 0: the cores moved meanwhile, or
 * there is no flag. */
double stretto_bench_flag_since(stretto_bench *bench);

/* Collective: measures case `index` with all its candidates. 0, or -1 with a message on rank 0. */
int stretto_bench_measure(stretto_bench *bench, int index, char *error, size_t error_size);

/* Half width of the 95% interval of the median from order statistics, relative to the median;
 * 1e9 with fewer than six values. Sorts values. */
double stretto_bench_half_interval(double *values, int n, double *median);

#endif
