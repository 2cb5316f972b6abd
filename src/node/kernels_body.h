/* Kernels of all operations on all types the standard allows (MPI-4.1 sections 6.9.2 and 6.9.4).
 * Included once for each instruction set, by kernels_<set>.c, with KERNELS naming the table; the
 * compiler vectorises the plain loops. FMA contraction is off: left[i] * right[i] must be what C
 * says on every machine of a job.
 *
 * Integers: sums and products are taken in an unsigned type at least as wide as unsigned int, where
 * wrapping is defined (and 16-bit products are not promoted to a signed int that overflows).
 * Pointers may be unaligned for their type (packed data): elements are loaded and stored through
 * types of alignment 1.
 */
#include "node/kernels.h"

#include <complex.h>

#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#pragma clang diagnostic ignored "-Wpass-failed" /* long double has no vectors */
#define INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#elif defined(__GNUC__)
#define INDEPENDENT _Pragma("GCC ivdep")
#pragma GCC optimize("O3", "fp-contract=off")
#endif

/* One kernel. The compiler is told that the iterations are independent, which holds for out == left
 * and for out == right. */
#define KERNEL(name, type, expression)                                                             \
    static void name(const void *left_, const void *right_, void *out_, size_t n) {                \
        typedef struct __attribute__((packed, may_alias)) {                                        \
            type value;                                                                            \
        } element;                                                                                 \
        const element *left = left_, *right = right_;                                              \
        element *out = out_;                                                                       \
        INDEPENDENT for (size_t i = 0; i < n; i++) {                                               \
            const type l = left[i].value, r = right[i].value;                                      \
            out[i].value = expression;                                                             \
        }                                                                                          \
    }

