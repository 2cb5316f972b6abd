/* From the arguments of a call to what is done with it.
 *
 * Everything read here is equal on all ranks of the communicator: the table, the layout, bytes =
 * type size x count (the type signatures match), whether the operation is predefined, and its
 * commutativity. Whether a datatype is contiguous is each rank's own affair and is not asked here.
 * Where the standard makes no size equal (alltoallv), none is asked. docs/explanation/calls.md has
 * the argument for each collective.
 */
#include "engine/engine.h"
#include "engine/learn.h"
#include "engine/memory.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const size_t BYTES_LIMIT = (size_t)1 << 30; /* counts of MPI_BYTE stay well below 2^31 */

static void because(stretto_decision *d, const char *why) {
    d->why = why;
}

/* The same words for as long as the job runs; there are only so many reasons. */
static const char *lasting(const char *words) {
    static struct said {
        struct said *next;
        char words[];
    } * all;
    static pthread_mutex_t saying = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&saying);
    struct said *s = all;
    while (s && strcmp(s->words, words) != 0)
        s = s->next;
    if (!s) {
        s = malloc(sizeof *s + strlen(words) + 1);
        if (!s)
            stretto_no_memory();
        strcpy(s->words, words);
        s->next = all;
        all = s;
    }
    pthread_mutex_unlock(&saying);
    return s->words;
}

/* What all ranks know alike of a call's sizes; docs/explanation/calls.md says why. */
static const struct {
    enum {
        NO_SIZE,     /* there is none */
        EVERY_COUNT, /* count x datatype is the same amount on every rank */
        MEAN_BLOCK,  /* every rank has all blocks' sizes; count = elements of all together */
        OWN_SIZES    /* ranks know their own only: nothing may depend on them */
    } sizes;
    bool blocks; /* buffers of a block a rank, count being one block's */
} known[STRETTO_COLLECTIVES] = {
    [STRETTO_ALLREDUCE] = {EVERY_COUNT, false},
    [STRETTO_BCAST] = {EVERY_COUNT, false},
    [STRETTO_REDUCE] = {EVERY_COUNT, false},
    [STRETTO_ALLGATHER] = {EVERY_COUNT, true},
    [STRETTO_BARRIER] = {NO_SIZE, false},
    [STRETTO_ALLTOALL] = {EVERY_COUNT, true},
    [STRETTO_ALLTOALLV] = {OWN_SIZES, true},
    [STRETTO_GATHER] = {EVERY_COUNT, true},
    [STRETTO_SCATTER] = {EVERY_COUNT, true},
    [STRETTO_ALLGATHERV] = {MEAN_BLOCK, true},
    [STRETTO_GATHERV] = {OWN_SIZES, true},
    [STRETTO_SCATTERV] = {OWN_SIZES, true},
    [STRETTO_REDUCE_SCATTER_BLOCK] = {EVERY_COUNT, true},
    [STRETTO_REDUCE_SCATTER] = {MEAN_BLOCK, true},
    [STRETTO_SCAN] = {EVERY_COUNT, false},
    [STRETTO_EXSCAN] = {EVERY_COUNT, false},
    [STRETTO_NEIGHBOR_ALLGATHER] = {OWN_SIZES, true},
    [STRETTO_NEIGHBOR_ALLGATHERV] = {OWN_SIZES, true},
    [STRETTO_NEIGHBOR_ALLTOALL] = {OWN_SIZES, true},
    [STRETTO_NEIGHBOR_ALLTOALLV] = {OWN_SIZES, true},
};

/* STRETTO_REPRODUCIBLE: how a reduction is evaluated, whatever table and layout say. These work in
 * an order that depends on the number of ranks alone when they are told that the operation does not
 * commute. */
static const stretto_row *reproducible_row(stretto_collective collective) {
    static const char *const fixed[STRETTO_COLLECTIVES] = {[STRETTO_ALLREDUCE] = "knomial(2)",
                                                           [STRETTO_REDUCE] = "knomial(2)",
                                                           [STRETTO_REDUCE_SCATTER_BLOCK] =
                                                               "pairwise",
                                                           [STRETTO_REDUCE_SCATTER] = "pairwise",
                                                           [STRETTO_SCAN] = "linear",
                                                           [STRETTO_EXSCAN] = "linear"};
    static stretto_row rows[STRETTO_COLLECTIVES];
    static pthread_mutex_t once = PTHREAD_MUTEX_INITIALIZER;
    char error[400];
    if (!fixed[collective])
        return NULL;
    stretto_row *row = &rows[collective];
    pthread_mutex_lock(&once);
    if (!row->line) {
        row->collective = collective;
        row->high = SIZE_MAX;
        if (stretto_choice_parse(collective, fixed[collective], &row->choice, error, sizeof error))
            stretto_say("STRETTO_REPRODUCIBLE: %s", error);
        row->line = STRETTO_LINE_REPRODUCIBLE;
    }
    pthread_mutex_unlock(&once);
    return row;
}

