/* The kernels for x86-64 with AVX2. */
#if defined(__x86_64__)
#include "node/kernels.h"
#include <complex.h>

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2"))), apply_to = function)
#elif defined(__GNUC__)
#pragma GCC target("avx2")
#endif
#define KERNELS stretto_kernels_avx2
#include "node/kernels_body.h"
#if defined(__clang__)
#pragma clang attribute pop
#endif
#else
typedef int stretto_no_avx2; /* a translation unit may not be empty */
#endif
