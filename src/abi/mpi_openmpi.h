/* The ABI of Open MPI 4.x and 5.x (libmpi.so.40): types, layouts and values only.
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
#define MPI_GROUP_NULL (stretto_handles.h_group_null)
#define MPI_GROUP_EMPTY (stretto_handles.h_group_empty)
#define MPI_WIN_NULL (stretto_handles.h_win_null)
#define MPI_FILE_NULL (stretto_handles.h_file_null)
#define MPI_SESSION_NULL (stretto_handles.h_session_null)

/* Messages, info, error handlers, requests */
#define MPI_MESSAGE_NULL (stretto_handles.h_message_null)
#define MPI_MESSAGE_NO_PROC (stretto_handles.h_message_no_proc)
#define MPI_INFO_NULL (stretto_handles.h_info_null)
#define MPI_INFO_ENV (stretto_handles.h_info_env)
#define MPI_ERRHANDLER_NULL (stretto_handles.h_errhandler_null)
#define MPI_ERRORS_ARE_FATAL (stretto_handles.h_errors_are_fatal)
#define MPI_ERRORS_ABORT (stretto_handles.h_errors_abort)
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
#define MPI_LONG_LONG_INT MPI_LONG_LONG
#define MPI_UNSIGNED_SHORT (stretto_handles.h_unsigned_short)
#define MPI_UNSIGNED (stretto_handles.h_unsigned)
#define MPI_UNSIGNED_LONG (stretto_handles.h_unsigned_long)
#define MPI_UNSIGNED_LONG_LONG (stretto_handles.h_unsigned_long_long)
#define MPI_FLOAT (stretto_handles.h_float)
#define MPI_C_FLOAT_COMPLEX (stretto_handles.h_c_float_complex)
#define MPI_C_COMPLEX MPI_C_FLOAT_COMPLEX
#define MPI_CXX_FLOAT_COMPLEX (stretto_handles.h_cxx_float_complex)
#define MPI_DOUBLE (stretto_handles.h_double)
#define MPI_C_DOUBLE_COMPLEX (stretto_handles.h_c_double_complex)
#define MPI_CXX_DOUBLE_COMPLEX (stretto_handles.h_cxx_double_complex)
#define MPI_LOGICAL (stretto_handles.h_logical)
#define MPI_INTEGER (stretto_handles.h_integer)
#define MPI_REAL (stretto_handles.h_real)
#define MPI_COMPLEX (stretto_handles.h_complex)
#define MPI_DOUBLE_PRECISION (stretto_handles.h_double_precision)
#define MPI_DOUBLE_COMPLEX (stretto_handles.h_double_complex)
#define MPI_CHARACTER (stretto_handles.h_character)
#define MPI_LONG_DOUBLE (stretto_handles.h_long_double)
#define MPI_C_LONG_DOUBLE_COMPLEX (stretto_handles.h_c_long_double_complex)
#define MPI_CXX_LONG_DOUBLE_COMPLEX (stretto_handles.h_cxx_long_double_complex)
#define MPI_FLOAT_INT (stretto_handles.h_float_int)
#define MPI_DOUBLE_INT (stretto_handles.h_double_int)
#define MPI_LONG_INT (stretto_handles.h_long_int)
#define MPI_2INT (stretto_handles.h_2int)
#define MPI_SHORT_INT (stretto_handles.h_short_int)
#define MPI_LONG_DOUBLE_INT (stretto_handles.h_long_double_int)
#define MPI_2REAL (stretto_handles.h_2real)
#define MPI_2DOUBLE_PRECISION (stretto_handles.h_2double_precision)
#define MPI_2INTEGER (stretto_handles.h_2integer)
#define MPI_C_BOOL (stretto_handles.h_c_bool)
#define MPI_CXX_BOOL (stretto_handles.h_cxx_bool)
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
#define MPI_LOGICAL1 (stretto_handles.h_logical1)
#define MPI_INTEGER1 (stretto_handles.h_integer1)
#define MPI_LOGICAL2 (stretto_handles.h_logical2)
#define MPI_INTEGER2 (stretto_handles.h_integer2)
#define MPI_LOGICAL4 (stretto_handles.h_logical4)
#define MPI_INTEGER4 (stretto_handles.h_integer4)
#define MPI_REAL4 (stretto_handles.h_real4)
#define MPI_LOGICAL8 (stretto_handles.h_logical8)
#define MPI_INTEGER8 (stretto_handles.h_integer8)
#define MPI_REAL8 (stretto_handles.h_real8)
#define MPI_COMPLEX8 (stretto_handles.h_complex8)
#define MPI_REAL16 (stretto_handles.h_real16)
#define MPI_COMPLEX16 (stretto_handles.h_complex16)
#define MPI_COMPLEX32 (stretto_handles.h_complex32)

