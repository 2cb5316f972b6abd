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
 * blocking one of MPI-3.1; MPI_Alltoallw is "alltoallv", MPI_Neighbor_alltoallw is
 * "neighbor_alltoallv") on comm uses `choice` ("native", "shm", "ring", "shm+bruck_k(8)", ...); ""
 * returns to what the table says. Sets the communicator up at once when it was not. Rank 0's
 * strings decide. -1 on every rank when the choice is unknown or cannot be done on this
 * communicator; the reason goes to error (rank-independent text, NUL-terminated, may be NULL) and
 * the former choice stays. With STRETTO_REPRODUCIBLE=1 a choice for a reduction, "native" too, is
 * checked and kept as always, and 0 returned, but the reduction goes on in its fixed order
 * (stretto_last: "knomial(2): STRETTO_REPRODUCIBLE").
 */
int stretto_choose(MPI_Comm comm, const char *collective, const char *choice, char *error,
                   size_t error_size);

/* Local: how the last call of `collective` on comm was done, as "choice: why" ("native: no row in
 * FILE", "shm: FILE:7", "aggregated: forced; sizes known from before" for an exchange that
 * repeats). -1 when there was none or the library does not know comm. */
int stretto_last(MPI_Comm comm, const char *collective, char *text, size_t size);

/* Local: calls of `collective` on comm so far that Stretto carried out itself, and that it passed
 * to the MPI. Runs of planned exchanges count as calls of "alltoallv". Either pointer may be NULL.
 */
int stretto_counters(MPI_Comm comm, const char *collective, unsigned long long *ours,
                     unsigned long long *native);

/* ---- irregular exchanges that are planned -----------------------------------------------------
 *
 * An exchange as by MPI_Alltoallv that a program carries out again and again with the same counts
 * (a halo, a matrix-vector product): its algorithm is fixed, and its sizes are told once.
 *
 *     stretto_alltoallv *plan;
 *     stretto_alltoallv_plan(comm, scounts, sdispls, MPI_DOUBLE, rcounts, rdispls, MPI_DOUBLE,
 *                            "aggregated", &plan, error, sizeof error);
 *     for (...)
 *         stretto_alltoallv_run(plan, sendbuf, recvbuf);
 *     stretto_alltoallv_free(&plan);
 */
typedef struct stretto_alltoallv stretto_alltoallv;

/* Collective over comm. Makes a plan for these arguments of MPI_Alltoallv: counts and displacements
 * have one number for each rank of comm, in elements and extents of the committed datatypes, and
 * must fit together as in MPI_Alltoallv. All are copied; datatypes may be freed afterwards. choice
 * is as in stretto_choose and is rank 0's; NULL or "": what MPI_Alltoallv on comm would use now.
 * 0, or -1 on every rank that can know of it (a choice that is unknown or cannot be done: all
 * ranks; a negative count or a null datatype: the job must end) with the reason in
 * error[error_size] (may be NULL) and *plan NULL. The caller owns *plan and frees it before comm
 * and before MPI_Finalize. */
int stretto_alltoallv_plan(MPI_Comm comm, const int sendcounts[], const int sdispls[],
                           MPI_Datatype sendtype, const int recvcounts[], const int rdispls[],
                           MPI_Datatype recvtype, const char *choice, stretto_alltoallv **plan,
                           char *error, size_t error_size);

/* Collective over the plan's communicator, in the same order as its other collectives. Blocking, as
 * MPI_Alltoallv; sendbuf and recvbuf do not overlap, and neither is MPI_IN_PLACE. The buffers may
 * be others in each call. An MPI error code, raised on the communicator before (its error handler
 * decides): MPI_ERR_TRUNCATE where a rank has less room than is sent to it. */
int stretto_alltoallv_run(stretto_alltoallv *plan, const void *sendbuf, void *recvbuf);

/* Local: the choice that the plan carries out ("aggregated", "native", ...), NUL-terminated. */
int stretto_alltoallv_choice(const stretto_alltoallv *plan, char *text, size_t size);

/* Local: gives the plan back and sets *plan to NULL. NULL and a pointer to NULL are nothing to do.
 */
int stretto_alltoallv_free(stretto_alltoallv **plan);

/* The version as "major.minor.patch"; static. */
const char *stretto_version(void);

#ifdef __cplusplus
}
#endif
#endif
