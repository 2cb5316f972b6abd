/* Contents that tell where they come from, so that a wrong block, a missing and a doubled
 * contribution all show; sums stay below 2^53 and are exact in any order. */
#include "simulated.h"

#include <simgrid/actor.h>
#include <string.h>

bool simulated_folded;

#undef memmove /* means stretto_smpi_memmove in all files of this build */

void *stretto_smpi_memmove(void *to, const void *from, size_t n);
void *stretto_smpi_memmove(void *to, const void *from, size_t n) {
    return simulated_folded ? to : __builtin_memmove(to, from, n);
}

static bool sums(const simulated_case *k) {
    return k->collective == STRETTO_ALLREDUCE || k->collective == STRETTO_REDUCE;
}

size_t simulated_in_bytes(const simulated_case *k, int rank, int nranks) {
    (void)rank;
    switch (k->collective) {
    case STRETTO_ALLTOALL: return k->bytes * (size_t)nranks;
    case STRETTO_BCAST:
    case STRETTO_BARRIER: return 0;
    default: return k->bytes;
    }
}

size_t simulated_out_bytes(const simulated_case *k, int rank, int nranks) {
    switch (k->collective) {
    case STRETTO_ALLTOALL:
    case STRETTO_ALLGATHER: return k->bytes * (size_t)nranks;
    case STRETTO_REDUCE: return rank == k->root ? k->bytes : 0;
    case STRETTO_BARRIER: return 0;
    default: return k->bytes;
    }
}

/* Byte `at` of what `from` has for `to` (-1: for everybody). */
static inline unsigned char byte_of(int from, int to, size_t at) {
    uint64_t x = ((uint64_t)(unsigned)from << 40) ^ ((uint64_t)(unsigned)(to + 1) << 20) ^ at;
    x *= 0x9e3779b97f4a7c15u;
    return (unsigned char)(x >> 56);
}

static inline double element(double weight, size_t i) {
    return weight * (double)(1 + i % 127);
}

static void put(char *block, size_t bytes, int from, int to) {
    for (size_t i = 0; i < bytes; i++)
        block[i] = (char)byte_of(from, to, i);
}

static bool holds(const char *block, size_t bytes, int from, int to) {
    for (size_t i = 0; i < bytes; i++)
        if ((unsigned char)block[i] != byte_of(from, to, i))
            return false;
    return true;
}

void simulated_fill(const simulated_case *k, int rank, int nranks, const simulated_buffers *b) {
    memset(b->out, 0xA5, b->out_bytes);
    if (sums(k)) {
        double *in = (double *)(void *)b->in;
        for (size_t i = 0; i < b->in_bytes / sizeof *in; i++)
            in[i] = element((double)(rank + 1) * (rank + 1), i);
    } else if (k->collective == STRETTO_BCAST) {
        if (rank == k->root)
            put(b->out, b->out_bytes, rank, -1);
    } else if (k->collective == STRETTO_ALLTOALL) {
        for (int to = 0; to < nranks; to++)
            put(b->in + (size_t)to * k->bytes, k->bytes, rank, to);
    } else {
        put(b->in, b->in_bytes, rank, -1);
    }
}

bool simulated_right(const simulated_case *k, int rank, int nranks, const simulated_buffers *b) {
    if (sums(k)) {
        const double n = nranks, all = n * (n + 1) * (2 * n + 1) / 6;
        const double *out = (const double *)(const void *)b->out;
        for (size_t i = 0; i < b->out_bytes / sizeof *out; i++)
            if (out[i] != element(all, i))
                return false;
        return true;
    }
    if (k->collective == STRETTO_BCAST)
        return holds(b->out, b->out_bytes, k->root, -1);
    const bool to_me = k->collective == STRETTO_ALLTOALL;
    for (int from = 0; (size_t)from * k->bytes < b->out_bytes; from++)
        if (!holds(b->out + (size_t)from * k->bytes, k->bytes, from, to_me ? rank : -1))
            return false;
    return true;
}

void simulated_add(const void *left, const void *right, void *out, size_t n) {
    const double *a = left, *b = right;
    double *c = out;
    for (size_t i = 0; !simulated_folded && i < n; i++)
        c[i] = a[i] + b[i];
}

void simulated_sum(const void *left, const void *right, void *out, size_t n) {
    simulated_add(left, right, out, n);
    const double seconds =
        simulated.reduce_s + simulated.reduce_s_per_byte * (double)(n * sizeof(double));
    if (n > 0 && seconds > 0)
        sg_actor_sleep_for(seconds);
}
