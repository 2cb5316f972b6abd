/* Files: opening, views, positions and sizes. A view is a displacement and the pieces of a file
 * type, repeated to the end; offsets count elementary types of it (MPI-3.1 section 13.3). With one
 * process the collective and ordered forms are the plain ones, and the shared pointer is a second
 * one of this rank. */
#include "file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static serial_table files = {.size = sizeof(serial_file), .first = 1};
/* Of MPI_FILE_NULL: for what concerns no file, and for those that are opened (MPI-3.1, 13.7). */
static MPI_Errhandler default_handler = MPI_ERRORS_RETURN;

serial_file *serial_file_at(MPI_File file) {
    return serial_at(&files, file);
}

int serial_file_errno(MPI_File file, const char *function) {
    int code = errno == ENOENT                                                ? MPI_ERR_NO_SUCH_FILE
               : errno == EEXIST                                              ? MPI_ERR_FILE_EXISTS
               : errno == EACCES || errno == EPERM                            ? MPI_ERR_ACCESS
               : errno == EROFS                                               ? MPI_ERR_READ_ONLY
               : errno == ENOSPC                                              ? MPI_ERR_NO_SPACE
               : errno == EDQUOT                                              ? MPI_ERR_QUOTA
               : errno == ENAMETOOLONG || errno == ENOTDIR || errno == EISDIR ? MPI_ERR_BAD_FILE
                                                                              : MPI_ERR_IO;
    return serial_file_error(file, code, function, strerror(errno));
}

int MPI_File_open(MPI_Comm comm, const char *name, int mode, MPI_Info info, MPI_File *file) {
    CHECK_COMM(c, comm, "MPI_File_open");
    (void)c;
    int access = mode & (MPI_MODE_RDONLY | MPI_MODE_WRONLY | MPI_MODE_RDWR);
    if (access != MPI_MODE_RDONLY && access != MPI_MODE_WRONLY && access != MPI_MODE_RDWR)
        return serial_file_error(
            0, MPI_ERR_AMODE, "MPI_File_open",
            "exactly one of MPI_MODE_RDONLY, MPI_MODE_WRONLY and MPI_MODE_RDWR");
    if (access == MPI_MODE_RDONLY ? mode & (MPI_MODE_CREATE | MPI_MODE_EXCL)
                                  : access == MPI_MODE_RDWR && mode & MPI_MODE_SEQUENTIAL)
        return serial_file_error(0, MPI_ERR_AMODE, "MPI_File_open",
                                 "MPI_MODE_RDONLY goes with neither MPI_MODE_CREATE nor "
                                 "MPI_MODE_EXCL, MPI_MODE_RDWR not with MPI_MODE_SEQUENTIAL");
    int flags = access == MPI_MODE_RDONLY   ? O_RDONLY
                : access == MPI_MODE_WRONLY ? O_WRONLY
                                            : O_RDWR;
    flags |= (mode & MPI_MODE_CREATE ? O_CREAT : 0) | (mode & MPI_MODE_EXCL ? O_EXCL : 0);
    int fd = open(name, flags | O_CLOEXEC, 0666);
    if (fd < 0)
        return serial_file_errno(0, "MPI_File_open");
    serial_file *f = serial_add(&files, file);
    f->fd = fd;
    f->mode = mode;
    f->name = strcpy(serial_memory(strlen(name) + 1), name);
    f->etype = f->filetype = MPI_BYTE;
    f->handler = default_handler;
    strcpy(f->representation, "native");
    if (mode & MPI_MODE_APPEND)
        f->position = f->shared = lseek(fd, 0, SEEK_END);
    return serial_info_keep(&f->info, info);
}

static void set_types(serial_file *f, MPI_Datatype etype, MPI_Datatype filetype) {
    serial_type_keep(serial_type_at(etype));
    serial_type_keep(serial_type_at(filetype));
    serial_type_leave(f->etype);
    serial_type_leave(f->filetype);
    f->etype = etype;
    f->filetype = filetype;
}

int MPI_File_close(MPI_File *file) {
    CHECK_FILE(f, *file, "MPI_File_close");
    int failed = close(f->fd) != 0;
    if (!failed && f->mode & MPI_MODE_DELETE_ON_CLOSE)
        failed = unlink(f->name) != 0;
    int rc = failed ? serial_file_errno(*file, "MPI_File_close") : MPI_SUCCESS;
    set_types(f, MPI_BYTE, MPI_BYTE);
    serial_info_keep(&f->info, MPI_INFO_NULL);
    free(f->name);
    serial_drop(&files, *file);
    *file = MPI_FILE_NULL;
    return rc;
}

int MPI_File_delete(const char *name, MPI_Info info) {
    (void)info;
    return unlink(name) == 0 ? MPI_SUCCESS : serial_file_errno(0, "MPI_File_delete");
}

/* ---- views ----------------------------------------------------------------------------------- */

static serial_table representations = {.size = MPI_MAX_DATAREP_STRING};

