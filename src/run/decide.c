/* From the arguments of a call to what is done with it.
 *
 * Everything read here is equal on all ranks of the communicator: the table, the layout, bytes =
 * type size x count (the type signatures match), whether the operation is predefined, and its
 * commutativity. Whether a datatype is contiguous is each rank's own affair and is not asked here.
 */
#include "run/engine.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

static const size_t BYTES_LIMIT = (size_t)1 << 30; /* counts of MPI_BYTE stay well below 2^31 */

static void because(stretto_decision *d, const char *why) {
    snprintf(d->why, sizeof d->why, "%s", why);
}

static bool is_reduction(stretto_collective collective) {
    return collective == STRETTO_ALLREDUCE || collective == STRETTO_REDUCE;
}

const char *stretto_choice_refused(stretto_comm *c, stretto_collective collective,
                                   const stretto_choice *choice, size_t bytes, bool user_op,
                                   bool commutative) {
    static _Thread_local char error[400];
    if (choice->kind == STRETTO_CHOICE_NATIVE)
        return NULL;
    if (choice->kind == STRETTO_CHOICE_SHM) {
        if (!c->node_ready)
            return "no shared memory was to be had for this communicator";
        if (user_op)
            return "a user operation cannot be evaluated in shared memory";
        if (c->one_node && !choice->algorithm)
            return NULL;
    }
    if (!c->has_shadow && !(choice->kind == STRETTO_CHOICE_SHM && c->one_node))
        return "no communicator for our messages";
    if (stretto_plan_for(c, collective, choice, 0, bytes, false, commutative, error, sizeof error))
        return NULL;
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
    char text[256] = "native", where[300] = "no row for it";
    if (d->run != STRETTO_RUN_NATIVE)
        stretto_choice_format(&d->row->choice, text, sizeof text);
    if (d->row && d->row->line)
        snprintf(where, sizeof where, "%s:%d", stretto_the_table.name, d->row->line);
    else if (d->row)
        snprintf(where, sizeof where, "forced");
    stretto_say("%s of %zu bytes on %d ranks (%d x %d): %s (%s%s%s)",
                stretto_collective_name(collective), d->bytes, c->nranks, c->layout.nnodes, c->ppn,
                text, where, *d->why ? "; but " : "", d->why);
}

/* Reductions with a radix hold, and bruck_k sends, several whole vectors at a time, at most one a
 * rank. */
static size_t vectors_limit(const stretto_comm *c, stretto_collective collective,
                            const stretto_choice *choice) {
    if (!is_reduction(collective) || !choice->algorithm ||
        choice->algorithm->param != STRETTO_PARAM_RADIX)
        return BYTES_LIMIT;
    bool flat = choice->kind == STRETTO_CHOICE_FLAT;
    return BYTES_LIMIT / (size_t)(flat ? c->nranks : c->layout.nnodes);
}

static void make(stretto_comm *c, stretto_collective collective, stretto_decision *d) {
    d->run = STRETTO_RUN_NATIVE;
    d->row = NULL;
    d->why[0] = '\0';
    d->reduce = NULL;
    d->bytes = 0;
    if (!c->coll[collective].looked_at)
        return; /* an invalid datatype is the MPI's to find, too */
    bool user_op = false, commutative = true;
    if (collective != STRETTO_BARRIER) {
        size_t size = stretto_dense_size(d->datatype);
        if (!size) {
            int asked;
            if (d->datatype == MPI_DATATYPE_NULL || d->count < 0 ||
                PMPI_Type_size(d->datatype, &asked) != MPI_SUCCESS || asked < 0) {
                because(d, "arguments for the MPI to judge");
                return;
            }
            size = (size_t)asked;
        }
        /* what one message, or one packed result, may hold */
        size_t limit = BYTES_LIMIT / (size ? size : 1);
        if (collective == STRETTO_ALLGATHER)
            limit /= (size_t)c->nranks;
        if (d->count <= 0 || size == 0 || (size_t)d->count > limit) {
            because(d, d->count > 0 && size ? "too large" : "nothing to do");
            return;
        }
        d->bytes = size * (size_t)d->count;
        d->extent = size;
    }
    d->row = c->coll[collective].is_forced ? &c->coll[collective].forced
                                           : stretto_table_find(&stretto_the_table, collective,
                                                                c->layout.nnodes, c->ppn, d->bytes);
    if (!d->row || d->row->choice.kind == STRETTO_CHOICE_NATIVE)
        return;
    if (d->bytes > vectors_limit(c, collective, &d->row->choice)) {
        because(d, "too large for this algorithm");
        return;
    }
    if (is_reduction(collective)) {
        d->reduce = stretto_kernel_for(d->op, d->datatype, &d->extent);
        if (!d->reduce) {
            if (d->op == MPI_OP_NULL || stretto_is_predefined_op(d->op)) {
                because(d, "no kernel for this operation on this datatype");
                return;
            }
            int commutes = 0;
            user_op = true;
            if (PMPI_Op_commutative(d->op, &commutes) != MPI_SUCCESS) {
                because(d, "arguments for the MPI to judge");
                return;
            }
            commutative = commutes;
        }
    }
    const char *refused =
        stretto_choice_refused(c, collective, &d->row->choice, d->bytes, user_op, commutative);
    if (refused) {
        because(d, refused);
        return;
    }
    d->run = c->one_node && d->row->choice.kind == STRETTO_CHOICE_SHM ? STRETTO_RUN_NODE
                                                                      : STRETTO_RUN_PLAN;
}

const stretto_decision *stretto_decide(stretto_comm *c, stretto_collective collective,
                                       long long count, MPI_Datatype datatype, MPI_Op op) {
    for (int i = 0; i < STRETTO_DECISIONS; i++) {
        stretto_decision *d = &c->coll[collective].decisions[i];
        if (d->run != STRETTO_RUN_UNDECIDED && d->count == count && d->datatype == datatype &&
            d->op == op)
            return c->coll[collective].last = d;
    }
    stretto_decision *d = &c->coll[collective].decisions[c->coll[collective].next];
    c->coll[collective].next = (c->coll[collective].next + 1) % STRETTO_DECISIONS;
    d->count = d->elements = count;
    d->datatype = datatype;
    d->op = op;
    make(c, collective, d);
    if (__builtin_expect(stretto_config.verbose, 0))
        tell(c, collective, d);
    /* A derived type or a user operation can be freed, and its handle come again as another. */
    bool lasting = collective == STRETTO_BARRIER || stretto_is_predefined_type(datatype);
    if (is_reduction(collective) && !stretto_is_predefined_op(op))
        lasting = false;
    if (!lasting)
        d->count = LLONG_MIN;
    c->coll[collective].last = d;
    return d;
}
