/* Fortran programs, without a Fortran binding of our own.
 *
 * The MPIs' Fortran libraries end in C functions, but not always in MPI_X, where a preloaded
 * library is met anyway: Open MPI's (libmpi_mpifh, behind mpif.h, `use mpi` and mpi_f08) call
 * PMPI_X throughout, MPICH's in mpi_f08 for whatever has no choice buffer (Init, Finalize, Barrier,
 * Wait, ...), Intel MPI's nowhere. A preloaded library therefore exports PMPI_X too, for each MPI_X
 * that it defines; a call that comes from a Fortran library is taken as one of MPI_X, any other
 * call (of a tool, or of a part of the MPI) goes on to the next PMPI_X as if we were not there. So
 * the MPI itself converts handles, logicals, strings, statuses and MPI_IN_PLACE, for every Fortran
 * compiler's names.
 *
 * In the file that defines them, one entry for each function:
 *     STRETTO_FORTRAN_ENTRY(int, Barrier, (MPI_Comm comm), (comm))
 * Or, without writing the prototypes again, mark the names and let functions.def make the entries:
 *     #define STRETTO_FORTRAN_Barrier ~, 1
 *     #include "abi/fortran_entries.h"
 *
 * Not covered: a Fortran library that is linked statically into the program.
 */
#ifndef STRETTO_FORTRAN_H
#define STRETTO_FORTRAN_H

#include "abi/host.h"

/* Verdicts by call site: address << 1 | whether it lies in a Fortran library. */
#define STRETTO_FORTRAN_SITES 1024
extern uintptr_t stretto_fortran_sites[STRETTO_FORTRAN_SITES];
bool stretto_fortran_site(uintptr_t caller); /* slow path: finds out and remembers */

/* Whether the return address `caller` lies in the MPI's Fortran library. */
static inline bool stretto_from_fortran(const void *caller) {
    uintptr_t address = (uintptr_t)caller;
    uintptr_t site = __atomic_load_n(&stretto_fortran_sites[(address >> 2) % STRETTO_FORTRAN_SITES],
                                     __ATOMIC_RELAXED);
    if (__builtin_expect(site >> 1 != address, 0))
        return stretto_fortran_site(address);
    return site & 1;
}

#define STRETTO_FORTRAN_ENTRY(type, name, parameters, arguments)                                   \
    STRETTO_ENTRY_OR(0, type, name, parameters, arguments)
/* And one that is taken so where something else says it must be. */
#define STRETTO_ENTRY_OR(too, type, name, parameters, arguments)                                   \
    extern type stretto_fortran_##name parameters __asm__("PMPI_" #name);                          \
    STRETTO_EXPORT type stretto_fortran_##name parameters {                                        \
        static void *known;                                                                        \
        if (__builtin_expect(stretto_from_fortran(__builtin_return_address(0)) || (too), 1))       \
            return MPI_##name arguments;                                                           \
        void *next = __atomic_load_n(&known, __ATOMIC_ACQUIRE);                                    \
        if (__builtin_expect(!next, 0)) {                                                          \
            next = stretto_host_next("PMPI_" #name);                                               \
            __atomic_store_n(&known, next, __ATOMIC_RELEASE);                                      \
        }                                                                                          \
        return ((type(*) parameters)next)arguments;                                                \
    }

#endif
