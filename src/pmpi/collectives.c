/* The collectives that Stretto carries out, in C and in the large-count form.
 *
 * What happens here is on the path of every call: find the communicator, compare the arguments with
 * those of the last decision, go. Whatever is not clearly ours goes to the MPI with its arguments
 * untouched, wrong arguments too, so that the MPI reports them in its own words.
 */
#include "run/engine.h"

/* The state when calls on comm are looked at; NULL = the MPI. */
static inline stretto_comm *ours(MPI_Comm comm) {
    if (!STRETTO_LIKELY(stretto_the_world.active))
        return NULL;
    stretto_comm *c = stretto_comm_find(comm);
    if (STRETTO_LIKELY(c != NULL)) {
        if (STRETTO_LIKELY(c->status == STRETTO_COMM_READY))
            return c;
        if (c->status == STRETTO_COMM_NATIVE)
            return NULL;
    }
    c = stretto_comm_seen(comm);
    return c && c->status == STRETTO_COMM_READY ? c : NULL;
}

/* The decision for this call, NULL when it is the MPI's. */
static inline const stretto_decision *decision(stretto_comm *c, stretto_collective collective,
                                               long long count, MPI_Datatype datatype, MPI_Op op) {
    const stretto_decision *d = c->coll[collective].last;
    if (!c->coll[collective].looked_at) {
        c->coll[collective].native++;
        return NULL;
    }
    if (__builtin_expect(d->count != count || d->datatype != datatype || d->op != op ||
                             d->run == STRETTO_RUN_UNDECIDED,
                         0))
        d = stretto_decide(c, collective, count, datatype, op);
    if (d->run == STRETTO_RUN_NATIVE) {
        c->coll[collective].native++;
        return NULL;
    }
    c->coll[collective].ours++;
    return d;
}

/* In the macros: COUNT is int or MPI_Count, and the last lines are the MPI's own function. */
#define ALLREDUCE(name, COUNT)                                                                     \
    int MPI_##name(const void *sendbuf, void *recvbuf, COUNT count, MPI_Datatype datatype,         \
                   MPI_Op op, MPI_Comm comm) {                                                     \
        stretto_comm *c = ours(comm);                                                              \
        if (c) {                                                                                   \
            const stretto_decision *d = decision(c, STRETTO_ALLREDUCE, count, datatype, op);       \
            const void *in =                                                                       \
                sendbuf == recvbuf ? MPI_IN_PLACE : sendbuf; /* one rank's own mistake */          \
            int rc = d ? stretto_call_allreduce(c, d, in, recvbuf) : STRETTO_PASS;                 \
            if (STRETTO_LIKELY(rc != STRETTO_PASS))                                                \
                return rc;                                                                         \
        }                                                                                          \
        return PMPI_##name(sendbuf, recvbuf, count, datatype, op, comm);                           \
    }

#define REDUCE(name, COUNT)                                                                        \
    int MPI_##name(const void *sendbuf, void *recvbuf, COUNT count, MPI_Datatype datatype,         \
                   MPI_Op op, int root, MPI_Comm comm) {                                           \
        stretto_comm *c = ours(comm);                                                              \
        if (c && root >= 0 && root < c->nranks) {                                                  \
            const stretto_decision *d = decision(c, STRETTO_REDUCE, count, datatype, op);          \
            int rc = d ? stretto_call_reduce(c, d, sendbuf, recvbuf, root) : STRETTO_PASS;         \
            if (STRETTO_LIKELY(rc != STRETTO_PASS))                                                \
                return rc;                                                                         \
        }                                                                                          \
        return PMPI_##name(sendbuf, recvbuf, count, datatype, op, root, comm);                     \
    }

#define BCAST(name, COUNT)                                                                         \
    int MPI_##name(void *buffer, COUNT count, MPI_Datatype datatype, int root, MPI_Comm comm) {    \
        stretto_comm *c = ours(comm);                                                              \
        if (c && root >= 0 && root < c->nranks) {                                                  \
            const stretto_decision *d = decision(c, STRETTO_BCAST, count, datatype, MPI_OP_NULL);  \
            int rc = d ? stretto_call_bcast(c, d, buffer, root) : STRETTO_PASS;                    \
            if (STRETTO_LIKELY(rc != STRETTO_PASS))                                                \
                return rc;                                                                         \
        }                                                                                          \
        return PMPI_##name(buffer, count, datatype, root, comm);                                   \
    }

#define ALLGATHER(name, COUNT)                                                                     \
    int MPI_##name(const void *sendbuf, COUNT sendcount, MPI_Datatype sendtype, void *recvbuf,     \
                   COUNT recvcount, MPI_Datatype recvtype, MPI_Comm comm) {                        \
        stretto_comm *c = ours(comm);                                                              \
        if (c) {                                                                                   \
            const stretto_decision *d =                                                            \
                decision(c, STRETTO_ALLGATHER, recvcount, recvtype, MPI_OP_NULL);                  \
            int rc = d ? stretto_call_allgather(c, d, sendbuf, sendcount, sendtype, recvbuf)       \
                       : STRETTO_PASS;                                                             \
            if (STRETTO_LIKELY(rc != STRETTO_PASS))                                                \
                return rc;                                                                         \
        }                                                                                          \
        return PMPI_##name(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm);      \
    }

ALLREDUCE(Allreduce, int)
REDUCE(Reduce, int)
BCAST(Bcast, int)
ALLGATHER(Allgather, int)
/* Open MPI 4 and 5 have no large-count forms: a program must not find them here. */
#ifndef STRETTO_ABI_OPENMPI
ALLREDUCE(Allreduce_c, MPI_Count)
REDUCE(Reduce_c, MPI_Count)
BCAST(Bcast_c, MPI_Count)
ALLGATHER(Allgather_c, MPI_Count)
#endif

int MPI_Barrier(MPI_Comm comm) {
    stretto_comm *c = ours(comm);
    if (c) {
        const stretto_decision *d = decision(c, STRETTO_BARRIER, 0, MPI_DATATYPE_NULL, MPI_OP_NULL);
        int rc = d ? stretto_call_barrier(c, d) : STRETTO_PASS;
        if (STRETTO_LIKELY(rc != STRETTO_PASS))
            return rc;
    }
    return PMPI_Barrier(comm);
}
