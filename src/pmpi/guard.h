/* What the MPI's own call is put into while collectives of ours are under way: see
 * run/outstanding.h. When none are, one load and one branch. */
#ifndef STRETTO_GUARD_H
#define STRETTO_GUARD_H

#include "mpi/host.h"
#include "run/outstanding.h"

#include <stdbool.h>

/* The helper thread may count down meanwhile. */
static inline bool stretto_under_way(void) {
    return __builtin_expect(__atomic_load_n(&stretto_outstanding, __ATOMIC_RELAXED) > 0, 0);
}

static inline int stretto_given_back(int rc) {
    stretto_outstanding_return();
    return rc;
}

/* The value of `call`, a call of the MPI that may wait for other processes. */
#define STRETTO_NATIVE(call)                                                                       \
    (!stretto_under_way() ? (call) : (stretto_outstanding_lend(), stretto_given_back((call))))

/* Defines MPI_name: the MPI's own, by a jump, or instead of it wait_in_name (also at the first call
 * of all, when the MPI is not found yet). The frame of the slow way is not set up in the fast one.
 */
#define STRETTO_GUARDED(name, parameters, arguments)                                               \
    int MPI_##name parameters {                                                                    \
        int(*host) parameters = __atomic_load_n(&stretto_host_table.name, __ATOMIC_ACQUIRE);       \
        if (__builtin_expect(host && !stretto_under_way(), 1))                                     \
            return host arguments;                                                                 \
        return wait_in_##name arguments;                                                           \
    }
#define STRETTO_SLOW(name) static __attribute__((cold, noinline)) int wait_in_##name

#endif
