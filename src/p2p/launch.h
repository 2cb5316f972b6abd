/* The first line that a measuring program prints: what its launch is. */
#ifndef STRETTO_P2P_LAUNCH_H
#define STRETTO_P2P_LAUNCH_H

#include "abi/host.h"

#include <stdio.h>

/* All ranks of the communicator call it; `out` and `more` (members of the JSON object, each with a
 * comma behind it) are of rank 0. -1: no memory. */
int stretto_launch_line(FILE *out, MPI_Comm comm, const char *more);

#endif
