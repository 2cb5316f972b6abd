/* Messages between pairs: one at a time, in windows, both ways, sent in a row. */
#include "p2p/p2p.h"

#include <time.h>

enum { DATA = 1, ACK = 2 };

double p2p_seconds(void) {
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (double)ts.tv_sec + 1e-9 * (double)ts.tv_nsec;
}

double p2p_longest(const p2p *self, double seconds) {
    double longest = seconds;
    MPI_Allreduce(&seconds, &longest, 1, MPI_DOUBLE, MPI_MAX, self->comm);
    return longest;
}

bool p2p_active(const p2p *self, const p2p_point *point) {
    return self->pair >= 0 && self->pair < point->pairs;
}

static p2p_took ping_pong(p2p *self, const p2p_point *point, long iterations, char *out) {
    int bytes = (int)point->bytes, other = self->partner;
    MPI_Barrier(self->comm);
    double began = p2p_seconds();
    for (long i = 0; i < iterations && p2p_active(self, point); i++) {
        if (self->sends) {
            MPI_Send(out, bytes, MPI_BYTE, other, DATA, self->comm);
            MPI_Recv(self->in, bytes, MPI_BYTE, other, DATA, self->comm, MPI_STATUS_IGNORE);
        } else {
            MPI_Recv(self->in, bytes, MPI_BYTE, other, DATA, self->comm, MPI_STATUS_IGNORE);
            MPI_Send(out, bytes, MPI_BYTE, other, DATA, self->comm);
        }
    }
    return (p2p_took){.total = p2p_longest(self, p2p_seconds() - began)};
}

/* The data is never written again, as in IMB and OSU's programs: a receiver that copies it from the
 * sender's memory finds it in its own cache from the second message on. */
p2p_took p2p_latency(p2p *self, const p2p_point *point, long iterations) {
    return ping_pong(self, point, iterations, self->out);
}

/* What came is sent back, as NetPIPE does: each message is one that the other core has written. */
p2p_took p2p_echo(p2p *self, const p2p_point *point, long iterations) {
    return ping_pong(self, point, iterations, self->in);
}

/* Each window is acknowledged: the time ends when the last message has arrived. */
static void acknowledge(p2p *self, bool receives) {
    char byte = 0;
    if (receives)
        MPI_Recv(&byte, 1, MPI_BYTE, self->partner, ACK, self->comm, MPI_STATUS_IGNORE);
    else
        MPI_Send(&byte, 1, MPI_BYTE, self->partner, ACK, self->comm);
}

/* All messages of a window use the same buffers, and statuses are filled, as in OSU's programs and
 * IMB: at 8 bytes the statuses cost some 5 %. The content of the messages is not read. */
static p2p_took windows(p2p *self, const p2p_point *point, long iterations, bool both) {
    int bytes = (int)point->bytes, window = point->window, other = self->partner;
    bool receives = both || !self->sends, sends = both || self->sends;
    MPI_Barrier(self->comm);
    double began = p2p_seconds();
    for (long i = 0; i < iterations && p2p_active(self, point); i++) {
        int n = 0;
        for (int k = 0; k < window && receives; k++)
            MPI_Irecv(self->in, bytes, MPI_BYTE, other, DATA, self->comm, &self->requests[n++]);
        for (int k = 0; k < window && sends; k++)
            MPI_Isend(self->out, bytes, MPI_BYTE, other, DATA, self->comm, &self->requests[n++]);
        MPI_Waitall(n, self->requests, self->statuses);
        acknowledge(self, self->sends);
    }
    return (p2p_took){.total = p2p_longest(self, p2p_seconds() - began)};
}

p2p_took p2p_bandwidth(p2p *self, const p2p_point *point, long iterations) {
    return windows(self, point, iterations, false);
}

p2p_took p2p_bidirectional(p2p *self, const p2p_point *point, long iterations) {
    return windows(self, point, iterations, true);
}

/* MPI_Send `window` times in a row, of which only these calls are timed: what a send costs its
 * caller until the buffer may be used again. */
p2p_took p2p_sends(p2p *self, const p2p_point *point, long iterations) {
    int bytes = (int)point->bytes;
    double took = 0;
    MPI_Barrier(self->comm);
    for (long i = 0; i < iterations && p2p_active(self, point); i++) {
        double began = p2p_seconds();
        for (int k = 0; k < point->window && self->sends; k++)
            MPI_Send(self->out, bytes, MPI_BYTE, self->partner, DATA, self->comm);
        took += self->sends ? p2p_seconds() - began : 0;
        for (int k = 0; k < point->window && !self->sends; k++)
            MPI_Recv(self->in, bytes, MPI_BYTE, self->partner, DATA, self->comm, MPI_STATUS_IGNORE);
        acknowledge(self, self->sends);
    }
    return (p2p_took){.total = p2p_longest(self, took)};
}
