/* Fortran: datatypes, windows, files, info objects. */
#include "serial/fortran.h"

/* As MPI-1 has it: a default integer. */
static int old_extent(MPI_Datatype type, int *extent) {
    *extent = (int)serial_extent(type);
    return MPI_SUCCESS;
}

/* ---- datatypes --------------------------------------------------------------------------------
 */

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
        MPI_Pack(BUFFER(data), *count, *type, packed, *size, position, *comm))
FORTRAN(unpack,
        (const void *packed, int *size, int *position, void *data, int *count, int *type, int *comm,
         int *ierr),
        MPI_Unpack(packed, *size, position, BUFFER(data), *count, *type, *comm))

/* ---- one-sided --------------------------------------------------------------------------------
 */

FORTRAN(win_create,
        (void *base, MPI_Aint *size, int *unit, int *info, int *comm, int *win, int *ierr),
        MPI_Win_create(base, *size, *unit, *info, *comm, win))
FORTRAN(win_allocate,
        (MPI_Aint * size, int *unit, int *info, int *comm, void *base, int *win, int *ierr),
        MPI_Win_allocate(*size, *unit, *info, *comm, base, win))
FORTRAN(win_allocate_shared,
        (MPI_Aint * size, int *unit, int *info, int *comm, void *base, int *win, int *ierr),
        MPI_Win_allocate_shared(*size, *unit, *info, *comm, base, win))
FORTRAN(win_shared_query, (int *win, int *rank, MPI_Aint *size, int *unit, void *base, int *ierr),
        MPI_Win_shared_query(*win, *rank, size, unit, base))
FORTRAN(win_free, (int *win, int *ierr), MPI_Win_free(win))
FORTRAN(win_fence, (int *assertion, int *win, int *ierr), MPI_Win_fence(*assertion, *win))
FORTRAN(win_start, (int *group, int *assertion, int *win, int *ierr),
        MPI_Win_start(*group, *assertion, *win))
FORTRAN(win_post, (int *group, int *assertion, int *win, int *ierr),
        MPI_Win_post(*group, *assertion, *win))
FORTRAN(win_complete, (int *win, int *ierr), MPI_Win_complete(*win))
FORTRAN(win_wait, (int *win, int *ierr), MPI_Win_wait(*win))
FORTRAN(win_unlock_all, (int *win, int *ierr), MPI_Win_unlock_all(*win))
FORTRAN(win_flush_all, (int *win, int *ierr), MPI_Win_flush_all(*win))
FORTRAN(win_flush_local_all, (int *win, int *ierr), MPI_Win_flush_local_all(*win))
FORTRAN(win_sync, (int *win, int *ierr), MPI_Win_sync(*win))
FORTRAN(win_lock, (int *type, int *rank, int *assertion, int *win, int *ierr),
        MPI_Win_lock(*type, *rank, *assertion, *win))
FORTRAN(win_lock_all, (int *assertion, int *win, int *ierr), MPI_Win_lock_all(*assertion, *win))
FORTRAN(win_unlock, (int *rank, int *win, int *ierr), MPI_Win_unlock(*rank, *win))
FORTRAN(win_flush, (int *rank, int *win, int *ierr), MPI_Win_flush(*rank, *win))
FORTRAN(win_flush_local, (int *rank, int *win, int *ierr), MPI_Win_flush_local(*rank, *win))
FORTRAN(put,
        (const void *data, int *count, int *type, int *rank, MPI_Aint *where, int *m, int *target,
         int *win, int *ierr),
        MPI_Put(data, *count, *type, *rank, *where, *m, *target, *win))
FORTRAN(get,
        (void *data, int *count, int *type, int *rank, MPI_Aint *where, int *m, int *target,
         int *win, int *ierr),
        MPI_Get(data, *count, *type, *rank, *where, *m, *target, *win))
FORTRAN(accumulate,
        (const void *data, int *count, int *type, int *rank, MPI_Aint *where, int *m, int *target,
         int *op, int *win, int *ierr),
        MPI_Accumulate(data, *count, *type, *rank, *where, *m, *target, *op, *win))
FORTRAN(fetch_and_op,
        (const void *data, void *result, int *type, int *rank, MPI_Aint *where, int *op, int *win,
         int *ierr),
        MPI_Fetch_and_op(data, result, *type, *rank, *where, *op, *win))

/* ---- files ------------------------------------------------------------------------------------
 */

FORTRAN(file_close, (int *file, int *ierr), MPI_File_close(file))
FORTRAN(file_read_at,
        (int *file, MPI_Offset *at, void *data, int *count, int *type, int *status, int *ierr),
        MPI_File_read_at(*file, *at, data, *count, *type, STATUS(status)))
