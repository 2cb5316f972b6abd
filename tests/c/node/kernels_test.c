/* Every kernel against an independent scalar reference, element by element through the types' own
 * alignment: all instruction sets that this processor has, odd counts, unaligned pointers, out
 * equal to left or to right, and the pairs of operation and type that the standard does not define.
 */
#include "node/kernels.h"

#include <complex.h>
#include <float.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("O0", "fp-contract=off") /* plain C, one element at a time */
#endif

static const char *const op_name[] = {"SUM",  "PROD", "MAX", "MIN",  "LAND",   "LOR",
                                      "LXOR", "BAND", "BOR", "BXOR", "MAXLOC", "MINLOC"};

/* MPI-4.1 section 6.9.2, table of the operations allowed on each group of types. */
static bool defined_by_standard(stretto_op op, stretto_type t) {
    bool integer = t <= STRETTO_UINT64;
    bool floating = t == STRETTO_FLOAT || t == STRETTO_DOUBLE || t == STRETTO_LONG_DOUBLE;
    bool complex_type = t == STRETTO_COMPLEX_FLOAT || t == STRETTO_COMPLEX_DOUBLE;
    switch (op) {
    case STRETTO_OP_MAX:
    case STRETTO_OP_MIN: return integer || floating;
    case STRETTO_OP_SUM:
    case STRETTO_OP_PROD: return integer || floating || complex_type;
    case STRETTO_OP_LAND:
    case STRETTO_OP_LOR:
    case STRETTO_OP_LXOR: return integer || t == STRETTO_BOOL;
    case STRETTO_OP_BAND:
    case STRETTO_OP_BOR:
    case STRETTO_OP_BXOR: return integer;
    default: return t >= STRETTO_DOUBLE_INT;
    }
}

/* An integer operation in 128 bits, to be cut to the type. */
static __int128 integer_result(stretto_op op, __int128 l, __int128 r) {
    switch (op) {
    case STRETTO_OP_SUM: return l + r;
    case STRETTO_OP_PROD: return (__int128)((unsigned __int128)l * (unsigned __int128)r);
    case STRETTO_OP_MAX: return l > r ? l : r;
    case STRETTO_OP_MIN: return l < r ? l : r;
    case STRETTO_OP_LAND: return l && r;
    case STRETTO_OP_LOR: return l || r;
    case STRETTO_OP_LXOR: return !l != !r;
    case STRETTO_OP_BAND: return l & r;
    case STRETTO_OP_BOR: return l | r;
    default: return l ^ r;
    }
}

static long double floating_result(stretto_op op, long double l, long double r) {
    return op == STRETTO_OP_MAX ? (l > r ? l : r) : l < r ? l : r;
}

/* *out = *l op *r, one element. Only the value's own bytes are set (long double, pairs: padding).
 */