static bool registered(const char *representation) {
    for (int i = 0; i < representations.count; i++)
        if (strcmp(serial_at(&representations, i), representation) == 0)
            return true;
    return false;
}

/* One that converts nothing is as good as native; conversions are not supported, as in most MPIs.
 */
int MPI_Register_datarep(const char *representation, MPI_Datarep_conversion_function *reads,
                         MPI_Datarep_conversion_function *writes,
                         MPI_Datarep_extent_function *extent, void *extra) {
    (void)extent, (void)extra;
    bool known = registered(representation) || strcmp(representation, "native") == 0 ||
                 strcmp(representation, "internal") == 0 ||
                 strcmp(representation, "external32") == 0;
    int handle;
    if (strlen(representation) >= MPI_MAX_DATAREP_STRING)
        return serial_file_error(0, MPI_ERR_ARG, "MPI_Register_datarep", "the name is too long");
    if (known)
        return serial_file_error(0, MPI_ERR_DUP_DATAREP, "MPI_Register_datarep",
                                 "there is one of this name");
    if (reads || writes)
        return serial_file_error(0, MPI_ERR_UNSUPPORTED_DATAREP, "MPI_Register_datarep",
                                 "with conversions of the program's own");
    strcpy(serial_add(&representations, &handle), representation);
    return MPI_SUCCESS;
}

/* Places of a view: rising from 0, and each once where they are written to (section 13.3). */
static bool rises(const serial_type *type, bool writes) {
    const serial_piece *p = type->pieces;
    for (int i = 0; i < type->npieces; i++) {
        const MPI_Aint least =
            i == 0 ? 0 : p[i - 1].offset + (writes ? (MPI_Aint)p[i - 1].bytes : 0);
        if (p[i].offset < least)
            return false;
    }
    return true;
}

int MPI_File_set_view(MPI_File file, MPI_Offset displacement, MPI_Datatype etype,
                      MPI_Datatype filetype, const char *representation, MPI_Info info) {
    CHECK_FILE(f, file, "MPI_File_set_view");
    const serial_type *e = serial_type_at(etype), *t = serial_type_at(filetype);
    if (!e || !t || !e->size || !t->size || t->size % e->size)
        return serial_file_error(file, MPI_ERR_TYPE, "MPI_File_set_view",
                                 "the file type does not consist of elementary types");
    const bool writes = !(f->mode & MPI_MODE_RDONLY);
    if (!rises(e, writes) || !rises(t, writes))
        return serial_file_error(file, MPI_ERR_IO, "MPI_File_set_view",
                                 "the displacements of a type are negative, decreasing or, in a "
                                 "file that is written, overlapping (MPI-3.1 section 13.3)");
    if (strcmp(representation, "external32") == 0) {
        if (!serial_external_same(etype) || !serial_external_same(filetype))
            return serial_file_error(file, MPI_ERR_UNSUPPORTED_DATAREP, "MPI_File_set_view",
                                     "external32 only with types whose elements have the same size "
                                     "there (not long, wchar_t, long double)");
    } else if (strcmp(representation, "native") && strcmp(representation, "internal") &&
               !registered(representation))
        return serial_file_error(file, MPI_ERR_UNSUPPORTED_DATAREP, "MPI_File_set_view",
                                 "only native, internal and those registered");
    if (displacement == MPI_DISPLACEMENT_CURRENT)
        displacement = serial_file_place(f, f->shared, &(size_t){0}); /* where it stands */
    set_types(f, etype, filetype);
    f->displacement = displacement;
    f->position = f->shared = 0;
    snprintf(f->representation, sizeof f->representation, "%s", representation);
    return info == MPI_INFO_NULL ? MPI_SUCCESS : serial_info_keep(&f->info, info);
}

int MPI_File_get_view(MPI_File file, MPI_Offset *displacement, MPI_Datatype *etype,
                      MPI_Datatype *filetype, char *representation) {
    CHECK_FILE(f, file, "MPI_File_get_view");
    *displacement = f->displacement;
    *etype = f->etype;
    *filetype = f->filetype;
    serial_type_keep(serial_type_at(f->etype)); /* the caller frees derived ones */
    serial_type_keep(serial_type_at(f->filetype));
    strcpy(representation, f->representation);
    return MPI_SUCCESS;
}

/* ---- positions and sizes --------------------------------------------------------------------- */

static int seek(const char *function, MPI_File file, bool shared, MPI_Offset offset, int whence) {
    CHECK_FILE(f, file, function);
    MPI_Offset *pointer = shared ? &f->shared : &f->position, from = 0;
    if (whence == MPI_SEEK_CUR)
        from = *pointer;
    if (whence == MPI_SEEK_END) {
        struct stat now;
        if (fstat(f->fd, &now) != 0)
            return serial_file_errno(file, function);
        from = serial_file_data_before(f, now.st_size);
    }
    MPI_Offset target = from + serial_file_in_bytes(f, offset);
    if (target < 0)
        return serial_file_before(file, function);
    *pointer = target;
    return MPI_SUCCESS;
}

