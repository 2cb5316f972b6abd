/* Datatypes: the predefined ones, and what all have: pieces of memory in the order of the type
 * map. Pack, unpack and transfer are the only code that walks them. */
#include "internal.h"

#include <complex.h>
#include <stdlib.h>
#include <wchar.h>

enum { FIRST_DERIVED = 100 };

static serial_table derived = {.size = sizeof(serial_type), .first = FIRST_DERIVED};

typedef struct {
    float value;
    int index;
} float_int;
typedef struct {
    double value;
    int index;
} double_int;
typedef struct {
    long value;
    int index;
} long_int;
typedef struct {
    short value;
    int index;
} short_int;
typedef struct {
    long double value;
    int index;
} long_double_int;

/* size: of the data; pairs end in padding, which belongs to the extent only. */
#define PREDEFINED(handle, kind_, type)                                                            \
    [handle] = {.name = #handle,                                                                   \
                .kind = kind_,                                                                     \
                .predefined = true,                                                                \
                .contiguous = true,                                                                \
                .size = sizeof(type),                                                              \
                .ub = sizeof(type),                                                                \
                .true_ub = sizeof(type),                                                           \
                .align = _Alignof(type),                                                           \
                .npieces = 1,                                                                      \
                .combiner = MPI_COMBINER_NAMED,                                                    \
                .pieces = (serial_piece[]){{0, sizeof(type), 0}}}
#define PAIR(handle, kind_, pair, value_type)                                                      \
    [handle] = {.name = #handle,                                                                   \
                .kind = kind_,                                                                     \
                .predefined = true,                                                                \
                .size = sizeof(value_type) + sizeof(int),                                          \
                .ub = sizeof(pair),                                                                \
                .true_ub = offsetof(pair, index) + sizeof(int),                                    \
                .align = _Alignof(pair),                                                           \
                .npieces = 2,                                                                      \
                .combiner = MPI_COMBINER_NAMED,                                                    \
                .pieces =                                                                          \
                    (serial_piece[]){{0, sizeof(value_type), 0},                                   \
                                     {offsetof(pair, index), sizeof(int), sizeof(value_type)}}}

