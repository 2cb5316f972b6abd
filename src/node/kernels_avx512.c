/* The kernels for x86-64 with AVX-512. */
#if defined(__x86_64__)
#include "node/kernels.h"
#include <complex.h>

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx512f,avx512bw,avx512dq,avx512vl"))),        \
                             apply_to = function)
#elif defined(__GNUC__)
#pragma GCC target("avx512f,avx512bw,avx512dq,avx512vl,prefer-vector-width=512")
#endif
#define KERNELS stretto_kernels_avx512
#include "node/kernels_body.h"
#if defined(__clang__)
#pragma clang attribute pop
#endif
#else
typedef int stretto_no_avx512; /* a translation unit may not be empty */
#endif
