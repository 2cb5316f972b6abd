/* The ABI of Open MPI 4.x and 5.x (libmpi.so.40): types, layouts, and the values
 * that Stretto uses.
 *
 * Handles are addresses of objects inside libmpi. The predefined ones are data symbols; since
 * nothing here links to libmpi, stretto_host_load() looks them up and the names below read what it
 * found (NULL before that, and where this version lacks the symbol). They are therefore not
 * constants: no static initialisers, no case labels. Where 4.1 and 5.0 differ, 5.0 only has more.
 * tests/mpi/test_loading_abi.py compares with both.
 */
#ifndef STRETTO_MPI_OPENMPI_H
#define STRETTO_MPI_OPENMPI_H

#include <stddef.h>
#include <stdint.h>

typedef ptrdiff_t MPI_Aint;
typedef long long MPI_Offset;
typedef long long MPI_Count;
typedef int MPI_Fint;

typedef struct ompi_communicator_t *MPI_Comm;
typedef struct ompi_datatype_t *MPI_Datatype;
typedef struct ompi_errhandler_t *MPI_Errhandler;
typedef struct ompi_file_t *MPI_File;
typedef struct ompi_group_t *MPI_Group;
typedef struct ompi_info_t *MPI_Info;
typedef struct ompi_instance_t *MPI_Session;
typedef struct ompi_message_t *MPI_Message;
typedef struct ompi_op_t *MPI_Op;
typedef struct ompi_request_t *MPI_Request;
typedef struct ompi_win_t *MPI_Win;

typedef struct ompi_status_public_t {
    int MPI_SOURCE, MPI_TAG, MPI_ERROR;
    int stretto_cancelled; /* the host's own */
    size_t stretto_bytes;
} MPI_Status;

typedef struct ompi_f08_status_public_t {
    MPI_Fint MPI_SOURCE, MPI_TAG, MPI_ERROR;
    MPI_Fint stretto_internal[3];
} MPI_F08_status;

#include "abi/callbacks.h"

/* what stretto_host_load() found; openmpi_handles.def has the list */
struct stretto_handles {
#define H(type, name, symbol) type h_##name;
#include "abi/openmpi_handles.def"
};
extern struct stretto_handles stretto_handles; /* host.c */

/* Operations */
#define MPI_OP_NULL (stretto_handles.h_op_null)
#define MPI_SUM (stretto_handles.h_sum)
#define MPI_MIN (stretto_handles.h_min)
#define MPI_MAX (stretto_handles.h_max)
#define MPI_PROD (stretto_handles.h_prod)
#define MPI_BAND (stretto_handles.h_band)
#define MPI_BOR (stretto_handles.h_bor)
#define MPI_BXOR (stretto_handles.h_bxor)
#define MPI_LAND (stretto_handles.h_land)
#define MPI_LOR (stretto_handles.h_lor)
#define MPI_LXOR (stretto_handles.h_lxor)
#define MPI_MINLOC (stretto_handles.h_minloc)
#define MPI_MAXLOC (stretto_handles.h_maxloc)
#define MPI_REPLACE (stretto_handles.h_replace)
#define MPI_NO_OP (stretto_handles.h_no_op)

/* Communicators, groups, windows, files, sessions */
#define MPI_COMM_NULL (stretto_handles.h_comm_null)
#define MPI_COMM_WORLD (stretto_handles.h_comm_world)
#define MPI_COMM_SELF (stretto_handles.h_comm_self)

/* Messages, info, error handlers, requests */
#define MPI_INFO_NULL (stretto_handles.h_info_null)
#define MPI_ERRHANDLER_NULL (stretto_handles.h_errhandler_null)
#define MPI_ERRORS_RETURN (stretto_handles.h_errors_return)
#define MPI_REQUEST_NULL (stretto_handles.h_request_null)

