/* What a file is, and how its view maps data to places in it. */
#ifndef STRETTO_SERIAL_FILE_H
#define STRETTO_SERIAL_FILE_H

#include "internal.h"

#include <sys/types.h>

typedef struct {
    int fd, mode;
    char *name;
    MPI_Offset displacement, position, shared; /* the pointers count bytes of data of the view */
    MPI_Datatype etype, filetype;
    MPI_Errhandler handler;
    int atomic;
    MPI_Info info;
    char representation[MPI_MAX_DATAREP_STRING];
    MPI_Status split_status; /* of the split collective that was begun */
    int split_rc;
} serial_file;

serial_file *serial_file_at(MPI_File file);
/* The file, or an error raised. */
#define CHECK_FILE(f, file, function)                                                              \
    serial_file *f = serial_file_at(file);                                                         \
    if (!f)                                                                                        \
    return serial_file_error(0, MPI_ERR_FILE, function, "no valid file")
/* Raises what errno says. */
int serial_file_errno(MPI_File file, const char *function);
/* Raises that a place before the view was asked for. */
int serial_file_before(MPI_File file, const char *function);
/* An offset of the program's, in elementary types, as bytes of data of the view. */
MPI_Offset serial_file_in_bytes(const serial_file *f, MPI_Offset offset);
/* Place in the file of byte `at` of the view's data, and how many bytes follow there in a row. */
off_t serial_file_place(const serial_file *f, MPI_Offset at, size_t *run);
/* How many bytes of data of the view lie before the end of a file of that size, up to a whole
 * elementary type. */
MPI_Offset serial_file_data_before(const serial_file *f, MPI_Offset size);

#endif
