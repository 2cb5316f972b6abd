/* From the arguments of a nonblocking collective to a record that a fibre carries out. */
#include "engine/operation.h"

#include "engine/call.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

int stretto_requests_live;
stretto_operation *stretto_operations;
static stretto_operation *free_ones;
static int made, usable;

/* Fortran's numbers of ours lie where no MPI's own do. */
enum { FIRST_NUMBER = INT32_MIN / 2 };

/* Addresses only: what can be written counts as used where a program has locked its memory
 * (mlockall) or the kernel promises no more than it has. */
bool stretto_operations_reserve(void) {
    void *memory = mmap(NULL, STRETTO_OPERATIONS_MOST * sizeof(stretto_operation), PROT_NONE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    stretto_operations = memory == MAP_FAILED ? NULL : memory;
    return stretto_operations != NULL;
}

/* Memory for some more. */
static void open_more(void) {
    enum { MORE = 1024 };
    _Static_assert(STRETTO_OPERATIONS_MOST % MORE == 0, "parts of a size");
    _Static_assert(MORE * sizeof(stretto_operation) % 65536 == 0, "whole pages");
    if (mprotect(&stretto_operations[usable], MORE * sizeof(stretto_operation),
                 PROT_READ | PROT_WRITE))
        stretto_no_memory(); /* the other ranks have begun it */
    usable += MORE;
}

void stretto_operations_release(void) {
    if (stretto_operations)
        munmap(stretto_operations, STRETTO_OPERATIONS_MOST * sizeof(stretto_operation));
    stretto_operations = free_ones = NULL;
    made = usable = stretto_requests_live = 0;
}

void stretto_operations_left(const stretto_comm *c) {
    for (int i = 0; i < made; i++)
        if (stretto_operations[i].used && stretto_operations[i].of == c)
            stretto_operations[i].comm = MPI_COMM_WORLD;
}

MPI_Request stretto_operation_handle(stretto_operation *o) {
#ifdef STRETTO_ABI_MPICH
    return MPI_REQUEST_NULL + 1 + (int)(o - stretto_operations);
#else
    return (MPI_Request)o;
#endif
}

stretto_operation *stretto_operation_numbered(int number) {
    unsigned i = (unsigned)number - (unsigned)FIRST_NUMBER;
    return i < (unsigned)made ? &stretto_operations[i] : NULL;
}

/* A record of a collective on c, without what the call says. */
static stretto_operation *take(stretto_comm *c, stretto_collective collective) {
    stretto_operation *o = free_ones;
    if (o) {
        free_ones = o->next;
    } else {
        if (made == STRETTO_OPERATIONS_MOST) {
            stretto_say("more than %d collectives at once: some requests are never waited for",
                        STRETTO_OPERATIONS_MOST);
            stretto_no_memory(); /* the other ranks have begun it */
        }
        if (made == usable)
            open_more();
        o = &stretto_operations[made];
        for (size_t i = 0; i < sizeof o->face / sizeof *o->face; i++)
            o->face[i] = FIRST_NUMBER + made;
        made++;
    }
    o->next = NULL;
    o->fibre = NULL;
    o->rc = MPI_SUCCESS;
    o->progress = STRETTO_INACTIVE;
    o->used = true;
    o->persistent = o->failed = o->posted = false;
    o->kept = NULL;
    o->nkept = 0;
    o->c = c;
    o->of = c;
    o->comm = c->comm;
    o->collective = collective;
    stretto_requests_live++;
    return o;
}

void stretto_operation_forget_types(stretto_operation *o) {
    if (STRETTO_LIKELY(!o->kept))
        return;
    for (int i = 0; i < o->nkept; i++)
        if (o->kept[i] != MPI_DATATYPE_NULL)
            PMPI_Type_free(&o->kept[i]);
    free(o->kept);
    o->kept = NULL;
    o->nkept = 0;
}

void stretto_operation_give_back(stretto_operation *o) {
    stretto_operation_forget_types(o);
    o->used = false;
    o->next = free_ones;
    free_ones = o;
    stretto_requests_live--;
}

stretto_operation *stretto_operation_new(stretto_comm *c, stretto_collective collective,
                                         const stretto_decision *d) {
    stretto_operation *o = take(c, collective);
    memcpy(&o->decision, d, offsetof(stretto_decision, why));
    o->decision.why = "";
    o->in = NULL;
    o->out = NULL;
    o->count = 0;
    o->type = MPI_DATATYPE_NULL;
    o->root = 0;
    o->send = o->receive = (stretto_ragged){.type = MPI_DATATYPE_NULL};
    o->each[0] = o->each[1] = 0;
    return o;
}

static bool in_place(const stretto_operation *o) {
    const bool root = o->c->rank == o->root;
    switch (o->collective) {
    case STRETTO_ALLREDUCE:
    case STRETTO_ALLGATHER:
    case STRETTO_ALLGATHERV:
    case STRETTO_ALLTOALL:
    case STRETTO_ALLTOALLV: return o->in == MPI_IN_PLACE;
    case STRETTO_REDUCE: return o->in == MPI_IN_PLACE || (root && o->in == o->out);
    case STRETTO_GATHER:
    case STRETTO_GATHERV: return root && o->in == MPI_IN_PLACE;
    case STRETTO_SCATTER:
    case STRETTO_SCATTERV: return root && o->out == MPI_IN_PLACE;
    case STRETTO_SCAN:
    case STRETTO_EXSCAN: return o->in == MPI_IN_PLACE || o->in == o->out;
    default: return false;
    }
}

/* Once it is issued it cannot be passed to the MPI any more: others of the application's may have
 * gone there meanwhile, in another order than on other ranks. */
static bool has_plan(const stretto_operation *o) {
    char error[400];
    if (o->decision.run == STRETTO_RUN_NODE)
        return true;
    const bool commutative = !stretto_config.reproducible;
    if (stretto_plan_for(
            o->c, o->collective, &o->decision.row->choice, o->root, o->decision.bytes, in_place(o),
            stretto_collective_reduces(o->collective) ? commutative : true, error, sizeof error))
        return true;
    if (strncmp(error, "out of memory", 13) == 0)
        stretto_no_memory();
    return false;
}

/* Blocks of a side with sizes of its own: one for each rank, or for each slot of a neighbour, of
 * which those with a negative end lead nowhere. */
static int blocks_of(const stretto_operation *o, bool sends, const int **ends) {
    *ends = NULL;
    if (!stretto_collective_neighbor(o->collective))
        return o->c->nranks;
    const stretto_graph *g = &o->c->graph->graph;
    const int me = o->c->rank;
    *ends = sends ? g->out_to + g->out_start[me] : g->in_edge + g->in_start[me];
    return sends ? stretto_graph_outdegree(g, me) : stretto_graph_indegree(g, me);
}

/* Whether every block has a size: otherwise this rank's MPI is to say what is wrong. */
static bool well_formed(const stretto_operation *o, bool sends) {
    const stretto_ragged *b = sends ? &o->send : &o->receive;
    const int *ends, nblocks = blocks_of(o, sends, &ends);
    const long long each = o->each[!sends];
    if (!b->counts) /* without neighbours anything goes */
        return nblocks == 0 || each == 0 || (each > 0 && stretto_type_bytes(b->type) >= 0);
    for (int r = 0; r < nblocks; r++) {
        long long n =
            b->large ? (long long)((const MPI_Count *)b->counts)[r] : ((const int *)b->counts)[r];
        if (ends && ends[r] < 0)
            continue;
        if (n < 0 || (n > 0 && stretto_type_bytes(b->types ? b->types[r] : b->type) < 0))
            return false;
    }
    return true;
}

static bool arguments_fit(const stretto_operation *o) {
    const int n = o->c->nranks;
    if (o->root < 0 || o->root >= n || o->count < 0)
        return false;
    if (!in_place(o) && o->count > 0 && stretto_type_bytes(o->type) < 0)
        return false;
    return ((o->collective == STRETTO_ALLTOALLV && in_place(o)) || well_formed(o, true)) &&
           well_formed(o, false);
}

/* A datatype that the application may free before the end is kept alive. Not by a dup, which would
 * run the application's attribute callbacks. */
static void keep(stretto_operation *o, MPI_Datatype *type) {
    MPI_Datatype own;
    if (*type == MPI_DATATYPE_NULL || stretto_is_predefined_type(*type))
        return;
    if (!o->kept && !(o->kept = malloc(3 * sizeof *o->kept)))
        stretto_no_memory();
    if (PMPI_Type_contiguous(1, *type, &own) != MPI_SUCCESS ||
        PMPI_Type_commit(&own) != MPI_SUCCESS)
        return; /* reported by the MPI */
    o->kept[o->nkept++] = *type = own;
}

/* Each block's own: an array of ours of the kept ones, which stands behind them. */
static void keep_each(stretto_operation *o, stretto_ragged *send, stretto_ragged *receive) {
    const int *ends[2], n[2] = {blocks_of(o, true, &ends[0]), blocks_of(o, false, &ends[1])};
    const size_t both = (size_t)n[0] + (size_t)n[1];
    MPI_Datatype *all = calloc(2 * both + 1, sizeof *all), *next = all + both;
    if (!all)
        stretto_no_memory();
    o->kept = all;
    stretto_ragged *sides[2] = {send, receive};
    for (int s = 0; s < 2; s++) {
        const MPI_Datatype *given = sides[s]->types;
        for (int r = 0; given && r < n[s]; r++) {
            const int count = sides[s]->large ? ((const MPI_Count *)sides[s]->counts)[r] > 0
                                              : ((const int *)sides[s]->counts)[r] > 0;
            next[r] = given[r];
            if (count && !(ends[s] && ends[s][r] < 0))
                keep(o, &next[r]);
        }
        if (given)
            sides[s]->types = next;
        next += n[s];
    }
}

bool stretto_operation_can_be_done(const stretto_operation *o) {
    return arguments_fit(o) && has_plan(o);
}

/* Whether a side of blocks has a datatype that counts. */
static bool has_elements(const stretto_operation *o, bool sends) {
    const int *ends;
    return (sends ? o->send.counts : o->receive.counts) != NULL ||
           (o->each[!sends] > 0 && blocks_of(o, sends, &ends) > 0);
}

void stretto_operation_keep_types(stretto_operation *o) {
    if (o->send.types || o->receive.types) {
        if (in_place(o))
            o->send.types = NULL;
        keep_each(o, &o->send, &o->receive);
    } else if (!stretto_collective_reduces(o->collective)) {
        keep(o, &o->decision.datatype);
        if (o->count && !in_place(o))
            keep(o, &o->type);
        if (has_elements(o, true) && !in_place(o))
            keep(o, &o->send.type);
        if (has_elements(o, false))
            keep(o, &o->receive.type);
    }
    /* Reductions that are ours have a predefined operation, and so a predefined datatype, whether
     * types.c knows it or not: none can be freed, and none of ours in its place be reduced. */
}

bool stretto_operation_start(stretto_operation *o, MPI_Request *request) {
    if (!o->c->first && stretto_operation_post(o)) { /* a predefined type, arguments that fit */
        *request = stretto_operation_handle(o);
        stretto_outstanding_issue(o);
        stretto_outstanding_unlock();
        return true;
    }
    if (!stretto_operation_can_be_done(o)) {
        stretto_comm_calls *calls = &o->c->coll[o->collective];
        calls->ours--, calls->native++;
        stretto_operation_give_back(o);
        stretto_outstanding_unlock();
        return false;
    }
    stretto_operation_keep_types(o);
    *request = stretto_operation_handle(o);
    stretto_outstanding_issue(o);
    stretto_outstanding_unlock();
    return true;
}

int stretto_operation_complete(stretto_operation *o, MPI_Request *request, MPI_Comm *comm) {
    int rc = o->rc;
    *comm = stretto_operation_comm(o);
    if (o->persistent) {
        o->failed = o->failed || rc != MPI_SUCCESS;
        __atomic_store_n(&o->progress, STRETTO_INACTIVE, __ATOMIC_RELEASE);
        return rc;
    }
    *request = MPI_REQUEST_NULL;
    stretto_operation_give_back(o);
    return rc;
}

static inline bool post(stretto_comm *c, stretto_collective collective, const stretto_decision *d,
                        const void *in) {
    if (d->run != STRETTO_RUN_NODE || d->store)
        return false;
    if (collective == STRETTO_BARRIER)
        return stretto_node_post(c->node, NULL, 0);
    const size_t bytes = (size_t)d->elements * d->extent;
    return collective == STRETTO_ALLREDUCE && d->reduce && bytes > 0 &&
           stretto_node_post(c->node, in, bytes);
}

bool stretto_operation_post(stretto_operation *o) {
    return o->posted =
               post(o->c, o->collective, &o->decision, o->in == MPI_IN_PLACE ? o->out : o->in);
}

bool stretto_operation_at_once(stretto_comm *c, stretto_collective collective,
                               const stretto_decision *d, const void *in, void *out,
                               MPI_Request *request) {
    if (c->first || !post(c, collective, d, in))
        return false;
    stretto_operation *o = take(c, collective);
    o->posted = true;
    o->in = in;
    o->out = out;
    o->decision.elements = d->elements; /* what collect asks for */
    o->decision.extent = d->extent;
    o->decision.reduce = d->reduce;
    *request = stretto_operation_handle(o);
    stretto_outstanding_issue(o);
    return true;
}

bool stretto_operation_collect(stretto_operation *o, int looks) {
    const stretto_decision *d = &o->decision;
    stretto_node *node = o->c->node;
    const size_t n = (size_t)d->elements; /* 0 of a barrier */
    const bool over = stretto_node_collect(node, o->in == MPI_IN_PLACE ? o->out : o->in, o->out, n,
                                           n * d->extent, d->reduce, looks);
    o->posted = !over;
    return over;
}

/* In its fibre. */
void stretto_operation_run(void *operation) {
    stretto_operation *o = operation;
    stretto_comm *c = o->c;
    const stretto_decision *d = &o->decision;
    int rc = STRETTO_PASS;
    switch (o->collective) {
    case STRETTO_ALLREDUCE: rc = stretto_call_allreduce(c, d, o->in, o->out); break;
    case STRETTO_REDUCE: rc = stretto_call_reduce(c, d, o->in, o->out, o->root); break;
    case STRETTO_BCAST: rc = stretto_call_bcast(c, d, o->out, o->root); break;
    case STRETTO_BARRIER: rc = stretto_call_barrier(c, d); break;
    case STRETTO_ALLGATHER:
        rc = stretto_call_allgather(c, d, o->in, o->count, o->type, o->out);
        break;
    case STRETTO_ALLTOALL:
        rc = stretto_call_alltoall(c, d, o->in, o->count, o->type, o->out);
        break;
    case STRETTO_GATHER:
        rc = stretto_call_gather(c, d, o->in, o->count, o->type, o->out, o->root);
        break;
    case STRETTO_SCATTER:
        rc = stretto_call_scatter(c, d, o->in, o->out, o->count, o->type, o->root);
        break;
    case STRETTO_ALLTOALLV:
        rc = stretto_call_alltoallv(c, d, o->in, &o->send, o->out, &o->receive);
        break;
    case STRETTO_GATHERV:
        rc = stretto_call_gatherv(c, d, o->in, o->count, o->type, o->out, &o->receive, o->root);
        break;
    case STRETTO_SCATTERV:
        rc = stretto_call_scatterv(c, d, o->in, &o->send, o->out, o->count, o->type, o->root);
        break;
    case STRETTO_ALLGATHERV:
        rc = stretto_call_allgatherv(c, d, o->in, o->count, o->type, o->out, &o->receive);
        break;
    case STRETTO_REDUCE_SCATTER_BLOCK:
        rc = stretto_call_reduce_scatter_block(c, d, o->in, o->out);
        break;
    case STRETTO_REDUCE_SCATTER:
        rc = stretto_call_reduce_scatter(c, d, o->in, o->out, &o->receive);
        break;
    case STRETTO_SCAN: rc = stretto_call_scan(c, d, o->in, o->out, false); break;
    case STRETTO_EXSCAN: rc = stretto_call_scan(c, d, o->in, o->out, true); break;
    case STRETTO_NEIGHBOR_ALLGATHER:
    case STRETTO_NEIGHBOR_ALLGATHERV:
    case STRETTO_NEIGHBOR_ALLTOALL:
    case STRETTO_NEIGHBOR_ALLTOALLV: {
        const stretto_neighbor_blocks send = {o->send, o->each[0]},
                                      receive = {o->receive, o->each[1]};
        rc = stretto_call_neighbor(c, d, o->collective, o->in, &send, o->out, &receive);
        break;
    }
    default: break;
    }
    o->rc = rc == STRETTO_PASS ? MPI_ERR_ARG : rc;
}
