/* The persistent collectives, where the MPI has them: decided when they are initialised, which is
 * collective and may wait (MPI-4.1, 6.13), so that a communicator is set up here at once. */
#include "abi/host.h"

/* Open MPI 4 has none of them: a program must not find them here. */
#if !defined(STRETTO_ABI_OPENMPI) || defined(STRETTO_OPENMPI5)
#define WITH_INFO MPI_Info info,
#define INFO info,
#define LOOK_UP(comm) (STRETTO_LIKELY(!stretto_the_world.nonblocking) ? NULL : ready(comm))
#define AT_ONCE(...) false
#define OURS(...) (STRETTO_LIKELY(!stretto_the_world.nonblocking) ? NULL : begin(__VA_ARGS__))
#define START(assignments, native)                                                                 \
    if (o) {                                                                                       \
        assignments;                                                                               \
        stretto_comm *of = o->c;                                                                   \
        if (stretto_operation_init(o, request))                                                    \
            return MPI_SUCCESS;                                                                    \
        stretto_native_persistent = true;                                                          \
        of->owed++; /* an error handler may never return */                                        \
        const int rc = STRETTO_NATIVE(native);                                                     \
        of->owed -= rc == MPI_SUCCESS;                                                             \
        return rc;                                                                                 \
    }                                                                                              \
    stretto_native_persistent = true;                                                              \
    return STRETTO_NATIVE(native)

static struct stretto_comm *ready(MPI_Comm comm);
#include "interpose/forms.h"

static stretto_comm *ready(MPI_Comm comm) {
    stretto_comm *c = stretto_comm_ready(comm);
    return c && c->status == STRETTO_COMM_READY ? c : NULL;
}

static stretto_operation *begin(MPI_Comm comm, stretto_collective collective, long long count,
                                MPI_Datatype datatype, MPI_Op op) {
    stretto_comm *c = ready(comm);
    if (!c)
        return NULL;
    if (stretto_collective_neighbor(collective) && c->coll[collective].looked_at)
        stretto_comm_graph(c); /* collective: not with the lock */
    stretto_outstanding_lock();
    stretto_operation *o = stretto_record(c, collective, count, datatype, op);
    stretto_outstanding_unlock();
    return o;
}

#define NAME(name, Name) Name##_init
#define LARGE_NAME(name, Name) Name##_init_c
IBARRIER(Barrier_init)
FORMS(NAME, int, int, false)
#ifndef STRETTO_ABI_OPENMPI /* as in collectives.c */
FORMS(LARGE_NAME, MPI_Count, MPI_Aint, true)
#endif
#endif