const char *stretto_choice_refused(stretto_comm *c, stretto_collective collective,
                                   const stretto_choice *choice, size_t bytes, size_t wire,
                                   bool user_op, bool commutative) {
    static _Thread_local char error[400];
    static const char no_rings[] = "no shared memory available for long messages";
    if (choice->kind == STRETTO_CHOICE_NATIVE)
        return NULL;
    if (choice->kind == STRETTO_CHOICE_SHM) {
        if (!c->node_ready)
            return "no shared memory available for this communicator";
        if (user_op)
            return "a user operation cannot be evaluated in shared memory";
        if (c->one_node && !choice->algorithm)
            return stretto_memory_suffices(c, collective, choice, wire) ? NULL : no_rings;
    }
    if (!c->has_shadow && !(choice->kind == STRETTO_CHOICE_SHM && c->one_node))
        return "no shadow communicator for the messages of Stretto";
    if (stretto_collective_neighbor(collective) && stretto_comm_graph(c))
        return c->no_graph;
    if (stretto_plan_for(c, collective, choice, 0, bytes, false, commutative, error, sizeof error))
        return choice->kind != STRETTO_CHOICE_SHM ||
                       stretto_memory_suffices(c, collective, choice, wire)
                   ? NULL
                   : no_rings;
    if (strncmp(error, "out of memory", 13) == 0)
        stretto_no_memory(); /* the other ranks have their plans */
    return error;
}

/* Once for each size class, so that a job says tens of lines and not millions. */
static void tell(stretto_comm *c, stretto_collective collective, const stretto_decision *d) {
    int size_class = d->bytes ? 64 - __builtin_clzll(d->bytes) : 0;
    if (c->rank || (c->coll[collective].told >> size_class & 1))
        return;
    c->coll[collective].told |= 1ull << size_class;
    char text[256] = "native", where[300] = "no row for it", size[40] = "any size", on[60];
    if (d->run != STRETTO_RUN_NATIVE)
        stretto_choice_format(&d->row->choice, text, sizeof text);
    if (known[collective].sizes != OWN_SIZES)
        snprintf(size, sizeof size, "%zu byte%s", d->bytes, d->bytes == 1 ? "" : "s");
    if (d->row && d->row->line > 0)
        snprintf(where, sizeof where, "%s:%d", stretto_the_table.name, d->row->line);
    else if (d->row)
        snprintf(where, sizeof where, "%s", stretto_row_origin(d->row));
    const bool even = c->nranks == c->layout.nnodes * c->ppn;
    snprintf(on, sizeof on, even ? "%d x %d" : "%d nodes with at most %d each", c->layout.nnodes,
             c->ppn);
    stretto_say("%s of %s on %d ranks (%s): %s (%s%s%s)", stretto_collective_name(collective), size,
                c->nranks, on, text, where, *d->why ? "; but " : "", d->why);
}

/* Reductions with a radix hold, and bruck_k sends, several whole vectors at a time, at most one a
 * rank; so do those for few ranks. The leader of an alltoall has the vectors of its node. */
static size_t vectors_limit(const stretto_comm *c, stretto_collective collective,
                            const stretto_choice *choice) {
    if (collective == STRETTO_ALLTOALL && choice->kind == STRETTO_CHOICE_SHM && choice->algorithm)
        return BYTES_LIMIT / (size_t)c->nranks / (size_t)c->ppn;
    if (!stretto_collective_reduces(collective) || !choice->algorithm ||
        (choice->algorithm->param != STRETTO_PARAM_RADIX &&
         !(choice->algorithm->needs & (STRETTO_FOR_FEW_RANKS | STRETTO_NEEDS_NODES))))
        return BYTES_LIMIT;
    int most = choice->kind == STRETTO_CHOICE_FLAT ? c->nranks : c->layout.nnodes;
    if ((choice->algorithm->needs & STRETTO_NEEDS_NODES) && c->ppn > most)
        most = c->ppn; /* what has come is handed round the node */
    return BYTES_LIMIT / (size_t)most;
}

