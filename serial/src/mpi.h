/* MPI for one process: an application that is linked with libstretto-serial runs without any MPI.
 *
 * The calls of MPI-3.1 that simulation codes use, in C here and in Fortran by mpif.h and the
 * modules mpi and mpi_f08. There is one rank, 0 of 1. Messages to oneself work (a send is always
 * buffered); what cannot work alone (a receive that nothing was sent for, spawning, other
 * processes' windows) is reported in words through the error handler. Handles are integers, the
 * same in C and Fortran. Thread-safe up to MPI_THREAD_SERIALIZED. There is no profiling interface
 * (PMPI_*).
 */
#ifndef STRETTO_SERIAL_MPI_H
#define STRETTO_SERIAL_MPI_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define MPI_VERSION 3
#define MPI_SUBVERSION 1
#define STRETTO_SERIAL 1

typedef int MPI_Comm;
typedef int MPI_Datatype;
typedef int MPI_Errhandler;
typedef int MPI_File;
typedef int MPI_Fint;
typedef int MPI_Group;
typedef int MPI_Info;
typedef int MPI_Message;
typedef int MPI_Op;
typedef int MPI_Request;
typedef int MPI_Win;
typedef intptr_t MPI_Aint;
typedef long long MPI_Count;
typedef long long MPI_Offset;

typedef struct {
    int MPI_SOURCE, MPI_TAG, MPI_ERROR;
    int stretto_cancelled;
    long long stretto_bytes __attribute__((packed, aligned(4))); /* 6 Fortran integers in all */
} MPI_Status;

typedef MPI_Status MPI_F08_status; /* TYPE(MPI_Status) of the module mpi_f08 */

typedef void MPI_User_function(void *in, void *inout, int *len, MPI_Datatype *datatype);
typedef int MPI_Comm_copy_attr_function(MPI_Comm, int, void *, void *, void *, int *);
typedef int MPI_Comm_delete_attr_function(MPI_Comm, int, void *, void *);
typedef int MPI_Type_copy_attr_function(MPI_Datatype, int, void *, void *, void *, int *);
typedef int MPI_Type_delete_attr_function(MPI_Datatype, int, void *, void *);
typedef int MPI_Win_copy_attr_function(MPI_Win, int, void *, void *, void *, int *);
typedef int MPI_Win_delete_attr_function(MPI_Win, int, void *, void *);
typedef void MPI_Comm_errhandler_function(MPI_Comm *, int *, ...);
typedef void MPI_Win_errhandler_function(MPI_Win *, int *, ...);
typedef void MPI_File_errhandler_function(MPI_File *, int *, ...);
typedef MPI_Comm_copy_attr_function MPI_Copy_function;
typedef MPI_Comm_delete_attr_function MPI_Delete_function;
typedef MPI_Comm_errhandler_function MPI_Handler_function;
typedef MPI_Comm_errhandler_function MPI_Comm_errhandler_fn;
typedef MPI_Win_errhandler_function MPI_Win_errhandler_fn;
typedef MPI_File_errhandler_function MPI_File_errhandler_fn;
typedef int MPI_Grequest_query_function(void *, MPI_Status *);
typedef int MPI_Grequest_free_function(void *);
typedef int MPI_Grequest_cancel_function(void *, int);
typedef int MPI_Datarep_conversion_function(void *, MPI_Datatype, int, void *, MPI_Offset, void *);
typedef int MPI_Datarep_extent_function(MPI_Datatype, MPI_Aint *, void *);

/* ---- constants: mpif.h and mpi_f08 are made of them, there with handles of the type above them -
 */

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
#define MPI_ERR_IN_STATUS 18
#define MPI_ERR_PENDING 19
#define MPI_ERR_KEYVAL 20
#define MPI_ERR_NO_MEM 21
#define MPI_ERR_INFO 22
#define MPI_ERR_INFO_KEY 23
#define MPI_ERR_INFO_NOKEY 24
#define MPI_ERR_INFO_VALUE 25
#define MPI_ERR_SPAWN 26
#define MPI_ERR_PORT 27
#define MPI_ERR_SERVICE 28
#define MPI_ERR_NAME 29
#define MPI_ERR_WIN 30
#define MPI_ERR_BASE 31
#define MPI_ERR_SIZE 32
#define MPI_ERR_DISP 33
#define MPI_ERR_LOCKTYPE 34
#define MPI_ERR_ASSERT 35
#define MPI_ERR_RMA_CONFLICT 36
#define MPI_ERR_RMA_SYNC 37
#define MPI_ERR_RMA_RANGE 38
#define MPI_ERR_FILE 39
#define MPI_ERR_AMODE 40
#define MPI_ERR_NO_SUCH_FILE 41
#define MPI_ERR_FILE_EXISTS 42
#define MPI_ERR_BAD_FILE 43
#define MPI_ERR_ACCESS 44
#define MPI_ERR_NO_SPACE 45
#define MPI_ERR_QUOTA 46
#define MPI_ERR_READ_ONLY 47
#define MPI_ERR_FILE_IN_USE 48
#define MPI_ERR_IO 49
#define MPI_ERR_NOT_SAME 50
#define MPI_ERR_UNSUPPORTED_DATAREP 51
#define MPI_ERR_UNSUPPORTED_OPERATION 52
#define MPI_ERR_CONVERSION 53
#define MPI_ERR_DUP_DATAREP 54
#define MPI_ERR_RMA_ATTACH 55
#define MPI_ERR_RMA_SHARED 56
#define MPI_ERR_RMA_FLAVOR 57
#define MPI_ERR_LASTCODE 64

/* MPI_Comm */
#define MPI_COMM_NULL 0
#define MPI_COMM_WORLD 1
#define MPI_COMM_SELF 2
/* MPI_Group */
#define MPI_GROUP_NULL 0
#define MPI_GROUP_EMPTY 1
/* MPI_Request */
#define MPI_REQUEST_NULL 0
/* MPI_Message */
#define MPI_MESSAGE_NULL 0
#define MPI_MESSAGE_NO_PROC 1
/* MPI_Info */
#define MPI_INFO_NULL 0
#define MPI_INFO_ENV 1
/* MPI_Win */
#define MPI_WIN_NULL 0
/* MPI_File */
#define MPI_FILE_NULL 0
/* MPI_Op */
#define MPI_OP_NULL 0
/* MPI_Datatype */
#define MPI_DATATYPE_NULL 0
/* MPI_Errhandler */
#define MPI_ERRHANDLER_NULL 0
#define MPI_ERRORS_ARE_FATAL 1
#define MPI_ERRORS_RETURN 2

/* MPI_Op */
#define MPI_MAX 1
#define MPI_MIN 2
#define MPI_SUM 3
#define MPI_PROD 4
#define MPI_LAND 5
#define MPI_BAND 6
#define MPI_LOR 7
#define MPI_BOR 8
#define MPI_LXOR 9
#define MPI_BXOR 10
#define MPI_MAXLOC 11
#define MPI_MINLOC 12
#define MPI_REPLACE 13
#define MPI_NO_OP 14

