/* The representation external32: big endian, of fixed sizes (MPI-3.1 section 13.5.2, table 13.2).
 * Data are walked element by element in the order of the type map. */
#include "internal.h"

#include <stdlib.h>

/* A part of an element: one number, or one of the two of a complex number or a pair. */
typedef enum { SIGNED, UNSIGNED, BITS, LONG_DOUBLE } cell_kind;

typedef struct {
    cell_kind kind;
    size_t native, external; /* bytes */
} cell;

static cell integer(size_t native, size_t external) {
    return (cell){SIGNED, native, external};
}

static cell bits(size_t bytes) {
    return (cell){BITS, bytes, bytes};
}

/* The cells of a predefined type; their number. */
static int cells_of(MPI_Datatype handle, cell cells[2]) {
    const serial_type *type = serial_type_at(handle);
    handle = type->base ? type->base : handle;
    const cell quad = {LONG_DOUBLE, sizeof(long double), 16};
    cells[1] = integer(sizeof(int), 4);
    switch (type->kind) {
    case KIND_FLOAT_INT: cells[0] = bits(4); return 2;
    case KIND_DOUBLE_INT: cells[0] = bits(8); return 2;
    case KIND_LONG_INT: cells[0] = integer(sizeof(long), 4); return 2;
    case KIND_2INT: cells[0] = cells[1]; return 2;
    case KIND_SHORT_INT: cells[0] = integer(2, 2); return 2;
    case KIND_F80_INT: cells[0] = quad; return 2;
    case KIND_2FLOAT:
    case KIND_C32: cells[0] = cells[1] = bits(4); return 2;
    case KIND_2DOUBLE:
    case KIND_C64: cells[0] = cells[1] = bits(8); return 2;
    case KIND_C80: cells[0] = cells[1] = quad; return 2;
    case KIND_F80: cells[0] = quad; return 1;
    default: break;
    }
    if (handle == MPI_COMPLEX32) {
        cells[0] = cells[1] = bits(16);
        return 2;
    }
    cells[0] = handle == MPI_LONG            ? integer(sizeof(long), 4)
               : handle == MPI_UNSIGNED_LONG ? (cell){UNSIGNED, sizeof(long), 4}
               : handle == MPI_WCHAR         ? (cell){UNSIGNED, type->size, 2}
                                             : bits(type->size);
    return 1;
}

static void reversed(const unsigned char *from, unsigned char *to, size_t bytes) {
    for (size_t i = 0; i < bytes; i++)
        to[i] = from[bytes - 1 - i];
}

/* The value of a little-endian number, extended by its sign. */
static unsigned long long value(const unsigned char *at, size_t bytes, cell_kind kind) {
    unsigned long long v = kind == SIGNED && at[bytes - 1] & 0x80 ? ~0ull : 0;
    for (size_t i = bytes; i-- > 0;)
        v = v << 8 | at[i];
    return v;
}

/* From a number of `from` bytes to one of `to`, both little-endian; false when it does not fit. */
static bool resize(const unsigned char *in, size_t from, unsigned char *out, size_t to,
                   cell_kind kind) {
    unsigned long long v = value(in, from, kind);
    for (size_t i = 0; i < to; i++)
        out[i] = (unsigned char)(i < sizeof v ? v >> 8 * i : kind == SIGNED && v >> 63 ? 0xff : 0);
    return value(out, to, kind) == v;
}

static bool convert(const cell *c, const unsigned char *from, unsigned char *to, bool packs) {
    unsigned char little[16];
    if (c->kind == BITS) {
        reversed(from, to, c->native);
        return true;
    }
    if (!packs)
        reversed(from, little, c->external);
    if (c->kind == LONG_DOUBLE) {
        long double wide;
        stretto_real16 quad;
        if (packs) {
            memcpy(&wide, from, sizeof wide);
            quad = (stretto_real16)wide;
            memcpy(little, &quad, 16);
        } else {
            memcpy(&quad, little, 16);
            wide = (long double)quad;
            memset(to, 0, sizeof wide);
            memcpy(to, &wide, sizeof wide);
        }
    } else if (!(packs ? resize(from, c->native, little, c->external, c->kind)
                       : resize(little, c->external, to, c->native, c->kind))) {
        return false;
    }
    if (packs)
        reversed(little, to, c->external);
    return true;
}

/* The walk: where the data are in both representations, packed. */
typedef struct {
    unsigned char *native, *external; /* both move on; NULL: sizes only */
    size_t external_bytes;
    bool packs, fits;
} walk;

