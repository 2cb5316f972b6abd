/* STRETTO_CHECK_CALLS: a mismatch of collectives is said in words instead of hanging.
 *
 * Before each blocking collective every rank sends a card with what it is about to call to rank 0
 * of the communicator, over the shadow communicator, and goes on when rank 0 has found all cards
 * alike. So a rank that calls something else, or with another root, operation or amount of data, is
 * found at that call, and a rank that does not come is named when the time is over. Sizes that only
 * pairs of ranks must agree on (alltoallv, gatherv, scatterv) are exchanged afterwards. The
 * waiting tests requests, so that messages of the application go on.
 */
#include "engine/check.h"
#include "engine/call.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { CARD_TAG = 8, VERDICT_TAG = 9, EDGE_TAG = 12, SAID = 600 };

typedef struct {
    long long number, bytes, digest;
    int root, op, overlaps;
    char function[40];
} card;

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Never comes back: the application would hang or compute nonsense. */
static void end_job(const stretto_comm *c, const char *text) {
    stretto_say("%s (communicator of %d ranks)", text, c->nranks);
    stretto_host_end_job();
}

static const char *ordinal(long long n) {
    return n % 100 / 10 == 1 ? "th"
           : n % 10 == 1     ? "st"
           : n % 10 == 2     ? "nd"
           : n % 10 == 3     ? "rd"
                             : "th";
}

static long long block_bytes(const stretto_ragged *b, int r) {
    long long count =
        b->large ? (long long)((const MPI_Count *)b->counts)[r] : ((const int *)b->counts)[r];
    if (count == 0) /* whatever the datatype */
        return 0;
    long long size = stretto_type_bytes(b->types ? b->types[r] : b->type);
    return size < 0 || count < 0 ? -1 : size * count;
}

static long long amount_bytes(stretto_amount a) {
    long long size = a.count ? stretto_type_bytes(a.type) : 0;
    return size < 0 || a.count < 0 ? -1 : size * a.count;
}

static void fill(card *own, const stretto_comm *c, const stretto_checked_call *call) {
    memset(own, 0, sizeof *own);
    own->number = c->checked;
    own->root = call->root;
    own->bytes = own->op = -1;
    /* the large-count form is the same function: each rank takes what its counts need */
    size_t length = strlen(call->function);
    length -= strcmp(call->function + length - 2, "_c") == 0 ? 2 : 0;
    snprintf(own->function, sizeof own->function, "%.*s", (int)length, call->function);
    if (call->op != MPI_OP_NULL)
        own->op = stretto_op_number(call->op);
    if (call->datatype != MPI_DATATYPE_NULL)
        own->bytes = amount_bytes((stretto_amount){call->count, call->datatype});
    else if (call->collective == STRETTO_GATHER || call->collective == STRETTO_SCATTER)
        own->bytes = amount_bytes(c->rank == call->root ? call->roots : call->mine);
    if (call->everywhere) {
        unsigned long long digest = 14695981039346656037u;
        own->bytes = 0;
        for (int r = 0; r < c->nranks; r++) {
            long long bytes = block_bytes(call->everywhere, r);
            digest = (digest ^ (unsigned long long)bytes) * 1099511628211u;
            own->bytes += bytes;
        }
        own->digest = (long long)digest;
    }
    own->overlaps = stretto_check_overlap(c, call);
}

/* Ends the job: rank r sends from and receives into the same memory. */
static void same_memory(const stretto_comm *c, const card *its, int r, const char *remedy) {
    char text[SAID];
    snprintf(
        text, sizeof text,
        "rank %d calls %s with sendbuf and recvbuf that overlap (%s), as the %lld%s collective "
        "on this communicator",
        r, its->function, remedy, its->number, ordinal(its->number));
    end_job(c, text);
}

/* How rank r's card differs from rank 0's; "" when it does not. */
static void differ(const card *a, const card *b, int r, char *text, size_t size) {
    const char *th = ordinal(a->number);
    *text = '\0';
    if (strcmp(a->function, b->function))
        snprintf(text, size, "rank %d calls %s, rank 0 %s", r, b->function, a->function);
    else if (a->root != b->root)
        snprintf(text, size, "rank %d calls %s with root %d, rank 0 with root %d", r, b->function,
                 b->root, a->root);
    else if (a->op != b->op)
        snprintf(text, size, "rank %d calls %s with %s, rank 0 with %s", r, b->function,
                 stretto_op_name(b->op), stretto_op_name(a->op));
    else if (a->bytes != b->bytes)
        snprintf(text, size, "rank %d calls %s of %lld bytes, rank 0 of %lld bytes", r, b->function,
                 b->bytes, a->bytes);
    else if (a->digest != b->digest)
        snprintf(text, size, "rank %d and rank 0 call %s with different block sizes", r,
                 b->function);
    size_t used = strlen(text);
    if (used)
        snprintf(text + used, size - used, ", as the %lld%s collective on this communicator",
                 a->number, th);
}