static serial_type predefined[FIRST_DERIVED] = {
    PREDEFINED(MPI_CHAR, KIND_I8, char),
    PREDEFINED(MPI_SIGNED_CHAR, KIND_I8, signed char),
    PREDEFINED(MPI_UNSIGNED_CHAR, KIND_U8, unsigned char),
    PREDEFINED(MPI_BYTE, KIND_U8, unsigned char),
    PREDEFINED(MPI_PACKED, KIND_NONE, unsigned char),
    PREDEFINED(MPI_SHORT, KIND_I16, short),
    PREDEFINED(MPI_UNSIGNED_SHORT, KIND_U16, unsigned short),
    PREDEFINED(MPI_INT, KIND_I32, int),
    PREDEFINED(MPI_UNSIGNED, KIND_U32, unsigned),
    PREDEFINED(MPI_LONG, KIND_I64, long),
    PREDEFINED(MPI_UNSIGNED_LONG, KIND_U64, unsigned long),
    PREDEFINED(MPI_LONG_LONG_INT, KIND_I64, long long),
    PREDEFINED(MPI_UNSIGNED_LONG_LONG, KIND_U64, unsigned long long),
    PREDEFINED(MPI_FLOAT, KIND_F32, float),
    PREDEFINED(MPI_DOUBLE, KIND_F64, double),
    PREDEFINED(MPI_LONG_DOUBLE, KIND_F80, long double),
    PREDEFINED(MPI_WCHAR, KIND_I32, wchar_t),
    PREDEFINED(MPI_C_BOOL, KIND_U8, _Bool),
    PREDEFINED(MPI_INT8_T, KIND_I8, int8_t),
    PREDEFINED(MPI_INT16_T, KIND_I16, int16_t),
    PREDEFINED(MPI_INT32_T, KIND_I32, int32_t),
    PREDEFINED(MPI_INT64_T, KIND_I64, int64_t),
    PREDEFINED(MPI_UINT8_T, KIND_U8, uint8_t),
    PREDEFINED(MPI_UINT16_T, KIND_U16, uint16_t),
    PREDEFINED(MPI_UINT32_T, KIND_U32, uint32_t),
    PREDEFINED(MPI_UINT64_T, KIND_U64, uint64_t),
    PREDEFINED(MPI_AINT, KIND_I64, MPI_Aint),
    PREDEFINED(MPI_COUNT, KIND_I64, MPI_Count),
    PREDEFINED(MPI_OFFSET, KIND_I64, MPI_Offset),
    PREDEFINED(MPI_C_COMPLEX, KIND_C32, float complex),
    PREDEFINED(MPI_C_DOUBLE_COMPLEX, KIND_C64, double complex),
    PREDEFINED(MPI_C_LONG_DOUBLE_COMPLEX, KIND_C80, long double complex),
    PAIR(MPI_FLOAT_INT, KIND_FLOAT_INT, float_int, float),
    PAIR(MPI_DOUBLE_INT, KIND_DOUBLE_INT, double_int, double),
    PAIR(MPI_LONG_INT, KIND_LONG_INT, long_int, long),
    PREDEFINED(MPI_2INT, KIND_2INT, int[2]),
    PAIR(MPI_SHORT_INT, KIND_SHORT_INT, short_int, short),
    PAIR(MPI_LONG_DOUBLE_INT, KIND_F80_INT, long_double_int, long double),
    PREDEFINED(MPI_CHARACTER, KIND_I8, char),
    PREDEFINED(MPI_LOGICAL, KIND_LOGICAL, int),
    PREDEFINED(MPI_INTEGER, KIND_I32, int),
    PREDEFINED(MPI_INTEGER1, KIND_I8, int8_t),
    PREDEFINED(MPI_INTEGER2, KIND_I16, int16_t),
    PREDEFINED(MPI_INTEGER4, KIND_I32, int32_t),
    PREDEFINED(MPI_INTEGER8, KIND_I64, int64_t),
    PREDEFINED(MPI_REAL, KIND_F32, float),
    PREDEFINED(MPI_REAL4, KIND_F32, float),
    PREDEFINED(MPI_REAL8, KIND_F64, double),
    PREDEFINED(MPI_DOUBLE_PRECISION, KIND_F64, double),
    PREDEFINED(MPI_COMPLEX, KIND_C32, float complex),
    PREDEFINED(MPI_COMPLEX8, KIND_C32, float complex),
    PREDEFINED(MPI_COMPLEX16, KIND_C64, double complex),
    PREDEFINED(MPI_DOUBLE_COMPLEX, KIND_C64, double complex),
    PREDEFINED(MPI_2REAL, KIND_2FLOAT, float[2]),
    PREDEFINED(MPI_2DOUBLE_PRECISION, KIND_2DOUBLE, double[2]),
    PREDEFINED(MPI_2INTEGER, KIND_2INT, int[2]),
    PREDEFINED(MPI_CXX_BOOL, KIND_U8, _Bool),
    PREDEFINED(MPI_CXX_FLOAT_COMPLEX, KIND_C32, float complex),
    PREDEFINED(MPI_CXX_DOUBLE_COMPLEX, KIND_C64, double complex),
    PREDEFINED(MPI_CXX_LONG_DOUBLE_COMPLEX, KIND_C80, long double complex),
    PREDEFINED(MPI_INTEGER16, KIND_I128, stretto_int16),
    PREDEFINED(MPI_REAL16, KIND_F128, stretto_real16),
    PREDEFINED(MPI_COMPLEX32, KIND_NONE, stretto_real16[2]),
    [MPI_LB] = {.name = "MPI_LB", .predefined = true, .combiner = MPI_COMBINER_NAMED},
    [MPI_UB] = {.name = "MPI_UB", .predefined = true, .combiner = MPI_COMBINER_NAMED},
};

serial_type *serial_type_at(MPI_Datatype handle) {
    if (handle >= FIRST_DERIVED)
        return serial_at(&derived, handle);
    return handle > 0 && predefined[handle].predefined ? &predefined[handle] : NULL;
}

MPI_Aint serial_extent(MPI_Datatype handle) {
    const serial_type *type = serial_type_at(handle);
    return type ? type->ub - type->lb : 0;
}

void serial_type_keep(serial_type *type) {
    type->uses++;
}

void serial_type_leave(MPI_Datatype handle) {
    serial_type *type = serial_type_at(handle);
    if (!type || type->predefined || --type->uses)
        return;
    serial_attributes_delete(handle, &type->attributes);
    for (int i = 0; i < type->ntypes; i++)
        serial_type_leave(type->types[i]);
    free(type->pieces);
    free(type->ints);
    free(type->aints);
    free(type->types);
    serial_drop(&derived, handle);
}

