/* The functions of libc that open, read, write and close files. Each does what the next one of its
 * name does; beside it the file's row is counted (record/files.h). Not here: mapped files, and what
 * goes by other ways (asynchronous I/O, system calls of the program's own). */
#undef _FORTIFY_SOURCE /* its inline forms of these names */
#include "record/files.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

/* The next functions of these names, all found when the library is loaded: dlsym takes a lock and
 * forgets the error that dlerror would tell, so that a signal handler, a child of fork and a
 * program that has just failed in dlopen must not be the first to look. What comes before that
 * (other libraries' constructors) finds its own. */
typedef struct {
    void *function;
    const char *name;
} next_function;

extern next_function __start_stretto_next[] __attribute__((visibility("hidden")));
extern next_function __stop_stretto_next[] __attribute__((visibility("hidden")));

static void find(next_function *next) {
    __atomic_store_n(&next->function, dlsym(RTLD_NEXT, next->name), __ATOMIC_RELAXED);
}

__attribute__((constructor)) static void find_all(void) {
    for (next_function *next = __start_stretto_next; next < __stop_stretto_next; next++)
        find(next);
    dlerror(); /* what an older libc lacks is no error of the program's */
}

static void *function_of(next_function *next) {
    void *found = __atomic_load_n(&next->function, __ATOMIC_RELAXED);
    if (__builtin_expect(!found, 0)) {
        int error = errno;
        find(next);
        found = next->function;
        errno = found ? error : ENOSYS;
    }
    return found;
}

