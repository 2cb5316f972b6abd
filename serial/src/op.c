/* Operations. With one rank a reduction is a copy; they are evaluated in MPI_Reduce_local and in
 * MPI_Accumulate on one's own window only. */
#include "internal.h"

#include <complex.h>

typedef struct {
    MPI_User_function *function;
    int commutes;
} serial_op;

enum { FIRST_USER_OP = 32 };

static serial_table user_ops = {.size = sizeof(serial_op), .first = FIRST_USER_OP};

bool serial_op_exists(MPI_Op op) {
    return (op >= MPI_MAX && op <= MPI_NO_OP) || serial_at(&user_ops, op);
}

#define CASE(op, type, expression)                                                                 \
    case op:                                                                                       \
        for (int i = 0; i < count; i++) {                                                          \
            type a = ((const type *)in)[i], b = ((const type *)inout)[i];                          \
            ((type *)inout)[i] = (type)(expression);                                               \
        }                                                                                          \
        return true;
#define KERNEL(name, cases)                                                                        \
    static bool name(MPI_Op op, const void *in, void *inout, int count) {                          \
        switch (op) { cases default : return false; }                                              \
    }
#define ARITHMETIC(type) CASE(MPI_SUM, type, a + b) CASE(MPI_PROD, type, a *b)
#define ORDERED(type) CASE(MPI_MAX, type, a > b ? a : b) CASE(MPI_MIN, type, a < b ? a : b)
#define LOGICAL(type)                                                                              \
    CASE(MPI_LAND, type, a &&b) CASE(MPI_LOR, type, a || b) CASE(MPI_LXOR, type, !a != !b)
#define BITS(type) CASE(MPI_BAND, type, a &b) CASE(MPI_BOR, type, a | b) CASE(MPI_BXOR, type, a ^ b)
#define INTEGERS(name, type) KERNEL(name, ARITHMETIC(type) ORDERED(type) LOGICAL(type) BITS(type))
#define FLOATS(name, type) KERNEL(name, ARITHMETIC(type) ORDERED(type))
#define COMPLEXES(name, type) KERNEL(name, ARITHMETIC(type))
/* The larger (smaller) value and its index; of equal values the lower index. */
#define PAIRS(name, value_type, index_type)                                                        \
    typedef struct {                                                                               \
        value_type value;                                                                          \
        index_type index;                                                                          \
    } name##_pair;                                                                                 \
    static bool name(MPI_Op op, const void *in, void *inout, int count) {                          \
        const name##_pair *a = in;                                                                 \
        name##_pair *b = inout;                                                                    \
        if (op != MPI_MAXLOC && op != MPI_MINLOC)                                                  \
            return false;                                                                          \
        for (int i = 0; i < count; i++) {                                                          \
            bool before = op == MPI_MAXLOC ? a[i].value > b[i].value : a[i].value < b[i].value;    \
            if (before || (a[i].value == b[i].value && a[i].index < b[i].index))                   \
                b[i] = a[i];                                                                       \
        }                                                                                          \
        return true;                                                                               \
    }

INTEGERS(on_i8, int8_t)
INTEGERS(on_i16, int16_t)
INTEGERS(on_i32, int32_t)
INTEGERS(on_i64, int64_t)
INTEGERS(on_u8, uint8_t)
INTEGERS(on_u16, uint16_t)
INTEGERS(on_u32, uint32_t)
INTEGERS(on_u64, uint64_t)
INTEGERS(on_i128, stretto_int16)
FLOATS(on_f128, stretto_real16)
FLOATS(on_f32, float)
FLOATS(on_f64, double)
FLOATS(on_f80, long double)
COMPLEXES(on_c32, float complex)
COMPLEXES(on_c64, double complex)
COMPLEXES(on_c80, long double complex)
PAIRS(on_float_int, float, int)
PAIRS(on_double_int, double, int)
PAIRS(on_long_int, long, int)
PAIRS(on_2int, int, int)
PAIRS(on_short_int, short, int)
PAIRS(on_f80_int, long double, int)
PAIRS(on_2float, float, float)
PAIRS(on_2double, double, double)

static bool (*const kernels[])(MPI_Op, const void *, void *, int) = {
    [KIND_I8] = on_i8,
    [KIND_I16] = on_i16,
    [KIND_I32] = on_i32,
    [KIND_I64] = on_i64,
    [KIND_U8] = on_u8,
    [KIND_U16] = on_u16,
    [KIND_U32] = on_u32,
    [KIND_U64] = on_u64,
    [KIND_I128] = on_i128,
    [KIND_F128] = on_f128,
    [KIND_F32] = on_f32,
    [KIND_F64] = on_f64,
    [KIND_F80] = on_f80,
    [KIND_C32] = on_c32,
    [KIND_C64] = on_c64,
    [KIND_C80] = on_c80,
    [KIND_FLOAT_INT] = on_float_int,
    [KIND_DOUBLE_INT] = on_double_int,
    [KIND_LONG_INT] = on_long_int,
    [KIND_2INT] = on_2int,
    [KIND_SHORT_INT] = on_short_int,
    [KIND_F80_INT] = on_f80_int,
    [KIND_2FLOAT] = on_2float,
    [KIND_2DOUBLE] = on_2double,
    [KIND_LOGICAL] = on_i32,
};

bool serial_reduce(MPI_Op op, const void *in, void *inout, int count, MPI_Datatype handle) {
    const serial_op *user = serial_at(&user_ops, op);
    const serial_type *type = serial_type_at(handle);
    if (user) {
        user->function((void *)(uintptr_t)in, inout, &count, &handle);
        return true;
    }
    if (op == MPI_NO_OP)
        return true;
    if (op == MPI_REPLACE)
        return serial_transfer(0, "MPI_REPLACE", in, count, handle, inout, count, handle) ==
               MPI_SUCCESS;
    if (!type || !type->predefined || !kernels[type->kind])
        return false;
    return kernels[type->kind](op, in, inout, count);
}

int MPI_Op_create(MPI_User_function *function, int commute, MPI_Op *op) {
    serial_op *made = serial_add(&user_ops, op);
    made->function = function;
    made->commutes = commute != 0;
    return MPI_SUCCESS;
}

int MPI_Op_free(MPI_Op *op) {
    if (!serial_at(&user_ops, *op))
        return serial_error(0, MPI_ERR_OP, "MPI_Op_free", "no operation of the program's own");
    serial_drop(&user_ops, *op);
    *op = MPI_OP_NULL;
    return MPI_SUCCESS;
}

int MPI_Op_commutative(MPI_Op op, int *commute) {
    const serial_op *user = serial_at(&user_ops, op);
    if (!serial_op_exists(op))
        return serial_error(0, MPI_ERR_OP, "MPI_Op_commutative", "no valid operation");
    *commute = user ? user->commutes : op != MPI_REPLACE && op != MPI_NO_OP;
    return MPI_SUCCESS;
}

int MPI_Reduce_local(const void *in, void *inout, int count, MPI_Datatype type, MPI_Op op) {
    if (!serial_op_exists(op))
        return serial_error(0, MPI_ERR_OP, "MPI_Reduce_local", "no valid operation");
    if (!serial_reduce(op, in, inout, count, type))
        return serial_error(0, MPI_ERR_OP, "MPI_Reduce_local",
                            "this operation is not defined on this datatype");
    return MPI_SUCCESS;
}
