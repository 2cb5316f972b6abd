/* The table of kernels that each build of kernels_body.h (one an instruction set) provides. */
#ifndef STRETTO_NODE_KERNELS_H
#define STRETTO_NODE_KERNELS_H

#include "node/node.h"

typedef struct {
    stretto_reduce_fn kernel[STRETTO_OPS][STRETTO_TYPES];
} stretto_kernels;

extern const stretto_kernels stretto_kernels_plain;
#if defined(__x86_64__)
extern const stretto_kernels stretto_kernels_avx2;
extern const stretto_kernels stretto_kernels_avx512;
#endif

/* The C representation of the pairs (MPI-4.1 section 6.9.4). */
#define STRETTO_PAIR(name, value_type)                                                             \
    typedef struct {                                                                               \
        value_type value;                                                                          \
        int index;                                                                                 \
    } name
STRETTO_PAIR(stretto_double_int, double);
STRETTO_PAIR(stretto_float_int, float);
STRETTO_PAIR(stretto_int_int, int);
STRETTO_PAIR(stretto_long_int, long);
STRETTO_PAIR(stretto_short_int, short);

#endif
