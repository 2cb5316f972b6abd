/* MPI_Type_*: making, asking and naming datatypes; MPI_Pack and MPI_Unpack. */
#include "serial/internal.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

static int bad_type(const char *function, MPI_Datatype type) {
    return serial_error(0, MPI_ERR_TYPE, function, "no valid datatype (handle %d)", type);
}

/* n blocks of one old type: lengths[i] elements, or `length` each, at bytes offsets[i]. */
static int blocks(const char *function, int n, const int *lengths, int length,
                  const MPI_Aint *offsets, MPI_Datatype old, int combiner, MPI_Datatype *made) {
    if (!serial_type_at(old))
        return bad_type(function, old);
    if (n < 0)
        return serial_error(0, MPI_ERR_COUNT, function, "the count is %d", n);
    int *all = serial_memory((size_t)n * sizeof *all);
    MPI_Datatype *types = serial_memory((size_t)n * sizeof *types);
    for (int i = 0; i < n; i++) {
        all[i] = lengths ? lengths[i] : length;
        types[i] = old;
    }
    *made = serial_type_make(n, all, offsets, types, combiner);
    free(all);
    free(types);
    return MPI_SUCCESS;
}

int MPI_Type_contiguous(int count, MPI_Datatype old, MPI_Datatype *made) {
    MPI_Aint zero = 0;
    if (count < 0)
        return serial_error(0, MPI_ERR_COUNT, "MPI_Type_contiguous", "the count is %d", count);
    int rc =
        blocks("MPI_Type_contiguous", 1, NULL, count, &zero, old, MPI_COMBINER_CONTIGUOUS, made);
    if (rc == MPI_SUCCESS)
        serial_type_contents(*made, 1, &count, 0, NULL, 1, &old);
    return rc;
}

static int strided(const char *function, int count, int length, MPI_Aint bytes, MPI_Datatype old,
                   int combiner, MPI_Datatype *made) {
    MPI_Aint *offsets = serial_memory((size_t)(count > 0 ? count : 0) * sizeof *offsets);
    for (int i = 0; i < count; i++)
        offsets[i] = i * bytes;
    int rc = blocks(function, count, NULL, length, offsets, old, combiner, made);
    free(offsets);
    return rc;
}

int MPI_Type_vector(int count, int length, int stride, MPI_Datatype old, MPI_Datatype *made) {
    int rc = strided("MPI_Type_vector", count, length, stride * serial_extent(old), old,
                     MPI_COMBINER_VECTOR, made);
    if (rc == MPI_SUCCESS)
        serial_type_contents(*made, 3, (int[]){count, length, stride}, 0, NULL, 1, &old);
    return rc;
}

int MPI_Type_create_hvector(int count, int length, MPI_Aint stride, MPI_Datatype old,
                            MPI_Datatype *made) {
    int rc =
        strided("MPI_Type_create_hvector", count, length, stride, old, MPI_COMBINER_HVECTOR, made);
    if (rc == MPI_SUCCESS)
        serial_type_contents(*made, 2, (int[]){count, length}, 1, &stride, 1, &old);
    return rc;
}

int MPI_Type_hvector(int count, int length, MPI_Aint stride, MPI_Datatype old, MPI_Datatype *made) {
    return MPI_Type_create_hvector(count, length, stride, old, made);
}

/* Integers of the contents: count, then the arrays. */
static int *listed(int count, const int *first, const int *second, int *n) {
    int per = (first != NULL) + (second != NULL), *ints;
    *n = 1 + per * count;
    ints = serial_memory((size_t)*n * sizeof *ints);
    ints[0] = count;
    if (first && count)
        memcpy(ints + 1, first, (size_t)count * sizeof *ints);
    if (second && count)
        memcpy(ints + 1 + (first ? count : 0), second, (size_t)count * sizeof *ints);
    return ints;
}

static int indexed(const char *function, int count, const int *lengths, const int *at,
                   MPI_Datatype old, MPI_Datatype *made) {
    MPI_Aint extent = serial_extent(old),
             *offsets = serial_memory((size_t)(count > 0 ? count : 0) * sizeof *offsets);
    for (int i = 0; i < count; i++)
        offsets[i] = at[i] * extent;
    int rc = blocks(function, count, lengths, 0, offsets, old, MPI_COMBINER_INDEXED, made);
    free(offsets);
    if (rc == MPI_SUCCESS) {
        int n, *ints = listed(count, lengths, at, &n);
        serial_type_contents(*made, n, ints, 0, NULL, 1, &old);
        free(ints);
    }
    return rc;
}

