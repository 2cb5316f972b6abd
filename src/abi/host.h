/* The door to the host MPI: nothing links to libmpi, every call goes through one table that is
 * filled by dlsym at the first MPI call from the libmpi which the process has mapped.
 *
 * For each function there is an inline one:
 *   interposer (no define)                PMPI_X: the host's own PMPI_X
 *   recorder   (STRETTO_HOST_MPI and      PMPI_X: the next MPI_X behind the recorder, which is a
 *               STRETTO_RECORDER)                 preloaded interposer's or else the host's
 *   program    (STRETTO_HOST_MPI)         MPI_X and PMPI_X: the first MPI_X in global scope, thus a
 *                                                 preloaded library's, or else the host's
 * They load the table themselves when it is not yet. A call of a function that the host lacks ends
 * the process with a message: ask STRETTO_HOST_HAS first where a member of the family may lack it.
 */
#ifndef STRETTO_HOST_H
#define STRETTO_HOST_H

#include "abi/mpi.h"

#include <stdbool.h>

/* NULL where the host lacks the function, and all NULL before the table is loaded. */
typedef struct {
#define F(kind, name, parameters, arguments) int(*name) parameters;
#define R(kind, type, name, parameters, arguments) type(*name) parameters;
#include "abi/functions.def"
} stretto_host;

extern stretto_host stretto_host_table;
extern bool stretto_host_loaded; /* use stretto_host_load() */

/* Slow path of stretto_host_load(). */
const stretto_host *stretto_host_load_once(void);

/* Fills the table (and, for Open MPI, the predefined handles) from the libmpi of this family that
 * is mapped, whether it was linked or dlopened, RTLD_LOCAL or not. Any thread, any number of times;
 * costs one load once it is done. NULL when no libmpi of this family is mapped (yet); a later call
 * tries again. */
static inline const stretto_host *stretto_host_load(void) {
    if (__builtin_expect(__atomic_load_n(&stretto_host_loaded, __ATOMIC_ACQUIRE), 1))
        return &stretto_host_table;
    return stretto_host_load_once();
}

/* Whether the host has MPI_X: STRETTO_HOST_HAS(Allreduce_c). */
#define STRETTO_HOST_HAS(name) (stretto_host_load() && stretto_host_table.name)

/* Path of the libmpi in use; "" when none. Static storage. */
const char *stretto_host_path(void);
/* Says on stderr why the host MPI cannot be used (another family, no MPI at all, or a function that
 * it lacks) and what to do, and ends the process with status 1. `function` is the MPI function that
 * was called. */
_Noreturn void stretto_host_refuse(const char *function);

/* Ends the job, whose reason has been said on standard error: flushes it and gives the launcher
 * time to read it (Hydra drops what it has not read when a rank aborts), then calls the host's
 * MPI_Abort on MPI_COMM_WORLD with status 1. */
_Noreturn void stretto_host_end_job(void);

/* For programs (stretto-bench), which have no libmpi: makes `path`, or when NULL the family's usual
 * names by the dynamic linker's search, part of the process. 0, or -1 with the linker's words in
 * error. Does nothing when a libmpi of the family is there already. */
int stretto_host_open(const char *path, char *error, size_t error_size);

/* A Fortran symbol or other data of the host by name, from the global scope or the host's
 * libraries; NULL when there is none. */
void *stretto_host_symbol(const char *name);

/* The definition of an MPI function behind this library: another preloaded one's, or else the
 * host's. Never NULL: refuses. */
void *stretto_host_next(const char *name);

/* The label keeps an out-of-line copy from clashing with an exported PMPI_X (fortran.h). */
#define STRETTO_HOST_CALL(type, prefix, name, parameters, arguments)                               \
    static inline type prefix##name parameters __asm__("stretto_call_" #prefix #name);             \
    static inline type prefix##name parameters {                                                   \
        if (__builtin_expect(!__atomic_load_n(&stretto_host_table.name, __ATOMIC_ACQUIRE), 0) &&   \
            !STRETTO_HOST_HAS(name))                                                               \
            stretto_host_refuse("MPI_" #name);                                                     \
        return stretto_host_table.name arguments;                                                  \
    }
#define F(kind, name, parameters, arguments)                                                       \
    STRETTO_HOST_CALL(int, PMPI_, name, parameters, arguments)
#define R(kind, type, name, parameters, arguments)                                                 \
    STRETTO_HOST_CALL(type, PMPI_, name, parameters, arguments)
#include "abi/functions.def"
#if defined(STRETTO_HOST_MPI) && !defined(STRETTO_RECORDER)
#define F(kind, name, parameters, arguments)                                                       \
    STRETTO_HOST_CALL(int, MPI_, name, parameters, arguments)
#define R(kind, type, name, parameters, arguments)                                                 \
    STRETTO_HOST_CALL(type, MPI_, name, parameters, arguments)
#include "abi/functions.def"
#endif

#endif
