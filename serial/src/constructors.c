/* MPI_Type_*: making datatypes. */
#include "internal.h"

#include <stdlib.h>

static int bad_type(const char *function, MPI_Datatype type) {
    return serial_error(0, MPI_ERR_TYPE, function, "no valid datatype (handle %d)", type);
}

static int bad_length(const char *function, int i, int length) {
    return serial_error(0, MPI_ERR_ARG, function, "the length of block %d is %d", i, length);
}

/* n blocks of one old type: lengths[i] elements, or `length` each, at bytes offsets[i]. */
static int blocks(const char *function, int n, const int *lengths, int length,
                  const MPI_Aint *offsets, MPI_Datatype old, int combiner, MPI_Datatype *made) {
    if (!serial_type_at(old))
        return bad_type(function, old);
    if (n < 0)
        return serial_error(0, MPI_ERR_COUNT, function, "the count is %d", n);
    for (int i = 0; i < n; i++)
        if ((lengths ? lengths[i] : length) < 0)
            return bad_length(function, i, lengths ? lengths[i] : length);
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
        else if (lengths[i] < 0)
            return bad_length("MPI_Type_create_struct", i, lengths[i]);
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

int MPI_Type_create_resized(MPI_Datatype old, MPI_Aint lb, MPI_Aint extent, MPI_Datatype *made) {
    MPI_Aint zero = 0;
    int rc = blocks("MPI_Type_create_resized", 1, NULL, 1, &zero, old, MPI_COMBINER_RESIZED, made);
    if (rc != MPI_SUCCESS)
        return rc;
    serial_type_bounds(*made, lb, extent);
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
    serial_type_bounds(*made, 0, stride);
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
    serial_type_become_copy(*made, old);
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