/* The sizes of the call as all ranks know them: d->bytes for the look-up; false: the MPI's. */
static bool measure(const stretto_comm *c, stretto_collective collective, stretto_decision *d) {
    if (known[collective].sizes == NO_SIZE || known[collective].sizes == OWN_SIZES)
        return true;
    long long asked = -1;
    MPI_Count told;
    size_t size = stretto_dense_size(d->datatype);
    if (!size) {
        if (d->datatype != MPI_DATATYPE_NULL && d->count >= 0 &&
            PMPI_Type_size_x(d->datatype, &told) == MPI_SUCCESS)
            asked = told;
        if (asked < 0) {
            because(d, "wrong arguments, which the MPI reports");
            return false;
        }
        size = (size_t)asked;
    }
    /* what one message, or one packed result, may hold */
    size_t limit = BYTES_LIMIT / (size ? size : 1);
    if (known[collective].blocks && known[collective].sizes == EVERY_COUNT)
        limit /= (size_t)c->nranks;
    if (d->count <= 0 || size == 0 || (size_t)d->count > limit) {
        because(d, d->count > 0 && size ? "too large" : "nothing to do");
        return false;
    }
    d->bytes = size * (size_t)d->count;
    if (known[collective].sizes == MEAN_BLOCK)
        d->bytes /= (size_t)c->nranks;
    d->extent = size;
    return true;
}

bool stretto_size_is_known(stretto_collective collective) {
    return known[collective].sizes != OWN_SIZES;
}

const stretto_row *stretto_row_for(const stretto_comm *c, stretto_collective collective,
                                   size_t bytes) {
    if (stretto_config.reproducible && stretto_collective_reduces(collective))
        return reproducible_row(collective);
    if (c->coll[collective].is_forced)
        return c->coll[collective].forced;
    if (known[collective].sizes == OWN_SIZES)
        return stretto_table_find_any_size(&stretto_the_table, collective, c->layout.nnodes,
                                           c->ppn);
    return stretto_table_find(&stretto_the_table, collective, c->layout.nnodes, c->ppn, bytes);
}

/* Does the data of an element reach into its neighbours' place, as a column of a matrix resized to
 * one number? One vector of them overlaps itself nowhere, but two that lie side by side, as in the
 * scratch of a plan, do. Movement alone knows no such types: it packs. */
static bool interleaves(MPI_Datatype datatype) {
    MPI_Aint lb, extent, true_lb, true_extent;
    return PMPI_Type_get_extent(datatype, &lb, &extent) != MPI_SUCCESS ||
           PMPI_Type_get_true_extent(datatype, &true_lb, &true_extent) != MPI_SUCCESS ||
           true_extent > (extent < 0 ? -extent : extent);
}

/* Whether the MPI has a predefined operation on a datatype for which we have no kernel at all.
 * Asked before anybody begins, and of no elements: in mid-call it would be one rank's error, on
 * MPI_COMM_WORLD. On a type that has kernels what has none is a mistake. */
static bool mpi_reduces(MPI_Op op, MPI_Datatype datatype) {
    if (stretto_op_number(op) == STRETTO_OPS || stretto_has_kernels(datatype))
        return false;
    long long a[4] = {0}, b[4] = {0};
    MPI_Errhandler world = stretto_be_quiet(MPI_COMM_WORLD), self = stretto_be_quiet(MPI_COMM_SELF);
    const bool yes = PMPI_Reduce_local(a, b, 0, datatype, op) == MPI_SUCCESS;
    stretto_be_as_before(MPI_COMM_SELF, self);
    stretto_be_as_before(MPI_COMM_WORLD, world);
    return yes;
}

