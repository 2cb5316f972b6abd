/* How a measuring program begins: it finds the MPI, and prints what its launch is. */
#ifndef STRETTO_P2P_LAUNCH_H
#define STRETTO_P2P_LAUNCH_H

#include "abi/host.h"

#include <stdio.h>

/* All ranks of the communicator call it; `out` and `more` (members of the JSON object, each with a
 * comma behind it) are of rank 0. -1: no memory. */
int stretto_launch_line(FILE *out, MPI_Comm comm, const char *more);

/* Whether there is an MPI that this program can call; else says what to do. */
static inline bool stretto_launch_has_mpi(const char *program) {
    char error[512] = "";
    if (stretto_host_open(NULL, error, sizeof error) == 0 && stretto_host_load())
        return true;
    fprintf(stderr,
            "%s: no usable MPI: %s\n%s: LD_LIBRARY_PATH must lead to the library of the MPI whose "
            "launcher started this\n",
            program, error, program);
    return false;
}

#endif
