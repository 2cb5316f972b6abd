/**
 * \file
 * \brief Stretto's public C API.
 *
 * Applications do not need this API: LD_PRELOAD and a table are enough. It is for programs that
 * choose algorithms themselves or query which one was used, and for stretto-bench. To run with or
 * without the preloaded library, look the functions up: dlsym(RTLD_DEFAULT, "stretto_choose").
 *
 * Include mpi.h of the MPI first. No function aborts the program.
 */
#ifndef STRETTO_H
#define STRETTO_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * \brief Choose the algorithm of a collective on a communicator. Collective over comm.
 *
 * Sets the communicator up for Stretto if needed. The strings of rank 0 are used on all ranks. With
 * STRETTO_REPRODUCIBLE=1 the choice for a reduction is checked and stored, but the reduction keeps
 * its fixed order (stretto_last: "knomial(2): STRETTO_REPRODUCIBLE").
 *
 * \param[in] comm        The communicator.
 * \param[in] collective  "allreduce", "bcast", "alltoallv", ...: any blocking collective of
 *                        MPI-3.1. MPI_Alltoallw is "alltoallv", MPI_Neighbor_alltoallw is
 *                        "neighbor_alltoallv".
 * \param[in] choice      "native", "shm", "ring", "shm+bruck_k(8)", ...; "" returns to the table.
 * \param[out] error      The reason of a failure, NUL-terminated, the same on all ranks; may be
 *                        NULL.
 * \param[in] error_size  Size of error in bytes.
 * \return 0; -1 on every rank if the choice is unknown or cannot be used on this communicator. The
 *         previous choice then remains.
 */
int stretto_choose(MPI_Comm comm, const char *collective, const char *choice, char *error,
                   size_t error_size);

/**
 * \brief Return which algorithm executed the last call of a collective, and why. Local.
 *
 * \param[in] comm        The communicator.
 * \param[in] collective  As in stretto_choose.
 * \param[out] text       "choice: reason", NUL-terminated: "native: no row in FILE", "shm: FILE:7",
 *                        "aggregated: forced; sizes known from before" for a repeated exchange.
 * \param[in] size        Size of text in bytes.
 * \return 0; -1 if there was no call, or the library does not know comm.
 */
int stretto_last(MPI_Comm comm, const char *collective, char *text, size_t size);

/**
 * \brief Count the calls of a collective. Local.
 *
 * \param[in] comm        The communicator.
 * \param[in] collective  As in stretto_choose. Planned exchanges count as "alltoallv".
 * \param[out] ours       Number of calls that Stretto executed; may be NULL.
 * \param[out] native     Number of calls that the MPI executed; may be NULL.
 * \return 0; -1 if the library does not know comm or the collective.
 */
int stretto_counters(MPI_Comm comm, const char *collective, unsigned long long *ours,
                     unsigned long long *native);

/**
 * \brief A planned irregular exchange.
 *
 * An exchange like MPI_Alltoallv that a program repeats with the same counts (halo exchange,
 * matrix-vector product). The algorithm is fixed, and the sizes are exchanged only once.
 *
 *     stretto_alltoallv *plan;
 *     stretto_alltoallv_plan(comm, scounts, sdispls, MPI_DOUBLE, rcounts, rdispls, MPI_DOUBLE,
 *                            "aggregated", &plan, error, sizeof error);
 *     for (...)
 *         stretto_alltoallv_run(plan, sendbuf, recvbuf);
 *     stretto_alltoallv_free(&plan);
 */
typedef struct stretto_alltoallv stretto_alltoallv;

/**
 * \brief Plan an exchange. Collective over comm.
 *
 * Counts and displacements have one number for each rank of comm, in elements and extents of the
 * committed datatypes, and match between ranks as in MPI_Alltoallv. All are copied; datatypes may
 * be freed afterwards.
 *
 * \param[in] choice      As in stretto_choose; that of rank 0 is used. NULL or "": the current
 *                        choice of MPI_Alltoallv on comm.
 * \param[out] plan       The plan, or NULL. The caller must free it before comm and before
 *                        MPI_Finalize.
 * \param[out] error      The reason of a failure; may be NULL.
 * \param[in] error_size  Size of error in bytes.
 * \return 0; -1 on every rank if the choice is unknown or cannot be used. A negative count or a
 *         null datatype gives -1 only on the ranks that detect it: the job must then end.
 */
int stretto_alltoallv_plan(MPI_Comm comm, const int sendcounts[], const int sdispls[],
                           MPI_Datatype sendtype, const int recvcounts[], const int rdispls[],
                           MPI_Datatype recvtype, const char *choice, stretto_alltoallv **plan,
                           char *error, size_t error_size);

/**
 * \brief Execute a planned exchange. Collective over the plan's communicator, blocking.
 *
 * \param[in] plan      The plan.
 * \param[in] sendbuf   As in MPI_Alltoallv; may differ between calls; not MPI_IN_PLACE.
 * \param[out] recvbuf  Must not overlap with sendbuf.
 * \return MPI_SUCCESS, or an MPI error code after the error handler of the communicator was called.
 *         MPI_ERR_TRUNCATE: a rank receives more data than its buffer holds.
 */
int stretto_alltoallv_run(stretto_alltoallv *plan, const void *sendbuf, void *recvbuf);

/**
 * \brief Return the choice of a plan. Local.
 *
 * \param[in] plan   The plan.
 * \param[out] text  "aggregated", "native", ..., NUL-terminated.
 * \param[in] size   Size of text in bytes.
 * \return 0.
 */
int stretto_alltoallv_choice(const stretto_alltoallv *plan, char *text, size_t size);

/**
 * \brief Free a plan and set it to NULL. Local.
 *
 * \param[in,out] plan  NULL and a pointer to NULL are allowed.
 * \return 0.
 */
int stretto_alltoallv_free(stretto_alltoallv **plan);

/**
 * \brief Return the version of Stretto.
 *
 * \return "major.minor.patch", in static storage.
 */
const char *stretto_version(void);

#ifdef __cplusplus
}
#endif
#endif
