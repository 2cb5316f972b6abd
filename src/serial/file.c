/* Files: a view is a displacement and the pieces of a file type, repeated to the end; offsets count
 * elementary types of it (MPI-3.1 section 13.3). With one process the collective and ordered forms
 * are the plain ones, and the shared pointer is a second one of this rank. */
#include "serial/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct {
    int fd, mode;
    char *name;
    MPI_Offset displacement, position, shared; /* the pointers count bytes of data of the view */
    MPI_Datatype etype, filetype;
    MPI_Errhandler handler;
    int atomic;
} serial_file;

static serial_table files = {.size = sizeof(serial_file), .first = 1};
/* Of MPI_FILE_NULL: for what concerns no file, and for those that are opened (MPI-3.1, 13.7). */
static MPI_Errhandler default_handler = MPI_ERRORS_RETURN;

#define CHECK_FILE(f, file, function)                                                              \
    serial_file *f = serial_at(&files, file);                                                      \
    if (!f)                                                                                        \
    return serial_file_error(0, MPI_ERR_FILE, function, "no valid file")

static int of_errno(MPI_File file, const char *function) {
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
    (void)c, (void)info;
    int access = mode & (MPI_MODE_RDONLY | MPI_MODE_WRONLY | MPI_MODE_RDWR);
    if (access != MPI_MODE_RDONLY && access != MPI_MODE_WRONLY && access != MPI_MODE_RDWR)
        return serial_file_error(
            0, MPI_ERR_AMODE, "MPI_File_open",
            "exactly one of MPI_MODE_RDONLY, MPI_MODE_WRONLY and MPI_MODE_RDWR");
    int flags = access == MPI_MODE_RDONLY   ? O_RDONLY
                : access == MPI_MODE_WRONLY ? O_WRONLY
                                            : O_RDWR;
    flags |= (mode & MPI_MODE_CREATE ? O_CREAT : 0) | (mode & MPI_MODE_EXCL ? O_EXCL : 0);
    int fd = open(name, flags | O_CLOEXEC, 0666);
    if (fd < 0)
        return of_errno(0, "MPI_File_open");
    serial_file *f = serial_add(&files, file);
    f->fd = fd;
    f->mode = mode;
    f->name = strcpy(serial_memory(strlen(name) + 1), name);
    f->etype = f->filetype = MPI_BYTE;
    f->handler = default_handler;
    if (mode & MPI_MODE_APPEND)
        f->position = f->shared = lseek(fd, 0, SEEK_END);
    return MPI_SUCCESS;
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
    int rc = failed ? of_errno(*file, "MPI_File_close") : MPI_SUCCESS;
    set_types(f, MPI_BYTE, MPI_BYTE);
    free(f->name);
    serial_drop(&files, *file);
    *file = MPI_FILE_NULL;
    return rc;
}

int MPI_File_delete(const char *name, MPI_Info info) {
    (void)info;
    return unlink(name) == 0 ? MPI_SUCCESS : of_errno(0, "MPI_File_delete");
}

int MPI_File_set_view(MPI_File file, MPI_Offset displacement, MPI_Datatype etype,
                      MPI_Datatype filetype, const char *representation, MPI_Info info) {
    CHECK_FILE(f, file, "MPI_File_set_view");
    (void)info;
    const serial_type *e = serial_type_at(etype), *t = serial_type_at(filetype);
    if (!e || !t || !e->size || !t->size || t->size % e->size)
        return serial_file_error(file, MPI_ERR_TYPE, "MPI_File_set_view",
                                 "the file type does not consist of elementary types");
    if (strcmp(representation, "native") && strcmp(representation, "internal"))
        return serial_file_error(file, MPI_ERR_UNSUPPORTED_DATAREP, "MPI_File_set_view",
                                 "only native and internal");
    if (displacement == MPI_DISPLACEMENT_CURRENT)
        displacement = f->displacement;
    set_types(f, etype, filetype);
    f->displacement = displacement;
    f->position = f->shared = 0;
    return MPI_SUCCESS;
}

int MPI_File_get_view(MPI_File file, MPI_Offset *displacement, MPI_Datatype *etype,
                      MPI_Datatype *filetype, char *representation) {
    CHECK_FILE(f, file, "MPI_File_get_view");
    *displacement = f->displacement;
    *etype = f->etype;
    *filetype = f->filetype;
    serial_type_keep(serial_type_at(f->etype)); /* the caller frees derived ones */
    serial_type_keep(serial_type_at(f->filetype));
    strcpy(representation, "native");
    return MPI_SUCCESS;
}

