/* stretto-cores: what a flag and a copy take between two processors of this node, without an MPI.
 *
 *   stretto-cores places [ROOT]          a JSON line a processor that this process may use: what it
 *                                        shares with others (ROOT: as in topo/topo.h)
 *   stretto-cores measure SIZES A:B...   a JSON line a pair: A writes, B reads; and both do both
 *
 * SIZES is 65536,1048576 or - for the flag alone. `stretto net node` starts it.
 */
#ifndef STRETTO_CORES_H
#define STRETTO_CORES_H

#include "cores/flag.h"

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum { CORES_MOST_SIZES = 16 };

/* How the reader gets at what the writer has written. */
enum { CORES_SHARED, CORES_CMA, CORES_XPMEM, CORES_WAYS };

typedef struct {
    int cpu[2]; /* of the writer and the reader */
    int sizes;
    size_t size[CORES_MOST_SIZES];
} cores_pair;

typedef struct {
    double flag_s;
    /* in one direction, and in both at the same time; 0: this way is closed */
    double copy_s[CORES_WAYS][2][CORES_MOST_SIZES];
    int cma_error;  /* errno of a read that the writer has permitted, 0: it worked */
    int cma_strict; /* the same without PR_SET_PTRACER */
} cores_took;

/* false: a line on standard error says why. */
bool cores_measure(const cores_pair *pair, cores_took *took);

#endif