FORTRAN(file_read_at_all,
        (int *file, MPI_Offset *at, void *data, int *count, int *type, int *status, int *ierr),
        MPI_File_read_at_all(*file, *at, data, *count, *type, STATUS(status)))
FORTRAN(file_write_at,
        (int *file, MPI_Offset *at, void *data, int *count, int *type, int *status, int *ierr),
        MPI_File_write_at(*file, *at, data, *count, *type, STATUS(status)))
FORTRAN(file_write_at_all,
        (int *file, MPI_Offset *at, void *data, int *count, int *type, int *status, int *ierr),
        MPI_File_write_at_all(*file, *at, data, *count, *type, STATUS(status)))
FORTRAN(file_read, (int *file, void *data, int *count, int *type, int *status, int *ierr),
        MPI_File_read(*file, data, *count, *type, STATUS(status)))
FORTRAN(file_read_all, (int *file, void *data, int *count, int *type, int *status, int *ierr),
        MPI_File_read_all(*file, data, *count, *type, STATUS(status)))
FORTRAN(file_write, (int *file, void *data, int *count, int *type, int *status, int *ierr),
        MPI_File_write(*file, data, *count, *type, STATUS(status)))
FORTRAN(file_write_all, (int *file, void *data, int *count, int *type, int *status, int *ierr),
        MPI_File_write_all(*file, data, *count, *type, STATUS(status)))
FORTRAN(file_read_shared, (int *file, void *data, int *count, int *type, int *status, int *ierr),
        MPI_File_read_shared(*file, data, *count, *type, STATUS(status)))
FORTRAN(file_write_shared, (int *file, void *data, int *count, int *type, int *status, int *ierr),
        MPI_File_write_shared(*file, data, *count, *type, STATUS(status)))
FORTRAN(file_read_ordered, (int *file, void *data, int *count, int *type, int *status, int *ierr),
        MPI_File_read_ordered(*file, data, *count, *type, STATUS(status)))
FORTRAN(file_write_ordered, (int *file, void *data, int *count, int *type, int *status, int *ierr),
        MPI_File_write_ordered(*file, data, *count, *type, STATUS(status)))
FORTRAN(file_iread, (int *file, void *data, int *count, int *type, int *request, int *ierr),
        MPI_File_iread(*file, data, *count, *type, request))
FORTRAN(file_iwrite, (int *file, void *data, int *count, int *type, int *request, int *ierr),
        MPI_File_iwrite(*file, data, *count, *type, request))
FORTRAN(file_iread_at,
        (int *file, MPI_Offset *at, void *data, int *count, int *type, int *request, int *ierr),
        MPI_File_iread_at(*file, *at, data, *count, *type, request))
FORTRAN(file_iwrite_at,
        (int *file, MPI_Offset *at, void *data, int *count, int *type, int *request, int *ierr),
        MPI_File_iwrite_at(*file, *at, data, *count, *type, request))
FORTRAN(file_seek, (int *file, MPI_Offset *offset, int *whence, int *ierr),
        MPI_File_seek(*file, *offset, *whence))
FORTRAN(file_get_position, (int *file, MPI_Offset *offset, int *ierr),
        MPI_File_get_position(*file, offset))
FORTRAN(file_get_size, (int *file, MPI_Offset *size, int *ierr), MPI_File_get_size(*file, size))
FORTRAN(file_set_size, (int *file, MPI_Offset *size, int *ierr), MPI_File_set_size(*file, *size))
FORTRAN(file_preallocate, (int *file, MPI_Offset *size, int *ierr),
        MPI_File_preallocate(*file, *size))
FORTRAN(file_sync, (int *file, int *ierr), MPI_File_sync(*file))
FORTRAN(file_get_amode, (int *file, int *mode, int *ierr), MPI_File_get_amode(*file, mode))
FORTRAN(file_set_atomicity, (int *file, int *flag, int *ierr), MPI_File_set_atomicity(*file, *flag))
FORTRAN(file_set_errhandler, (int *file, int *handler, int *ierr),
        MPI_File_set_errhandler(*file, *handler))

/* ---- info objects -----------------------------------------------------------------------------
 */

FORTRAN(info_create, (int *info, int *ierr), MPI_Info_create(info))
FORTRAN(info_free, (int *info, int *ierr), MPI_Info_free(info))
FORTRAN(info_dup, (int *info, int *made, int *ierr), MPI_Info_dup(*info, made))
FORTRAN(info_get_nkeys, (int *info, int *n, int *ierr), MPI_Info_get_nkeys(*info, n))