/* Place in the file of byte `at` of the view's data, and how many bytes follow there in a row. */
static off_t place(const serial_file *f, MPI_Offset at, size_t *run) {
    const serial_type *t = serial_type_at(f->filetype);
    if (t->contiguous) {
        *run = SIZE_MAX;
        return (off_t)(f->displacement + at);
    }
    MPI_Offset tile = at / (MPI_Offset)t->size;
    size_t within = (size_t)(at % (MPI_Offset)t->size);
    int p = 0;
    for (; within >= t->pieces[p].bytes; p++)
        within -= t->pieces[p].bytes;
    *run = t->pieces[p].bytes - within;
    return (off_t)(f->displacement + tile * (t->ub - t->lb) + t->pieces[p].offset +
                   (MPI_Offset)within);
}

/* Moves packed bytes; the number moved, or -1 (errno). Reading ends at the end of the file. */
static long long move(const serial_file *f, MPI_Offset at, char *packed, size_t bytes,
                      bool writes) {
    size_t done = 0;
    while (done < bytes) {
        size_t run;
        off_t where = place(f, at + (MPI_Offset)done, &run);
        size_t n = bytes - done < run ? bytes - done : run;
        ssize_t moved =
            writes ? pwrite(f->fd, packed + done, n, where) : pread(f->fd, packed + done, n, where);
        if (moved < 0 && errno == EINTR)
            continue;
        if (moved < 0)
            return -1;
        if (moved == 0)
            break;
        done += (size_t)moved;
    }
    return (long long)done;
}

static int transfer(const char *function, MPI_File file, MPI_Offset at, void *data, int count,
                    MPI_Datatype handle, bool writes, MPI_Offset *next, MPI_Status *status) {
    CHECK_FILE(f, file, function);
    const serial_type *type = serial_type_at(handle);
    if (!type || count < 0)
        return serial_file_error(file, type ? MPI_ERR_COUNT : MPI_ERR_TYPE, function,
                                 type ? "negative count" : "no valid datatype");
    if (f->mode & (writes ? MPI_MODE_RDONLY : MPI_MODE_WRONLY))
        return serial_file_error(file, writes ? MPI_ERR_READ_ONLY : MPI_ERR_ACCESS, function,
                                 "the file was not opened for that");
    size_t bytes = type->size * (size_t)count;
    char *packed = serial_memory(bytes);
    if (writes)
        serial_pack(type, data, count, packed);
    long long moved = move(f, at, packed, bytes, writes);
    if (moved > 0 && !writes)
        serial_unpack(type, packed, (size_t)moved, data, count);
    free(packed);
    if (moved < 0)
        return of_errno(file, function);
    serial_status(status, 0, 0, moved);
    if (next)
        *next = at + moved;
    return writes && (size_t)moved < bytes
               ? serial_file_error(file, MPI_ERR_NO_SPACE, function, "not all could be written")
               : MPI_SUCCESS;
}

static MPI_Offset in_bytes(const serial_file *f, MPI_Offset offset) {
    return offset * (MPI_Offset)serial_type_at(f->etype)->size;
}

static int before_the_view(MPI_File file, const char *function) {
    return serial_file_error(file, MPI_ERR_ARG, function, "before the beginning of the view");
}

/* The three kinds of position, each plain and under its collective, ordered and nonblocking names.
 */