/* MPI_Datatype */
#define MPI_CHAR 1
#define MPI_SIGNED_CHAR 2
#define MPI_UNSIGNED_CHAR 3
#define MPI_BYTE 4
#define MPI_PACKED 5
#define MPI_SHORT 6
#define MPI_UNSIGNED_SHORT 7
#define MPI_INT 8
#define MPI_UNSIGNED 9
#define MPI_LONG 10
#define MPI_UNSIGNED_LONG 11
#define MPI_LONG_LONG_INT 12
#define MPI_LONG_LONG 12
#define MPI_UNSIGNED_LONG_LONG 13
#define MPI_FLOAT 14
#define MPI_DOUBLE 15
#define MPI_LONG_DOUBLE 16
#define MPI_WCHAR 17
#define MPI_C_BOOL 18
#define MPI_INT8_T 19
#define MPI_INT16_T 20
#define MPI_INT32_T 21
#define MPI_INT64_T 22
#define MPI_UINT8_T 23
#define MPI_UINT16_T 24
#define MPI_UINT32_T 25
#define MPI_UINT64_T 26
#define MPI_AINT 27
#define MPI_COUNT 28
#define MPI_OFFSET 29
#define MPI_C_COMPLEX 30
#define MPI_C_FLOAT_COMPLEX 30
#define MPI_C_DOUBLE_COMPLEX 31
#define MPI_C_LONG_DOUBLE_COMPLEX 32
#define MPI_FLOAT_INT 33
#define MPI_DOUBLE_INT 34
#define MPI_LONG_INT 35
#define MPI_2INT 36
#define MPI_SHORT_INT 37
#define MPI_LONG_DOUBLE_INT 38
#define MPI_CHARACTER 39
#define MPI_LOGICAL 40
#define MPI_INTEGER 41
#define MPI_INTEGER1 42
#define MPI_INTEGER2 43
#define MPI_INTEGER4 44
#define MPI_INTEGER8 45
#define MPI_REAL 46
#define MPI_REAL4 47
#define MPI_REAL8 48
#define MPI_DOUBLE_PRECISION 49
#define MPI_COMPLEX 50
#define MPI_COMPLEX8 51
#define MPI_COMPLEX16 52
#define MPI_DOUBLE_COMPLEX 53
#define MPI_2REAL 54
#define MPI_2DOUBLE_PRECISION 55
#define MPI_2INTEGER 56
#define MPI_CXX_BOOL 57
#define MPI_CXX_FLOAT_COMPLEX 58
#define MPI_CXX_DOUBLE_COMPLEX 59
#define MPI_LB 60
#define MPI_UB 61
#define MPI_CXX_LONG_DOUBLE_COMPLEX 62
#define MPI_INTEGER16 63
#define MPI_REAL16 64
#define MPI_COMPLEX32 65

#define MPI_TYPECLASS_INTEGER 1
#define MPI_TYPECLASS_REAL 2
#define MPI_TYPECLASS_COMPLEX 3

#define MPI_PROC_NULL (-1)
#define MPI_ANY_SOURCE (-2)
#define MPI_ANY_TAG (-3)
#define MPI_ROOT (-4)
#define MPI_UNDEFINED (-32766)
#define MPI_KEYVAL_INVALID (-1)
#define MPI_TAG_UB 1
#define MPI_HOST 2
#define MPI_IO 3
#define MPI_WTIME_IS_GLOBAL 4
#define MPI_UNIVERSE_SIZE 5
#define MPI_APPNUM 6
#define MPI_LASTUSEDCODE 7
#define MPI_WIN_BASE 8
#define MPI_WIN_SIZE 9
#define MPI_WIN_DISP_UNIT 10
#define MPI_WIN_CREATE_FLAVOR 11
#define MPI_WIN_MODEL 12
#define MPI_WIN_FLAVOR_CREATE 1
#define MPI_WIN_FLAVOR_ALLOCATE 2
#define MPI_WIN_FLAVOR_DYNAMIC 3
#define MPI_WIN_FLAVOR_SHARED 4
#define MPI_WIN_SEPARATE 1
#define MPI_WIN_UNIFIED 2
#define MPI_LOCK_EXCLUSIVE 1
#define MPI_LOCK_SHARED 2
#define MPI_MODE_NOCHECK 1
#define MPI_MODE_NOSTORE 2
#define MPI_MODE_NOPUT 4
#define MPI_MODE_NOPRECEDE 8
#define MPI_MODE_NOSUCCEED 16

#define MPI_IDENT 0
#define MPI_CONGRUENT 1
#define MPI_SIMILAR 2
#define MPI_UNEQUAL 3
#define MPI_THREAD_SINGLE 0
#define MPI_THREAD_FUNNELED 1
#define MPI_THREAD_SERIALIZED 2
#define MPI_THREAD_MULTIPLE 3
#define MPI_GRAPH 1
#define MPI_CART 2
#define MPI_DIST_GRAPH 3
#define MPI_COMM_TYPE_SHARED 1
#define MPI_ORDER_C 1
#define MPI_ORDER_FORTRAN 2
#define MPI_DISTRIBUTE_NONE 0
#define MPI_DISTRIBUTE_BLOCK 1
#define MPI_DISTRIBUTE_CYCLIC 2
#define MPI_DISTRIBUTE_DFLT_DARG (-1)
#define MPI_BSEND_OVERHEAD 64

#define MPI_COMBINER_NAMED 1
#define MPI_COMBINER_DUP 2
#define MPI_COMBINER_CONTIGUOUS 3
#define MPI_COMBINER_VECTOR 4
#define MPI_COMBINER_HVECTOR 5
#define MPI_COMBINER_INDEXED 6
#define MPI_COMBINER_HINDEXED 7
#define MPI_COMBINER_INDEXED_BLOCK 8
#define MPI_COMBINER_HINDEXED_BLOCK 9
#define MPI_COMBINER_STRUCT 10
#define MPI_COMBINER_SUBARRAY 11
#define MPI_COMBINER_RESIZED 12
#define MPI_COMBINER_DARRAY 13
#define MPI_COMBINER_F90_REAL 14
#define MPI_COMBINER_F90_COMPLEX 15
#define MPI_COMBINER_F90_INTEGER 16
#define MPI_COMBINER_HVECTOR_INTEGER 17
#define MPI_COMBINER_HINDEXED_INTEGER 18
#define MPI_COMBINER_STRUCT_INTEGER 19

#define MPI_MODE_CREATE 1
#define MPI_MODE_RDONLY 2
#define MPI_MODE_WRONLY 4
#define MPI_MODE_RDWR 8
#define MPI_MODE_DELETE_ON_CLOSE 16
#define MPI_MODE_UNIQUE_OPEN 32
#define MPI_MODE_EXCL 64
#define MPI_MODE_APPEND 128
#define MPI_MODE_SEQUENTIAL 256
#define MPI_SEEK_SET 600
#define MPI_SEEK_CUR 602
#define MPI_SEEK_END 604
#define MPI_DISPLACEMENT_CURRENT (-54278278)

#define MPI_MAX_PROCESSOR_NAME 256
#define MPI_MAX_ERROR_STRING 512
#define MPI_MAX_OBJECT_NAME 128
#define MPI_MAX_LIBRARY_VERSION_STRING 256
#define MPI_MAX_INFO_KEY 256
#define MPI_MAX_INFO_VAL 1024
#define MPI_MAX_PORT_NAME 256
#define MPI_MAX_DATAREP_STRING 128

/* ---- constants of C only --------------------------------------------------------------------- */