/* What becomes of the row that was found. */
static void carry_out(stretto_comm *c, stretto_collective collective, stretto_decision *d) {
    bool user_op = false, commutative = !stretto_config.reproducible;
    if (!d->row || d->row->choice.kind == STRETTO_CHOICE_NATIVE)
        return;
    if (d->row->line != STRETTO_LINE_REPRODUCIBLE &&
        d->bytes > vectors_limit(c, collective, &d->row->choice)) {
        because(d, "too large for this algorithm");
        return;
    }
    if (stretto_collective_reduces(collective)) {
        d->reduce = stretto_kernel_for(d->op, d->datatype, &d->extent, &d->store);
        if (!d->reduce) {
            bool predefined = stretto_is_predefined_op(d->op);
            if (d->op == MPI_OP_NULL ||
                (predefined &&
                 !(d->row->line == STRETTO_LINE_REPRODUCIBLE && mpi_reduces(d->op, d->datatype)))) {
                because(d, "no kernel for this operation on this datatype");
                return;
            }
            int commutes = 0;
            user_op = true;
            if (PMPI_Op_commutative(d->op, &commutes) != MPI_SUCCESS) {
                because(d, "wrong arguments, which the MPI reports");
                return;
            }
            if (interleaves(d->datatype)) {
                because(d, "the elements of this datatype overlap");
                return;
            }
            commutative = commutative && commutes;
        }
    }
    size_t wire = d->extent * (size_t)d->elements; /* pairs travel with their gaps */
    if (known[collective].sizes == MEAN_BLOCK)
        wire /= (size_t)c->nranks;
    const char *refused = stretto_choice_refused(c, collective, &d->row->choice, d->bytes, wire,
                                                 user_op, commutative);
    if (refused) {
        because(d, lasting(refused));
        return;
    }
    d->run = c->one_node && d->row->choice.kind == STRETTO_CHOICE_SHM ? STRETTO_RUN_NODE
                                                                      : STRETTO_RUN_PLAN;
}

/* d's key is set. False: the MPI's, and what is left of d says why. */
static bool begin(stretto_comm *c, stretto_collective collective, stretto_decision *d) {
    d->run = STRETTO_RUN_NATIVE;
    d->row = NULL;
    d->why = "";
    d->reduce = NULL;
    d->store = NULL;
    d->learning = NULL;
    d->bytes = d->extent = 0;
    /* an invalid datatype is the MPI's to find, too */
    return c->coll[collective].looked_at && measure(c, collective, d);
}

static void make(stretto_comm *c, stretto_collective collective, stretto_decision *d) {
    if (!begin(c, collective, d))
        return;
    d->row = stretto_row_for(c, collective, d->bytes);
    if (stretto_config.learn && !c->coll[collective].is_forced && stretto_learns(collective))
        stretto_learn_take(c, collective, d);
    carry_out(c, collective, d);
}

const stretto_decision stretto_undecided = {.why = ""};

/* A derived type or a user operation can be freed, and its handle come again as another: such a
 * decision is for once. So is one of ours whose calls are counted (stretto_memory_counts). */
static bool lasts(const stretto_comm *c, const stretto_decision *d) {
    return (d->datatype == MPI_DATATYPE_NULL || stretto_is_predefined_type(d->datatype)) &&
           (!stretto_collective_reduces(d->collective) || stretto_is_predefined_op(d->op)) &&
           (d->run == STRETTO_RUN_NATIVE || !stretto_memory_counts(c, d->collective));
}

void stretto_decide_by(stretto_comm *c, stretto_collective collective, stretto_decision *d,
                       long long count, MPI_Datatype datatype, MPI_Op op, const stretto_row *row) {
    d->collective = collective;
    d->count = d->elements = count;
    d->datatype = datatype;
    d->op = op;
    if (begin(c, collective, d)) {
        d->row = row;
        carry_out(c, collective, d);
    }
    if (!lasts(c, d))
        d->count = LLONG_MIN;
}

const stretto_decision *stretto_decide(stretto_comm *c, stretto_collective collective,
                                       long long count, MPI_Datatype datatype, MPI_Op op) {
    stretto_decision **made = &c->coll[collective].decisions;
    if (!*made && !(*made = calloc(STRETTO_DECISIONS, sizeof **made)))
        stretto_no_memory(); /* the others may have begun the call */
    for (int i = 0; i < STRETTO_DECISIONS; i++) {
        stretto_decision *d = &c->coll[collective].decisions[i];
        if (d->run != STRETTO_RUN_UNDECIDED && d->count == count && d->datatype == datatype &&
            d->op == op)
            return c->coll[collective].last = d;
    }
    c->rooted_now = 0;
    /* those that last are copied from here */
    stretto_decision *d = &(*made)[STRETTO_DECISIONS - 1];
    d->collective = collective;
    d->count = d->elements = count;
    d->datatype = datatype;
    d->op = op;
    make(c, collective, d);
    if (__builtin_expect(stretto_config.verbose, 0))
        tell(c, collective, d);
    if (lasts(c, d)) {
        const int place = c->coll[collective].next;
        c->coll[collective].next = (place + 1) % (STRETTO_DECISIONS - 1);
        (*made)[place] = *d;
        d = &(*made)[place];
    }
    (*made)[STRETTO_DECISIONS - 1].count = LLONG_MIN;
    c->coll[collective].last = d;
    return d;
}