int MPI_File_seek(MPI_File file, MPI_Offset offset, int whence) {
    return seek("MPI_File_seek", file, false, offset, whence);
}

int MPI_File_seek_shared(MPI_File file, MPI_Offset offset, int whence) {
    return seek("MPI_File_seek_shared", file, true, offset, whence);
}

int MPI_File_get_position(MPI_File file, MPI_Offset *offset) {
    CHECK_FILE(f, file, "MPI_File_get_position");
    *offset = f->position / (MPI_Offset)serial_type_at(f->etype)->size;
    return MPI_SUCCESS;
}

int MPI_File_get_position_shared(MPI_File file, MPI_Offset *offset) {
    CHECK_FILE(f, file, "MPI_File_get_position_shared");
    *offset = f->shared / (MPI_Offset)serial_type_at(f->etype)->size;
    return MPI_SUCCESS;
}

int MPI_File_get_byte_offset(MPI_File file, MPI_Offset offset, MPI_Offset *byte) {
    CHECK_FILE(f, file, "MPI_File_get_byte_offset");
    size_t run;
    if (offset < 0)
        return serial_file_before(file, "MPI_File_get_byte_offset");
    *byte = serial_file_place(f, serial_file_in_bytes(f, offset), &run);
    return MPI_SUCCESS;
}

int MPI_File_get_size(MPI_File file, MPI_Offset *size) {
    CHECK_FILE(f, file, "MPI_File_get_size");
    struct stat now;
    if (fstat(f->fd, &now) != 0)
        return serial_file_errno(file, "MPI_File_get_size");
    *size = now.st_size;
    return MPI_SUCCESS;
}

int MPI_File_set_size(MPI_File file, MPI_Offset size) {
    CHECK_FILE(f, file, "MPI_File_set_size");
    return ftruncate(f->fd, (off_t)size) == 0 ? MPI_SUCCESS
                                              : serial_file_errno(file, "MPI_File_set_size");
}

int MPI_File_preallocate(MPI_File file, MPI_Offset size) {
    CHECK_FILE(f, file, "MPI_File_preallocate");
    errno = size > 0 ? posix_fallocate(f->fd, 0, (off_t)size) : 0;
    return errno ? serial_file_errno(file, "MPI_File_preallocate") : MPI_SUCCESS;
}

int MPI_File_sync(MPI_File file) {
    CHECK_FILE(f, file, "MPI_File_sync");
    return fsync(f->fd) == 0 ? MPI_SUCCESS : serial_file_errno(file, "MPI_File_sync");
}

int MPI_File_get_amode(MPI_File file, int *mode) {
    CHECK_FILE(f, file, "MPI_File_get_amode");
    *mode = f->mode;
    return MPI_SUCCESS;
}

int MPI_File_get_group(MPI_File file, MPI_Group *group) {
    CHECK_FILE(f, file, "MPI_File_get_group");
    (void)f;
    return MPI_Comm_group(MPI_COMM_SELF, group);
}

int MPI_File_get_type_extent(MPI_File file, MPI_Datatype type, MPI_Aint *extent) {
    CHECK_FILE(f, file, "MPI_File_get_type_extent");
    (void)f;
    *extent = serial_extent(type);
    return MPI_SUCCESS;
}

int MPI_File_set_atomicity(MPI_File file, int flag) {
    CHECK_FILE(f, file, "MPI_File_set_atomicity");
    f->atomic = flag != 0;
    return MPI_SUCCESS;
}

int MPI_File_get_atomicity(MPI_File file, int *flag) {
    CHECK_FILE(f, file, "MPI_File_get_atomicity");
    *flag = f->atomic;
    return MPI_SUCCESS;
}

int MPI_File_set_info(MPI_File file, MPI_Info info) {
    CHECK_FILE(f, file, "MPI_File_set_info");
    return info == MPI_INFO_NULL ? MPI_SUCCESS : serial_info_keep(&f->info, info);
}

int MPI_File_get_info(MPI_File file, MPI_Info *info) {
    CHECK_FILE(f, file, "MPI_File_get_info");
    return serial_info_give(f->info, info);
}

int MPI_File_set_errhandler(MPI_File file, MPI_Errhandler handler) {
    if (!serial_errhandler_exists(handler))
        return serial_file_error(file, MPI_ERR_ARG, "MPI_File_set_errhandler",
                                 "no valid error handler");
    if (file == MPI_FILE_NULL) {
        default_handler = handler;
        return MPI_SUCCESS;
    }
    CHECK_FILE(f, file, "MPI_File_set_errhandler");
    f->handler = handler;
    return MPI_SUCCESS;
}

int MPI_File_get_errhandler(MPI_File file, MPI_Errhandler *handler) {
    const serial_file *f = serial_at(&files, file);
    *handler = f ? f->handler : default_handler;
    return MPI_SUCCESS;
}