int MPI_Type_indexed(int count, const int *lengths, const int *at, MPI_Datatype old,
                     MPI_Datatype *made) {
    return indexed("MPI_Type_indexed", count, lengths, at, old, made);
}

int MPI_Type_create_hindexed(int count, const int *lengths, const MPI_Aint *at, MPI_Datatype old,
                             MPI_Datatype *made) {
    int rc =
        blocks("MPI_Type_create_hindexed", count, lengths, 0, at, old, MPI_COMBINER_HINDEXED, made);
    if (rc == MPI_SUCCESS) {
        int n, *ints = listed(count, lengths, NULL, &n);
        serial_type_contents(*made, n, ints, count, at, 1, &old);
        free(ints);
    }
    return rc;
}

int MPI_Type_hindexed(int count, int *lengths, MPI_Aint *at, MPI_Datatype old, MPI_Datatype *made) {
    return MPI_Type_create_hindexed(count, lengths, at, old, made);
}

int MPI_Type_create_indexed_block(int count, int length, const int *at, MPI_Datatype old,
                                  MPI_Datatype *made) {
    MPI_Aint extent = serial_extent(old),
             *offsets = serial_memory((size_t)(count > 0 ? count : 0) * sizeof *offsets);
    for (int i = 0; i < count; i++)
        offsets[i] = at[i] * extent;
    int rc = blocks("MPI_Type_create_indexed_block", count, NULL, length, offsets, old,
                    MPI_COMBINER_INDEXED_BLOCK, made);
    free(offsets);
    if (rc == MPI_SUCCESS) {
        int *ints = serial_memory((size_t)(2 + count) * sizeof *ints);
        ints[0] = count;
        ints[1] = length;
        if (count)
            memcpy(ints + 2, at, (size_t)count * sizeof *ints);
        serial_type_contents(*made, 2 + count, ints, 0, NULL, 1, &old);
        free(ints);
    }
    return rc;
}

int MPI_Type_create_hindexed_block(int count, int length, const MPI_Aint *at, MPI_Datatype old,
                                   MPI_Datatype *made) {
    int rc = blocks("MPI_Type_create_hindexed_block", count, NULL, length, at, old,
                    MPI_COMBINER_HINDEXED_BLOCK, made);
    if (rc == MPI_SUCCESS)
        serial_type_contents(*made, 2, (int[]){count, length}, count, at, 1, &old);
    return rc;
}

int MPI_Type_create_struct(int count, const int *lengths, const MPI_Aint *at,
                           const MPI_Datatype *types, MPI_Datatype *made) {
    if (count < 0)
        return serial_error(0, MPI_ERR_COUNT, "MPI_Type_create_struct", "the count is %d", count);
    for (int i = 0; i < count; i++)
        if (!serial_type_at(types[i]))
            return bad_type("MPI_Type_create_struct", types[i]);
    *made = serial_type_make(count, lengths, at, types, MPI_COMBINER_STRUCT);
    int n, *ints = listed(count, lengths, NULL, &n);
    serial_type_contents(*made, n, ints, count, at, count, types);
    free(ints);
    return MPI_SUCCESS;
}

int MPI_Type_struct(int count, int *lengths, MPI_Aint *at, MPI_Datatype *types,
                    MPI_Datatype *made) {
    return MPI_Type_create_struct(count, lengths, at, types, made);
}

static void set_bounds(MPI_Datatype handle, MPI_Aint lb, MPI_Aint extent) {
    serial_type *type = serial_type_at(handle);
    type->lb = lb;
    type->ub = lb + extent;
    type->contiguous = type->npieces <= 1 && lb == 0 && extent == (MPI_Aint)type->size &&
                       (type->npieces == 0 || type->pieces[0].offset == 0);
}

int MPI_Type_create_resized(MPI_Datatype old, MPI_Aint lb, MPI_Aint extent, MPI_Datatype *made) {
    MPI_Aint zero = 0;
    int rc = blocks("MPI_Type_create_resized", 1, NULL, 1, &zero, old, MPI_COMBINER_RESIZED, made);
    if (rc != MPI_SUCCESS)
        return rc;
    set_bounds(*made, lb, extent);
    serial_type_contents(*made, 0, NULL, 2, (MPI_Aint[]){lb, extent}, 1, &old);
    return MPI_SUCCESS;
}

