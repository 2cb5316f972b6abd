/* Programs say mpi.h; for the standard ABI they get mpi_abi.h of the MPI at hand. */
#include <mpi_abi.h>
