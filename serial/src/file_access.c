/* Reading and writing files: at an offset, at the process's pointer and at the shared one,
 * blocking, nonblocking (done when they are called) and split. */
#include "file.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

/* Place in the file of byte `at` of the view's data, and how many bytes follow there in a row. */
off_t serial_file_place(const serial_file *f, MPI_Offset at, size_t *run) {
    const serial_type *t = serial_type_at(f->filetype);
    if (t->contiguous) {
        *run = SIZE_MAX;
        return (off_t)(f->displacement + at);
    }
    MPI_Offset tile = at / (MPI_Offset)t->size;
    size_t within = (size_t)(at % (MPI_Offset)t->size);
    int p = 0; /* the last piece that begins no later */
    for (int end = t->npieces; end - p > 1;) {
        int middle = p + (end - p) / 2;
        *(t->pieces[middle].before <= within ? &p : &end) = middle;
    }
    within -= t->pieces[p].before;
    *run = t->pieces[p].bytes - within;
    return (off_t)(f->displacement + tile * (t->ub - t->lb) + t->pieces[p].offset +
                   (MPI_Offset)within);
}

MPI_Offset serial_file_data_before(const serial_file *f, MPI_Offset size) {
    const serial_type *t = serial_type_at(f->filetype), *e = serial_type_at(f->etype);
    MPI_Offset left = size - f->displacement, extent = t->ub - t->lb;
    if (left <= 0)
        return left;
    bool tiled = !t->contiguous && extent > 0;
    MPI_Offset bytes = tiled ? left / extent * (MPI_Offset)t->size : left,
               rest = tiled ? left % extent : 0, etype = (MPI_Offset)e->size;
    for (int p = 0; p < t->npieces; p++) {
        MPI_Offset there = rest - t->pieces[p].offset;
        if (there > 0)
            bytes +=
                there < (MPI_Offset)t->pieces[p].bytes ? there : (MPI_Offset)t->pieces[p].bytes;
    }
    return (bytes + etype - 1) / etype * etype;
}

/* Moves packed bytes; the number moved, or -1 (errno). Reading ends at the end of the file. */
static long long move(const serial_file *f, MPI_Offset at, char *packed, size_t bytes,
                      bool writes) {
    size_t done = 0;
    while (done < bytes) {
        size_t run;
        off_t where = serial_file_place(f, at + (MPI_Offset)done, &run);
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

static const char not_the_same[] =
    "its datatype has elements of another size in external32 (long, wchar_t, long double)";

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
    const bool external = strcmp(f->representation, "external32") == 0;
    if (external && !serial_external_same(handle))
        return serial_file_error(file, MPI_ERR_CONVERSION, function, not_the_same);
    size_t bytes = type->size * (size_t)count;
    char *packed = serial_memory(bytes), *moved_bytes = external ? serial_memory(bytes) : packed;
    if (external) /* of what is not read nothing comes to the program */
        memset(moved_bytes, 0, bytes);
    if (writes)
        serial_pack(type, data, count, packed);
    if (writes && external)
        serial_to_external(handle, count, packed, moved_bytes);
    long long moved = move(f, at, moved_bytes, bytes, writes);
    if (moved > 0 && !writes && external)
        serial_from_external(handle, count, packed, moved_bytes);
    if (moved > 0 && !writes)
        serial_unpack(type, packed, (size_t)moved, data, count);
    if (external)
        free(moved_bytes);
    free(packed);
    if (moved < 0)
        return serial_file_errno(file, function);
    serial_status(status, 0, 0, moved);
    if (next)
        *next = at + moved;
    return writes && (size_t)moved < bytes
               ? serial_file_error(file, MPI_ERR_NO_SPACE, function, "not all could be written")
               : MPI_SUCCESS;
}

MPI_Offset serial_file_in_bytes(const serial_file *f, MPI_Offset offset) {
    return offset * (MPI_Offset)serial_type_at(f->etype)->size;
}

int serial_file_before(MPI_File file, const char *function) {
    return serial_file_error(file, MPI_ERR_ARG, function, "before the beginning of the view");
}

/* The three kinds of position, each plain and under its collective, ordered and nonblocking names.
 */
#define AT(name, writes, CONST)                                                                    \
    int MPI_File_##name(MPI_File file, MPI_Offset offset, CONST void *data, int count,             \
                        MPI_Datatype type, MPI_Status *status) {                                   \
        CHECK_FILE(f, file, "MPI_File_" #name);                                                    \
        if (offset < 0)                                                                            \
            return serial_file_before(file, "MPI_File_" #name);                                    \
        return transfer("MPI_File_" #name, file, serial_file_in_bytes(f, offset),                  \
                        (void *)(uintptr_t)data, count, type, writes, NULL, status);               \
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

/* ---- split collectives: done at their beginning -----------------------------------------------
 */

static int begun(MPI_File file, int rc, const MPI_Status *status) {
    serial_file *f = serial_file_at(file);
    if (f) {
        f->split_status = *status;
        f->split_rc = rc;
    }
    return rc;
}

static int ended(const char *function, MPI_File file, MPI_Status *status) {
    CHECK_FILE(f, file, function);
    if (status != MPI_STATUS_IGNORE)
        *status = f->split_status;
    return f->split_rc;
}

#define END(name, CONST)                                                                           \
    int MPI_File_##name##_end(MPI_File file, CONST void *data, MPI_Status *status) {               \
        (void)data;                                                                                \
        return ended("MPI_File_" #name "_end", file, status);                                      \
    }
#define SPLIT_AT(name, CONST)                                                                      \
    int MPI_File_##name##_begin(MPI_File file, MPI_Offset offset, CONST void *data, int count,     \
                                MPI_Datatype type) {                                               \
        MPI_Status status = {0};                                                                   \
        return begun(file, MPI_File_##name(file, offset, data, count, type, &status), &status);    \
    }                                                                                              \
    END(name, CONST)
#define SPLIT(name, CONST)                                                                         \
    int MPI_File_##name##_begin(MPI_File file, CONST void *data, int count, MPI_Datatype type) {   \
        MPI_Status status = {0};                                                                   \
        return begun(file, MPI_File_##name(file, data, count, type, &status), &status);            \
    }                                                                                              \
    END(name, CONST)
SPLIT_AT(read_at_all, )
SPLIT_AT(write_at_all, const)
SPLIT(read_all, )
SPLIT(write_all, const)
SPLIT(read_ordered, )
SPLIT(write_ordered, const)
