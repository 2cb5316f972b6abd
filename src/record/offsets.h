/* How far the clocks of the nodes are apart, measured at MPI_Init and MPI_Finalize by ping-pong
 * between one rank of each clock; nothing is sent where all ranks share one clock. */
#ifndef STRETTO_RECORD_OFFSETS_H
#define STRETTO_RECORD_OFFSETS_H

#include "record/raw.h"

/* By all ranks of MPI_COMM_WORLD. clocks[n]: equal for ranks with the same clock. The result is for
 * the first rank of each clock; at_ns 0 elsewhere. */
stretto_raw_offset stretto_offsets_begin(const uint64_t *clocks, int n, int rank);
stretto_raw_offset stretto_offsets_end(void);

#endif
