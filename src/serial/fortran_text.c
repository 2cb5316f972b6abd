/* Fortran names with texts: blanks at the end do not count, results are filled up with blanks. */
#include "serial/internal.h"

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

static void fortran_text(char *to, size_t room, const char *from) {
    size_t length = strlen(from);
    memset(to, ' ', room);
    memcpy(to, from, length < room ? length : room);
}

/* A subroutine that gives a name of this process or of an object. */
#define GIVES(name, parameters, room_, call)                                                       \
    void mpi_##name##_ parameters;                                                                 \
    void mpi_##name##_ parameters {                                                                \
        char own[room_ + 1];                                                                       \
        *ierr = call;                                                                              \
        if (*ierr == MPI_SUCCESS)                                                                  \
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
GIVES(info_get_nthkey, (int *info, int *n, char *text, int *ierr, size_t room), MPI_MAX_INFO_KEY,
      MPI_Info_get_nthkey(*info, *n, own))

/* A subroutine that takes one text. */
#define TAKES(name, parameters, call)                                                              \
    void mpi_##name##_ parameters;                                                                 \
    void mpi_##name##_ parameters {                                                                \
        char *own = c_text(text, length);                                                          \
        *ierr = call;                                                                              \
        free(own);                                                                                 \
    }
TAKES(comm_set_name, (int *comm, const char *text, int *ierr, size_t length),
      MPI_Comm_set_name(*comm, own))
TAKES(type_set_name, (int *type, const char *text, int *ierr, size_t length),
      MPI_Type_set_name(*type, own))
TAKES(win_set_name, (int *win, const char *text, int *ierr, size_t length),
      MPI_Win_set_name(*win, own))
TAKES(info_delete, (int *info, const char *text, int *ierr, size_t length),
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

void mpi_info_set_(int *info, const char *key, const char *value, int *ierr, size_t key_length,
                   size_t value_length);
void mpi_info_set_(int *info, const char *key, const char *value, int *ierr, size_t key_length,
                   size_t value_length) {
    char *k = c_text(key, key_length), *v = c_text(value, value_length);
    *ierr = MPI_Info_set(*info, k, v);
    free(k);
    free(v);
}

void mpi_info_get_(int *info, const char *key, int *room, char *value, int *flag, int *ierr,
                   size_t key_length, size_t value_length);
void mpi_info_get_(int *info, const char *key, int *room, char *value, int *flag, int *ierr,
                   size_t key_length, size_t value_length) {
    char *k = c_text(key, key_length), own[MPI_MAX_INFO_VAL];
    (void)room;
    *ierr = MPI_Info_get(*info, k, MPI_MAX_INFO_VAL - 1, own, flag);
    if (*ierr == MPI_SUCCESS && *flag)
        fortran_text(value, value_length, own);
    free(k);
}

#pragma GCC visibility pop
