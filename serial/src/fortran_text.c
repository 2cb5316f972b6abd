/* Fortran names with texts: blanks at the end do not count, results are filled up with blanks. */
#include "fortran.h"

#include <stdlib.h>

#pragma GCC visibility push(default)

/* A C copy of a Fortran text; to be freed. */
static char *c_text(const char *text, size_t length) {
    while (length && text[length - 1] == ' ')
        length--;
    char *copy = serial_memory(length + 1);
    memcpy(copy, text, length);
    copy[length] = '\0';
    return copy;
}

/* Of keys and values of info objects blanks at the beginning do not count either (MPI-3.1 section
 * 9). */
static char *info_text(const char *text, size_t length) {
    while (length && *text == ' ')
        text++, length--;
    return c_text(text, length);
}

static void fortran_text(char *to, size_t room, const char *from) {
    size_t length = strlen(from);
    memset(to, ' ', room);
    memcpy(to, from, length < room ? length : room);
}

void mpi_conversion_fn_null_(void);
/* Only its address counts. */
void mpi_conversion_fn_null_(void) {}
#define CONVERSION(f)                                                                              \
    ((f) == mpi_conversion_fn_null_ ? NULL : (MPI_Datarep_conversion_function *)(f))

/* A subroutine that gives a name of this process or of an object. */
#define GIVES(name, parameters, room_, call)                                                       \
    void mpi_##name##_ parameters;                                                                 \
    void mpi_##name##_ parameters {                                                                \
        char own[room_ + 1];                                                                       \
        if (serial_tell(ierr, call) == MPI_SUCCESS)                                                \
            fortran_text(text, room, own);                                                         \
    }
GIVES(get_processor_name, (char *text, int *length, int *ierr, size_t room), MPI_MAX_PROCESSOR_NAME,
      MPI_Get_processor_name(own, length))
GIVES(get_library_version, (char *text, int *length, int *ierr, size_t room),
      MPI_MAX_LIBRARY_VERSION_STRING, MPI_Get_library_version(own, length))
GIVES(error_string, (int *code, char *text, int *length, int *ierr, size_t room),
      MPI_MAX_ERROR_STRING, MPI_Error_string(*code, own, length))
GIVES(comm_get_name, (int *comm, char *text, int *length, int *ierr, size_t room),
      MPI_MAX_OBJECT_NAME, MPI_Comm_get_name(*comm, own, length))
GIVES(type_get_name, (int *type, char *text, int *length, int *ierr, size_t room),
      MPI_MAX_OBJECT_NAME, MPI_Type_get_name(*type, own, length))
GIVES(win_get_name, (int *win, char *text, int *length, int *ierr, size_t room),
      MPI_MAX_OBJECT_NAME, MPI_Win_get_name(*win, own, length))
GIVES(file_get_view,
      (int *file, MPI_Offset *at, int *etype, int *filetype, char *text, int *ierr, size_t room),
      MPI_MAX_DATAREP_STRING, MPI_File_get_view(*file, at, etype, filetype, own))
GIVES(open_port, (int *info, char *text, int *ierr, size_t room), MPI_MAX_PORT_NAME,
      MPI_Open_port(*info, own))
GIVES(info_get_nthkey, (int *info, int *n, char *text, int *ierr, size_t room), MPI_MAX_INFO_KEY,
      MPI_Info_get_nthkey(*info, *n, own))

/* A subroutine that takes a text. */
#define TAKES_(name, parameters, call, copy)                                                       \
    void mpi_##name##_ parameters;                                                                 \
    void mpi_##name##_ parameters {                                                                \
        char *own = copy(text, length);                                                            \
        serial_tell(ierr, call);                                                                   \
        free(own);                                                                                 \
    }
#define TAKES(name, parameters, call) TAKES_(name, parameters, call, c_text)
#define TAKES_KEY(name, parameters, call) TAKES_(name, parameters, call, info_text)
TAKES(comm_set_name, (int *comm, const char *text, int *ierr, size_t length),
      MPI_Comm_set_name(*comm, own))
TAKES(type_set_name, (int *type, const char *text, int *ierr, size_t length),
      MPI_Type_set_name(*type, own))
TAKES(win_set_name, (int *win, const char *text, int *ierr, size_t length),
      MPI_Win_set_name(*win, own))
TAKES_KEY(info_delete, (int *info, const char *text, int *ierr, size_t length),
          MPI_Info_delete(*info, own))
TAKES(file_open,
      (int *comm, const char *text, int *mode, int *info, int *file, int *ierr, size_t length),
      MPI_File_open(*comm, own, *mode, *info, file))
TAKES(file_delete, (const char *text, int *info, int *ierr, size_t length),
      MPI_File_delete(own, *info))