#define ARITHMETIC(name, type, wide)                                                               \
    KERNEL(sum_##name, type, (type)((wide)l + (wide)r))                                            \
    KERNEL(prod_##name, type, (type)((wide)l * (wide)r))                                           \
    KERNEL(max_##name, type, l > r ? l : r)                                                        \
    KERNEL(min_##name, type, l < r ? l : r)
#define LOGICAL(name, type)                                                                        \
    KERNEL(land_##name, type, (type)((l != 0) & (r != 0)))                                         \
    KERNEL(lor_##name, type, (type)((l != 0) | (r != 0)))                                          \
    KERNEL(lxor_##name, type, (type)((l != 0) ^ (r != 0)))
#define BITWISE(name, type)                                                                        \
    KERNEL(band_##name, type, (type)(l & r))                                                       \
    KERNEL(bor_##name, type, (type)(l | r))                                                        \
    KERNEL(bxor_##name, type, (type)(l ^ r))
#define INTEGER(name, type, wide)                                                                  \
    ARITHMETIC(name, type, wide) LOGICAL(name, type) BITWISE(name, type)
/* The better value; at a tie the lower index. An unordered left (NaN) gives way to right, as in
 * the comparison that the standard writes. */
#define PAIR(name)                                                                                 \
    KERNEL(maxloc_##name, stretto_##name,                                                          \
           l.value > r.value || (l.value == r.value && l.index < r.index) ? l : r)                 \
    KERNEL(minloc_##name, stretto_##name,                                                          \
           l.value < r.value || (l.value == r.value && l.index < r.index) ? l : r)

INTEGER(int8, int8_t, unsigned)
INTEGER(int16, int16_t, unsigned)
INTEGER(int32, int32_t, uint32_t)
INTEGER(int64, int64_t, uint64_t)
INTEGER(uint8, uint8_t, unsigned)
INTEGER(uint16, uint16_t, unsigned)
INTEGER(uint32, uint32_t, uint32_t)
INTEGER(uint64, uint64_t, uint64_t)
ARITHMETIC(float, float, float)
ARITHMETIC(double, double, double)
ARITHMETIC(long_double, long double, long double)
/* bool through its byte: reading a byte that is neither 0 nor 1 as _Bool would be undefined */
LOGICAL(bool, uint8_t)
KERNEL(sum_complex_float, float _Complex, l + r)
KERNEL(sum_complex_double, double _Complex, l + r)
#ifdef KERNELS_PLAIN /* gcc 12 makes fused fmaddsub of them for AVX-512, asked not to or not */
KERNEL(prod_complex_float, float _Complex, l *r)
KERNEL(prod_complex_double, double _Complex, l *r)
#endif
PAIR(double_int)
PAIR(float_int)
PAIR(int_int)
PAIR(long_int)
PAIR(short_int)

#define ARITHMETIC_ROWS(TYPE, name)                                                                \
    .kernel[STRETTO_OP_SUM][TYPE] = sum_##name, .kernel[STRETTO_OP_PROD][TYPE] = prod_##name,      \
    .kernel[STRETTO_OP_MAX][TYPE] = max_##name, .kernel[STRETTO_OP_MIN][TYPE] = min_##name
#define LOGICAL_ROWS(TYPE, name)                                                                   \
    .kernel[STRETTO_OP_LAND][TYPE] = land_##name, .kernel[STRETTO_OP_LOR][TYPE] = lor_##name,      \
    .kernel[STRETTO_OP_LXOR][TYPE] = lxor_##name
#define BITWISE_ROWS(TYPE, name)                                                                   \
    .kernel[STRETTO_OP_BAND][TYPE] = band_##name, .kernel[STRETTO_OP_BOR][TYPE] = bor_##name,      \
    .kernel[STRETTO_OP_BXOR][TYPE] = bxor_##name
#define INTEGER_ROWS(TYPE, name)                                                                   \
    ARITHMETIC_ROWS(TYPE, name), LOGICAL_ROWS(TYPE, name), BITWISE_ROWS(TYPE, name)
#define PAIR_ROWS(TYPE, name)                                                                      \
    .kernel[STRETTO_OP_MAXLOC][TYPE] = maxloc_##name,                                              \
    .kernel[STRETTO_OP_MINLOC][TYPE] = minloc_##name

const stretto_kernels KERNELS = {
    INTEGER_ROWS(STRETTO_INT8, int8),
    INTEGER_ROWS(STRETTO_INT16, int16),
    INTEGER_ROWS(STRETTO_INT32, int32),
    INTEGER_ROWS(STRETTO_INT64, int64),
    INTEGER_ROWS(STRETTO_UINT8, uint8),
    INTEGER_ROWS(STRETTO_UINT16, uint16),
    INTEGER_ROWS(STRETTO_UINT32, uint32),
    INTEGER_ROWS(STRETTO_UINT64, uint64),
    ARITHMETIC_ROWS(STRETTO_FLOAT, float),
    ARITHMETIC_ROWS(STRETTO_DOUBLE, double),
    ARITHMETIC_ROWS(STRETTO_LONG_DOUBLE, long_double),
    LOGICAL_ROWS(STRETTO_BOOL, bool),
    .kernel[STRETTO_OP_SUM][STRETTO_COMPLEX_FLOAT] = sum_complex_float,
    .kernel[STRETTO_OP_SUM][STRETTO_COMPLEX_DOUBLE] = sum_complex_double,
#ifdef KERNELS_PLAIN
    .kernel[STRETTO_OP_PROD][STRETTO_COMPLEX_FLOAT] = prod_complex_float,
    .kernel[STRETTO_OP_PROD][STRETTO_COMPLEX_DOUBLE] = prod_complex_double,
#endif
    PAIR_ROWS(STRETTO_DOUBLE_INT, double_int),
    PAIR_ROWS(STRETTO_FLOAT_INT, float_int),
    PAIR_ROWS(STRETTO_INT_INT, int_int),
    PAIR_ROWS(STRETTO_LONG_INT, long_int),
    PAIR_ROWS(STRETTO_SHORT_INT, short_int),
};