int MPI_Type_create_subarray(int ndims, const int *sizes, const int *subsizes, const int *starts,
                             int order, MPI_Datatype old, MPI_Datatype *made) {
    if (!serial_type_at(old))
        return bad_type("MPI_Type_create_subarray", old);
    MPI_Aint extent = serial_extent(old), stride = extent, offset = 0;
    MPI_Datatype inner;
    MPI_Type_dup(old, &inner);
    for (int i = 0; i < ndims; i++) {
        int d = order == MPI_ORDER_C ? ndims - 1 - i : i;
        if (sizes[d] < 1 || subsizes[d] < 1 || starts[d] < 0 ||
            starts[d] + subsizes[d] > sizes[d]) {
            MPI_Type_free(&inner);
            return serial_error(0, MPI_ERR_ARG, "MPI_Type_create_subarray",
                                "dimension %d: %d from %d do not lie within %d", d, subsizes[d],
                                starts[d], sizes[d]);
        }
        MPI_Datatype outer;
        int rc = strided("MPI_Type_create_subarray", subsizes[d], 1, stride, inner,
                         MPI_COMBINER_HVECTOR, &outer);
        MPI_Type_free(&inner);
        if (rc != MPI_SUCCESS)
            return rc;
        inner = outer;
        offset += starts[d] * stride;
        stride *= sizes[d];
    }
    int one = 1;
    *made = serial_type_make(1, &one, &offset, &inner, MPI_COMBINER_SUBARRAY);
    MPI_Type_free(&inner);
    set_bounds(*made, 0, stride);
    int n = 3 * ndims + 2, *ints = serial_memory((size_t)n * sizeof *ints);
    ints[0] = ndims;
    memcpy(ints + 1, sizes, (size_t)ndims * sizeof *ints);
    memcpy(ints + 1 + ndims, subsizes, (size_t)ndims * sizeof *ints);
    memcpy(ints + 1 + 2 * ndims, starts, (size_t)ndims * sizeof *ints);
    ints[n - 1] = order;
    serial_type_contents(*made, n, ints, 0, NULL, 1, &old);
    free(ints);
    return MPI_SUCCESS;
}

int MPI_Type_dup(MPI_Datatype old, MPI_Datatype *made) {
    MPI_Aint zero = 0;
    int rc = blocks("MPI_Type_dup", 1, NULL, 1, &zero, old, MPI_COMBINER_DUP, made);
    if (rc != MPI_SUCCESS)
        return rc;
    set_bounds(*made, serial_type_at(old)->lb, serial_extent(old));
    serial_type_contents(*made, 0, NULL, 0, NULL, 1, &old);
    return serial_attributes_copy(old, serial_type_at(old)->attributes,
                                  &serial_type_at(*made)->attributes);
}

int MPI_Type_commit(MPI_Datatype *type) {
    return serial_type_at(*type) ? MPI_SUCCESS : bad_type("MPI_Type_commit", *type);
}

int MPI_Type_free(MPI_Datatype *handle) {
    const serial_type *type = serial_type_at(*handle);
    if (!type || type->predefined)
        return bad_type("MPI_Type_free", *handle);
    serial_type_leave(*handle);
    *handle = MPI_DATATYPE_NULL;
    return MPI_SUCCESS;
}

/* ---- questions ------------------------------------------------------------------------------- */

#define CHECK_TYPE(type, handle, function)                                                         \
    const serial_type *type = serial_type_at(handle);                                              \
    if (!type)                                                                                     \
    return bad_type(function, handle)

int MPI_Type_size(MPI_Datatype handle, int *size) {
    CHECK_TYPE(type, handle, "MPI_Type_size");
    *size = type->size > INT_MAX ? MPI_UNDEFINED : (int)type->size;
    return MPI_SUCCESS;
}

int MPI_Type_size_x(MPI_Datatype handle, MPI_Count *size) {
    CHECK_TYPE(type, handle, "MPI_Type_size_x");
    *size = (MPI_Count)type->size;
    return MPI_SUCCESS;
}

int MPI_Type_get_extent(MPI_Datatype handle, MPI_Aint *lb, MPI_Aint *extent) {
    CHECK_TYPE(type, handle, "MPI_Type_get_extent");
    *lb = type->lb;
    *extent = type->ub - type->lb;
    return MPI_SUCCESS;
}

int MPI_Type_get_true_extent(MPI_Datatype handle, MPI_Aint *lb, MPI_Aint *extent) {
    CHECK_TYPE(type, handle, "MPI_Type_get_true_extent");
    *lb = type->true_lb;
    *extent = type->true_ub - type->true_lb;
    return MPI_SUCCESS;
}

