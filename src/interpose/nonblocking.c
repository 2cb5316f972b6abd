/* The nonblocking collectives: decided like the blocking ones, by the same rows, on communicators
 * that are set up already; anything else is the MPI's. */
#define WITH_INFO
#define INFO
#define LOOK_UP(comm) (stretto_the_world.nonblocking ? stretto_comm_find(comm) : NULL)
#define AT_ONCE(...)                                                                               \
    (STRETTO_LIKELY(!stretto_the_world.nonblocking) ? false : at_once(__VA_ARGS__, request))
#define OURS(...) (STRETTO_LIKELY(!stretto_the_world.nonblocking) ? NULL : begin(__VA_ARGS__))
#define START(assignments, native)                                                                 \
    if (o) {                                                                                       \
        assignments;                                                                               \
        if (stretto_operation_start(o, request))                                                   \
            return MPI_SUCCESS;                                                                    \
    }                                                                                              \
    return native
#include "interpose/forms.h"

/* A call like the last one of its kind; whatever is not is looked at by begin. */
static inline bool at_once(MPI_Comm comm, stretto_collective collective, long long count,
                           MPI_Datatype datatype, MPI_Op op, const void *in, void *out,
                           MPI_Request *request) {
    stretto_comm *c = stretto_comm_find(comm);
    if (!c || c->status != STRETTO_COMM_READY)
        return false;
    stretto_outstanding_lock();
    stretto_comm_calls *calls = &c->coll[collective];
    const stretto_decision *d = calls->last;
    const bool ours = d->count == count && d->datatype == datatype && d->op == op &&
                      stretto_operation_at_once(c, collective, d, in, out, request);
    calls->ours += ours;
    stretto_outstanding_unlock();
    return ours;
}

/* With the lock, which start gives back. */
static stretto_operation *begin(MPI_Comm comm, stretto_collective collective, long long count,
                                MPI_Datatype datatype, MPI_Op op) {
    stretto_comm *c = stretto_comm_find(comm);
    if (!c || c->status != STRETTO_COMM_READY)
        return NULL;
    /* the graph of neighbours is gathered where ranks may wait for each other */
    if (stretto_collective_neighbor(collective) && !c->graph_asked)
        return NULL;
    stretto_outstanding_lock();
    stretto_operation *o = stretto_record(c, collective, count, datatype, op);
    if (!o)
        stretto_outstanding_unlock();
    return o;
}

#define NAME(name, Name) I##name
#define LARGE_NAME(name, Name) I##name##_c
IBARRIER(Ibarrier)
FORMS(NAME, int, int, false)
#ifndef STRETTO_ABI_OPENMPI /* as in collectives.c */
FORMS(LARGE_NAME, MPI_Count, MPI_Aint, true)
#endif