/* Addresses with a meaning of their own */
#define MPI_BOTTOM ((void *)0)
#define MPI_IN_PLACE ((void *)1)
#define MPI_ARGV_NULL ((char **)0)
#define MPI_ARGVS_NULL ((char ***)0)
#define MPI_ERRCODES_IGNORE ((int *)0)
#define MPI_STATUS_IGNORE ((MPI_Status *)0)
#define MPI_STATUSES_IGNORE ((MPI_Status *)0)
#define MPI_UNWEIGHTED ((int *)2)
#define MPI_WEIGHTS_EMPTY ((int *)3)

/* Attribute functions */
#define MPI_COMM_NULL_COPY_FN (stretto_handles.h_comm_null_copy_fn)
#define MPI_COMM_NULL_DELETE_FN (stretto_handles.h_comm_null_delete_fn)
#define MPI_TYPE_NULL_COPY_FN (stretto_handles.h_type_null_copy_fn)
#define MPI_TYPE_NULL_DELETE_FN (stretto_handles.h_type_null_delete_fn)
#define MPI_WIN_NULL_COPY_FN (stretto_handles.h_win_null_copy_fn)
#define MPI_WIN_NULL_DELETE_FN (stretto_handles.h_win_null_delete_fn)

/* Error classes */
#define MPI_SUCCESS 0
#define MPI_ERR_BUFFER 1
#define MPI_ERR_COUNT 2
#define MPI_ERR_TYPE 3
#define MPI_ERR_TAG 4
#define MPI_ERR_COMM 5
#define MPI_ERR_RANK 6
#define MPI_ERR_REQUEST 7
#define MPI_ERR_ROOT 8
#define MPI_ERR_GROUP 9
#define MPI_ERR_OP 10
#define MPI_ERR_TOPOLOGY 11
#define MPI_ERR_DIMS 12
#define MPI_ERR_ARG 13
#define MPI_ERR_UNKNOWN 14
#define MPI_ERR_TRUNCATE 15
#define MPI_ERR_OTHER 16
#define MPI_ERR_INTERN 17
#define MPI_ERR_PENDING 19
#define MPI_ERR_IN_STATUS 18
#define MPI_ERR_ACCESS 20
#define MPI_ERR_AMODE 21
#define MPI_ERR_ASSERT 22
#define MPI_ERR_BAD_FILE 23
#define MPI_ERR_BASE 24
#define MPI_ERR_CONVERSION 25
#define MPI_ERR_DISP 26
#define MPI_ERR_DUP_DATAREP 27
#define MPI_ERR_FILE_EXISTS 28
#define MPI_ERR_FILE_IN_USE 29
#define MPI_ERR_FILE 30
#define MPI_ERR_INFO_KEY 31
#define MPI_ERR_INFO_NOKEY 32
#define MPI_ERR_INFO_VALUE 33
#define MPI_ERR_INFO 34
#define MPI_ERR_IO 35
#define MPI_ERR_KEYVAL 36
#define MPI_ERR_LOCKTYPE 37
#define MPI_ERR_NAME 38
#define MPI_ERR_NO_MEM 39
#define MPI_ERR_NOT_SAME 40
#define MPI_ERR_NO_SPACE 41
#define MPI_ERR_NO_SUCH_FILE 42
#define MPI_ERR_PORT 43
#define MPI_ERR_QUOTA 44
#define MPI_ERR_READ_ONLY 45
#define MPI_ERR_RMA_ATTACH 69
#define MPI_ERR_RMA_CONFLICT 46
#define MPI_ERR_RMA_RANGE 68
#define MPI_ERR_RMA_SHARED 71
#define MPI_ERR_RMA_SYNC 47
#define MPI_ERR_SERVICE 48
#define MPI_ERR_SIZE 49
#define MPI_ERR_SPAWN 50
#define MPI_ERR_UNSUPPORTED_DATAREP 51
#define MPI_ERR_UNSUPPORTED_OPERATION 52
#define MPI_ERR_WIN 53
#define MPI_ERR_RMA_FLAVOR 70
#define MPI_ERR_PROC_ABORTED 74
#define MPI_ERR_VALUE_TOO_LARGE 79
#define MPI_ERR_SESSION 78
#define MPI_ERR_LASTCODE 92

/* Wildcards and special ranks */
#define MPI_ANY_SOURCE (-1)
#define MPI_ANY_TAG (-1)
#define MPI_PROC_NULL (-2)
#define MPI_ROOT (-4)
#define MPI_UNDEFINED (-32766)
#define MPI_KEYVAL_INVALID (-1)