TAKES(file_set_view,
      (int *file, MPI_Offset *at, int *etype, int *filetype, const char *text, int *info, int *ierr,
       size_t length),
      MPI_File_set_view(*file, *at, *etype, *filetype, own, *info))

TAKES(add_error_string, (int *code, const char *text, int *ierr, size_t length),
      MPI_Add_error_string(*code, own))
TAKES_KEY(info_get_valuelen,
          (int *info, const char *text, int *value_length, int *flag, int *ierr, size_t length),
          MPI_Info_get_valuelen(*info, own, value_length, flag))
TAKES(pack_external_size,
      (const char *text, int *count, int *type, MPI_Aint *size, int *ierr, size_t length),
      MPI_Pack_external_size(own, *count, *type, size))
TAKES(pack_external,
      (const char *text, const void *data, int *count, int *type, void *packed, MPI_Aint *size,
       MPI_Aint *position, int *ierr, size_t length),
      MPI_Pack_external(own, BUFFER(data), *count, *type, BUFFER(packed), *size, position))
TAKES(unpack_external,
      (const char *text, const void *packed, MPI_Aint *size, MPI_Aint *position, void *data,
       int *count, int *type, int *ierr, size_t length),
      MPI_Unpack_external(own, BUFFER(packed), *size, position, BUFFER(data), *count, *type))
/* Its conversions would be Fortran's, which are as little supported as C's; only none are. */
TAKES(register_datarep,
      (const char *text, serial_callback *reads, serial_callback *writes, serial_callback *extent,
       MPI_Aint *extra, int *ierr, size_t length),
      ((void)extent, (void)extra,
       MPI_Register_datarep(own, CONVERSION(reads), CONVERSION(writes), NULL, NULL)))
TAKES(comm_accept,
      (const char *text, int *info, int *root, int *comm, int *made, int *ierr, size_t length),
      MPI_Comm_accept(own, *info, *root, *comm, made))
TAKES(comm_connect,
      (const char *text, int *info, int *root, int *comm, int *made, int *ierr, size_t length),
      MPI_Comm_connect(own, *info, *root, *comm, made))
TAKES(close_port, (const char *text, int *ierr, size_t length), MPI_Close_port(own))
/* With a second text behind the first, which is not looked at. */
TAKES(publish_name,
      (const char *text, int *info, const char *port, int *ierr, size_t length, size_t other),
      ((void)port, (void)other, MPI_Publish_name(own, *info, "")))
TAKES(unpublish_name,
      (const char *text, int *info, const char *port, int *ierr, size_t length, size_t other),
      ((void)port, (void)other, MPI_Unpublish_name(own, *info, "")))
TAKES(lookup_name,
      (const char *text, int *info, char *port, int *ierr, size_t length, size_t other),
      (memset(port, ' ', other), MPI_Lookup_name(own, *info, (char[1]){0})))
TAKES(comm_spawn,
      (const char *text, const char *argv, int *maxprocs, int *info, int *root, int *comm,
       int *made, int *codes, int *ierr, size_t length, size_t argument),
      ((void)argv, (void)argument,
       MPI_Comm_spawn(own, NULL, *maxprocs, *info, *root, *comm, made, codes)))
TAKES(comm_spawn_multiple,
      (int *n, const char *text, const char *argvs, int *maxprocs, int *infos, int *root, int *comm,
       int *made, int *codes, int *ierr, size_t length, size_t argument),
      ((void)argvs, (void)argument,
       MPI_Comm_spawn_multiple(*n, NULL, NULL, maxprocs, infos, *root, *comm, made, codes)))

void mpi_info_set_(int *info, const char *key, const char *value, int *ierr, size_t key_length,
                   size_t value_length);
void mpi_info_set_(int *info, const char *key, const char *value, int *ierr, size_t key_length,
                   size_t value_length) {
    char *k = info_text(key, key_length), *v = info_text(value, value_length);
    serial_tell(ierr, MPI_Info_set(*info, k, v));
    free(k);
    free(v);
}

void mpi_info_get_(int *info, const char *key, int *room, char *value, int *flag, int *ierr,
                   size_t key_length, size_t value_length);
void mpi_info_get_(int *info, const char *key, int *room, char *value, int *flag, int *ierr,
                   size_t key_length, size_t value_length) {
    char *k = info_text(key, key_length), own[MPI_MAX_INFO_VAL];
    int rc =
        MPI_Info_get(*info, k, *room < MPI_MAX_INFO_VAL ? *room : MPI_MAX_INFO_VAL - 1, own, flag);
    if (serial_tell(ierr, rc) == MPI_SUCCESS && *flag)
        fortran_text(value, value_length, own);
    free(k);
}

#pragma GCC visibility pop
