/* Errors: in words, through the communicator's handler. */
#include "internal.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct {
    MPI_Comm_errhandler_function *comm;
    MPI_Win_errhandler_function *win;
    MPI_File_errhandler_function *file;
} serial_errhandler;

static serial_table handlers = {.size = sizeof(serial_errhandler), .first = 3};

static const char *const class_text[] = {
    [MPI_SUCCESS] = "no error",
    [MPI_ERR_BUFFER] = "invalid buffer",
    [MPI_ERR_COUNT] = "invalid count",
    [MPI_ERR_TYPE] = "invalid datatype",
    [MPI_ERR_TAG] = "invalid tag",
    [MPI_ERR_COMM] = "invalid communicator",
    [MPI_ERR_RANK] = "invalid rank",
    [MPI_ERR_REQUEST] = "invalid request",
    [MPI_ERR_ROOT] = "invalid root",
    [MPI_ERR_GROUP] = "invalid group",
    [MPI_ERR_OP] = "invalid operation",
    [MPI_ERR_TOPOLOGY] = "invalid topology",
    [MPI_ERR_DIMS] = "invalid dimensions",
    [MPI_ERR_ARG] = "invalid argument",
    [MPI_ERR_UNKNOWN] = "unknown error",
    [MPI_ERR_TRUNCATE] = "message truncated",
    [MPI_ERR_OTHER] = "error",
    [MPI_ERR_INTERN] = "internal error",
    [MPI_ERR_IN_STATUS] = "error code in status",
    [MPI_ERR_PENDING] = "pending request",
    [MPI_ERR_KEYVAL] = "invalid key value",
    [MPI_ERR_NO_MEM] = "out of memory",
    [MPI_ERR_INFO] = "invalid info object",
    [MPI_ERR_INFO_KEY] = "info key too long",
    [MPI_ERR_INFO_NOKEY] = "no such info key",
    [MPI_ERR_INFO_VALUE] = "info value too long",
    [MPI_ERR_SPAWN] = "processes cannot be spawned",
    [MPI_ERR_PORT] = "invalid port",
    [MPI_ERR_SERVICE] = "invalid service",
    [MPI_ERR_NAME] = "no such name",
    [MPI_ERR_WIN] = "invalid window",
    [MPI_ERR_BASE] = "invalid base",
    [MPI_ERR_SIZE] = "invalid size",
    [MPI_ERR_DISP] = "invalid displacement",
    [MPI_ERR_LOCKTYPE] = "invalid lock type",
    [MPI_ERR_ASSERT] = "invalid assertion",
    [MPI_ERR_RMA_CONFLICT] = "conflicting accesses to a window",
    [MPI_ERR_RMA_SYNC] = "wrong synchronisation of a window",
    [MPI_ERR_RMA_RANGE] = "outside the window",
    [MPI_ERR_FILE] = "invalid file",
    [MPI_ERR_AMODE] = "invalid access mode",
    [MPI_ERR_NO_SUCH_FILE] = "no such file",
    [MPI_ERR_FILE_EXISTS] = "file exists",
    [MPI_ERR_BAD_FILE] = "invalid file name",
    [MPI_ERR_ACCESS] = "permission denied",
    [MPI_ERR_NO_SPACE] = "no space left",
    [MPI_ERR_QUOTA] = "quota exceeded",
    [MPI_ERR_READ_ONLY] = "read-only file or file system",
    [MPI_ERR_FILE_IN_USE] = "file in use",
    [MPI_ERR_IO] = "input or output failed",
    [MPI_ERR_NOT_SAME] = "collective argument differs",
    [MPI_ERR_UNSUPPORTED_DATAREP] = "data representation not supported",
    [MPI_ERR_UNSUPPORTED_OPERATION] = "operation not supported",
};

/* Classes and codes that the program added: from MPI_ERR_LASTCODE + 1 on, in the order of adding.
 */
typedef struct {
    int error_class;
    char text[MPI_MAX_ERROR_STRING];
} serial_added;

