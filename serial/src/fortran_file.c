/* Fortran: files. */
#include "fortran.h"

FORTRAN(file_close, (int *file, int *ierr), MPI_File_close(file))
FORTRAN(file_read_at,
        (int *file, MPI_Offset *at, void *data, int *count, int *type, int *status, int *ierr),
        MPI_File_read_at(*file, *at, BUFFER(data), *count, *type, STATUS(status)))
FORTRAN(file_read_at_all,
        (int *file, MPI_Offset *at, void *data, int *count, int *type, int *status, int *ierr),
        MPI_File_read_at_all(*file, *at, BUFFER(data), *count, *type, STATUS(status)))
FORTRAN(file_write_at,
        (int *file, MPI_Offset *at, void *data, int *count, int *type, int *status, int *ierr),
        MPI_File_write_at(*file, *at, BUFFER(data), *count, *type, STATUS(status)))
FORTRAN(file_write_at_all,
        (int *file, MPI_Offset *at, void *data, int *count, int *type, int *status, int *ierr),
        MPI_File_write_at_all(*file, *at, BUFFER(data), *count, *type, STATUS(status)))
FORTRAN(file_read, (int *file, void *data, int *count, int *type, int *status, int *ierr),
        MPI_File_read(*file, BUFFER(data), *count, *type, STATUS(status)))
FORTRAN(file_read_all, (int *file, void *data, int *count, int *type, int *status, int *ierr),
        MPI_File_read_all(*file, BUFFER(data), *count, *type, STATUS(status)))
FORTRAN(file_write, (int *file, void *data, int *count, int *type, int *status, int *ierr),
        MPI_File_write(*file, BUFFER(data), *count, *type, STATUS(status)))
FORTRAN(file_write_all, (int *file, void *data, int *count, int *type, int *status, int *ierr),
        MPI_File_write_all(*file, BUFFER(data), *count, *type, STATUS(status)))
FORTRAN(file_read_shared, (int *file, void *data, int *count, int *type, int *status, int *ierr),
        MPI_File_read_shared(*file, BUFFER(data), *count, *type, STATUS(status)))
FORTRAN(file_write_shared, (int *file, void *data, int *count, int *type, int *status, int *ierr),
        MPI_File_write_shared(*file, BUFFER(data), *count, *type, STATUS(status)))
FORTRAN(file_read_ordered, (int *file, void *data, int *count, int *type, int *status, int *ierr),
        MPI_File_read_ordered(*file, BUFFER(data), *count, *type, STATUS(status)))
FORTRAN(file_write_ordered, (int *file, void *data, int *count, int *type, int *status, int *ierr),
        MPI_File_write_ordered(*file, BUFFER(data), *count, *type, STATUS(status)))
FORTRAN(file_iread, (int *file, void *data, int *count, int *type, int *request, int *ierr),
        MPI_File_iread(*file, BUFFER(data), *count, *type, request))
FORTRAN(file_iwrite, (int *file, void *data, int *count, int *type, int *request, int *ierr),
        MPI_File_iwrite(*file, BUFFER(data), *count, *type, request))
FORTRAN(file_iread_at,
        (int *file, MPI_Offset *at, void *data, int *count, int *type, int *request, int *ierr),
        MPI_File_iread_at(*file, *at, BUFFER(data), *count, *type, request))
FORTRAN(file_iwrite_at,
        (int *file, MPI_Offset *at, void *data, int *count, int *type, int *request, int *ierr),
        MPI_File_iwrite_at(*file, *at, BUFFER(data), *count, *type, request))
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
FORTRAN(file_iread_at_all,
        (int *file, MPI_Offset *at, void *data, int *count, int *type, int *request, int *ierr),
        MPI_File_iread_at_all(*file, *at, BUFFER(data), *count, *type, request))
FORTRAN(file_iwrite_at_all,
        (int *file, MPI_Offset *at, void *data, int *count, int *type, int *request, int *ierr),
        MPI_File_iwrite_at_all(*file, *at, BUFFER(data), *count, *type, request))