static void visit(walk *w, MPI_Datatype handle, long long count) {
    const serial_type *type = serial_type_at(handle);
    if (!type->predefined) {
        if (type->combiner != MPI_COMBINER_STRUCT) { /* made of one type, again and again */
            const serial_type *inner = serial_type_at(type->types[0]);
            visit(w, type->types[0],
                  inner->size ? count * (long long)(type->size / inner->size) : 0);
            return;
        }
        for (long long k = 0; k < count; k++)
            for (int i = 0; i < type->ntypes; i++)
                visit(w, type->types[i], type->ints[1 + i]);
        return;
    }
    cell cells[2];
    int n = type->size ? cells_of(handle, cells) : 0;
    for (long long k = 0; k < (w->native ? count : 0); k++)
        for (int i = 0; i < n; i++) {
            w->fits = (w->packs ? convert(&cells[i], w->native, w->external, true)
                                : convert(&cells[i], w->external, w->native, false)) &&
                      w->fits;
            w->native += cells[i].native;
            w->external += cells[i].external;
        }
    for (int i = 0; i < n; i++)
        w->external_bytes += cells[i].external * (size_t)count;
}

bool serial_external_same(MPI_Datatype type) {
    walk w = {0};
    visit(&w, type, 1);
    return w.external_bytes == serial_type_at(type)->size; /* no element is longer there */
}

void serial_to_external(MPI_Datatype type, long long count, void *packed, void *external) {
    walk w = {.native = packed, .external = external, .packs = true, .fits = true};
    visit(&w, type, count);
}

void serial_from_external(MPI_Datatype type, long long count, void *packed, void *external) {
    walk w = {.native = packed, .external = external, .fits = true};
    visit(&w, type, count);
}

static int check(const char *function, const char *representation, int count) {
    if (strcmp(representation, "external32") != 0)
        return serial_error(0, MPI_ERR_ARG, function, "the representation is '%s', not external32",
                            representation);
    return count < 0 ? serial_error(0, MPI_ERR_COUNT, function, "the count is %d", count)
                     : MPI_SUCCESS;
}

int MPI_Pack_external_size(const char *representation, int count, MPI_Datatype handle,
                           MPI_Aint *size) {
    CHECK_TYPE(type, handle, "MPI_Pack_external_size");
    (void)type;
    int rc = check("MPI_Pack_external_size", representation, count);
    walk w = {0};
    if (rc == MPI_SUCCESS)
        visit(&w, handle, count);
    *size = (MPI_Aint)w.external_bytes;
    return rc;
}

/* Either direction, between `packed` (this process's representation) and external + *position. */
static int between(const char *function, MPI_Datatype handle, int count, void *packed,
                   void *external, MPI_Aint size, MPI_Aint *position, bool packs) {
    walk sizes = {0};
    visit(&sizes, handle, count);
    if (*position < 0 || *position > size ||
        sizes.external_bytes > (size_t)size - (size_t)*position)
        return serial_error(0, MPI_ERR_TRUNCATE, function,
                            "%zu bytes do not lie behind %lld of %lld", sizes.external_bytes,
                            (long long)*position, (long long)size);
    walk w = {.native = packed,
              .external = (unsigned char *)external + *position,
              .packs = packs,
              .fits = true};
    visit(&w, handle, count);
    if (!w.fits)
        return serial_error(0, MPI_ERR_CONVERSION, function,
                            "a number is too large for its size in external32");
    *position += (MPI_Aint)sizes.external_bytes;
    return MPI_SUCCESS;
}

int MPI_Pack_external(const char *representation, const void *data, int count, MPI_Datatype handle,
                      void *packed, MPI_Aint size, MPI_Aint *position) {
    CHECK_TYPE(type, handle, "MPI_Pack_external");
    int rc = check("MPI_Pack_external", representation, count);
    if (rc != MPI_SUCCESS)
        return rc;
    void *native = serial_memory(type->size * (size_t)count);
    serial_pack(type, data, count, native);
    rc = between("MPI_Pack_external", handle, count, native, packed, size, position, true);
    free(native);
    return rc;
}

int MPI_Unpack_external(const char *representation, const void *packed, MPI_Aint size,
                        MPI_Aint *position, void *data, int count, MPI_Datatype handle) {
    CHECK_TYPE(type, handle, "MPI_Unpack_external");
    int rc = check("MPI_Unpack_external", representation, count);
    if (rc != MPI_SUCCESS)
        return rc;
    size_t bytes = type->size * (size_t)count;
    void *native = serial_memory(bytes);
    rc = between("MPI_Unpack_external", handle, count, native, (void *)(uintptr_t)packed, size,
                 position, false);
    if (rc == MPI_SUCCESS)
        serial_unpack(type, native, bytes, data, count);
    free(native);
    return rc;
}