#define AT(name, writes, CONST)                                                                    \
    int MPI_File_##name(MPI_File file, MPI_Offset offset, CONST void *data, int count,             \
                        MPI_Datatype type, MPI_Status *status) {                                   \
        CHECK_FILE(f, file, "MPI_File_" #name);                                                    \
        if (offset < 0)                                                                            \
            return before_the_view(file, "MPI_File_" #name);                                       \
        return transfer("MPI_File_" #name, file, in_bytes(f, offset), (void *)(uintptr_t)data,     \
                        count, type, writes, NULL, status);                                        \
    }
#define FROM(name, pointer, writes, CONST)                                                         \
    int MPI_File_##name(MPI_File file, CONST void *data, int count, MPI_Datatype type,             \
                        MPI_Status *status) {                                                      \
        CHECK_FILE(f, file, "MPI_File_" #name);                                                    \
        return transfer("MPI_File_" #name, file, f->pointer, (void *)(uintptr_t)data, count, type, \
                        writes, &f->pointer, status);                                              \
    }
AT(read_at, false, )
AT(read_at_all, false, )
AT(write_at, true, const)
AT(write_at_all, true, const)
FROM(read, position, false, )
FROM(read_all, position, false, )
FROM(write, position, true, const)
FROM(write_all, position, true, const)
FROM(read_shared, shared, false, )
FROM(read_ordered, shared, false, )
FROM(write_shared, shared, true, const)
FROM(write_ordered, shared, true, const)

static int started(MPI_Request *request, int rc, const MPI_Status *status) {
    rc = serial_request_done(request, rc);
    if (rc == MPI_SUCCESS)
        serial_request_at(*request)->status = *status;
    return rc;
}

#define I_AT(name, plain, CONST)                                                                   \
    int MPI_File_##name(MPI_File file, MPI_Offset offset, CONST void *data, int count,             \
                        MPI_Datatype type, MPI_Request *request) {                                 \
        MPI_Status status = {0};                                                                   \
        return started(request, MPI_File_##plain(file, offset, data, count, type, &status),        \
                       &status);                                                                   \
    }
#define I_FROM(name, plain, CONST)                                                                 \
    int MPI_File_##name(MPI_File file, CONST void *data, int count, MPI_Datatype type,             \
                        MPI_Request *request) {                                                    \
        MPI_Status status = {0};                                                                   \
        return started(request, MPI_File_##plain(file, data, count, type, &status), &status);      \
    }
I_AT(iread_at, read_at, )
I_AT(iwrite_at, write_at, const)
I_AT(iread_at_all, read_at, )
I_AT(iwrite_at_all, write_at, const)
I_FROM(iread, read, )
I_FROM(iwrite, write, const)
I_FROM(iread_all, read, )
I_FROM(iwrite_all, write, const)
I_FROM(iread_shared, read_shared, )
I_FROM(iwrite_shared, write_shared, const)

/* ---- positions and sizes --------------------------------------------------------------------- */

static int seek(const char *function, MPI_File file, bool shared, MPI_Offset offset, int whence) {
    CHECK_FILE(f, file, function);
    MPI_Offset *pointer = shared ? &f->shared : &f->position, from = 0;
    if (whence == MPI_SEEK_CUR)
        from = *pointer;
    if (whence == MPI_SEEK_END) {
        struct stat now;
        const serial_type *t = serial_type_at(f->filetype);
        if (fstat(f->fd, &now) != 0)
            return of_errno(file, function);
        MPI_Offset left = now.st_size - f->displacement, extent = t->ub - t->lb;
        from = t->contiguous || extent <= 0 ? left
                                            : (left + extent - 1) / extent * (MPI_Offset)t->size;
    }
    MPI_Offset target = from + in_bytes(f, offset);
    if (target < 0)
        return before_the_view(file, function);
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
        return before_the_view(file, "MPI_File_get_byte_offset");
    *byte = place(f, in_bytes(f, offset), &run);
    return MPI_SUCCESS;
}

int MPI_File_get_size(MPI_File file, MPI_Offset *size) {
    CHECK_FILE(f, file, "MPI_File_get_size");
    struct stat now;
    if (fstat(f->fd, &now) != 0)
        return of_errno(file, "MPI_File_get_size");
    *size = now.st_size;
    return MPI_SUCCESS;
}

int MPI_File_set_size(MPI_File file, MPI_Offset size) {
    CHECK_FILE(f, file, "MPI_File_set_size");
    return ftruncate(f->fd, (off_t)size) == 0 ? MPI_SUCCESS : of_errno(file, "MPI_File_set_size");
}

int MPI_File_preallocate(MPI_File file, MPI_Offset size) {
    CHECK_FILE(f, file, "MPI_File_preallocate");
    errno = size > 0 ? posix_fallocate(f->fd, 0, (off_t)size) : 0;
    return errno ? of_errno(file, "MPI_File_preallocate") : MPI_SUCCESS;
}

int MPI_File_sync(MPI_File file) {
    CHECK_FILE(f, file, "MPI_File_sync");
    return fsync(f->fd) == 0 ? MPI_SUCCESS : of_errno(file, "MPI_File_sync");
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
    (void)f, (void)info;
    return MPI_SUCCESS;
}

int MPI_File_get_info(MPI_File file, MPI_Info *info) {
    CHECK_FILE(f, file, "MPI_File_get_info");
    (void)f;
    return MPI_Info_create(info);
}

int MPI_File_set_errhandler(MPI_File file, MPI_Errhandler handler) {
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