static void reference(stretto_op op, stretto_type type, const void *l, const void *r, void *out) {
#define INTEGER_CASE(TYPE, type_)                                                                  \
    case TYPE: {                                                                                   \
        type_ a, b, c;                                                                             \
        memcpy(&a, l, sizeof a);                                                                   \
        memcpy(&b, r, sizeof b);                                                                   \
        c = (type_)integer_result(op, a, b);                                                       \
        memcpy(out, &c, sizeof c);                                                                 \
        break;                                                                                     \
    }
#define FLOATING_CASE(TYPE, type_)                                                                 \
    case TYPE: {                                                                                   \
        type_ a, b, c;                                                                             \
        memcpy(&a, l, sizeof a);                                                                   \
        memcpy(&b, r, sizeof b);                                                                   \
        if (op == STRETTO_OP_SUM)                                                                  \
            c = a + b;                                                                             \
        else if (op == STRETTO_OP_PROD)                                                            \
            c = a * b;                                                                             \
        else                                                                                       \
            c = (type_)floating_result(op, a, b);                                                  \
        memcpy(out, &c, sizeof c);                                                                 \
        break;                                                                                     \
    }
#define COMPLEX_CASE(TYPE, type_)                                                                  \
    case TYPE: {                                                                                   \
        type_ _Complex a, b, c;                                                                    \
        memcpy(&a, l, sizeof a);                                                                   \
        memcpy(&b, r, sizeof b);                                                                   \
        c = op == STRETTO_OP_SUM ? a + b : a * b;                                                  \
        memcpy(out, &c, sizeof c);                                                                 \
        break;                                                                                     \
    }
#define PAIR_CASE(TYPE, type_)                                                                     \
    case TYPE: {                                                                                   \
        type_ a, b, c;                                                                             \
        memcpy(&a, l, sizeof a);                                                                   \
        memcpy(&b, r, sizeof b);                                                                   \
        if (a.value == b.value)                                                                    \
            c = a.index < b.index ? a : b;                                                         \
        else                                                                                       \
            c = (op == STRETTO_OP_MAXLOC) == (a.value > b.value) ? a : b;                          \
        memcpy(out, &c, sizeof c);                                                                 \
        break;                                                                                     \
    }
    switch (type) {
        INTEGER_CASE(STRETTO_INT8, signed char)
        INTEGER_CASE(STRETTO_INT16, int16_t)
        INTEGER_CASE(STRETTO_INT32, int32_t)
        INTEGER_CASE(STRETTO_INT64, int64_t)
        INTEGER_CASE(STRETTO_UINT8, uint8_t)
        INTEGER_CASE(STRETTO_UINT16, uint16_t)
        INTEGER_CASE(STRETTO_UINT32, uint32_t)
        INTEGER_CASE(STRETTO_UINT64, uint64_t)
        INTEGER_CASE(STRETTO_BOOL, bool)
        FLOATING_CASE(STRETTO_FLOAT, float)
        FLOATING_CASE(STRETTO_DOUBLE, double)
        FLOATING_CASE(STRETTO_LONG_DOUBLE, long double)
        COMPLEX_CASE(STRETTO_COMPLEX_FLOAT, float)
        COMPLEX_CASE(STRETTO_COMPLEX_DOUBLE, double)
        PAIR_CASE(STRETTO_DOUBLE_INT, stretto_double_int)
        PAIR_CASE(STRETTO_FLOAT_INT, stretto_float_int)
        PAIR_CASE(STRETTO_INT_INT, stretto_int_int)
        PAIR_CASE(STRETTO_LONG_INT, stretto_long_int)
        PAIR_CASE(STRETTO_SHORT_INT, stretto_short_int)
    default: abort();
    }
}

/* Bytes of an element that carry its value: gap bytes are nobody's. */
static bool same(stretto_type type, const unsigned char *a, const unsigned char *b) {
#define SAME_PAIR(t)                                                                               \
    (!memcmp(a, b, sizeof((t *)0)->value) &&                                                       \
     !memcmp(a + offsetof(t, index), b + offsetof(t, index), sizeof(int)))
    switch (type) {
    case STRETTO_LONG_DOUBLE: return !memcmp(a, b, LDBL_MANT_DIG == 64 ? 10 : sizeof(long double));
    case STRETTO_DOUBLE_INT: return SAME_PAIR(stretto_double_int);
    case STRETTO_FLOAT_INT: return SAME_PAIR(stretto_float_int);
    case STRETTO_LONG_INT: return SAME_PAIR(stretto_long_int);
    case STRETTO_SHORT_INT: return SAME_PAIR(stretto_short_int);
    default: return !memcmp(a, b, stretto_type_extent(type));
    }
}

static uint64_t random_state = 88172645463325252u;
static uint64_t random_number(void) {
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    return random_state ^= random_state << 17;
}

