/* Neighbourhood collectives. Sizes are known to the two ends of an edge: nothing is decided by
 * them, and a rank through which others' blocks pass is told theirs before the plan begins, by the
 * messages with empty spans with which such a plan begins (plan/plan.h says what each contains).
 */
#include "engine/call.h"
#include "engine/outstanding.h"

#include <stdlib.h>
#include <string.h>

/* ---- sizes of others' blocks ------------------------------------------------------------------
 */

/* A rank to which sizes are told, or from which they are heard, or both. The numbers: of blocks of
 * messages with it. */
typedef struct {
    int peer;
    bool tells, hears;
    size_t mine_sent, mine_received; /* I tell: of what I send, and of what I receive */
    size_t its_sent, its_received;   /* it tells: of what it sends, and of what it receives */
    uint64_t *told, *heard;
} talk;

typedef struct {
    const stretto_comm *c;
    const stretto_plan *plan;
    const stretto_graph *graph;
    bool gathers;
    int *talk_of; /* [nranks] place in talks of those that a message goes to or comes from */
    talk *talks;
    int ntalks;
    size_t *sizes; /* [blocks of the call] of those that this rank knows */
} telling;

static int source_of(const telling *t, int name) {
    return t->gathers ? name : stretto_graph_source(t->graph, name);
}

/* The call's block that lies in a block of a buffer. */
static int name_of(const telling *t, stretto_buffer buffer, int block) {
    const int me = t->c->rank;
    if (buffer == STRETTO_TMP)
        return t->plan->tmp_shape[block];
    if (buffer == STRETTO_IN)
        return t->gathers ? me : t->graph->out_start[me] + block;
    const int edge = t->graph->in_edge[t->graph->in_start[me] + block];
    return t->gathers ? stretto_graph_source(t->graph, edge) : edge;
}

typedef enum { COUNT, TELL, HEAR } pass;

/* Goes through all messages with those that tell or are told. */
static void go_through(telling *t, pass what) {
    const int me = t->c->rank;
    for (int i = 0; i < t->plan->nactions; i++) {
        const stretto_action *a = &t->plan->actions[i];
        const bool sends = a->kind == STRETTO_SEND;
        if ((!sends && a->kind != STRETTO_RECV) || t->talk_of[a->peer] < 0)
            continue;
        talk *k = &t->talks[t->talk_of[a->peer]];
        const stretto_span span = sends ? a->src : a->dst;
        for (int b = span.first; b < span.first + span.count; b++) {
            const int name = name_of(t, span.buffer, b), source = source_of(t, name);
            const bool mine = sends ? source == me : source != k->peer;
            size_t *n = mine ? (sends ? &k->mine_sent : &k->mine_received)
                             : (sends ? &k->its_received : &k->its_sent);
            if (what == TELL && mine && k->tells)
                k->told[*n] = t->sizes[name];
            else if (what == HEAR && !mine && k->hears)
                t->sizes[name] = (size_t)k->heard[*n];
            ++*n;
        }
    }
}

/* Sent blocks come first in a message of sizes. */
static void restart(telling *t) {
    for (int i = 0; i < t->ntalks; i++) {
        talk *k = &t->talks[i];
        k->mine_received = k->mine_sent;
        k->its_received = k->its_sent;
        k->mine_sent = k->its_sent = 0;
    }
}

static bool is_telling(const stretto_action *a) {
    return (a->kind == STRETTO_SEND && a->src.count == 0) ||
           (a->kind == STRETTO_RECV && a->dst.count == 0);
}

/* The plan's first actions are those that tell. */
static int count_tellings(const stretto_plan *plan) {
    int n = 0;
    while (n < plan->nactions && is_telling(&plan->actions[n]))
        n++;
    return n;
}