/* Rank 0: all cards, or the names of those that have not come. */
static void collect(stretto_comm *c, const card *own, card *cards) {
    MPI_Request *requests = malloc((size_t)c->nranks * sizeof *requests);
    if (!requests)
        stretto_no_memory();
    cards[0] = *own;
    requests[0] = MPI_REQUEST_NULL;
    for (int r = 1; r < c->nranks; r++)
        PMPI_Irecv(&cards[r], (int)sizeof *cards, MPI_BYTE, r, CARD_TAG, c->shadow, &requests[r]);
    double end = now() + stretto_config.check_seconds;
    int done = 0;
    while (!done && now() < end) {
        PMPI_Testall(c->nranks, requests, &done, MPI_STATUSES_IGNORE);
        if (stretto_the_world.wait.yield && !done)
            sched_yield();
    }
    if (!done) {
        char text[SAID];
        size_t used = (size_t)snprintf(
            text, sizeof text, "after %d s in %s, the %lld%s collective, still missing: rank",
            stretto_config.check_seconds, own->function, own->number, ordinal(own->number));
        for (int r = 1; r < c->nranks && used < sizeof text - 8; r++) {
            int come = 1;
            if (requests[r] != MPI_REQUEST_NULL)
                PMPI_Test(&requests[r], &come, MPI_STATUS_IGNORE);
            if (!come)
                used += (size_t)snprintf(text + used, sizeof text - used, " %d", r);
        }
        end_job(c, text);
    }
    free(requests);
}

/* Others than rank 0: until rank 0 lets all go on. */
static void ask(stretto_comm *c, const card *own) {
    MPI_Request requests[2];
    int verdict = 0, done = 0;
    PMPI_Irecv(&verdict, 1, MPI_INT, 0, VERDICT_TAG, c->shadow, &requests[0]);
    PMPI_Isend(own, (int)sizeof *own, MPI_BYTE, 0, CARD_TAG, c->shadow, &requests[1]);
    /* rank 0 speaks first when others are missing, too */
    double end = now() + 1.5 * stretto_config.check_seconds + 5;
    while (!done && now() < end) {
        PMPI_Testall(2, requests, &done, MPI_STATUSES_IGNORE);
        if (stretto_the_world.wait.yield && !done)
            sched_yield();
    }
    if (!done) {
        char text[SAID];
        snprintf(text, sizeof text,
                 "rank %d waits in %s, the %lld%s collective, but rank 0 has not arrived", c->rank,
                 own->function, own->number, ordinal(own->number));
        end_job(c, text);
    }
}

static void compare(stretto_comm *c, const stretto_checked_call *call, const card *own) {
    if (c->rank) {
        ask(c, own);
        return;
    }
    card *cards = malloc((size_t)c->nranks * sizeof *cards);
    if (!cards)
        stretto_no_memory();
    collect(c, own, cards);
    char text[SAID];
    for (int r = 1; r < c->nranks; r++) {
        differ(&cards[0], &cards[r], r, text, sizeof text);
        if (*text)
            end_job(c, text);
    }
    const bool scatters =
        call->collective == STRETTO_SCATTER || call->collective == STRETTO_SCATTERV;
    for (int r = 0; r < c->nranks; r++)
        if (cards[r].overlaps)
            same_memory(c, &cards[r], r,
                        scatters ? "pass MPI_IN_PLACE as recvbuf, or two buffers"
                                 : "pass MPI_IN_PLACE as sendbuf, or two buffers");
    free(cards);
    int verdict = 1;
    for (int r = 1; r < c->nranks; r++)
        PMPI_Send(&verdict, 1, MPI_INT, r, VERDICT_TAG, c->shadow);
}

static void wrong_pair(const stretto_comm *c, const stretto_checked_call *call, int from,
                       long long sent, int to, long long expected) {
    char text[SAID];
    snprintf(
        text, sizeof text,
        "%s: rank %d sends %lld bytes to rank %d, which expects %lld, in the %lld%s collective "
        "on this communicator",
        call->function, from, sent, to, expected, c->checked, ordinal(c->checked));
    end_job(c, text);
}