/* Numbers with ties, extremes, zeros of both signs, infinities; no NaN but as results. */
static double random_real(void) {
    static const double special[] = {0.0, -0.0, 1.0, -1.0, INFINITY, -INFINITY, 1e300, 1e-310};
    uint64_t k = random_number();
    if (k % 4 == 0)
        return special[k / 4 % 8];
    if (k % 4 == 1)
        return (double)(int64_t)(k / 4 % 5) - 2; /* ties */
    return ((double)(int64_t)random_number()) * 1e-15;
}

static void fill(stretto_type type, unsigned char *p, size_t n) {
    size_t extent = stretto_type_extent(type);
    for (size_t i = 0; i < n * extent; i++)
        p[i] = (unsigned char)(random_number() >> 32);
#define PUT(type_, value_)                                                                         \
    do {                                                                                           \
        type_ v = (type_)(value_);                                                                 \
        memcpy(p + i * extent, &v, sizeof v);                                                      \
    } while (0)
#define PUT_PAIR(type_, value_)                                                                    \
    do {                                                                                           \
        type_ v;                                                                                   \
        memset(&v, 0, sizeof v);                                                                   \
        v.value = value_;                                                                          \
        v.index = (int)(random_number() % 5) - 2;                                                  \
        memcpy(p + i * extent, &v, sizeof v);                                                      \
    } while (0)
    for (size_t i = 0; i < n; i++)
        switch (type) {
        case STRETTO_FLOAT: PUT(float, random_real()); break;
        case STRETTO_DOUBLE: PUT(double, random_real()); break;
        case STRETTO_LONG_DOUBLE: PUT(long double, random_real() * 1.1L); break;
        case STRETTO_BOOL: PUT(bool, random_number() & 1); break;
        case STRETTO_COMPLEX_FLOAT:
            PUT(float, random_real() / 1e290);
            memcpy(p + i * extent + 4, &(float){(float)(random_real() * 1e-290)}, 4);
            break;
        case STRETTO_COMPLEX_DOUBLE:
            PUT(double, random_real());
            memcpy(p + i * extent + 8, &(double){random_real()}, 8);
            break;
        case STRETTO_DOUBLE_INT: PUT_PAIR(stretto_double_int, random_real()); break;
        case STRETTO_FLOAT_INT: PUT_PAIR(stretto_float_int, (float)random_real()); break;
        case STRETTO_INT_INT: PUT_PAIR(stretto_int_int, (int)(random_number() % 3) - 1); break;
        case STRETTO_LONG_INT: PUT_PAIR(stretto_long_int, (long)(random_number() % 3) - 1); break;
        case STRETTO_SHORT_INT:
            PUT_PAIR(stretto_short_int, (short)((int)(random_number() % 3) - 1));
            break;
        case STRETTO_INT32: /* extremes must wrap, not overflow */
            if (random_number() % 4 == 0)
                PUT(int32_t, random_number() & 1 ? INT32_MAX : INT32_MIN);
            break;
        case STRETTO_INT64:
            if (random_number() % 4 == 0)
                PUT(int64_t, random_number() & 1 ? INT64_MAX : INT64_MIN);
            break;
        default: /* the random bytes; some zeros for the logical operations */
            if (random_number() % 4 == 0)
                memset(p + i * extent, 0, extent);
        }
}

/* A NaN's sign and payload are not fixed by C: any NaN of the result equals any other. */
static bool both_nan(stretto_type type, const unsigned char *a, const unsigned char *b) {
#define NAN_CASE(TYPE, type_, parts)                                                               \
    case TYPE: {                                                                                   \
        type_ x[parts], y[parts];                                                                  \
        memcpy(x, a, sizeof x);                                                                    \
        memcpy(y, b, sizeof y);                                                                    \
        for (int i = 0; i < parts; i++)                                                            \
            if (!(isnan(x[i]) && isnan(y[i])) && memcmp(&x[i], &y[i], sizeof x[i]))                \
                return false;                                                                      \
        return true;                                                                               \
    }
    switch (type) {
        NAN_CASE(STRETTO_FLOAT, float, 1)
        NAN_CASE(STRETTO_DOUBLE, double, 1)
        NAN_CASE(STRETTO_COMPLEX_FLOAT, float, 2)
        NAN_CASE(STRETTO_COMPLEX_DOUBLE, double, 2)
    case STRETTO_LONG_DOUBLE: {
        long double x, y;
        memcpy(&x, a, sizeof x);
        memcpy(&y, b, sizeof y);
        return isnan(x) && isnan(y);
    }
    default: return false;
    }
}

