/* The kernels for any processor, and the choice of the build for the one we run on. The choice is
 * made by asking the processor, not by ifunc: resolvers run inside the dynamic loader, before a
 * preloaded library can rely on anything. */
#define KERNELS stretto_kernels_plain
#define KERNELS_PLAIN
#include "node/kernels_body.h"

#include <stddef.h>
#include <string.h>

stretto_reduce_fn stretto_reduce_kernel(stretto_op op, stretto_type type) {
    const stretto_kernels *kernels = &stretto_kernels_plain;
    if ((unsigned)op >= STRETTO_OPS || (unsigned)type >= STRETTO_TYPES)
        return NULL;
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
        kernels = &stretto_kernels_avx512;
    else if (__builtin_cpu_supports("avx2"))
        kernels = &stretto_kernels_avx2;
#endif
    return kernels->kernel[op][type] ? kernels->kernel[op][type]
                                     : stretto_kernels_plain.kernel[op][type];
}

size_t stretto_type_extent(stretto_type type) {
    static const size_t extent[STRETTO_TYPES] = {
        [STRETTO_INT8] = 1,
        [STRETTO_INT16] = 2,
        [STRETTO_INT32] = 4,
        [STRETTO_INT64] = 8,
        [STRETTO_UINT8] = 1,
        [STRETTO_UINT16] = 2,
        [STRETTO_UINT32] = 4,
        [STRETTO_UINT64] = 8,
        [STRETTO_FLOAT] = sizeof(float),
        [STRETTO_DOUBLE] = sizeof(double),
        [STRETTO_LONG_DOUBLE] = sizeof(long double),
        [STRETTO_BOOL] = sizeof(bool),
        [STRETTO_COMPLEX_FLOAT] = sizeof(float _Complex),
        [STRETTO_COMPLEX_DOUBLE] = sizeof(double _Complex),
        [STRETTO_DOUBLE_INT] = sizeof(stretto_double_int),
        [STRETTO_FLOAT_INT] = sizeof(stretto_float_int),
        [STRETTO_INT_INT] = sizeof(stretto_int_int),
        [STRETTO_LONG_INT] = sizeof(stretto_long_int),
        [STRETTO_SHORT_INT] = sizeof(stretto_short_int),
    };
    return (unsigned)type < STRETTO_TYPES ? extent[type] : 0;
}

/* Bytes, not members: C lets the store of a member change the padding (C11 6.2.6.1p6). */
#define STORE(name, pair)                                                                          \
    static void name(void *to, const void *from, size_t n) {                                       \
        for (size_t i = 0; i < n; i++) {                                                           \
            char *t = (char *)to + i * sizeof(pair);                                               \
            const char *f = (const char *)from + i * sizeof(pair);                                 \
            memcpy(t, f, sizeof((pair *)0)->value);                                                \
            memcpy(t + offsetof(pair, index), f + offsetof(pair, index), sizeof(int));             \
        }                                                                                          \
    }

STORE(store_double_int, stretto_double_int)
STORE(store_long_int, stretto_long_int)
STORE(store_short_int, stretto_short_int)

stretto_store_fn stretto_pair_store(stretto_type type) {
    switch (type) {
    case STRETTO_DOUBLE_INT: return store_double_int;
    case STRETTO_LONG_INT: return store_long_int;
    case STRETTO_SHORT_INT: return store_short_int;
    default: return NULL;
    }
}