static int exchange(telling *t, int first) {
    const stretto_plan *plan = t->plan;
    for (int i = 0; i < plan->nactions; i++)
        if (plan->actions[i].kind == STRETTO_SEND || plan->actions[i].kind == STRETTO_RECV)
            t->talk_of[plan->actions[i].peer] = -1;
    for (int i = 0; i < first; i++) {
        const stretto_action *a = &plan->actions[i];
        if (t->talk_of[a->peer] < 0) {
            t->talk_of[a->peer] = t->ntalks;
            t->talks[t->ntalks++] = (talk){.peer = a->peer};
        }
        talk *k = &t->talks[t->talk_of[a->peer]];
        k->tells = k->tells || a->kind == STRETTO_SEND;
        k->hears = k->hears || a->kind == STRETTO_RECV;
    }
    go_through(t, COUNT);
    size_t all = 0;
    for (int i = 0; i < t->ntalks; i++) {
        const talk *k = &t->talks[i];
        all += k->mine_sent + k->mine_received + k->its_sent + k->its_received;
    }
    uint64_t *numbers = malloc((all + 1) * sizeof *numbers), *at = numbers;
    MPI_Request *requests = malloc(2 * (size_t)t->ntalks * sizeof *requests);
    if (!numbers || !requests)
        stretto_no_memory(); /* the other ranks have begun the call */
    int n = 0, rc = MPI_SUCCESS;
    for (int i = 0; i < t->ntalks; i++) {
        talk *k = &t->talks[i];
        const size_t told = k->mine_sent + k->mine_received, heard = k->its_sent + k->its_received;
        k->told = at;
        k->heard = at + told;
        at += told + heard;
        if (k->hears && rc == MPI_SUCCESS)
            rc = PMPI_Irecv(k->heard, (int)heard, MPI_UINT64_T, k->peer, t->c->tag + 1,
                            t->c->shadow, &requests[n++]);
    }
    restart(t);
    go_through(t, TELL);
    for (int i = 0; i < t->ntalks; i++) {
        talk *k = &t->talks[i];
        if (k->tells && rc == MPI_SUCCESS) /* mine_received: now the end of what is told */
            rc = PMPI_Isend(k->told, (int)k->mine_received, MPI_UINT64_T, k->peer, t->c->tag + 1,
                            t->c->shadow, &requests[n++]);
    }
    if (rc == MPI_SUCCESS)
        rc = stretto_await_all(n, requests);
    if (rc != MPI_SUCCESS)
        return rc; /* messages may be under way: their memory stays */
    restart(t);    /* the sums of what was sent are as they were */
    go_through(t, HEAR);
    free(numbers);
    free(requests);
    return MPI_SUCCESS;
}

/* Sizes of all blocks that the plan names in TMP, in b->block_n. */
static int learn_sizes(stretto_comm *c, const stretto_plan *plan, stretto_buffers *b,
                       size_t *sizes) {
    const stretto_graph *g = plan->shape.graph;
    const int first = count_tellings(plan), me = c->rank;
    telling t = {.c = c,
                 .plan = plan,
                 .graph = g,
                 .gathers = stretto_collective_neighbor_gathers(plan->shape.collective),
                 .sizes = sizes};
    b->block_n = sizes;
    if (t.gathers)
        sizes[me] = b->in_n[0];
    for (int i = 0; !t.gathers && i < stretto_graph_outdegree(g, me); i++)
        sizes[g->out_start[me] + i] = b->in_n[i];
    for (int i = 0; i < stretto_graph_indegree(g, me); i++)
        if (g->in_edge[g->in_start[me] + i] >= 0)
            sizes[name_of(&t, STRETTO_OUT, i)] = b->out_n[i];
    if (first == 0)
        return MPI_SUCCESS;
    t.talk_of = malloc((size_t)c->nranks * sizeof *t.talk_of);
    t.talks = malloc((size_t)first * sizeof *t.talks);
    if (!t.talk_of || !t.talks)
        stretto_no_memory();
    int rc = exchange(&t, first);
    free(t.talk_of);
    free(t.talks);
    return rc;
}

/* ---- the calls ---------------------------------------------------------------------------------
 */

/* Memory of a call for both sides' blocks, and for the sizes of the call's. */
typedef struct {
    size_t *at[2];
    MPI_Count *counts[2];
    MPI_Aint *displs[2];
    size_t *sizes;
} memory;

static bool take_memory(stretto_comm *c, int nin, int nout, int names, memory *m) {
    const int n[2] = {nout, nin};
    char *at = stretto_comm_scratch(c, STRETTO_SCRATCH_SIZES,
                                    sizeof(uint64_t) *
                                        (4 * ((size_t)nin + (size_t)nout + 2) + (size_t)names));
    for (int side = 0; at && side < 2; side++) {
        const size_t bytes = ((size_t)n[side] + 1) * sizeof(uint64_t);
        m->at[side] = (size_t *)(void *)at;
        m->counts[side] = (MPI_Count *)(void *)(at + 2 * bytes);
        m->displs[side] = (MPI_Aint *)(void *)(at + 3 * bytes);
        at += 4 * bytes;
    }
    m->sizes = (size_t *)(void *)at;
    return at != NULL;
}

