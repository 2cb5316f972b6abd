/* Stands in for src/abi/host.h where the runtime is built against SimGrid SMPI: there MPI is
 * linked, so PMPI_X is SMPI's own and nothing is looked up. */
#ifndef STRETTO_HOST_H
#define STRETTO_HOST_H

#include <mpi.h> /* SMPI's, by smpicc */

#include <stdbool.h>

#endif
