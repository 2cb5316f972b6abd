/* MPI_Type_*: asking and naming datatypes. */
#include "internal.h"

#include <limits.h>
#include <stdio.h>

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

int MPI_Type_get_extent_x(MPI_Datatype handle, MPI_Count *lb, MPI_Count *extent) {
    CHECK_TYPE(type, handle, "MPI_Type_get_extent_x");
    *lb = type->lb;
    *extent = type->ub - type->lb;
    return MPI_SUCCESS;
}

int MPI_Type_get_true_extent_x(MPI_Datatype handle, MPI_Count *lb, MPI_Count *extent) {
    CHECK_TYPE(type, handle, "MPI_Type_get_true_extent_x");
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
        return serial_error(0, MPI_ERR_TYPE, "MPI_Type_set_name", "no valid datatype (handle %d)",
                            handle);
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
    if (type->combiner == MPI_COMBINER_NAMED || max_ints < type->nints ||
        max_aints < type->naints || max_types < type->ntypes)
        return serial_error(0, MPI_ERR_ARG, "MPI_Type_get_contents", "%s",
                            type->combiner == MPI_COMBINER_NAMED
                                ? "a predefined type has no contents"
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
