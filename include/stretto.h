/* Stretto's public C API.
 *
 * An application needs none of this: LD_PRELOAD and a table do the work. It is for programs that
 * want to choose or ask for themselves, and for stretto-bench. Find the functions with
 * dlsym(RTLD_DEFAULT, "stretto_choose") to run with or without the preloaded library.
 *
 * Include the MPI's own mpi.h first. All functions return 0, or -1 where noted; none aborts.
 */
#ifndef STRETTO_H
#define STRETTO_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Collective over comm: from now on `collective` ("allreduce", "bcast", "alltoallv", ...: any
 * blocking one of MPI-3.1; MPI_Alltoallw is "alltoallv") on comm uses `choice` ("native", "shm",
 * "ring", "shm+bruck_k(8)", ...); "" returns to what the table says. Sets the communicator up at
 * once when it was not. Rank 0's strings decide. -1 on every rank when the choice is unknown or
 * cannot be done on this communicator; the reason goes to error (rank-independent text,
 * NUL-terminated, may be NULL) and the former choice stays.
 */
int stretto_choose(MPI_Comm comm, const char *collective, const char *choice, char *error,
                   size_t error_size);

/* Local: how the last call of `collective` on comm was done, as "choice: why" ("native: no row in
 * FILE", "shm: FILE:7"). -1 when there was none or the library does not know comm. */
int stretto_last(MPI_Comm comm, const char *collective, char *text, size_t size);

/* Local: calls of `collective` on comm so far that Stretto carried out itself, and that it passed
 * to the MPI. Either pointer may be NULL. */
int stretto_counters(MPI_Comm comm, const char *collective, unsigned long long *ours,
                     unsigned long long *native);

/* The version as "major.minor.patch"; static. */
const char *stretto_version(void);

#ifdef __cplusplus
}
#endif
#endif