/* The blocks of a side as the application has them, those of slots that lead nowhere empty. The
 * displacements of alltoallw are MPI_Aint, its counts may be int: they are widened. */
static stretto_ragged without_nowhere(const stretto_neighbor_blocks *given, const int *ends, int n,
                                      MPI_Count *counts, MPI_Aint *displs) {
    stretto_ragged blocks = given->blocks;
    int nowhere = 0;
    for (int i = 0; i < n; i++)
        nowhere += ends[i] < 0;
    const bool widen = blocks.types && !blocks.large;
    if (blocks.counts && !nowhere && !widen)
        return blocks;
    for (int i = 0; i < n; i++) {
        if (!blocks.counts) {
            counts[i] = ends[i] < 0 ? 0 : given->each;
            displs[i] = (MPI_Aint)(given->each * i);
        } else if (widen) {
            counts[i] = ends[i] < 0 ? 0 : ((const int *)blocks.counts)[i];
        } else if (blocks.large) {
            counts[i] = ends[i] < 0 ? 0 : ((const MPI_Count *)blocks.counts)[i];
        } else {
            ((int *)(void *)counts)[i] = ends[i] < 0 ? 0 : ((const int *)blocks.counts)[i];
        }
    }
    if (!blocks.counts)
        blocks.displs = displs;
    blocks.large = blocks.large || widen || !blocks.counts;
    blocks.counts = counts;
    return blocks;
}

static int run(stretto_comm *c, const stretto_decision *d, stretto_collective collective,
               stretto_buffers *b, size_t *sizes) {
    char error[400];
    const stretto_elements e = stretto_as_bytes();
    stretto_cached_plan *cached =
        stretto_plan_for(c, collective, &d->row->choice, 0, 0, false, true, error, sizeof error);
    if (!cached && strncmp(error, "out of memory", 13) == 0)
        stretto_no_memory(); /* one rank's own; the others have begun */
    if (!cached)             /* a refusal is everybody's */
        return STRETTO_PASS;
    int rc = MPI_SUCCESS;
    c->pinned = cached; /* while this one waits in a fibre, others are decided on */
    if (cached->plan.tmp_blocks || count_tellings(&cached->plan))
        rc = learn_sizes(c, &cached->plan, b, sizes);
    if (rc == MPI_SUCCESS)
        rc = stretto_execute(c, cached, &e, b);
    c->pinned = NULL;
    return rc;
}

int stretto_call_neighbor(stretto_comm *c, const stretto_decision *d, stretto_collective collective,
                          const void *in, const stretto_neighbor_blocks *send, void *out,
                          const stretto_neighbor_blocks *receive) {
    const stretto_graph *g = &c->graph->graph;
    const bool gathers = stretto_collective_neighbor_gathers(collective);
    const int nin = stretto_graph_indegree(g, c->rank);
    const int nout = stretto_graph_outdegree(g, c->rank);
    const int names = gathers ? c->nranks : g->out_start[c->nranks];
    memory m;
    if (!take_memory(c, nin, nout ? nout : 1, names, &m))
        return stretto_call_end(c, MPI_ERR_NO_MEM);
    stretto_ragged receives =
        without_nowhere(receive, g->in_edge + g->in_start[c->rank], nin, m.counts[1], m.displs[1]);
    stretto_blocks from, to;
    /* one block for all out-neighbours, or none when there is nobody */
    const int somebody[1] = {nout ? 0 : -1};
    stretto_ragged sends =
        without_nowhere(send, gathers ? somebody : g->out_to + g->out_start[c->rank],
                        gathers ? 1 : nout, m.counts[0], m.displs[0]);
    int rc = stretto_blocks_open_n(c, nin, STRETTO_SCRATCH_UNPACK, &to, out, &receives, m.at[1],
                                   false, false, -1);
    if (rc == MPI_SUCCESS)
        rc = stretto_blocks_open_n(c, gathers ? 1 : nout, STRETTO_SCRATCH_PACK, &from, in, &sends,
                                   m.at[0], false, true, -1);
    if (rc != MPI_SUCCESS)
        return stretto_call_end(c, rc);
    stretto_buffers b = {.in = from.base,
                         .out = to.base,
                         .in_at = from.at,
                         .in_n = from.n,
                         .out_at = to.at,
                         .out_n = to.n};
    rc = run(c, d, collective, &b, m.sizes);
    if (rc == MPI_SUCCESS)
        rc = stretto_blocks_store(&to);
    return stretto_call_end(c, rc);
}
