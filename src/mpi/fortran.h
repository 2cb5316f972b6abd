/* Fortran programs, without a Fortran binding of our own.
 *
 * MPICH's and Intel MPI's Fortran libraries call the C MPI_X, where a preloaded library is met
 * anyway. Open MPI's (libmpi_mpifh, which mpif.h, `use mpi` and mpi_f08 all end in) calls PMPI_X. A
 * preloaded library of that family therefore exports PMPI_X too, for each MPI_X that it defines; a
 * call that comes from Open MPI's Fortran library is taken as one of MPI_X, any other call (of a
 * tool, or of a part of Open MPI) goes on to the next PMPI_X as if we were not there. So the MPI
 * itself converts handles, logicals, strings, statuses and MPI_IN_PLACE, for every Fortran
 * compiler's names.
 *
 * In the file that defines them, one entry for each function:
 *     STRETTO_FORTRAN_ENTRY(int, Barrier, (MPI_Comm comm), (comm))
 * which is nothing in the other families. Or, without writing the prototypes again, mark the names
 * and let functions.def make the entries:
 *     #define STRETTO_FORTRAN_Barrier ~, 1
 *     #include "mpi/fortran_entries.h"
 */
#ifndef STRETTO_FORTRAN_H
#define STRETTO_FORTRAN_H

#include "mpi/host.h"

#ifdef STRETTO_ABI_OPENMPI

/* Verdicts by call site: address << 1 | whether it lies in the Fortran library. */
#define STRETTO_FORTRAN_SITES 1024
extern uintptr_t stretto_fortran_sites[STRETTO_FORTRAN_SITES];
bool stretto_fortran_site(uintptr_t caller); /* slow path: finds out and remembers */

/* Whether the return address `caller` lies in Open MPI's Fortran library. */
static inline bool stretto_from_fortran(const void *caller) {
    uintptr_t address = (uintptr_t)caller;
    uintptr_t site = __atomic_load_n(&stretto_fortran_sites[(address >> 2) % STRETTO_FORTRAN_SITES],
                                     __ATOMIC_RELAXED);
    if (__builtin_expect(site >> 1 != address, 0))
        return stretto_fortran_site(address);
    return site & 1;
}

#define STRETTO_FORTRAN_ENTRY(type, name, parameters, arguments)                                   \
    extern type stretto_fortran_##name parameters __asm__("PMPI_" #name);                          \
    STRETTO_EXPORT type stretto_fortran_##name parameters {                                        \
        static void *known;                                                                        \
        if (__builtin_expect(stretto_from_fortran(__builtin_return_address(0)), 1))                \
            return MPI_##name arguments;                                                           \
        void *next = __atomic_load_n(&known, __ATOMIC_ACQUIRE);                                    \
        if (__builtin_expect(!next, 0)) {                                                          \
            next = stretto_host_next("PMPI_" #name);                                               \
            __atomic_store_n(&known, next, __ATOMIC_RELEASE);                                      \
        }                                                                                          \
        return ((type(*) parameters)next)arguments;                                                \
    }

#else
#define STRETTO_FORTRAN_ENTRY(type, name, parameters, arguments)
#endif
#endif