#define MPI_BOTTOM ((void *)0)
#define MPI_IN_PLACE ((void *)-1)
#define MPI_STATUS_IGNORE ((MPI_Status *)0)
#define MPI_STATUSES_IGNORE ((MPI_Status *)0)
#define MPI_ERRCODES_IGNORE ((int *)0)
#define MPI_UNWEIGHTED ((int *)1)
#define MPI_WEIGHTS_EMPTY ((int *)2)
#define MPI_ARGV_NULL ((char **)0)
#define MPI_ARGVS_NULL ((char ***)0)
#define MPI_CONVERSION_FN_NULL ((MPI_Datarep_conversion_function *)0)
#define MPI_COMM_NULL_COPY_FN ((MPI_Comm_copy_attr_function *)0)
#define MPI_COMM_NULL_DELETE_FN ((MPI_Comm_delete_attr_function *)0)
#define MPI_COMM_DUP_FN (stretto_serial_dup_fn)
#define MPI_TYPE_NULL_COPY_FN ((MPI_Type_copy_attr_function *)0)
#define MPI_TYPE_NULL_DELETE_FN ((MPI_Type_delete_attr_function *)0)
#define MPI_TYPE_DUP_FN (stretto_serial_dup_fn)
#define MPI_WIN_NULL_COPY_FN ((MPI_Win_copy_attr_function *)0)
#define MPI_WIN_NULL_DELETE_FN ((MPI_Win_delete_attr_function *)0)
#define MPI_WIN_DUP_FN (stretto_serial_dup_fn)
#define MPI_NULL_COPY_FN MPI_COMM_NULL_COPY_FN
#define MPI_NULL_DELETE_FN MPI_COMM_NULL_DELETE_FN
#define MPI_DUP_FN MPI_COMM_DUP_FN
int stretto_serial_dup_fn(int, int, void *, void *, void *, int *);
extern MPI_Fint *MPI_F_STATUS_IGNORE;
extern MPI_Fint *MPI_F_STATUSES_IGNORE;
extern MPI_F08_status *MPI_F08_STATUS_IGNORE;
extern MPI_F08_status *MPI_F08_STATUSES_IGNORE;

/* ---- beginning, end, time ------------------------------------------------------------------- */

int MPI_Init_thread(int *argc, char ***argv, int required, int *provided);
int MPI_Init(int *argc, char ***argv);
int MPI_Initialized(int *flag);
int MPI_Finalized(int *flag);
int MPI_Finalize(void);
int MPI_Abort(MPI_Comm comm, int code);
int MPI_Query_thread(int *provided);
int MPI_Is_thread_main(int *flag);
int MPI_Get_version(int *version, int *subversion);
int MPI_Get_library_version(char *text, int *length);
int MPI_Get_processor_name(char *name, int *length);
double MPI_Wtime(void);
double MPI_Wtick(void);
int MPI_Pcontrol(const int level, ...);
int MPI_Alloc_mem(MPI_Aint size, MPI_Info info, void *memory);
int MPI_Free_mem(void *memory);
int MPI_Get_address(const void *location, MPI_Aint *address);
int MPI_Address(void *location, MPI_Aint *address);
MPI_Aint MPI_Aint_add(MPI_Aint base, MPI_Aint displacement);
MPI_Aint MPI_Aint_diff(MPI_Aint a, MPI_Aint b);

/* ---- errors --------------------------------------------------------------------------------- */

int MPI_Comm_create_errhandler(MPI_Comm_errhandler_function *function, MPI_Errhandler *handler);
int MPI_Win_create_errhandler(MPI_Win_errhandler_function *function, MPI_Errhandler *handler);
int MPI_File_create_errhandler(MPI_File_errhandler_function *function, MPI_Errhandler *handler);
int MPI_Errhandler_create(MPI_Handler_function *function, MPI_Errhandler *handler);
int MPI_Errhandler_free(MPI_Errhandler *handler);
int MPI_Comm_set_errhandler(MPI_Comm comm, MPI_Errhandler handler);
int MPI_Comm_get_errhandler(MPI_Comm comm, MPI_Errhandler *handler);
int MPI_Errhandler_set(MPI_Comm comm, MPI_Errhandler handler);
int MPI_Errhandler_get(MPI_Comm comm, MPI_Errhandler *handler);
int MPI_Comm_call_errhandler(MPI_Comm comm, int code);
int MPI_Win_call_errhandler(MPI_Win win, int code);
int MPI_File_call_errhandler(MPI_File file, int code);
int MPI_Error_class(int code, int *error_class);
int MPI_Error_string(int code, char *string, int *length);
int MPI_Add_error_class(int *error_class);
int MPI_Add_error_code(int error_class, int *code);
int MPI_Add_error_string(int code, const char *string);

/* ---- communicators and groups --------------------------------------------------------------- */

int MPI_Comm_size(MPI_Comm comm, int *size);
int MPI_Comm_rank(MPI_Comm comm, int *rank);
int MPI_Comm_compare(MPI_Comm a, MPI_Comm b, int *result);
int MPI_Comm_dup(MPI_Comm comm, MPI_Comm *made);
int MPI_Comm_dup_with_info(MPI_Comm comm, MPI_Info info, MPI_Comm *made);
int MPI_Comm_idup(MPI_Comm comm, MPI_Comm *made, MPI_Request *request);
int MPI_Comm_split(MPI_Comm comm, int color, int key, MPI_Comm *made);
int MPI_Comm_split_type(MPI_Comm comm, int type, int key, MPI_Info info, MPI_Comm *made);
int MPI_Comm_create(MPI_Comm comm, MPI_Group group, MPI_Comm *made);
int MPI_Comm_create_group(MPI_Comm comm, MPI_Group group, int tag, MPI_Comm *made);
int MPI_Comm_free(MPI_Comm *comm);
int MPI_Comm_disconnect(MPI_Comm *comm);
int MPI_Comm_set_name(MPI_Comm comm, const char *name);
int MPI_Comm_get_name(MPI_Comm comm, char *name, int *length);
int MPI_Comm_test_inter(MPI_Comm comm, int *flag);
int MPI_Comm_set_info(MPI_Comm comm, MPI_Info info);
int MPI_Comm_get_info(MPI_Comm comm, MPI_Info *info);
int MPI_Comm_group(MPI_Comm comm, MPI_Group *group);
int MPI_Comm_get_parent(MPI_Comm *parent);
int MPI_Comm_remote_size(MPI_Comm comm, int *size);
int MPI_Comm_remote_group(MPI_Comm comm, MPI_Group *group);
int MPI_Intercomm_create(MPI_Comm local, int leader, MPI_Comm peer, int remote, int tag,
                         MPI_Comm *made);
int MPI_Intercomm_merge(MPI_Comm inter, int high, MPI_Comm *made);
int MPI_Comm_spawn(const char *command, char *argv[], int maxprocs, MPI_Info info, int root,
                   MPI_Comm comm, MPI_Comm *made, int codes[]);
int MPI_Comm_spawn_multiple(int n, char *commands[], char **argvs[], const int maxprocs[],
                            const MPI_Info infos[], int root, MPI_Comm comm, MPI_Comm *made,
                            int codes[]);