static serial_table added = {.size = sizeof(serial_added), .first = MPI_ERR_LASTCODE + 1};
static int last_used_code = MPI_ERR_LASTCODE;

static const char *text_of(int code) {
    int n = (int)(sizeof class_text / sizeof *class_text);
    const serial_added *own = serial_at(&added, code);
    return own                                         ? own->text
           : code >= 0 && code < n && class_text[code] ? class_text[code]
                                                       : "unknown error";
}

static void die(int error_class, const char *function, const char *text) {
    fflush(stdout);
    fprintf(stderr,
            "stretto-serial: %s: %s: %s\nstretto-serial: this program was built for one process; "
            "build it with an MPI to run it on several\n",
            function, text_of(error_class), text);
    exit(error_class & 0xff ? error_class & 0xff : 1);
}

int serial_error(MPI_Comm comm, int error_class, const char *function, const char *format, ...) {
    char text[600];
    va_list rest;
    va_start(rest, format);
    vsnprintf(text, sizeof text, format, rest);
    va_end(rest);
    if (!comm)
        comm = MPI_COMM_WORLD;
    const serial_comm *c = serial_comm_at(comm);
    MPI_Errhandler handler = c ? c->handler : MPI_ERRORS_ARE_FATAL;
    if (handler == MPI_ERRORS_ARE_FATAL)
        die(error_class, function, text);
    const serial_errhandler *h = serial_at(&handlers, handler);
    if (h && h->comm)
        h->comm(&comm, &error_class);
    return error_class;
}

int serial_win_error(MPI_Win win, int error_class, const char *function, const char *text) {
    MPI_Errhandler handler = MPI_ERRORS_ARE_FATAL;
    if (MPI_Win_get_errhandler(win, &handler) != MPI_SUCCESS || handler == MPI_ERRORS_ARE_FATAL)
        die(error_class, function, text);
    const serial_errhandler *h = serial_at(&handlers, handler);
    if (h && h->win)
        h->win(&win, &error_class);
    return error_class;
}

int serial_file_error(MPI_File file, int error_class, const char *function, const char *text) {
    MPI_Errhandler handler;
    MPI_File_get_errhandler(file, &handler);
    if (handler == MPI_ERRORS_ARE_FATAL)
        die(error_class, function, text);
    const serial_errhandler *h = serial_at(&handlers, handler);
    if (h && h->file)
        h->file(&file, &error_class);
    return error_class;
}

int serial_alone(MPI_Comm comm, const char *function, const char *what) {
    return serial_error(comm, MPI_ERR_UNSUPPORTED_OPERATION, function,
                        "%s makes no sense for one process alone", what);
}

int serial_check_root(MPI_Comm comm, int root, const char *function) {
    return root == 0 ? MPI_SUCCESS
                     : serial_error(comm, MPI_ERR_ROOT, function,
                                    "root is %d, but the only rank is 0", root);
}

bool serial_errhandler_exists(MPI_Errhandler handler) {
    return handler == MPI_ERRORS_ARE_FATAL || handler == MPI_ERRORS_RETURN ||
           serial_at(&handlers, handler);
}

static int no_handler(const char *function, MPI_Errhandler handler) {
    return serial_error(0, MPI_ERR_ARG, function, "no valid error handler (handle %d)", handler);
}

/* ---- handlers -------------------------------------------------------------------------------- */

static int create(MPI_Errhandler *handler, MPI_Comm_errhandler_function *comm,
                  MPI_Win_errhandler_function *win, MPI_File_errhandler_function *file) {
    serial_errhandler *h = serial_add(&handlers, handler);
    *h = (serial_errhandler){comm, win, file};
    return MPI_SUCCESS;
}

int MPI_Comm_create_errhandler(MPI_Comm_errhandler_function *function, MPI_Errhandler *handler) {
    return create(handler, function, NULL, NULL);
}

int MPI_Win_create_errhandler(MPI_Win_errhandler_function *function, MPI_Errhandler *handler) {
    return create(handler, NULL, function, NULL);
}

int MPI_File_create_errhandler(MPI_File_errhandler_function *function, MPI_Errhandler *handler) {
    return create(handler, NULL, NULL, function);
}

