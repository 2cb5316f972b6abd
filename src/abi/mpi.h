/* The host MPI as this build sees it: the ABI of one family, chosen by -DSTRETTO_ABI_..., and the
 * prototypes of the MPI_* symbols that a preloaded library may define.
 *
 * Our own code calls the host through the inline functions of host.h, never through these. */
#ifndef STRETTO_MPI_H
#define STRETTO_MPI_H

#if defined(STRETTO_ABI_OPENMPI)
#include "abi/mpi_openmpi.h"
#define STRETTO_FAMILY "openmpi"
#define STRETTO_FAMILY_NAME "Open MPI"
#elif defined(STRETTO_ABI_MPICH)
#include "abi/mpi_mpich.h"
#define STRETTO_FAMILY "mpich"
#define STRETTO_FAMILY_NAME "MPICH and Intel MPI"
#elif defined(STRETTO_ABI_MPI5)
#include "abi/mpi_mpi5.h"
#define STRETTO_FAMILY "mpi5"
#define STRETTO_FAMILY_NAME "the MPI-5 standard ABI"
#else
#error "define STRETTO_ABI_OPENMPI, STRETTO_ABI_MPICH or STRETTO_ABI_MPI5"
#endif

#define STRETTO_EXPORT __attribute__((visibility("default")))

/* A program (stretto-bench) exports nothing, and there host.h uses these names. */
#if !defined(STRETTO_HOST_MPI) || defined(STRETTO_RECORDER)
#define F(kind, name, parameters, arguments) STRETTO_EXPORT int MPI_##name parameters;
#define R(kind, type, name, parameters, arguments) STRETTO_EXPORT type MPI_##name parameters;
#include "abi/functions.def"
#endif

#endif