int MPI_Comm_join(int fd, MPI_Comm *made);
int MPI_Comm_accept(const char *port, MPI_Info info, int root, MPI_Comm comm, MPI_Comm *made);
int MPI_Comm_connect(const char *port, MPI_Info info, int root, MPI_Comm comm, MPI_Comm *made);
int MPI_Open_port(MPI_Info info, char *port);
int MPI_Close_port(const char *port);
int MPI_Publish_name(const char *service, MPI_Info info, const char *port);
int MPI_Unpublish_name(const char *service, MPI_Info info, const char *port);
int MPI_Lookup_name(const char *service, MPI_Info info, char *port);
int MPI_Group_size(MPI_Group group, int *size);
int MPI_Group_rank(MPI_Group group, int *rank);
int MPI_Group_compare(MPI_Group a, MPI_Group b, int *result);
int MPI_Group_translate_ranks(MPI_Group from, int n, const int *ranks, MPI_Group to, int *out);
int MPI_Group_union(MPI_Group a, MPI_Group b, MPI_Group *made);
int MPI_Group_intersection(MPI_Group a, MPI_Group b, MPI_Group *made);
int MPI_Group_difference(MPI_Group a, MPI_Group b, MPI_Group *made);
int MPI_Group_incl(MPI_Group group, int n, const int *ranks, MPI_Group *made);
int MPI_Group_excl(MPI_Group group, int n, const int *ranks, MPI_Group *made);
int MPI_Group_range_incl(MPI_Group group, int n, int ranges[][3], MPI_Group *made);
int MPI_Group_range_excl(MPI_Group group, int n, int ranges[][3], MPI_Group *made);
int MPI_Group_free(MPI_Group *group);

/* ---- topologies ----------------------------------------------------------------------------- */

int MPI_Cart_create(MPI_Comm comm, int ndims, const int *dims, const int *periods, int reorder,
                    MPI_Comm *made);
int MPI_Dims_create(int nranks, int ndims, int *dims);
int MPI_Cartdim_get(MPI_Comm comm, int *ndims);
int MPI_Cart_get(MPI_Comm comm, int maxdims, int *dims, int *periods, int *coords);
int MPI_Cart_rank(MPI_Comm comm, const int *coords, int *rank);
int MPI_Cart_coords(MPI_Comm comm, int rank, int maxdims, int *coords);
int MPI_Cart_shift(MPI_Comm comm, int direction, int by, int *source, int *target);
int MPI_Cart_sub(MPI_Comm comm, const int *remain, MPI_Comm *made);
int MPI_Cart_map(MPI_Comm comm, int ndims, const int *dims, const int *periods, int *rank);
int MPI_Topo_test(MPI_Comm comm, int *kind);
int MPI_Graph_create(MPI_Comm comm, int n, const int *index, const int *edges, int reorder,
                     MPI_Comm *made);
int MPI_Graphdims_get(MPI_Comm comm, int *nnodes, int *nedges);
int MPI_Graph_get(MPI_Comm comm, int max_index, int max_edges, int *index, int *edges);
int MPI_Graph_map(MPI_Comm comm, int n, const int *index, const int *edges, int *rank);
int MPI_Graph_neighbors_count(MPI_Comm comm, int rank, int *n);
int MPI_Graph_neighbors(MPI_Comm comm, int rank, int max, int *ranks);
int MPI_Dist_graph_create_adjacent(MPI_Comm comm, int nsources, const int *sources,
                                   const int *in_weights, int ntargets, const int *targets,
                                   const int *out_weights, MPI_Info info, int reorder,
                                   MPI_Comm *made);
int MPI_Dist_graph_create(MPI_Comm comm, int n, const int *sources, const int *degrees,
                          const int *targets, const int *weights, MPI_Info info, int reorder,
                          MPI_Comm *made);
int MPI_Dist_graph_neighbors_count(MPI_Comm comm, int *nsources, int *ntargets, int *weighted);
int MPI_Dist_graph_neighbors(MPI_Comm comm, int max_in, int *sources, int *in_weights, int max_out,
                             int *targets, int *out_weights);

/* ---- attributes ----------------------------------------------------------------------------- */

int MPI_Comm_create_keyval(MPI_Comm_copy_attr_function *copy, MPI_Comm_delete_attr_function *remove,
                           int *keyval, void *extra);
int MPI_Comm_free_keyval(int *keyval);
int MPI_Comm_set_attr(MPI_Comm comm, int keyval, void *value);
int MPI_Comm_get_attr(MPI_Comm comm, int keyval, void *value, int *flag);
int MPI_Comm_delete_attr(MPI_Comm comm, int keyval);
int MPI_Keyval_create(MPI_Copy_function *copy, MPI_Delete_function *remove, int *keyval,
                      void *extra);
int MPI_Keyval_free(int *keyval);
int MPI_Attr_put(MPI_Comm comm, int keyval, void *value);
int MPI_Attr_get(MPI_Comm comm, int keyval, void *value, int *flag);
int MPI_Attr_delete(MPI_Comm comm, int keyval);
int MPI_Type_create_keyval(MPI_Type_copy_attr_function *copy, MPI_Type_delete_attr_function *remove,
                           int *keyval, void *extra);
int MPI_Type_free_keyval(int *keyval);
int MPI_Type_set_attr(MPI_Datatype type, int keyval, void *value);
int MPI_Type_get_attr(MPI_Datatype type, int keyval, void *value, int *flag);
int MPI_Type_delete_attr(MPI_Datatype type, int keyval);
int MPI_Win_create_keyval(MPI_Win_copy_attr_function *copy, MPI_Win_delete_attr_function *remove,
                          int *keyval, void *extra);
int MPI_Win_free_keyval(int *keyval);
int MPI_Win_set_attr(MPI_Win win, int keyval, void *value);
int MPI_Win_get_attr(MPI_Win win, int keyval, void *value, int *flag);
int MPI_Win_delete_attr(MPI_Win win, int keyval);

/* ---- messages ------------------------------------------------------------------------------- */

int MPI_Send(const void *data, int count, MPI_Datatype type, int peer, int tag, MPI_Comm comm);
int MPI_Bsend(const void *data, int count, MPI_Datatype type, int peer, int tag, MPI_Comm comm);
int MPI_Rsend(const void *data, int count, MPI_Datatype type, int peer, int tag, MPI_Comm comm);
int MPI_Ssend(const void *data, int count, MPI_Datatype type, int peer, int tag, MPI_Comm comm);
int MPI_Recv(void *buffer, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm,
             MPI_Status *status);
int MPI_Sendrecv(const void *data, int sendcount, MPI_Datatype sendtype, int peer, int sendtag,
                 void *buffer, int recvcount, MPI_Datatype recvtype, int source, int recvtag,
                 MPI_Comm comm, MPI_Status *status);
int MPI_Sendrecv_replace(void *buffer, int count, MPI_Datatype type, int peer, int sendtag,
                         int source, int recvtag, MPI_Comm comm, MPI_Status *status);
int MPI_Buffer_attach(void *buffer, int size);
int MPI_Buffer_detach(void *buffer, int *size);
int MPI_Isend(const void *data, int count, MPI_Datatype type, int peer, int tag, MPI_Comm comm,
              MPI_Request *request);
int MPI_Ibsend(const void *data, int count, MPI_Datatype type, int peer, int tag, MPI_Comm comm,
               MPI_Request *request);
int MPI_Irsend(const void *data, int count, MPI_Datatype type, int peer, int tag, MPI_Comm comm,
               MPI_Request *request);
int MPI_Issend(const void *data, int count, MPI_Datatype type, int peer, int tag, MPI_Comm comm,
               MPI_Request *request);
int MPI_Irecv(void *buffer, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm,
              MPI_Request *request);
int MPI_Send_init(const void *data, int count, MPI_Datatype type, int peer, int tag, MPI_Comm comm,
                  MPI_Request *request);