int MPI_Errhandler_create(MPI_Handler_function *function, MPI_Errhandler *handler) {
    return MPI_Comm_create_errhandler(function, handler);
}

/* A handler in use must outlive its handle; the few bytes of each are kept to the end. */
int MPI_Errhandler_free(MPI_Errhandler *handler) {
    if (!serial_errhandler_exists(*handler))
        return no_handler("MPI_Errhandler_free", *handler);
    *handler = MPI_ERRHANDLER_NULL;
    return MPI_SUCCESS;
}

int MPI_Comm_set_errhandler(MPI_Comm comm, MPI_Errhandler handler) {
    CHECK_COMM(c, comm, "MPI_Comm_set_errhandler");
    if (!serial_errhandler_exists(handler))
        return no_handler("MPI_Comm_set_errhandler", handler);
    c->handler = handler;
    return MPI_SUCCESS;
}

int MPI_Comm_get_errhandler(MPI_Comm comm, MPI_Errhandler *handler) {
    CHECK_COMM(c, comm, "MPI_Comm_get_errhandler");
    *handler = c->handler;
    return MPI_SUCCESS;
}

int MPI_Errhandler_set(MPI_Comm comm, MPI_Errhandler handler) {
    return MPI_Comm_set_errhandler(comm, handler);
}

int MPI_Errhandler_get(MPI_Comm comm, MPI_Errhandler *handler) {
    return MPI_Comm_get_errhandler(comm, handler);
}

int MPI_Comm_call_errhandler(MPI_Comm comm, int code) {
    CHECK_COMM(c, comm, "MPI_Comm_call_errhandler");
    (void)c;
    serial_error(comm, code, "MPI_Comm_call_errhandler", "called by the program");
    return MPI_SUCCESS;
}

int MPI_Win_call_errhandler(MPI_Win win, int code) {
    if (!serial_win_attributes(win)) /* which raises it */
        return MPI_ERR_WIN;
    serial_win_error(win, code, "MPI_Win_call_errhandler", "called by the program");
    return MPI_SUCCESS;
}

int MPI_File_call_errhandler(MPI_File file, int code) {
    serial_file_error(file, code, "MPI_File_call_errhandler", "called by the program");
    return MPI_SUCCESS;
}

/* ---- classes, codes and their texts ---------------------------------------------------------- */

int MPI_Error_class(int code, int *error_class) {
    const serial_added *own = serial_at(&added, code);
    if (!own && (code < 0 || code > MPI_ERR_LASTCODE))
        return serial_error(0, MPI_ERR_ARG, "MPI_Error_class", "there is no error code %d", code);
    *error_class = own ? own->error_class : code;
    return MPI_SUCCESS;
}

const int *serial_last_used_code(void) {
    return &last_used_code;
}

int MPI_Add_error_class(int *error_class) {
    serial_added *own = serial_add(&added, error_class);
    own->error_class = last_used_code = *error_class;
    return MPI_SUCCESS;
}

int MPI_Add_error_code(int error_class, int *code) {
    const serial_added *known = serial_at(&added, error_class);
    if (known ? known->error_class != error_class
              : error_class < 0 || error_class > MPI_ERR_LASTCODE)
        return serial_error(0, MPI_ERR_ARG, "MPI_Add_error_code", "there is no error class %d",
                            error_class);
    serial_added *own = serial_add(&added, code);
    own->error_class = error_class;
    last_used_code = *code;
    return MPI_SUCCESS;
}

int MPI_Add_error_string(int code, const char *string) {
    serial_added *own = serial_at(&added, code);
    if (!own)
        return serial_error(0, MPI_ERR_ARG, "MPI_Add_error_string",
                            "error code %d was not added by the program", code);
    snprintf(own->text, sizeof own->text, "%s", string);
    return MPI_SUCCESS;
}

int MPI_Error_string(int code, char *string, int *length) {
    *length = snprintf(string, MPI_MAX_ERROR_STRING, "%s", text_of(code));
    return MPI_SUCCESS;
}
