/* How much of a transfer goes on while its caller computes. */
#include "p2p/p2p.h"

/* The same operation in three forms: started and waited for; with a computation between; the
 * computation takes as long as the operation did alone. */
typedef int (*starter)(p2p *self, const p2p_point *point);

static int start_message(p2p *self, const p2p_point *point) {
    int bytes = (int)point->bytes;
    if (!p2p_active(self, point))
        return 0;
    MPI_Irecv(self->in, bytes, MPI_BYTE, self->partner, 4, self->comm, &self->requests[0]);
    MPI_Isend(self->out, bytes, MPI_BYTE, self->partner, 4, self->comm, &self->requests[1]);
    return 2;
}

static int start_allreduce(p2p *self, const p2p_point *point) {
    int count = (int)(point->bytes / (long)sizeof(float));
    MPI_Iallreduce(self->out, self->in, count, MPI_FLOAT, MPI_SUM, self->comm, &self->requests[0]);
    return 1;
}

static int start_bcast(p2p *self, const p2p_point *point) {
    MPI_Ibcast(self->in, (int)point->bytes, MPI_BYTE, 0, self->comm, &self->requests[0]);
    return 1;
}

/* `bytes` is the whole vector of a rank, as for the other collectives. */
static int start_alltoall(p2p *self, const p2p_point *point) {
    int block = (int)(point->bytes / self->nranks);
    MPI_Ialltoall(self->out, block, MPI_BYTE, self->in, block, MPI_BYTE, self->comm,
                  &self->requests[0]);
    return 1;
}

/* Without a call of the MPI; the clock is read, which every processor does in the process. */
static void compute(double seconds) {
    double end = p2p_seconds() + seconds;
    while (p2p_seconds() < end)
        ;
}

static double batch(p2p *self, const p2p_point *point, long iterations, starter start,
                    double computation) {
    MPI_Barrier(self->comm);
    double began = p2p_seconds();
    for (long i = 0; i < iterations; i++) {
        int n = start(self, point);
        if (computation > 0)
            compute(computation);
        MPI_Waitall(n, self->requests, MPI_STATUSES_IGNORE);
    }
    return p2p_longest(self, p2p_seconds() - began);
}

static p2p_took overlap(p2p *self, const p2p_point *point, long iterations, starter start) {
    p2p_took took = {.pure = batch(self, point, iterations, start, 0)};
    took.computed = took.pure;
    took.total = batch(self, point, iterations, start, took.pure / (double)iterations);
    return took;
}

p2p_took p2p_overlap(p2p *self, const p2p_point *point, long iterations) {
    return overlap(self, point, iterations, start_message);
}

p2p_took p2p_overlap_allreduce(p2p *self, const p2p_point *point, long iterations) {
    return overlap(self, point, iterations, start_allreduce);
}

p2p_took p2p_overlap_bcast(p2p *self, const p2p_point *point, long iterations) {
    return overlap(self, point, iterations, start_bcast);
}

p2p_took p2p_overlap_alltoall(p2p *self, const p2p_point *point, long iterations) {
    return overlap(self, point, iterations, start_alltoall);
}