int MPI_Bsend_init(const void *data, int count, MPI_Datatype type, int peer, int tag, MPI_Comm comm,
                   MPI_Request *request);
int MPI_Rsend_init(const void *data, int count, MPI_Datatype type, int peer, int tag, MPI_Comm comm,
                   MPI_Request *request);
int MPI_Ssend_init(const void *data, int count, MPI_Datatype type, int peer, int tag, MPI_Comm comm,
                   MPI_Request *request);
int MPI_Recv_init(void *buffer, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm,
                  MPI_Request *request);
int MPI_Cancel(MPI_Request *request);
int MPI_Iprobe(int source, int tag, MPI_Comm comm, int *flag, MPI_Status *status);
int MPI_Probe(int source, int tag, MPI_Comm comm, MPI_Status *status);
int MPI_Improbe(int source, int tag, MPI_Comm comm, int *flag, MPI_Message *message,
                MPI_Status *status);
int MPI_Mprobe(int source, int tag, MPI_Comm comm, MPI_Message *message, MPI_Status *status);
int MPI_Mrecv(void *buffer, int count, MPI_Datatype type, MPI_Message *message, MPI_Status *status);
int MPI_Imrecv(void *buffer, int count, MPI_Datatype type, MPI_Message *message,
               MPI_Request *request);

/* ---- requests ------------------------------------------------------------------------------- */

int MPI_Wait(MPI_Request *request, MPI_Status *status);
int MPI_Test(MPI_Request *request, int *flag, MPI_Status *status);
int MPI_Waitall(int n, MPI_Request *requests_, MPI_Status *statuses);
int MPI_Testall(int n, MPI_Request *requests_, int *flag, MPI_Status *statuses);
int MPI_Testany(int n, MPI_Request *requests_, int *index, int *flag, MPI_Status *status);
int MPI_Waitany(int n, MPI_Request *requests_, int *index, MPI_Status *status);
int MPI_Testsome(int n, MPI_Request *requests_, int *outcount, int *indices, MPI_Status *statuses);
int MPI_Waitsome(int n, MPI_Request *requests_, int *outcount, int *indices, MPI_Status *statuses);
int MPI_Request_free(MPI_Request *request);
int MPI_Request_get_status(MPI_Request request, int *flag, MPI_Status *status);
int MPI_Start(MPI_Request *request);
int MPI_Startall(int n, MPI_Request *requests_);
int MPI_Grequest_start(MPI_Grequest_query_function *query, MPI_Grequest_free_function *free_extra,
                       MPI_Grequest_cancel_function *cancel, void *extra, MPI_Request *request);
int MPI_Grequest_complete(MPI_Request request);
int MPI_Get_count(const MPI_Status *status, MPI_Datatype handle, int *count);
int MPI_Get_elements_x(const MPI_Status *status, MPI_Datatype handle, MPI_Count *count);
int MPI_Get_elements(const MPI_Status *status, MPI_Datatype type, int *count);
int MPI_Status_set_elements_x(MPI_Status *status, MPI_Datatype handle, MPI_Count count);
int MPI_Status_set_elements(MPI_Status *status, MPI_Datatype type, int count);
int MPI_Status_set_cancelled(MPI_Status *status, int flag);
int MPI_Test_cancelled(const MPI_Status *status, int *flag);

/* ---- collectives ---------------------------------------------------------------------------- */

int MPI_Barrier(MPI_Comm comm);
int MPI_Bcast(void *buffer, int count, MPI_Datatype type, int root, MPI_Comm comm);
int MPI_Gather(const void *in, int n, MPI_Datatype in_type, void *out, int m, MPI_Datatype out_type,
               int root, MPI_Comm comm);
int MPI_Gatherv(const void *in, int n, MPI_Datatype in_type, void *out, const int *m,
                const int *where, MPI_Datatype out_type, int root, MPI_Comm comm);
int MPI_Scatter(const void *in, int n, MPI_Datatype in_type, void *out, int m,
                MPI_Datatype out_type, int root, MPI_Comm comm);
int MPI_Scatterv(const void *in, const int *n, const int *where, MPI_Datatype in_type, void *out,
                 int m, MPI_Datatype out_type, int root, MPI_Comm comm);
int MPI_Allgather(const void *in, int n, MPI_Datatype in_type, void *out, int m,
                  MPI_Datatype out_type, MPI_Comm comm);
int MPI_Allgatherv(const void *in, int n, MPI_Datatype in_type, void *out, const int *m,
                   const int *where, MPI_Datatype out_type, MPI_Comm comm);
int MPI_Alltoall(const void *in, int n, MPI_Datatype in_type, void *out, int m,
                 MPI_Datatype out_type, MPI_Comm comm);
int MPI_Alltoallv(const void *in, const int *n, const int *from, MPI_Datatype in_type, void *out,
                  const int *m, const int *to, MPI_Datatype out_type, MPI_Comm comm);
int MPI_Alltoallw(const void *in, const int *n, const int *from, const MPI_Datatype *in_types,
                  void *out, const int *m, const int *to, const MPI_Datatype *out_types,
                  MPI_Comm comm);
int MPI_Reduce(const void *in, void *out, int count, MPI_Datatype type, MPI_Op op, int root,
               MPI_Comm comm);
int MPI_Allreduce(const void *in, void *out, int count, MPI_Datatype type, MPI_Op op,
                  MPI_Comm comm);
int MPI_Reduce_scatter(const void *in, void *out, const int *counts, MPI_Datatype type, MPI_Op op,
                       MPI_Comm comm);
int MPI_Reduce_scatter_block(const void *in, void *out, int count, MPI_Datatype type, MPI_Op op,
                             MPI_Comm comm);
int MPI_Scan(const void *in, void *out, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm);
int MPI_Exscan(const void *in, void *out, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm);
int MPI_Ibarrier(MPI_Comm comm, MPI_Request *request);
int MPI_Ibcast(void *buffer, int count, MPI_Datatype type, int root, MPI_Comm comm,
               MPI_Request *request);
int MPI_Igather(const void *in, int n, MPI_Datatype in_type, void *out, int m,
                MPI_Datatype out_type, int root, MPI_Comm comm, MPI_Request *request);
int MPI_Igatherv(const void *in, int n, MPI_Datatype in_type, void *out, const int *m,
                 const int *where, MPI_Datatype out_type, int root, MPI_Comm comm,
                 MPI_Request *request);
int MPI_Iscatter(const void *in, int n, MPI_Datatype in_type, void *out, int m,
                 MPI_Datatype out_type, int root, MPI_Comm comm, MPI_Request *request);
int MPI_Iscatterv(const void *in, const int *n, const int *where, MPI_Datatype in_type, void *out,
                  int m, MPI_Datatype out_type, int root, MPI_Comm comm, MPI_Request *request);
int MPI_Iallgather(const void *in, int n, MPI_Datatype in_type, void *out, int m,
                   MPI_Datatype out_type, MPI_Comm comm, MPI_Request *request);
int MPI_Iallgatherv(const void *in, int n, MPI_Datatype in_type, void *out, const int *m,
                    const int *where, MPI_Datatype out_type, MPI_Comm comm, MPI_Request *request);
int MPI_Ialltoall(const void *in, int n, MPI_Datatype in_type, void *out, int m,
                  MPI_Datatype out_type, MPI_Comm comm, MPI_Request *request);