/* What each rank sends to each other is what that one expects. */
static void compare_pairs(stretto_comm *c, const stretto_checked_call *call) {
    size_t n = (size_t)c->nranks;
    long long *there = calloc(2 * n, sizeof *there);
    if (!there)
        stretto_no_memory();
    long long *told = there + n;
    const stretto_ragged *sends = call->in_place ? call->receive : call->send;
    if (call->collective == STRETTO_ALLTOALLV) {
        for (int r = 0; r < c->nranks; r++)
            there[r] = block_bytes(sends, r);
        PMPI_Alltoall(there, 1, MPI_LONG_LONG, told, 1, MPI_LONG_LONG, c->shadow);
        for (int r = 0; r < c->nranks; r++)
            if (told[r] != block_bytes(call->receive, r))
                wrong_pair(c, call, r, told[r], c->rank, block_bytes(call->receive, r));
    } else {
        bool skip = call->in_place && c->rank == call->root;
        long long own = skip ? -1 : amount_bytes(call->mine);
        PMPI_Gather(&own, 1, MPI_LONG_LONG, told, 1, MPI_LONG_LONG, call->root, c->shadow);
        for (int r = 0; c->rank == call->root && r < c->nranks; r++) {
            if (skip && r == call->root)
                continue;
            long long here = block_bytes(call->send ? call->send : call->receive, r);
            if (told[r] != here && call->send)
                wrong_pair(c, call, call->root, here, r, told[r]);
            else if (told[r] != here)
                wrong_pair(c, call, r, told[r], call->root, here);
        }
        /* nobody goes on before the root has looked, or its words would come too late */
        PMPI_Barrier(c->shadow);
    }
    free(there);
}

static long long edge_bytes(const stretto_neighbor_blocks *side, int slot) {
    return side->blocks.counts ? block_bytes(&side->blocks, slot)
                               : amount_bytes((stretto_amount){side->each, side->blocks.type});
}

/* What goes along each edge is what its other end expects. */
static void compare_edges(stretto_comm *c, const stretto_checked_call *call, const card *own) {
    if (stretto_comm_graph(c)) /* the same on all ranks */
        return;
    if (stretto_check_overlap_edges(c, call))
        same_memory(c, own, c->rank, "pass two buffers");
    const stretto_graph *g = &c->graph->graph;
    const int nout = stretto_graph_outdegree(g, c->rank), nin = stretto_graph_indegree(g, c->rank);
    const bool one = stretto_collective_neighbor_gathers(call->collective);
    long long(*sent)[2] = calloc((size_t)(nout + nin) + 1, sizeof *sent), (*came)[2] = sent + nout;
    MPI_Request *requests = calloc((size_t)(nout + nin) + 1, sizeof *requests);
    int n = 0;
    if (!sent || !requests)
        stretto_no_memory();
    for (int i = 0; i < nin; i++) {
        const int edge = g->in_edge[g->in_start[c->rank] + i];
        if (edge >= 0)
            PMPI_Irecv(came[i], 2, MPI_LONG_LONG, stretto_graph_source(g, edge), EDGE_TAG,
                       c->shadow, &requests[n++]);
    }
    for (int i = 0; i < nout; i++) {
        const int edge = g->out_start[c->rank] + i;
        sent[i][0] = edge;
        sent[i][1] = edge_bytes(call->to, one ? 0 : i);
        if (g->out_to[edge] >= 0)
            PMPI_Isend(sent[i], 2, MPI_LONG_LONG, g->out_to[edge], EDGE_TAG, c->shadow,
                       &requests[n++]);
    }
    PMPI_Waitall(n, requests, MPI_STATUSES_IGNORE);
    for (int i = 0; i < nin; i++) /* of several edges from one rank, the words come in any slot */
        for (int slot = 0; slot < nin && g->in_edge[g->in_start[c->rank] + i] >= 0; slot++) {
            const int edge = g->in_edge[g->in_start[c->rank] + slot];
            const long long expected = edge == came[i][0] ? edge_bytes(call->from, slot) : -1;
            if (edge == came[i][0] && expected != came[i][1])
                wrong_pair(c, call, stretto_graph_source(g, edge), came[i][1], c->rank, expected);
        }
    free(sent);
    free(requests);
    /* nobody goes on before all have looked, or the words would come too late */
    PMPI_Barrier(c->shadow);
}

STRETTO_COLD void stretto_check_call(MPI_Comm comm, const stretto_checked_call *call) {
    stretto_comm *c = stretto_comm_ready(comm);
    if (!c || c->status != STRETTO_COMM_READY || !c->has_shadow)
        return;
    card own;
    c->checked++;
    fill(&own, c, call);
    compare(c, call, &own);
    bool pairs =
        call->collective == STRETTO_ALLTOALLV || (call->root >= 0 && call->root < c->nranks);
    if ((call->send || call->receive) && pairs) /* a root that is not there is the MPI's to find */
        compare_pairs(c, call);
    if (call->to)
        compare_edges(c, call, &own);
}