static void add_piece(serial_type *type, int *capacity, MPI_Aint offset, size_t bytes) {
    if (!bytes)
        return;
    serial_piece *last = type->npieces ? &type->pieces[type->npieces - 1] : NULL;
    if (last && last->offset + (MPI_Aint)last->bytes == offset) {
        last->bytes += bytes;
        return;
    }
    if (type->npieces == *capacity) {
        *capacity = *capacity ? 2 * *capacity : 4;
        serial_piece *pieces = serial_memory((size_t)*capacity * sizeof *pieces);
        if (type->npieces)
            memcpy(pieces, type->pieces, (size_t)type->npieces * sizeof *pieces);
        free(type->pieces);
        type->pieces = pieces;
    }
    last = type->npieces ? &type->pieces[type->npieces - 1] : NULL;
    type->pieces[type->npieces++] =
        (serial_piece){offset, bytes, last ? last->before + last->bytes : 0};
}

static void widen(bool *any, MPI_Aint *low, MPI_Aint *high, MPI_Aint from, MPI_Aint to) {
    if (!*any || from < *low)
        *low = from;
    if (!*any || to > *high)
        *high = to;
    *any = true;
}

/* The least explicit lower bound, or the greatest upper one, of all parts (MPI-3.1 section 4.1.7).
 */
static void fix(bool *any, MPI_Aint *bound, MPI_Aint at, bool lower) {
    if (!*any || (lower ? at < *bound : at > *bound))
        *bound = at;
    *any = true;
}

MPI_Datatype serial_type_make(int n, const int *lengths, const MPI_Aint *offsets,
                              const MPI_Datatype *types, int combiner) {
    MPI_Datatype handle;
    serial_type *made = serial_add(&derived, &handle);
    made->combiner = combiner;
    made->uses = 1;
    made->kind = KIND_NONE;
    int capacity = 0;
    bool bounds = false, real = false, first_kind = true;
    MPI_Aint lb = 0, ub = 0; /* the explicit ones */
    for (int i = 0; i < n; i++) {
        const serial_type *old = serial_type_at(types[i]);
        MPI_Aint extent = old->ub - old->lb;
        if (types[i] == MPI_LB) { /* explicit bounds of old programs */
            fix(&made->fixed_lb, &lb, offsets[i], true);
            continue;
        }
        if (types[i] == MPI_UB) {
            fix(&made->fixed_ub, &ub, offsets[i], false);
            continue;
        }
        if (lengths[i] <= 0)
            continue;
        if (first_kind || made->kind == old->kind)
            made->kind = old->kind;
        else
            made->kind = KIND_NONE;
        first_kind = false;
        MPI_Aint last = offsets[i] + (lengths[i] - 1) * extent;
        MPI_Aint low = extent < 0 ? last : offsets[i], high = extent < 0 ? offsets[i] : last;
        widen(&bounds, &made->lb, &made->ub, low + old->lb, high + old->ub);
        if (old->npieces)
            widen(&real, &made->true_lb, &made->true_ub, low + old->true_lb, high + old->true_ub);
        made->size += old->size * (size_t)lengths[i];
        made->align = old->align > made->align ? old->align : made->align;
        if (old->fixed_lb)
            fix(&made->fixed_lb, &lb, low + old->lb, true);
        if (old->fixed_ub)
            fix(&made->fixed_ub, &ub, high + old->ub, false);
        if (old->contiguous)
            add_piece(made, &capacity, offsets[i], old->size * (size_t)lengths[i]);
        for (int k = 0; !old->contiguous && k < lengths[i]; k++)
            for (int p = 0; p < old->npieces; p++)
                add_piece(made, &capacity, offsets[i] + k * extent + old->pieces[p].offset,
                          old->pieces[p].bytes);
    }
    if (combiner == MPI_COMBINER_STRUCT && made->align) /* epsilon of MPI-3.1 section 4.1.6 */
        made->ub += (made->align - (made->ub - made->lb) % made->align) % made->align;
    if (made->fixed_lb)
        made->lb = lb;
    if (made->fixed_ub)
        made->ub = ub;
    made->contiguous = made->npieces <= 1 && made->lb == made->true_lb &&
                       made->ub - made->lb == (MPI_Aint)made->size &&
                       (made->npieces == 0 || made->pieces[0].offset == 0);
    return handle;
}

