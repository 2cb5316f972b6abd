/* Fortran: datatypes. */
#include "fortran.h"

#include <stdlib.h>

/* As MPI-1 has them: default integers. */
static int old_extent(MPI_Datatype type, int *extent) {
    CHECK_TYPE(t, type, "MPI_Type_extent");
    *extent = (int)(t->ub - t->lb);
    return MPI_SUCCESS;
}

static int old_bound(MPI_Datatype type, int *bound, bool lower) {
    CHECK_TYPE(t, type, lower ? "MPI_Type_lb" : "MPI_Type_ub");
    *bound = (int)(lower ? t->lb : t->ub);
    return MPI_SUCCESS;
}

/* The displacements of MPI-1 as MPI_Aint; to be freed. */
static MPI_Aint *widened(const int *at, int n) {
    MPI_Aint *wide = serial_memory((size_t)(n > 0 ? n : 0) * sizeof *wide);
    for (int i = 0; i < n; i++)
        wide[i] = at[i];
    return wide;
}

static int old_hindexed(int count, const int *lengths, const int *at, int old, int *made) {
    MPI_Aint *wide = widened(at, count);
    int rc = MPI_Type_create_hindexed(count, lengths, wide, old, made);
    free(wide);
    return rc;
}

static int old_struct(int count, const int *lengths, const int *at, const int *types, int *made) {
    MPI_Aint *wide = widened(at, count);
    int rc = MPI_Type_create_struct(count, lengths, wide, types, made);
    free(wide);
    return rc;
}

FORTRAN(type_contiguous, (int *count, int *old, int *made, int *ierr),
        MPI_Type_contiguous(*count, *old, made))
FORTRAN(type_vector, (int *count, int *length, int *stride, int *old, int *made, int *ierr),
        MPI_Type_vector(*count, *length, *stride, *old, made))
FORTRAN(type_create_hvector,
        (int *count, int *length, MPI_Aint *stride, int *old, int *made, int *ierr),
        MPI_Type_create_hvector(*count, *length, *stride, *old, made))
FORTRAN(type_indexed, (int *count, int *lengths, int *at, int *old, int *made, int *ierr),
        MPI_Type_indexed(*count, lengths, at, *old, made))
FORTRAN(type_create_hindexed,
        (int *count, int *lengths, MPI_Aint *at, int *old, int *made, int *ierr),
        MPI_Type_create_hindexed(*count, lengths, at, *old, made))
FORTRAN(type_create_indexed_block,
        (int *count, int *length, int *at, int *old, int *made, int *ierr),
        MPI_Type_create_indexed_block(*count, *length, at, *old, made))
FORTRAN(type_create_hindexed_block,
        (int *count, int *length, MPI_Aint *at, int *old, int *made, int *ierr),
        MPI_Type_create_hindexed_block(*count, *length, at, *old, made))
FORTRAN(type_create_struct,
        (int *count, int *lengths, MPI_Aint *at, int *types, int *made, int *ierr),
        MPI_Type_create_struct(*count, lengths, at, types, made))
FORTRAN(type_create_resized, (int *old, MPI_Aint *lb, MPI_Aint *extent, int *made, int *ierr),
        MPI_Type_create_resized(*old, *lb, *extent, made))
FORTRAN(type_create_subarray,
        (int *n, int *sizes, int *subsizes, int *starts, int *order, int *old, int *made,
         int *ierr),
        MPI_Type_create_subarray(*n, sizes, subsizes, starts, *order, *old, made))
FORTRAN(type_dup, (int *old, int *made, int *ierr), MPI_Type_dup(*old, made))
FORTRAN(type_commit, (int *type, int *ierr), MPI_Type_commit(type))
FORTRAN(type_free, (int *type, int *ierr), MPI_Type_free(type))
FORTRAN(type_size, (int *type, int *size, int *ierr), MPI_Type_size(*type, size))
FORTRAN(type_get_extent, (int *type, MPI_Aint *lb, MPI_Aint *extent, int *ierr),
        MPI_Type_get_extent(*type, lb, extent))
FORTRAN(type_get_true_extent, (int *type, MPI_Aint *lb, MPI_Aint *extent, int *ierr),
        MPI_Type_get_true_extent(*type, lb, extent))
FORTRAN(type_extent, (int *type, int *extent, int *ierr), old_extent(*type, extent))
FORTRAN(pack_size, (int *count, int *type, int *comm, int *size, int *ierr),
        MPI_Pack_size(*count, *type, *comm, size))
FORTRAN(pack,
        (const void *data, int *count, int *type, void *packed, int *size, int *position, int *comm,
         int *ierr),
        MPI_Pack(BUFFER(data), *count, *type, BUFFER(packed), *size, position, *comm))
FORTRAN(unpack,
        (const void *packed, int *size, int *position, void *data, int *count, int *type, int *comm,
         int *ierr),
        MPI_Unpack(BUFFER(packed), *size, position, BUFFER(data), *count, *type, *comm))
FORTRAN(type_lb, (int *type, int *bound, int *ierr), old_bound(*type, bound, true))
FORTRAN(type_ub, (int *type, int *bound, int *ierr), old_bound(*type, bound, false))
FORTRAN(type_hvector, (int *count, int *length, int *stride, int *old, int *made, int *ierr),
        MPI_Type_create_hvector(*count, *length, *stride, *old, made))
FORTRAN(type_hindexed, (int *count, int *lengths, int *at, int *old, int *made, int *ierr),
        old_hindexed(*count, lengths, at, *old, made))
FORTRAN(type_struct, (int *count, int *lengths, int *at, int *types, int *made, int *ierr),
        old_struct(*count, lengths, at, types, made))
FORTRAN(type_create_darray,
        (int *nranks, int *rank, int *n, int *sizes, int *distributions, int *arguments, int *grid,
         int *order, int *old, int *made, int *ierr),
        MPI_Type_create_darray(*nranks, *rank, *n, sizes, distributions, arguments, grid, *order,
                               *old, made))
FORTRAN(type_create_f90_integer, (int *range, int *made, int *ierr),
        MPI_Type_create_f90_integer(*range, made))
FORTRAN(type_create_f90_real, (int *precision, int *range, int *made, int *ierr),
        MPI_Type_create_f90_real(*precision, *range, made))
FORTRAN(type_create_f90_complex, (int *precision, int *range, int *made, int *ierr),
        MPI_Type_create_f90_complex(*precision, *range, made))
FORTRAN(type_match_size, (int *type_class, int *size, int *made, int *ierr),
        MPI_Type_match_size(*type_class, *size, made))
FORTRAN(type_size_x, (int *type, MPI_Count *size, int *ierr), MPI_Type_size_x(*type, size))
FORTRAN(type_get_extent_x, (int *type, MPI_Count *lb, MPI_Count *extent, int *ierr),
        MPI_Type_get_extent_x(*type, lb, extent))
FORTRAN(type_get_true_extent_x, (int *type, MPI_Count *lb, MPI_Count *extent, int *ierr),
        MPI_Type_get_true_extent_x(*type, lb, extent))
FORTRAN(type_get_envelope,
        (int *type, int *nints, int *naints, int *ntypes, int *combiner, int *ierr),
        MPI_Type_get_envelope(*type, nints, naints, ntypes, combiner))
FORTRAN(type_get_contents,
        (int *type, int *max_ints, int *max_aints, int *max_types, int *ints, MPI_Aint *aints,
         int *types, int *ierr),
        MPI_Type_get_contents(*type, *max_ints, *max_aints, *max_types, ints, aints, types))