FORTRAN(file_iread_all, (int *file, void *data, int *count, int *type, int *request, int *ierr),
        MPI_File_iread_all(*file, BUFFER(data), *count, *type, request))
FORTRAN(file_iwrite_all, (int *file, void *data, int *count, int *type, int *request, int *ierr),
        MPI_File_iwrite_all(*file, BUFFER(data), *count, *type, request))
FORTRAN(file_iread_shared, (int *file, void *data, int *count, int *type, int *request, int *ierr),
        MPI_File_iread_shared(*file, BUFFER(data), *count, *type, request))
FORTRAN(file_iwrite_shared, (int *file, void *data, int *count, int *type, int *request, int *ierr),
        MPI_File_iwrite_shared(*file, BUFFER(data), *count, *type, request))
FORTRAN(file_read_at_all_begin,
        (int *file, MPI_Offset *at, void *data, int *count, int *type, int *ierr),
        MPI_File_read_at_all_begin(*file, *at, BUFFER(data), *count, *type))
FORTRAN(file_read_at_all_end, (int *file, void *data, int *status, int *ierr),
        MPI_File_read_at_all_end(*file, BUFFER(data), STATUS(status)))
FORTRAN(file_read_all_begin, (int *file, void *data, int *count, int *type, int *ierr),
        MPI_File_read_all_begin(*file, BUFFER(data), *count, *type))
FORTRAN(file_read_all_end, (int *file, void *data, int *status, int *ierr),
        MPI_File_read_all_end(*file, BUFFER(data), STATUS(status)))
FORTRAN(file_read_ordered_begin, (int *file, void *data, int *count, int *type, int *ierr),
        MPI_File_read_ordered_begin(*file, BUFFER(data), *count, *type))
FORTRAN(file_read_ordered_end, (int *file, void *data, int *status, int *ierr),
        MPI_File_read_ordered_end(*file, BUFFER(data), STATUS(status)))
FORTRAN(file_write_at_all_begin,
        (int *file, MPI_Offset *at, void *data, int *count, int *type, int *ierr),
        MPI_File_write_at_all_begin(*file, *at, BUFFER(data), *count, *type))
FORTRAN(file_write_at_all_end, (int *file, void *data, int *status, int *ierr),
        MPI_File_write_at_all_end(*file, BUFFER(data), STATUS(status)))
FORTRAN(file_write_all_begin, (int *file, void *data, int *count, int *type, int *ierr),
        MPI_File_write_all_begin(*file, BUFFER(data), *count, *type))
FORTRAN(file_write_all_end, (int *file, void *data, int *status, int *ierr),
        MPI_File_write_all_end(*file, BUFFER(data), STATUS(status)))
FORTRAN(file_write_ordered_begin, (int *file, void *data, int *count, int *type, int *ierr),
        MPI_File_write_ordered_begin(*file, BUFFER(data), *count, *type))
FORTRAN(file_write_ordered_end, (int *file, void *data, int *status, int *ierr),
        MPI_File_write_ordered_end(*file, BUFFER(data), STATUS(status)))
FORTRAN(file_seek_shared, (int *file, MPI_Offset *offset, int *whence, int *ierr),
        MPI_File_seek_shared(*file, *offset, *whence))
FORTRAN(file_get_position_shared, (int *file, MPI_Offset *offset, int *ierr),
        MPI_File_get_position_shared(*file, offset))
FORTRAN(file_get_byte_offset, (int *file, MPI_Offset *offset, MPI_Offset *byte, int *ierr),
        MPI_File_get_byte_offset(*file, *offset, byte))
FORTRAN(file_get_atomicity, (int *file, int *flag, int *ierr), MPI_File_get_atomicity(*file, flag))
FORTRAN(file_get_group, (int *file, int *group, int *ierr), MPI_File_get_group(*file, group))
FORTRAN(file_get_type_extent, (int *file, int *type, MPI_Aint *extent, int *ierr),
        MPI_File_get_type_extent(*file, *type, extent))
FORTRAN(file_get_info, (int *file, int *info, int *ierr), MPI_File_get_info(*file, info))
FORTRAN(file_set_info, (int *file, int *info, int *ierr), MPI_File_set_info(*file, *info))
