/* The way into a collective: find the communicator, compare the arguments with those of the last
 * decision, go. This is on the path of every call. Whatever is not clearly ours goes to the MPI
 * with its arguments untouched, wrong arguments too, so that the MPI reports them in its own words.
 */
#ifndef STRETTO_ENTRY_H
#define STRETTO_ENTRY_H

#include "interpose/guard.h"
#include "engine/check.h"
#include "engine/engine.h"
#include "engine/operation.h"

/* The state when calls on comm are looked at; NULL = the MPI. */
static inline stretto_comm *stretto_known(MPI_Comm comm) {
    stretto_comm *c = stretto_comm_find(comm);
    if (STRETTO_LIKELY(c != NULL)) {
        if (STRETTO_LIKELY(c->status == STRETTO_COMM_READY)) {
            if (STRETTO_LIKELY(!stretto_outstanding_now()))
                return c;
            stretto_outstanding_drain(c); /* they came first, on all ranks */
            return c;
        }
        if (c->status == STRETTO_COMM_NATIVE)
            return NULL;
    }
    c = stretto_comm_seen(comm);
    return c && c->status == STRETTO_COMM_READY ? c : NULL;
}

/* As above; what the call says of itself is looked at with STRETTO_CHECK_CALLS only. */
#define STRETTO_OURS(comm, name, which, its_root, n, type, operation, ...)                         \
    (STRETTO_LIKELY(stretto_the_world.active == STRETTO_ON) ? stretto_known(comm)                  \
     : stretto_the_world.active == STRETTO_OFF                                                     \
         ? NULL                                                                                    \
         : (stretto_check_call(comm, &(const stretto_checked_call){.function = name,               \
                                                                   .collective = which,            \
                                                                   .root = its_root,               \
                                                                   .count = n,                     \
                                                                   .datatype = type,               \
                                                                   .op = operation,                \
                                                                   ##__VA_ARGS__}),                \
            stretto_known(comm)))

/* The decision for this call, NULL when it is the MPI's. */
static inline const stretto_decision *stretto_decision_for(stretto_comm *c,
                                                           stretto_collective collective,
                                                           long long count, MPI_Datatype datatype,
                                                           MPI_Op op) {
    const stretto_decision *d = c->coll[collective].last;
    if (!c->coll[collective].looked_at) {
        c->coll[collective].native++;
        return NULL;
    }
    if (__builtin_expect(d->count != count || d->datatype != datatype || d->op != op ||
                             d->run == STRETTO_RUN_UNDECIDED,
                         0))
        d = stretto_decide(c, collective, count, datatype, op);
    if (__builtin_expect(d->learning != NULL, 0))
        d = stretto_learn_pick(c, d);
    if (d->run == STRETTO_RUN_NATIVE) {
        c->coll[collective].native++;
        return NULL;
    }
    c->coll[collective].ours++;
    return d;
}

/* Nothing of a v-form is looked at but this, where no row is for it. */
static inline bool stretto_passes(stretto_comm *c, stretto_collective collective) {
    if (STRETTO_LIKELY(c->coll[collective].looked_at))
        return false;
    c->coll[collective].native++;
    return true;
}

/* Elements in blocks that all ranks know, negative: some block is. */
static inline long long stretto_total_of(stretto_comm *c, const stretto_ragged *blocks) {
    if (__builtin_expect(stretto_config.learn != 0, 0))
        c->has_empty = stretto_ragged_has_empty(blocks, c->nranks);
    return stretto_ragged_total(blocks, c->nranks);
}

/* Whether root is one; learning asks for it. */
static inline bool stretto_is_root_of(stretto_comm *c, int root) {
    c->root = root;
    return root >= 0 && root < c->nranks;
}

static inline void stretto_count_passed(stretto_comm *c, const stretto_decision *d) {
    c->coll[d->collective].ours--;
    c->coll[d->collective].native++;
}

/* The end of a call on comm that learning or the set-up may count; c was its state, or NULL. An
 * error handler of the application may have freed it. */
static inline int stretto_through(MPI_Comm comm, stretto_comm *c, int rc) {
    if (__builtin_expect(stretto_counting != NULL, 0))
        stretto_comm_counted(comm, rc);
    if (__builtin_expect(stretto_config.learn != 0, 0) &&
        (rc == MPI_SUCCESS || stretto_comm_find(comm) == c))
        stretto_learn_call_ended(c, rc);
    return rc;
}

/* A call on c that was ours, and the end of the function unless it is the MPI's after all. */
#define STRETTO_TRY(c, d, call)                                                                    \
    do {                                                                                           \
        int rc = (d) ? (call) : STRETTO_PASS;                                                      \
        if (STRETTO_LIKELY(rc != STRETTO_PASS))                                                    \
            return stretto_through(comm, c, rc);                                                   \
        if (d)                                                                                     \
            stretto_count_passed((c), (d));                                                        \
    } while (0)

#endif
