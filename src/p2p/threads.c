/* Ping-pong by several threads of the first pair's two ranks: at once on communicators of their
 * own, at once on one communicator, and one after the other. The first thread is the caller. */
#include "p2p/p2p.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    p2p *self;
    const p2p_point *point;
    long iterations;
    int index;
    MPI_Comm comm;
    double began;          /* when all threads were there */
    pthread_mutex_t *turn; /* NULL: all at once */
    pthread_barrier_t *start;
} thread;

/* With turns each thread's whole round trip is one turn: the threads of the other rank answer in
 * any order, so that each thread has a tag of its own. */
static void *exchange(void *argument) {
    thread *t = argument;
    p2p *self = t->self;
    int bytes = (int)t->point->bytes, other = self->partner, tag = 8 + t->index;
    char *out = malloc((size_t)bytes + 1), *in = malloc((size_t)bytes + 1);
    if (!out || !in)
        MPI_Abort(MPI_COMM_WORLD, 1);
    memset(out, 0, (size_t)bytes + 1);
    memset(in, 0, (size_t)bytes + 1);
    pthread_barrier_wait(t->start);
    t->began = p2p_seconds();
    for (long i = 0; i < t->iterations; i++) {
        if (t->turn)
            pthread_mutex_lock(t->turn);
        if (self->sends) {
            MPI_Send(out, bytes, MPI_BYTE, other, tag, t->comm);
            MPI_Recv(in, bytes, MPI_BYTE, other, tag, t->comm, MPI_STATUS_IGNORE);
        } else {
            MPI_Recv(in, bytes, MPI_BYTE, other, tag, t->comm, MPI_STATUS_IGNORE);
            MPI_Send(out, bytes, MPI_BYTE, other, tag, t->comm);
        }
        if (t->turn)
            pthread_mutex_unlock(t->turn);
    }
    free(out);
    free(in);
    return NULL;
}

static p2p_took run(p2p *self, const p2p_point *point, long iterations, bool own, bool turns) {
    thread threads[P2P_MOST_THREADS];
    pthread_t handles[P2P_MOST_THREADS];
    pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;
    pthread_barrier_t start;
    MPI_Barrier(self->comm);
    double began = p2p_seconds();
    /* Under turns the answering rank has one thread for all: its mutex could be held by a thread
     * whose partner's turn has not come. */
    int n = p2p_active(self, point) ? point->threads : 0;
    long each = iterations;
    if (n > 0 && turns && !self->sends) {
        each *= n;
        n = 1;
    }
    if (n > 0)
        pthread_barrier_init(&start, NULL, (unsigned)n);
    for (int i = 0; i < n; i++) {
        MPI_Comm comm = own ? self->threads[i] : self->comm;
        threads[i] =
            (thread){self, point, each, turns ? 0 : i, comm, 0, turns ? &turn : NULL, &start};
        if (i > 0 && pthread_create(&handles[i], NULL, exchange, &threads[i]) != 0)
            MPI_Abort(MPI_COMM_WORLD, 1);
    }
    if (n > 0) {
        exchange(&threads[0]);
        began = threads[0].began;
        for (int i = 1; i < n; i++)
            pthread_join(handles[i], NULL);
        pthread_barrier_destroy(&start);
    }
    return (p2p_took){.total = p2p_longest(self, p2p_seconds() - began)};
}

p2p_took p2p_threads(p2p *self, const p2p_point *point, long iterations) {
    return run(self, point, iterations, true, false);
}

p2p_took p2p_shared(p2p *self, const p2p_point *point, long iterations) {
    return run(self, point, iterations, false, false);
}

p2p_took p2p_turns(p2p *self, const p2p_point *point, long iterations) {
    return run(self, point, iterations, false, true);
}
