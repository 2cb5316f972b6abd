/* What the MPI's own call is put into while collectives of ours are under way: see
 * engine/outstanding.h. When none are, one load and one branch. */
#ifndef STRETTO_GUARD_H
#define STRETTO_GUARD_H

#include "abi/host.h"
#include "engine/outstanding.h"

#include <stdbool.h>

/* The helper thread may count down meanwhile. */
static inline bool stretto_under_way(void) {
    return __builtin_expect(__atomic_load_n(&stretto_outstanding, __ATOMIC_RELAXED) > 0, 0);
}

static inline int stretto_given_back(int rc) {
    stretto_outstanding_return();
    return rc;
}

/* Open MPI gives back the room of buffered messages that have arrived when it makes progress, and
 * refuses a buffered send for want of room (version 4 lets one that was started wait for ever)
 * without any: after its own barrier it has made some, after one of ours in shared memory it may
 * have not. So it is driven before buffered sends and, once a process has made a persistent one,
 * before its starts. */
#ifdef STRETTO_ABI_OPENMPI
extern bool stretto_starts_buffered;
void stretto_find_room(int sends);
#endif
static inline void stretto_before_start(int requests) {
#ifdef STRETTO_ABI_OPENMPI
    if (__builtin_expect(__atomic_load_n(&stretto_starts_buffered, __ATOMIC_RELAXED), 0))
        stretto_find_room(requests);
#else
    (void)requests;
#endif
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