static int try_kernel(const char *set, stretto_reduce_fn fn, stretto_op op, stretto_type type) {
    enum { MOST = 300, ROOM = MOST * 32 + 64 };
    static unsigned char a[ROOM], b[ROOM], c[ROOM], want[ROOM];
    static const size_t counts[] = {0, 1, 2, 3, 5, 7, 8, 13, 31, 63, 64, 65, 127, 257, 300};
    size_t extent = stretto_type_extent(type);
    for (size_t k = 0; k < sizeof counts / sizeof *counts; k++)
        for (int where = 0; where < 3; where++)          /* out: apart, left, right */
            for (int offset = 0; offset < 4; offset++) { /* unaligned, each differently */
                size_t n = counts[k], total = n * extent;
                unsigned char *l = a + offset, *r = b + (offset * 3) % 8, *o = c + (offset * 5) % 7;
                fill(type, l, n);
                fill(type, r, n);
                for (size_t i = 0; i < n; i++)
                    reference(op, type, l + i * extent, r + i * extent, want + i * extent);
                o = where == 0 ? o : where == 1 ? l : r;
                unsigned char after = o[total] = 0x5a;
                fn(l, r, o, n);
                if (o[total] != after) {
                    printf("FAILED: %s %s type %d: wrote past the end, n = %zu\n", set, op_name[op],
                           type, n);
                    return 1;
                }
                for (size_t i = 0; i < n; i++)
                    if (!same(type, o + i * extent, want + i * extent) &&
                        !both_nan(type, o + i * extent, want + i * extent)) {
                        printf("FAILED: %s %s type %d: element %zu of %zu, out %d, offset %d\n",
                               set, op_name[op], type, i, n, where, offset);
                        return 1;
                    }
            }
    return 0;
}

int main(void) {
    int failed = 0, tried = 0;
    for (int op = 0; op < STRETTO_OPS; op++)
        for (int type = 0; type < STRETTO_TYPES; type++) {
            stretto_reduce_fn chosen = stretto_reduce_kernel(op, type);
            if ((chosen != NULL) != defined_by_standard(op, type)) {
                printf("FAILED: %s type %d: %s\n", op_name[op], type,
                       chosen ? "a kernel that the standard does not define" : "no kernel");
                failed++;
            }
            if (!chosen)
                continue;
            struct {
                const char *name;
                bool usable;
                stretto_reduce_fn fn;
            } sets[] = {
                {"chosen", true, chosen},
                {"plain", true, stretto_kernels_plain.kernel[op][type]},
#if defined(__x86_64__)
                {"avx2", __builtin_cpu_supports("avx2"), stretto_kernels_avx2.kernel[op][type]},
                {"avx512",
                 __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
                     __builtin_cpu_supports("avx512vl"),
                 stretto_kernels_avx512.kernel[op][type]},
#endif
            };
            for (size_t s = 0; s < sizeof sets / sizeof *sets; s++)
                if (sets[s].usable && sets[s].fn) {
                    failed += try_kernel(sets[s].name, sets[s].fn, op, type);
                    tried++;
                }
        }
    failed += stretto_reduce_kernel(STRETTO_OPS, STRETTO_INT32) != NULL;
    failed += stretto_reduce_kernel(STRETTO_OP_SUM, STRETTO_TYPES) != NULL;
    printf("%s: %d kernels\n", failed ? "FAILED" : "ok", tried);
    return failed != 0;
}