int MPI_Type_extent(MPI_Datatype handle, MPI_Aint *extent) {
    MPI_Aint lb;
    return MPI_Type_get_extent(handle, &lb, extent);
}

int MPI_Type_lb(MPI_Datatype handle, MPI_Aint *lb) {
    MPI_Aint extent;
    return MPI_Type_get_extent(handle, lb, &extent);
}

int MPI_Type_ub(MPI_Datatype handle, MPI_Aint *ub) {
    MPI_Aint lb, extent;
    int rc = MPI_Type_get_extent(handle, &lb, &extent);
    *ub = lb + extent;
    return rc;
}

int MPI_Type_set_name(MPI_Datatype handle, const char *name) {
    serial_type *type = serial_type_at(handle);
    if (!type)
        return bad_type("MPI_Type_set_name", handle);
    snprintf(type->name, sizeof type->name, "%s", name);
    return MPI_SUCCESS;
}

int MPI_Type_get_name(MPI_Datatype handle, char *name, int *length) {
    CHECK_TYPE(type, handle, "MPI_Type_get_name");
    *length = snprintf(name, MPI_MAX_OBJECT_NAME, "%s", type->name);
    return MPI_SUCCESS;
}

int MPI_Type_get_envelope(MPI_Datatype handle, int *nints, int *naints, int *ntypes,
                          int *combiner) {
    CHECK_TYPE(type, handle, "MPI_Type_get_envelope");
    *nints = type->nints;
    *naints = type->naints;
    *ntypes = type->ntypes;
    *combiner = type->combiner;
    return MPI_SUCCESS;
}

int MPI_Type_get_contents(MPI_Datatype handle, int max_ints, int max_aints, int max_types,
                          int *ints, MPI_Aint *aints, MPI_Datatype *types) {
    CHECK_TYPE(type, handle, "MPI_Type_get_contents");
    if (type->predefined || max_ints < type->nints || max_aints < type->naints ||
        max_types < type->ntypes)
        return serial_error(0, MPI_ERR_ARG, "MPI_Type_get_contents", "%s",
                            type->predefined ? "a predefined type has no contents"
                                             : "an array is too short for the contents");
    if (type->nints)
        memcpy(ints, type->ints, (size_t)type->nints * sizeof *ints);
    if (type->naints)
        memcpy(aints, type->aints, (size_t)type->naints * sizeof *aints);
    for (int i = 0; i < type->ntypes; i++) {
        types[i] = type->types[i];
        serial_type *inner = serial_type_at(types[i]);
        if (inner)
            serial_type_keep(inner); /* the caller frees derived ones */
    }
    return MPI_SUCCESS;
}

/* ---- packing --------------------------------------------------------------------------------- */

int MPI_Pack_size(int count, MPI_Datatype handle, MPI_Comm comm, int *size) {
    CHECK_TYPE(type, handle, "MPI_Pack_size");
    (void)comm;
    *size = (int)type->size * count;
    return MPI_SUCCESS;
}

int MPI_Pack(const void *data, int count, MPI_Datatype handle, void *packed, int size,
             int *position, MPI_Comm comm) {
    CHECK_TYPE(type, handle, "MPI_Pack");
    size_t bytes = type->size * (size_t)count;
    if (count < 0 || *position < 0 || *position > size || bytes > (size_t)size - (size_t)*position)
        return serial_error(comm, MPI_ERR_TRUNCATE, "MPI_Pack",
                            "%zu bytes do not fit behind %d of %d", bytes, *position, size);
    serial_pack(type, data, count, (char *)packed + *position);
    *position += (int)bytes;
    return MPI_SUCCESS;
}

int MPI_Unpack(const void *packed, int size, int *position, void *data, int count,
               MPI_Datatype handle, MPI_Comm comm) {
    CHECK_TYPE(type, handle, "MPI_Unpack");
    size_t bytes = type->size * (size_t)count;
    if (count < 0 || *position < 0 || *position > size || bytes > (size_t)size - (size_t)*position)
        return serial_error(comm, MPI_ERR_TRUNCATE, "MPI_Unpack",
                            "there are no %zu bytes behind %d of %d", bytes, *position, size);
    serial_unpack(type, (const char *)packed + *position, bytes, data, count);
    *position += (int)bytes;
    return MPI_SUCCESS;
}