int MPI_Ialltoallv(const void *in, const int *n, const int *from, MPI_Datatype in_type, void *out,
                   const int *m, const int *to, MPI_Datatype out_type, MPI_Comm comm,
                   MPI_Request *request);
int MPI_Ialltoallw(const void *in, const int *n, const int *from, const MPI_Datatype *in_types,
                   void *out, const int *m, const int *to, const MPI_Datatype *out_types,
                   MPI_Comm comm, MPI_Request *request);
int MPI_Ireduce(const void *in, void *out, int count, MPI_Datatype type, MPI_Op op, int root,
                MPI_Comm comm, MPI_Request *request);
int MPI_Iallreduce(const void *in, void *out, int count, MPI_Datatype type, MPI_Op op,
                   MPI_Comm comm, MPI_Request *request);
int MPI_Ireduce_scatter(const void *in, void *out, const int *counts, MPI_Datatype type, MPI_Op op,
                        MPI_Comm comm, MPI_Request *request);
int MPI_Ireduce_scatter_block(const void *in, void *out, int count, MPI_Datatype type, MPI_Op op,
                              MPI_Comm comm, MPI_Request *request);
int MPI_Iscan(const void *in, void *out, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm,
              MPI_Request *request);
int MPI_Iexscan(const void *in, void *out, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm,
                MPI_Request *request);

/* ---- neighbourhood collectives -------------------------------------------------------------- */

int MPI_Neighbor_allgather(const void *in, int n, MPI_Datatype in_type, void *out, int m,
                           MPI_Datatype out_type, MPI_Comm comm);
int MPI_Neighbor_allgatherv(const void *in, int n, MPI_Datatype in_type, void *out, const int *m,
                            const int *where, MPI_Datatype out_type, MPI_Comm comm);
int MPI_Neighbor_alltoall(const void *in, int n, MPI_Datatype in_type, void *out, int m,
                          MPI_Datatype out_type, MPI_Comm comm);
int MPI_Neighbor_alltoallv(const void *in, const int *n, const int *source, MPI_Datatype in_type,
                           void *out, const int *m, const int *target, MPI_Datatype out_type,
                           MPI_Comm comm);
int MPI_Neighbor_alltoallw(const void *in, const int *n, const MPI_Aint *source,
                           const MPI_Datatype *in_types, void *out, const int *m,
                           const MPI_Aint *target, const MPI_Datatype *out_types, MPI_Comm comm);
int MPI_Ineighbor_allgather(const void *in, int n, MPI_Datatype in_type, void *out, int m,
                            MPI_Datatype out_type, MPI_Comm comm, MPI_Request *request);
int MPI_Ineighbor_allgatherv(const void *in, int n, MPI_Datatype in_type, void *out, const int *m,
                             const int *where, MPI_Datatype out_type, MPI_Comm comm,
                             MPI_Request *request);
int MPI_Ineighbor_alltoall(const void *in, int n, MPI_Datatype in_type, void *out, int m,
                           MPI_Datatype out_type, MPI_Comm comm, MPI_Request *request);
int MPI_Ineighbor_alltoallv(const void *in, const int *n, const int *source, MPI_Datatype in_type,
                            void *out, const int *m, const int *target, MPI_Datatype out_type,
                            MPI_Comm comm, MPI_Request *request);
int MPI_Ineighbor_alltoallw(const void *in, const int *n, const MPI_Aint *source,
                            const MPI_Datatype *in_types, void *out, const int *m,
                            const MPI_Aint *target, const MPI_Datatype *out_types, MPI_Comm comm,
                            MPI_Request *request);

/* ---- datatypes ------------------------------------------------------------------------------ */

int MPI_Type_contiguous(int count, MPI_Datatype old, MPI_Datatype *made);
int MPI_Type_vector(int count, int length, int stride, MPI_Datatype old, MPI_Datatype *made);
int MPI_Type_create_hvector(int count, int length, MPI_Aint stride, MPI_Datatype old,
                            MPI_Datatype *made);
int MPI_Type_hvector(int count, int length, MPI_Aint stride, MPI_Datatype old, MPI_Datatype *made);
int MPI_Type_indexed(int count, const int *lengths, const int *at, MPI_Datatype old,
                     MPI_Datatype *made);
int MPI_Type_create_hindexed(int count, const int *lengths, const MPI_Aint *at, MPI_Datatype old,
                             MPI_Datatype *made);
int MPI_Type_hindexed(int count, int *lengths, MPI_Aint *at, MPI_Datatype old, MPI_Datatype *made);
int MPI_Type_create_indexed_block(int count, int length, const int *at, MPI_Datatype old,
                                  MPI_Datatype *made);
int MPI_Type_create_hindexed_block(int count, int length, const MPI_Aint *at, MPI_Datatype old,
                                   MPI_Datatype *made);
int MPI_Type_create_struct(int count, const int *lengths, const MPI_Aint *at,
                           const MPI_Datatype *types, MPI_Datatype *made);
int MPI_Type_struct(int count, int *lengths, MPI_Aint *at, MPI_Datatype *types, MPI_Datatype *made);
int MPI_Type_create_resized(MPI_Datatype old, MPI_Aint lb, MPI_Aint extent, MPI_Datatype *made);
int MPI_Type_create_subarray(int ndims, const int *sizes, const int *subsizes, const int *starts,
                             int order, MPI_Datatype old, MPI_Datatype *made);
int MPI_Type_create_darray(int nranks, int rank, int ndims, const int *sizes,
                           const int *distributions, const int *arguments, const int *grid,
                           int order, MPI_Datatype old, MPI_Datatype *made);
int MPI_Type_create_f90_integer(int range, MPI_Datatype *made);
int MPI_Type_create_f90_real(int precision, int range, MPI_Datatype *made);
int MPI_Type_create_f90_complex(int precision, int range, MPI_Datatype *made);
int MPI_Type_match_size(int type_class, int size, MPI_Datatype *made);
int MPI_Type_dup(MPI_Datatype old, MPI_Datatype *made);
int MPI_Type_commit(MPI_Datatype *type);
int MPI_Type_free(MPI_Datatype *handle);
int MPI_Type_size(MPI_Datatype handle, int *size);
int MPI_Type_size_x(MPI_Datatype handle, MPI_Count *size);
int MPI_Type_get_extent(MPI_Datatype handle, MPI_Aint *lb, MPI_Aint *extent);
int MPI_Type_get_true_extent(MPI_Datatype handle, MPI_Aint *lb, MPI_Aint *extent);
int MPI_Type_get_extent_x(MPI_Datatype handle, MPI_Count *lb, MPI_Count *extent);
int MPI_Type_get_true_extent_x(MPI_Datatype handle, MPI_Count *lb, MPI_Count *extent);
int MPI_Type_extent(MPI_Datatype handle, MPI_Aint *extent);
int MPI_Type_lb(MPI_Datatype handle, MPI_Aint *lb);
int MPI_Type_ub(MPI_Datatype handle, MPI_Aint *ub);
int MPI_Type_set_name(MPI_Datatype handle, const char *name);
int MPI_Type_get_name(MPI_Datatype handle, char *name, int *length);
int MPI_Type_get_envelope(MPI_Datatype handle, int *nints, int *naints, int *ntypes, int *combiner);
int MPI_Type_get_contents(MPI_Datatype handle, int max_ints, int max_aints, int max_types,
                          int *ints, MPI_Aint *aints, MPI_Datatype *types);