void serial_type_bounds(MPI_Datatype handle, MPI_Aint lb, MPI_Aint extent) {
    serial_type *type = serial_type_at(handle);
    type->lb = lb;
    type->ub = lb + extent;
    type->fixed_lb = type->fixed_ub = true;
    type->contiguous = type->npieces <= 1 && lb == 0 && extent == (MPI_Aint)type->size &&
                       (type->npieces == 0 || type->pieces[0].offset == 0);
}

MPI_Datatype serial_type_unnamed(MPI_Datatype base, int combiner) {
    MPI_Datatype handle;
    serial_type *made = serial_add(&derived, &handle);
    *made = *serial_type_at(base); /* its pieces stay the base's: neither is ever freed */
    made->name[0] = '\0';
    made->attributes = NULL;
    made->combiner = combiner;
    made->base = base;
    return handle;
}

void serial_type_become_copy(MPI_Datatype handle, MPI_Datatype original) {
    const serial_type *from = serial_type_at(original);
    serial_type_bounds(handle, from->lb, from->ub - from->lb);
    serial_type_at(handle)->fixed_lb = from->fixed_lb;
    serial_type_at(handle)->fixed_ub = from->fixed_ub;
}

static void *copied(const void *from, int n, size_t size) {
    void *to = serial_memory((size_t)n * size);
    if (n)
        memcpy(to, from, (size_t)n * size);
    return to;
}

void serial_type_contents(MPI_Datatype handle, int nints, const int *ints, int naints,
                          const MPI_Aint *aints, int ntypes, const MPI_Datatype *types) {
    serial_type *type = serial_type_at(handle);
    type->nints = nints;
    type->naints = naints;
    type->ntypes = ntypes;
    type->ints = copied(ints, nints, sizeof *ints);
    type->aints = copied(aints, naints, sizeof *aints);
    type->types = copied(types, ntypes, sizeof *types);
    for (int i = 0; i < ntypes; i++)
        if (serial_type_at(types[i]))
            serial_type_keep(serial_type_at(types[i]));
}

void serial_pack(const serial_type *type, const void *data, long long count, void *packed) {
    const char *from = data;
    char *to = packed;
    if (type->contiguous) {
        if (count && type->size)
            memcpy(to, from, (size_t)count * type->size);
        return;
    }
    for (long long i = 0; i < count; i++, from += type->ub - type->lb)
        for (int p = 0; p < type->npieces; p++) {
            memcpy(to, from + type->pieces[p].offset, type->pieces[p].bytes);
            to += type->pieces[p].bytes;
        }
}

void serial_unpack(const serial_type *type, const void *packed, size_t bytes, void *data,
                   long long count) {
    const char *from = packed;
    char *to = data;
    if (type->contiguous) {
        size_t room = (size_t)count * type->size;
        if (bytes && room)
            memcpy(to, from, bytes < room ? bytes : room);
        return;
    }
    for (long long i = 0; i < count && bytes; i++, to += type->ub - type->lb)
        for (int p = 0; p < type->npieces && bytes; p++) {
            size_t piece = type->pieces[p].bytes < bytes ? type->pieces[p].bytes : bytes;
            memcpy(to + type->pieces[p].offset, from, piece);
            from += piece;
            bytes -= piece;
        }
}

int serial_transfer(MPI_Comm comm, const char *function, const void *in, long long in_count,
                    MPI_Datatype in_type, void *out, long long out_count, MPI_Datatype out_type) {
    const serial_type *from = serial_type_at(in_type), *to = serial_type_at(out_type);
    if (!from || !to)
        return serial_error(comm, MPI_ERR_TYPE, function, "no valid datatype (handle %d)",
                            from ? out_type : in_type);
    if (in_count < 0 || out_count < 0)
        return serial_error(comm, MPI_ERR_COUNT, function, "the count is %lld",
                            in_count < 0 ? in_count : out_count);
    size_t bytes = from->size * (size_t)in_count, room = to->size * (size_t)out_count;
    if (bytes > room)
        return serial_error(comm, MPI_ERR_TRUNCATE, function,
                            "%zu bytes were sent, and there is room for %zu", bytes, room);
    if (!bytes || (in == out && in_type == out_type))
        return MPI_SUCCESS;
    if (from->contiguous && to->contiguous) {
        memmove(out, in, bytes);
        return MPI_SUCCESS;
    }
    void *packed = serial_memory(bytes);
    serial_pack(from, in, in_count, packed);
    serial_unpack(to, packed, bytes, out, out_count);
    free(packed);
    return MPI_SUCCESS;
}