/* Datatypes */
#define MPI_DATATYPE_NULL (stretto_handles.h_datatype_null)
#define MPI_AINT (stretto_handles.h_aint)
#define MPI_COUNT (stretto_handles.h_count)
#define MPI_OFFSET (stretto_handles.h_offset)
#define MPI_PACKED (stretto_handles.h_packed)
#define MPI_SHORT (stretto_handles.h_short)
#define MPI_INT (stretto_handles.h_int)
#define MPI_LONG (stretto_handles.h_long)
#define MPI_LONG_LONG (stretto_handles.h_long_long)
#define MPI_UNSIGNED_SHORT (stretto_handles.h_unsigned_short)
#define MPI_UNSIGNED (stretto_handles.h_unsigned)
#define MPI_UNSIGNED_LONG (stretto_handles.h_unsigned_long)
#define MPI_UNSIGNED_LONG_LONG (stretto_handles.h_unsigned_long_long)
#define MPI_FLOAT (stretto_handles.h_float)
#define MPI_C_FLOAT_COMPLEX (stretto_handles.h_c_float_complex)
#define MPI_DOUBLE (stretto_handles.h_double)
#define MPI_C_DOUBLE_COMPLEX (stretto_handles.h_c_double_complex)
#define MPI_LOGICAL (stretto_handles.h_logical)
#define MPI_INTEGER (stretto_handles.h_integer)
#define MPI_REAL (stretto_handles.h_real)
#define MPI_COMPLEX (stretto_handles.h_complex)
#define MPI_DOUBLE_PRECISION (stretto_handles.h_double_precision)
#define MPI_DOUBLE_COMPLEX (stretto_handles.h_double_complex)
#define MPI_CHARACTER (stretto_handles.h_character)
#define MPI_LONG_DOUBLE (stretto_handles.h_long_double)
#define MPI_FLOAT_INT (stretto_handles.h_float_int)
#define MPI_DOUBLE_INT (stretto_handles.h_double_int)
#define MPI_LONG_INT (stretto_handles.h_long_int)
#define MPI_2INT (stretto_handles.h_2int)
#define MPI_SHORT_INT (stretto_handles.h_short_int)
#define MPI_C_BOOL (stretto_handles.h_c_bool)
#define MPI_WCHAR (stretto_handles.h_wchar)
#define MPI_INT8_T (stretto_handles.h_int8_t)
#define MPI_UINT8_T (stretto_handles.h_uint8_t)
#define MPI_CHAR (stretto_handles.h_char)
#define MPI_SIGNED_CHAR (stretto_handles.h_signed_char)
#define MPI_UNSIGNED_CHAR (stretto_handles.h_unsigned_char)
#define MPI_BYTE (stretto_handles.h_byte)
#define MPI_INT16_T (stretto_handles.h_int16_t)
#define MPI_UINT16_T (stretto_handles.h_uint16_t)
#define MPI_INT32_T (stretto_handles.h_int32_t)
#define MPI_UINT32_T (stretto_handles.h_uint32_t)
#define MPI_INT64_T (stretto_handles.h_int64_t)
#define MPI_UINT64_T (stretto_handles.h_uint64_t)
#define MPI_INTEGER8 (stretto_handles.h_integer8)
#define MPI_REAL8 (stretto_handles.h_real8)

/* Addresses with a meaning of their own */
#define MPI_IN_PLACE ((void *)1)
#define MPI_STATUS_IGNORE ((MPI_Status *)0)
#define MPI_STATUSES_IGNORE ((MPI_Status *)0)
#define MPI_UNWEIGHTED ((int *)2)
#define MPI_WEIGHTS_EMPTY ((int *)3)

/* Attribute functions */
#define MPI_COMM_NULL_COPY_FN (stretto_handles.h_comm_null_copy_fn)

/* Error classes */
#define MPI_SUCCESS 0
#define MPI_ERR_BUFFER 1
#define MPI_ERR_COUNT 2
#define MPI_ERR_TYPE 3
#define MPI_ERR_COMM 5
#define MPI_ERR_REQUEST 7
#define MPI_ERR_ROOT 8
#define MPI_ERR_OP 10
#define MPI_ERR_ARG 13
#define MPI_ERR_UNKNOWN 14
#define MPI_ERR_TRUNCATE 15
#define MPI_ERR_OTHER 16
#define MPI_ERR_INTERN 17
#define MPI_ERR_PENDING 19
#define MPI_ERR_IN_STATUS 18
#define MPI_ERR_NO_MEM 39
#define MPI_ERR_UNSUPPORTED_OPERATION 52

/* Wildcards and special ranks */
#define MPI_ANY_SOURCE (-1)
#define MPI_PROC_NULL (-2)
#define MPI_ROOT (-4)
#define MPI_UNDEFINED (-32766)

/* Thread levels */
#define MPI_THREAD_SINGLE 0
#define MPI_THREAD_FUNNELED 1
#define MPI_THREAD_SERIALIZED 2
#define MPI_THREAD_MULTIPLE 3

/* Lengths */
#define MPI_MAX_ERROR_STRING 256
#define MPI_MAX_LIBRARY_VERSION_STRING 256
#define MPI_MAX_OBJECT_NAME 64

/* Communicators: comparison, topology, splitting */
#define MPI_CART 1
#define MPI_GRAPH 2
#define MPI_DIST_GRAPH 3
#define MPI_COMM_TYPE_SHARED 0

/* Windows and files */
#define MPI_MODE_CREATE 1
#define MPI_MODE_RDONLY 2
#define MPI_MODE_WRONLY 4

/* Datatype constructors */
#define MPI_COMBINER_NAMED 0
#define MPI_COMBINER_DUP 1
#define MPI_COMBINER_CONTIGUOUS 2
#define MPI_COMBINER_VECTOR 3
#define MPI_COMBINER_HVECTOR 5
#define MPI_COMBINER_F90_REAL 14
#define MPI_COMBINER_F90_COMPLEX 15
#define MPI_COMBINER_F90_INTEGER 16
#define MPI_COMBINER_RESIZED 17

#endif