int MPI_Pack_size(int count, MPI_Datatype handle, MPI_Comm comm, int *size);
int MPI_Pack(const void *data, int count, MPI_Datatype handle, void *packed, int size,
             int *position, MPI_Comm comm);
int MPI_Unpack(const void *packed, int size, int *position, void *data, int count,
               MPI_Datatype handle, MPI_Comm comm);
int MPI_Pack_external_size(const char *representation, int count, MPI_Datatype handle,
                           MPI_Aint *size);
int MPI_Pack_external(const char *representation, const void *data, int count, MPI_Datatype handle,
                      void *packed, MPI_Aint size, MPI_Aint *position);
int MPI_Unpack_external(const char *representation, const void *packed, MPI_Aint size,
                        MPI_Aint *position, void *data, int count, MPI_Datatype handle);

/* ---- operations ----------------------------------------------------------------------------- */

int MPI_Op_create(MPI_User_function *function, int commute, MPI_Op *op);
int MPI_Op_free(MPI_Op *op);
int MPI_Op_commutative(MPI_Op op, int *commute);
int MPI_Reduce_local(const void *in, void *inout, int count, MPI_Datatype type, MPI_Op op);

/* ---- info objects --------------------------------------------------------------------------- */

int MPI_Info_create(MPI_Info *info);
int MPI_Info_free(MPI_Info *info);
int MPI_Info_set(MPI_Info info, const char *key, const char *value);
int MPI_Info_delete(MPI_Info info, const char *key);
int MPI_Info_get(MPI_Info info, const char *key, int length, char *value, int *flag);
int MPI_Info_get_valuelen(MPI_Info info, const char *key, int *length, int *flag);
int MPI_Info_get_nkeys(MPI_Info info, int *n);
int MPI_Info_get_nthkey(MPI_Info info, int n, char *key);
int MPI_Info_dup(MPI_Info info, MPI_Info *made);

/* ---- one-sided ------------------------------------------------------------------------------ */

int MPI_Win_create(void *base, MPI_Aint size, int unit, MPI_Info info, MPI_Comm comm, MPI_Win *win);
int MPI_Win_allocate(MPI_Aint size, int unit, MPI_Info info, MPI_Comm comm, void *base,
                     MPI_Win *win);
int MPI_Win_allocate_shared(MPI_Aint size, int unit, MPI_Info info, MPI_Comm comm, void *base,
                            MPI_Win *win);
int MPI_Win_shared_query(MPI_Win win, int rank, MPI_Aint *size, int *unit, void *base);
int MPI_Win_create_dynamic(MPI_Info info, MPI_Comm comm, MPI_Win *win);
int MPI_Win_attach(MPI_Win win, void *base, MPI_Aint size);
int MPI_Win_detach(MPI_Win win, const void *base);
int MPI_Win_free(MPI_Win *win);
int MPI_Win_get_group(MPI_Win win, MPI_Group *group);
int MPI_Win_set_name(MPI_Win win, const char *name);
int MPI_Win_get_name(MPI_Win win, char *name, int *length);
int MPI_Win_set_errhandler(MPI_Win win, MPI_Errhandler handler);
int MPI_Win_get_errhandler(MPI_Win win, MPI_Errhandler *handler);
int MPI_Win_set_info(MPI_Win win, MPI_Info info);
int MPI_Win_get_info(MPI_Win win, MPI_Info *info);
int MPI_Put(const void *data, int count, MPI_Datatype type, int rank, MPI_Aint displacement,
            int target_count, MPI_Datatype target_type, MPI_Win win);
int MPI_Get(void *data, int count, MPI_Datatype type, int rank, MPI_Aint displacement,
            int target_count, MPI_Datatype target_type, MPI_Win win);
int MPI_Accumulate(const void *data, int count, MPI_Datatype type, int rank, MPI_Aint displacement,
                   int target_count, MPI_Datatype target_type, MPI_Op op, MPI_Win win);
int MPI_Get_accumulate(const void *data, int count, MPI_Datatype type, void *result,
                       int result_count, MPI_Datatype result_type, int rank, MPI_Aint displacement,
                       int target_count, MPI_Datatype target_type, MPI_Op op, MPI_Win win);
int MPI_Fetch_and_op(const void *data, void *result, MPI_Datatype type, int rank,
                     MPI_Aint displacement, MPI_Op op, MPI_Win win);
int MPI_Compare_and_swap(const void *data, const void *compare, void *result, MPI_Datatype type,
                         int rank, MPI_Aint displacement, MPI_Win win);
int MPI_Rput(const void *data, int count, MPI_Datatype type, int rank, MPI_Aint displacement,
             int target_count, MPI_Datatype target_type, MPI_Win win, MPI_Request *request);
int MPI_Rget(void *data, int count, MPI_Datatype type, int rank, MPI_Aint displacement,
             int target_count, MPI_Datatype target_type, MPI_Win win, MPI_Request *request);
int MPI_Raccumulate(const void *data, int count, MPI_Datatype type, int rank, MPI_Aint displacement,
                    int target_count, MPI_Datatype target_type, MPI_Op op, MPI_Win win,
                    MPI_Request *request);
int MPI_Rget_accumulate(const void *data, int count, MPI_Datatype type, void *result,
                        int result_count, MPI_Datatype result_type, int rank, MPI_Aint displacement,
                        int target_count, MPI_Datatype target_type, MPI_Op op, MPI_Win win,
                        MPI_Request *request);
int MPI_Win_fence(int assert, MPI_Win win);
int MPI_Win_start(MPI_Group group, int assert, MPI_Win win);
int MPI_Win_complete(MPI_Win win);
int MPI_Win_post(MPI_Group group, int assert, MPI_Win win);
int MPI_Win_wait(MPI_Win win);
int MPI_Win_test(MPI_Win win, int *flag);
int MPI_Win_lock(int type, int rank, int assert, MPI_Win win);
int MPI_Win_unlock(int rank, MPI_Win win);
int MPI_Win_lock_all(int assert, MPI_Win win);
int MPI_Win_unlock_all(MPI_Win win);
int MPI_Win_flush(int rank, MPI_Win win);
int MPI_Win_flush_all(MPI_Win win);
int MPI_Win_flush_local(int rank, MPI_Win win);
int MPI_Win_flush_local_all(MPI_Win win);
int MPI_Win_sync(MPI_Win win);

/* ---- files ---------------------------------------------------------------------------------- */

int MPI_File_open(MPI_Comm comm, const char *name, int mode, MPI_Info info, MPI_File *file);
int MPI_File_close(MPI_File *file);
int MPI_File_delete(const char *name, MPI_Info info);
int MPI_File_set_view(MPI_File file, MPI_Offset displacement, MPI_Datatype etype,
                      MPI_Datatype filetype, const char *representation, MPI_Info info);
int MPI_File_get_view(MPI_File file, MPI_Offset *displacement, MPI_Datatype *etype,
                      MPI_Datatype *filetype, char *representation);