/* Thread levels */
#define MPI_THREAD_SINGLE 0
#define MPI_THREAD_FUNNELED 1
#define MPI_THREAD_SERIALIZED 2
#define MPI_THREAD_MULTIPLE 3

/* Lengths */
#define MPI_F_STATUS_SIZE 6
#define MPI_F_SOURCE 0
#define MPI_F_TAG 1
#define MPI_F_ERROR 2
#define MPI_MAX_DATAREP_STRING 128
#define MPI_MAX_ERROR_STRING 256
#define MPI_MAX_INFO_KEY 36
#define MPI_MAX_INFO_VAL 256
#define MPI_MAX_LIBRARY_VERSION_STRING 256
#define MPI_MAX_OBJECT_NAME 64
#define MPI_MAX_PORT_NAME 1024
#define MPI_MAX_PROCESSOR_NAME 256
#define MPI_MAX_STRINGTAG_LEN 1024
#define MPI_MAX_PSET_NAME_LEN 512

/* Communicators: comparison, topology, splitting */
#define MPI_IDENT 0
#define MPI_CONGRUENT 1
#define MPI_SIMILAR 2
#define MPI_UNEQUAL 3
#define MPI_CART 1
#define MPI_GRAPH 2
#define MPI_DIST_GRAPH 3
#define MPI_COMM_TYPE_SHARED 0
#define MPI_COMM_TYPE_HW_UNGUIDED 12
#define MPI_COMM_TYPE_HW_GUIDED 13

/* Predefined attributes */
#define MPI_TAG_UB 0
#define MPI_IO 2
#define MPI_HOST 1
#define MPI_WTIME_IS_GLOBAL 3
#define MPI_APPNUM 4
#define MPI_LASTUSEDCODE 5
#define MPI_UNIVERSE_SIZE 6
#define MPI_WIN_BASE 7
#define MPI_WIN_DISP_UNIT 9
#define MPI_WIN_SIZE 8
#define MPI_WIN_CREATE_FLAVOR 10
#define MPI_WIN_MODEL 11

/* Windows and files */
#define MPI_MODE_APPEND 128
#define MPI_MODE_CREATE 1
#define MPI_MODE_DELETE_ON_CLOSE 16
#define MPI_MODE_EXCL 64
#define MPI_MODE_RDONLY 2
#define MPI_MODE_RDWR 8
#define MPI_MODE_SEQUENTIAL 256
#define MPI_MODE_UNIQUE_OPEN 32
#define MPI_MODE_WRONLY 4
#define MPI_MODE_NOCHECK 1
#define MPI_MODE_NOPRECEDE 2
#define MPI_MODE_NOPUT 4
#define MPI_MODE_NOSTORE 8
#define MPI_MODE_NOSUCCEED 16
#define MPI_LOCK_EXCLUSIVE 1
#define MPI_LOCK_SHARED 2
#define MPI_WIN_FLAVOR_CREATE 1
#define MPI_WIN_FLAVOR_ALLOCATE 2
#define MPI_WIN_FLAVOR_DYNAMIC 3
#define MPI_WIN_FLAVOR_SHARED 4
#define MPI_WIN_UNIFIED 0
#define MPI_WIN_SEPARATE 1
#define MPI_SEEK_CUR 602
#define MPI_SEEK_END 604
#define MPI_SEEK_SET 600
#define MPI_DISPLACEMENT_CURRENT (-54278278)

/* Datatype constructors */
#define MPI_ORDER_C 0
#define MPI_ORDER_FORTRAN 1
#define MPI_DISTRIBUTE_NONE 2
#define MPI_DISTRIBUTE_BLOCK 0
#define MPI_DISTRIBUTE_CYCLIC 1
#define MPI_DISTRIBUTE_DFLT_DARG (-1)
#define MPI_COMBINER_NAMED 0
#define MPI_COMBINER_DUP 1
#define MPI_COMBINER_CONTIGUOUS 2
#define MPI_COMBINER_VECTOR 3
#define MPI_COMBINER_HVECTOR 5
#define MPI_COMBINER_INDEXED 6
#define MPI_COMBINER_HINDEXED 8
#define MPI_COMBINER_INDEXED_BLOCK 9
#define MPI_COMBINER_HINDEXED_BLOCK 18
#define MPI_COMBINER_STRUCT 11
#define MPI_COMBINER_SUBARRAY 12
#define MPI_COMBINER_DARRAY 13
#define MPI_COMBINER_F90_REAL 14
#define MPI_COMBINER_F90_COMPLEX 15
#define MPI_COMBINER_F90_INTEGER 16
#define MPI_COMBINER_RESIZED 17
#define MPI_TYPECLASS_INTEGER 1
#define MPI_TYPECLASS_REAL 2
#define MPI_TYPECLASS_COMPLEX 3

#endif