/* In a function: `real`, or `failure` is returned. */
#define REAL(type, name, parameters, failure)                                                      \
    static next_function next __attribute__((section("stretto_next"), used)) = {NULL, #name};      \
    type(*real) parameters;                                                                        \
    *(void **)&real = function_of(&next);                                                          \
    if (!real)                                                                                     \
        return failure;

/* ---- descriptors ------------------------------------------------------------------------------
 */

#define MOVES(action, type, name, parameters, arguments, end)                                      \
    EXPORT type name parameters;                                                                   \
    EXPORT type name parameters {                                                                  \
        REAL(type, name, parameters, -1)                                                           \
        stretto_file_call call;                                                                    \
        if (!stretto_file_enter(&call, fd))                                                        \
            return real arguments;                                                                 \
        type moved = real arguments;                                                               \
        stretto_file_leave(&call, STRETTO_FILE_##action, moved, end);                              \
        return moved;                                                                              \
    }
MOVES(READS, ssize_t, read, (int fd, void *data, size_t n), (fd, data, n), STRETTO_FILE_AT_OFFSET)
MOVES(READS, ssize_t, pread, (int fd, void *data, size_t n, off_t at), (fd, data, n, at),
      at + moved)
MOVES(READS, ssize_t, pread64, (int fd, void *data, size_t n, off_t at), (fd, data, n, at),
      at + moved)
MOVES(READS, ssize_t, readv, (int fd, const struct iovec *data, int n), (fd, data, n),
      STRETTO_FILE_AT_OFFSET)
MOVES(READS, ssize_t, preadv, (int fd, const struct iovec *data, int n, off_t at),
      (fd, data, n, at), at + moved)
MOVES(READS, ssize_t, preadv64, (int fd, const struct iovec *data, int n, off_t at),
      (fd, data, n, at), at + moved)
MOVES(READS, ssize_t, __read_chk, (int fd, void *data, size_t n, size_t room), (fd, data, n, room),
      STRETTO_FILE_AT_OFFSET)
MOVES(READS, ssize_t, __pread_chk, (int fd, void *data, size_t n, off_t at, size_t room),
      (fd, data, n, at, room), at + moved)
MOVES(READS, ssize_t, __pread64_chk, (int fd, void *data, size_t n, off_t at, size_t room),
      (fd, data, n, at, room), at + moved)
MOVES(WRITES, ssize_t, write, (int fd, const void *data, size_t n), (fd, data, n),
      STRETTO_FILE_NOWHERE)
MOVES(WRITES, ssize_t, pwrite, (int fd, const void *data, size_t n, off_t at), (fd, data, n, at),
      STRETTO_FILE_NOWHERE)
MOVES(WRITES, ssize_t, pwrite64, (int fd, const void *data, size_t n, off_t at), (fd, data, n, at),
      STRETTO_FILE_NOWHERE)
MOVES(WRITES, ssize_t, writev, (int fd, const struct iovec *data, int n), (fd, data, n),
      STRETTO_FILE_NOWHERE)
MOVES(WRITES, ssize_t, pwritev, (int fd, const struct iovec *data, int n, off_t at),
      (fd, data, n, at), STRETTO_FILE_NOWHERE)
MOVES(WRITES, ssize_t, pwritev64, (int fd, const struct iovec *data, int n, off_t at),
      (fd, data, n, at), STRETTO_FILE_NOWHERE)
MOVES(KEEPS, int, fsync, (int fd), (fd), STRETTO_FILE_NOWHERE)
MOVES(KEEPS, int, fdatasync, (int fd), (fd), STRETTO_FILE_NOWHERE)

#define OPENS(name, parameters, arguments)                                                         \
    EXPORT int name parameters;                                                                    \
    EXPORT int name parameters {                                                                   \
        REAL(int, name, parameters, -1)                                                            \
        uint64_t start = stretto_file_opens();                                                     \
        int fd = real arguments;                                                                   \
        stretto_file_opened(fd, start);                                                            \
        return fd;                                                                                 \
    }
OPENS(creat, (const char *path, mode_t mode), (path, mode))
OPENS(creat64, (const char *path, mode_t mode), (path, mode))
OPENS(__open_2, (const char *path, int flags), (path, flags))
OPENS(__open64_2, (const char *path, int flags), (path, flags))
OPENS(__openat_2, (int at, const char *path, int flags), (at, path, flags))
OPENS(__openat64_2, (int at, const char *path, int flags), (at, path, flags))

/* With the mode behind the flags where there is one. */
#define OPENS_WITH_MODE(name, parameters, ...)                                                     \
    EXPORT int name parameters {                                                                   \
        REAL(int, name, parameters, -1)                                                            \
        mode_t mode = 0;                                                                           \
        if (flags & O_CREAT || (flags & O_TMPFILE) == O_TMPFILE) {                                 \
            va_list more;                                                                          \
            va_start(more, flags);                                                                 \
            mode = va_arg(more, mode_t);                                                           \
            va_end(more);                                                                          \
        }                                                                                          \
        uint64_t start = stretto_file_opens();                                                     \
        int fd = real(__VA_ARGS__, flags, mode);                                                   \
        stretto_file_opened(fd, start);                                                            \
        return fd;                                                                                 \
    }
OPENS_WITH_MODE(open, (const char *path, int flags, ...), path)
OPENS_WITH_MODE(open64, (const char *path, int flags, ...), path)
OPENS_WITH_MODE(openat, (int at, const char *path, int flags, ...), at, path)
OPENS_WITH_MODE(openat64, (int at, const char *path, int flags, ...), at, path)

EXPORT int close(int fd) {
    REAL(int, close, (int), -1)
    stretto_file_call call;
    bool recorded = stretto_file_closes(&call, fd);
    int code = real(fd);
    if (recorded)
        stretto_file_leave(&call, STRETTO_FILE_KEEPS, 0, STRETTO_FILE_NOWHERE);
    return code;
}

EXPORT int dup2(int fd, int to) {
    REAL(int, dup2, (int, int), -1)
    int code = real(fd, to);
    stretto_file_forget(to);
    return code;
}

EXPORT int dup3(int fd, int to, int flags) {
    REAL(int, dup3, (int, int, int), -1)
    int code = real(fd, to, flags);
    stretto_file_forget(to);
    return code;
}

/* ---- streams ----------------------------------------------------------------------------------
 */

/* fileno() would set errno where there is none */
#define FD(stream) ((stream)->_fileno)

#define OPENS_STREAM(name, parameters, arguments)                                                  \
    EXPORT FILE *name parameters {                                                                 \
        REAL(FILE *, name, parameters, NULL)                                                       \
        uint64_t start = stretto_file_opens();                                                     \
        FILE *stream = real arguments;                                                             \
        if (stream)                                                                                \
            stretto_file_opened(FD(stream), start);                                                \
        return stream;                                                                             \
    }
OPENS_STREAM(fopen, (const char *path, const char *mode), (path, mode))
OPENS_STREAM(fopen64, (const char *path, const char *mode), (path, mode))
OPENS_STREAM(freopen, (const char *path, const char *mode, FILE *old), (path, mode, old))
OPENS_STREAM(freopen64, (const char *path, const char *mode, FILE *old), (path, mode, old))

EXPORT int fclose(FILE *stream) {
    REAL(int, fclose, (FILE *), EOF)
    stretto_file_call call;
    bool recorded = stretto_file_closes(&call, FD(stream));
    int code = real(stream);
    if (recorded)
        stretto_file_leave(&call, STRETTO_FILE_KEEPS, 0, STRETTO_FILE_NOWHERE);
    return code;
}

/* Many calls find in the stream's buffer what they want. Those that do not are known by the buffer,
 * which is filled anew. */
static bool refilled(const FILE *stream, const char *at, const char *end) {
    return stream->_IO_read_ptr < at || stream->_IO_read_end != end;
}

/* inline forms */
#undef fread_unlocked
#undef fwrite_unlocked
#undef getc
#undef putc

/* `bytes` of `result`. */
#define STREAMS(action, type, name, parameters, arguments, failure, bytes)                         \
    EXPORT type name parameters;                                                                   \
    EXPORT type name parameters {                                                                  \
        REAL(type, name, parameters, failure)                                                      \
        stretto_file_call call;                                                                    \
        if (!stretto_file_enter(&call, FD(stream)))                                                \
            return real arguments;                                                                 \
        const char *at = stream->_IO_read_ptr, *end = stream->_IO_read_end;                        \
        type result = real arguments;                                                              \
        stretto_file_leave(&call, STRETTO_FILE_##action, (int64_t)(bytes),                         \
                           refilled(stream, at, end) || stream->_IO_read_ptr == end                \
                               ? STRETTO_FILE_AT_OFFSET                                            \
                               : STRETTO_FILE_NOWHERE);                                            \
        return result;                                                                             \
    }

/* Of all streams: not recorded. */
EXPORT int fflush(FILE *stream) {
    REAL(int, fflush, (FILE *), EOF)
    stretto_file_call call;
    bool recorded = stream && stretto_file_enter(&call, FD(stream));
    int code = real(stream);
    if (recorded)
        stretto_file_leave(&call, STRETTO_FILE_KEEPS, 0, STRETTO_FILE_NOWHERE);
    return code;
}

STREAMS(READS, size_t, fread, (void *data, size_t each, size_t n, FILE *stream),
        (data, each, n, stream), 0, result *each)
STREAMS(READS, size_t, fread_unlocked, (void *data, size_t each, size_t n, FILE *stream),
        (data, each, n, stream), 0, result *each)
STREAMS(READS, size_t, __fread_chk, (void *data, size_t room, size_t each, size_t n, FILE *stream),
        (data, room, each, n, stream), 0, result *each)
STREAMS(READS, size_t, __fread_unlocked_chk,
        (void *data, size_t room, size_t each, size_t n, FILE *stream),
        (data, room, each, n, stream), 0, result *each)
STREAMS(WRITES, size_t, fwrite, (const void *data, size_t each, size_t n, FILE *stream),
        (data, each, n, stream), 0, result *each)
STREAMS(WRITES, size_t, fwrite_unlocked, (const void *data, size_t each, size_t n, FILE *stream),
        (data, each, n, stream), 0, result *each)

/* Text: of calls that find in the buffer what they want only the bytes of the next filling count.
 * `buffered`: known beforehand to be such a call. */
#define TEXT_IN_UNLESS(buffered, type, name, parameters, arguments, failure)                       \
    EXPORT type name parameters;                                                                   \
    EXPORT type name parameters {                                                                  \
        REAL(type, name, parameters, failure)                                                      \
        stretto_file_call call;                                                                    \
        if ((buffered) || !stretto_file_enter(&call, FD(stream)))                                  \
            return real arguments;                                                                 \
        const char *at = stream->_IO_read_ptr, *end = stream->_IO_read_end;                        \
        type result = real arguments;                                                              \
        if (refilled(stream, at, end))                                                             \
            stretto_file_leave(&call, STRETTO_FILE_READS,                                          \
                               stream->_IO_read_end - stream->_IO_read_base,                       \
                               STRETTO_FILE_AT_OFFSET);                                            \
        return result;                                                                             \
    }
#define TEXT_IN(type, name, parameters, arguments, failure)                                        \
    TEXT_IN_UNLESS(false, type, name, parameters, arguments, failure)
#define CHARACTER_IN(name)                                                                         \
    TEXT_IN_UNLESS(stream->_IO_read_ptr < stream->_IO_read_end, int, name, (FILE * stream),        \
                   (stream), EOF)
TEXT_IN(char *, fgets, (char *text, int n, FILE *stream), (text, n, stream), NULL)
TEXT_IN(char *, fgets_unlocked, (char *text, int n, FILE *stream), (text, n, stream), NULL)
TEXT_IN(char *, __fgets_chk, (char *text, size_t room, int n, FILE *stream),
        (text, room, n, stream), NULL)
TEXT_IN(char *, __fgets_unlocked_chk, (char *text, size_t room, int n, FILE *stream),
        (text, room, n, stream), NULL)
TEXT_IN(ssize_t, getline, (char **text, size_t *room, FILE *stream), (text, room, stream), -1)
TEXT_IN(ssize_t, getdelim, (char **text, size_t *room, int last, FILE *stream),
        (text, room, last, stream), -1)
TEXT_IN(ssize_t, __getdelim, (char **text, size_t *room, int last, FILE *stream),
        (text, room, last, stream), -1)
TEXT_IN(int, __isoc99_vfscanf, (FILE * stream, const char *format, va_list more),
        (stream, format, more), EOF)
TEXT_IN(int, __isoc23_vfscanf, (FILE * stream, const char *format, va_list more),
        (stream, format, more), EOF)
CHARACTER_IN(fgetc)
CHARACTER_IN(getc)
CHARACTER_IN(_IO_getc)
CHARACTER_IN(fgetc_unlocked)
CHARACTER_IN(getc_unlocked)
CHARACTER_IN(__uflow) /* of the inline forms of these */

#define SCANS(name, with)                                                                          \
    EXPORT int name(FILE *stream, const char *format, ...);                                        \
    EXPORT int name(FILE *stream, const char *format, ...) {                                       \
        va_list more;                                                                              \
        va_start(more, format);                                                                    \
        int result = with(stream, format, more);                                                   \
        va_end(more);                                                                              \
        return result;                                                                             \
    }
SCANS(__isoc99_fscanf, __isoc99_vfscanf)
SCANS(__isoc23_fscanf, __isoc23_vfscanf)

/* Of text that stays in the buffer the time is the formatting's. The inline forms of putc put most
 * bytes into the buffer unseen. */
#define TEXT_OUT(name, parameters, arguments, bytes)                                               \
    EXPORT int name parameters;                                                                    \
    EXPORT int name parameters {                                                                   \
        REAL(int, name, parameters, EOF)                                                           \
        stretto_file_call call;                                                                    \
        if (!stretto_file_enter(&call, FD(stream)))                                                \
            return real arguments;                                                                 \
        const char *at = stream->_IO_write_ptr;                                                    \
        int result = real arguments;                                                               \
        if (stream->_IO_write_ptr >= at && at != stream->_IO_write_base)                           \
            call.start = 0;                                                                        \
        stretto_file_leave(&call, STRETTO_FILE_WRITES, result < 0 ? 0 : (int64_t)(bytes),          \
                           STRETTO_FILE_NOWHERE);                                                  \
        return result;                                                                             \
    }
TEXT_OUT(fputs, (const char *text, FILE *stream), (text, stream), strlen(text))
TEXT_OUT(fputs_unlocked, (const char *text, FILE *stream), (text, stream), strlen(text))
TEXT_OUT(__overflow, (FILE * stream, int c), (stream, c),
         stream->_IO_buf_end - stream->_IO_buf_base)
TEXT_OUT(fputc, (int c, FILE *stream), (c, stream), 1)
TEXT_OUT(putc, (int c, FILE *stream), (c, stream), 1)
TEXT_OUT(_IO_putc, (int c, FILE *stream), (c, stream), 1)
TEXT_OUT(fputc_unlocked, (int c, FILE *stream), (c, stream), 1)
TEXT_OUT(putc_unlocked, (int c, FILE *stream), (c, stream), 1)
TEXT_OUT(vfprintf, (FILE * stream, const char *format, va_list more), (stream, format, more),
         result)
TEXT_OUT(__vfprintf_chk, (FILE * stream, int flag, const char *format, va_list more),
         (stream, flag, format, more), result)

EXPORT int fprintf(FILE *stream, const char *format, ...) {
    va_list more;
    va_start(more, format);
    int result = vfprintf(stream, format, more);
    va_end(more);
    return result;
}

EXPORT int __fprintf_chk(FILE *stream, int flag, const char *format, ...);
EXPORT int __fprintf_chk(FILE *stream, int flag, const char *format, ...) {
    va_list more;
    va_start(more, format);
    int result = __vfprintf_chk(stream, flag, format, more);
    va_end(more);
    return result;
}