int MPI_File_seek(MPI_File file, MPI_Offset offset, int whence);
int MPI_File_seek_shared(MPI_File file, MPI_Offset offset, int whence);
int MPI_File_get_position(MPI_File file, MPI_Offset *offset);
int MPI_File_get_position_shared(MPI_File file, MPI_Offset *offset);
int MPI_File_get_byte_offset(MPI_File file, MPI_Offset offset, MPI_Offset *byte);
int MPI_File_get_size(MPI_File file, MPI_Offset *size);
int MPI_File_set_size(MPI_File file, MPI_Offset size);
int MPI_File_preallocate(MPI_File file, MPI_Offset size);
int MPI_File_sync(MPI_File file);
int MPI_File_get_amode(MPI_File file, int *mode);
int MPI_File_get_group(MPI_File file, MPI_Group *group);
int MPI_File_get_type_extent(MPI_File file, MPI_Datatype type, MPI_Aint *extent);
int MPI_File_set_atomicity(MPI_File file, int flag);
int MPI_File_get_atomicity(MPI_File file, int *flag);
int MPI_File_set_info(MPI_File file, MPI_Info info);
int MPI_File_get_info(MPI_File file, MPI_Info *info);
int MPI_File_set_errhandler(MPI_File file, MPI_Errhandler handler);
int MPI_File_get_errhandler(MPI_File file, MPI_Errhandler *handler);
int MPI_File_read_at(MPI_File file, MPI_Offset offset, void *data, int count, MPI_Datatype type,
                     MPI_Status *status);
int MPI_File_read_at_all(MPI_File file, MPI_Offset offset, void *data, int count, MPI_Datatype type,
                         MPI_Status *status);
int MPI_File_write_at(MPI_File file, MPI_Offset offset, const void *data, int count,
                      MPI_Datatype type, MPI_Status *status);
int MPI_File_write_at_all(MPI_File file, MPI_Offset offset, const void *data, int count,
                          MPI_Datatype type, MPI_Status *status);
int MPI_File_read(MPI_File file, void *data, int count, MPI_Datatype type, MPI_Status *status);
int MPI_File_read_all(MPI_File file, void *data, int count, MPI_Datatype type, MPI_Status *status);
int MPI_File_write(MPI_File file, const void *data, int count, MPI_Datatype type,
                   MPI_Status *status);
int MPI_File_write_all(MPI_File file, const void *data, int count, MPI_Datatype type,
                       MPI_Status *status);
int MPI_File_read_shared(MPI_File file, void *data, int count, MPI_Datatype type,
                         MPI_Status *status);
int MPI_File_read_ordered(MPI_File file, void *data, int count, MPI_Datatype type,
                          MPI_Status *status);
int MPI_File_write_shared(MPI_File file, const void *data, int count, MPI_Datatype type,
                          MPI_Status *status);
int MPI_File_write_ordered(MPI_File file, const void *data, int count, MPI_Datatype type,
                           MPI_Status *status);
int MPI_File_iread_at(MPI_File file, MPI_Offset offset, void *data, int count, MPI_Datatype type,
                      MPI_Request *request);
int MPI_File_iwrite_at(MPI_File file, MPI_Offset offset, const void *data, int count,
                       MPI_Datatype type, MPI_Request *request);
int MPI_File_iread_at_all(MPI_File file, MPI_Offset offset, void *data, int count,
                          MPI_Datatype type, MPI_Request *request);
int MPI_File_iwrite_at_all(MPI_File file, MPI_Offset offset, const void *data, int count,
                           MPI_Datatype type, MPI_Request *request);
int MPI_File_iread(MPI_File file, void *data, int count, MPI_Datatype type, MPI_Request *request);
int MPI_File_iwrite(MPI_File file, const void *data, int count, MPI_Datatype type,
                    MPI_Request *request);
int MPI_File_iread_all(MPI_File file, void *data, int count, MPI_Datatype type,
                       MPI_Request *request);
int MPI_File_iwrite_all(MPI_File file, const void *data, int count, MPI_Datatype type,
                        MPI_Request *request);
int MPI_File_iread_shared(MPI_File file, void *data, int count, MPI_Datatype type,
                          MPI_Request *request);
int MPI_File_iwrite_shared(MPI_File file, const void *data, int count, MPI_Datatype type,
                           MPI_Request *request);

int MPI_File_read_at_all_begin(MPI_File file, MPI_Offset offset, void *data, int count,
                               MPI_Datatype type);
int MPI_File_read_at_all_end(MPI_File file, void *data, MPI_Status *status);
int MPI_File_read_all_begin(MPI_File file, void *data, int count, MPI_Datatype type);
int MPI_File_read_all_end(MPI_File file, void *data, MPI_Status *status);
int MPI_File_read_ordered_begin(MPI_File file, void *data, int count, MPI_Datatype type);
int MPI_File_read_ordered_end(MPI_File file, void *data, MPI_Status *status);
int MPI_File_write_at_all_begin(MPI_File file, MPI_Offset offset, const void *data, int count,
                                MPI_Datatype type);
int MPI_File_write_at_all_end(MPI_File file, const void *data, MPI_Status *status);
int MPI_File_write_all_begin(MPI_File file, const void *data, int count, MPI_Datatype type);
int MPI_File_write_all_end(MPI_File file, const void *data, MPI_Status *status);
int MPI_File_write_ordered_begin(MPI_File file, const void *data, int count, MPI_Datatype type);
int MPI_File_write_ordered_end(MPI_File file, const void *data, MPI_Status *status);
int MPI_Register_datarep(const char *representation, MPI_Datarep_conversion_function *reads,
                         MPI_Datarep_conversion_function *writes,
                         MPI_Datarep_extent_function *extent, void *extra);

/* ---- C and Fortran: the same integers ---------------------------------------------------------
 */

MPI_Fint MPI_Comm_c2f(MPI_Comm handle);
MPI_Comm MPI_Comm_f2c(MPI_Fint handle);
MPI_Fint MPI_Type_c2f(MPI_Datatype handle);
MPI_Datatype MPI_Type_f2c(MPI_Fint handle);
MPI_Fint MPI_Group_c2f(MPI_Group handle);
MPI_Group MPI_Group_f2c(MPI_Fint handle);
MPI_Fint MPI_Request_c2f(MPI_Request handle);
MPI_Request MPI_Request_f2c(MPI_Fint handle);
MPI_Fint MPI_Op_c2f(MPI_Op handle);
MPI_Op MPI_Op_f2c(MPI_Fint handle);
MPI_Fint MPI_Info_c2f(MPI_Info handle);
MPI_Info MPI_Info_f2c(MPI_Fint handle);
MPI_Fint MPI_Win_c2f(MPI_Win handle);
MPI_Win MPI_Win_f2c(MPI_Fint handle);
MPI_Fint MPI_File_c2f(MPI_File handle);
MPI_File MPI_File_f2c(MPI_Fint handle);
MPI_Fint MPI_Errhandler_c2f(MPI_Errhandler handle);
MPI_Errhandler MPI_Errhandler_f2c(MPI_Fint handle);
MPI_Fint MPI_Message_c2f(MPI_Message handle);
MPI_Message MPI_Message_f2c(MPI_Fint handle);
int MPI_Status_c2f(const MPI_Status *status, MPI_Fint *fortran);
int MPI_Status_f2c(const MPI_Fint *fortran, MPI_Status *status);
int MPI_Status_c2f08(const MPI_Status *status, MPI_F08_status *f08);
int MPI_Status_f082c(const MPI_F08_status *f08, MPI_Status *status);
int MPI_Status_f2f08(const MPI_Fint *fortran, MPI_F08_status *f08);
int MPI_Status_f082f(const MPI_F08_status *f08, MPI_Fint *fortran);

#ifdef __cplusplus
}
#endif
#endif
