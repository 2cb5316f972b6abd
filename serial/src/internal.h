/* What the parts of the one-process MPI share. Everything is kept in tables of objects; a handle is
 * an index. The calls are not locked: MPI_THREAD_SERIALIZED is what is given. */
#ifndef STRETTO_SERIAL_INTERNAL_H
#define STRETTO_SERIAL_INTERNAL_H

#pragma GCC visibility push(default)
#include "mpi.h"
#pragma GCC visibility pop

#include <stdbool.h>
#include <string.h>

/* ---- tables of objects (objects.c) ----------------------------------------------------------- */

/* Handles from `first` on stand for items of `size` bytes, kept at fixed addresses. */
typedef struct {
    size_t size;
    int first, count, capacity, full; /* all below full are taken */
    void **items;
} serial_table;

/* A zeroed item and its handle; ends the program when memory is out. */
void *serial_add(serial_table *table, int *handle);
/* NULL for a handle that is not (or no longer) one. */
void *serial_at(const serial_table *table, int handle);
void serial_drop(serial_table *table, int handle);
/* malloc that ends the program in words; size 0 gives memory, too. */
void *serial_memory(size_t bytes);

/* ---- errors (error.c) ------------------------------------------------------------------------ */

/* Raises an error of this class through the communicator's handler (0: the world's); returns the
 * class when the handler returns. The text tells what and what to do. */
int serial_error(MPI_Comm comm, int error_class, const char *function, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
int serial_win_error(MPI_Win win, int error_class, const char *function, const char *text);
int serial_file_error(MPI_File file, int error_class, const char *function, const char *text);
bool serial_errhandler_exists(MPI_Errhandler handler);
/* The value of MPI_LASTUSEDCODE. */
const int *serial_last_used_code(void);
/* Refuses what makes no sense for one process. */
int serial_alone(MPI_Comm comm, const char *function, const char *what);

/* ---- info objects (info.c) ------------------------------------------------------------------- */

/* Keeps a copy of the hints in place of those kept before (the program may free or change its own);
 * MPI_INFO_NULL leaves none. */
int serial_info_keep(MPI_Info *kept, MPI_Info info);
/* A new info object with the hints kept, or with none. */
int serial_info_give(MPI_Info kept, MPI_Info *info);

/* ---- attributes (attributes.c) --------------------------------------------------------------- */

/* Who set a value, and of what kind it is; also the language of a key value's callbacks. */
typedef enum { SERIAL_C, SERIAL_FORTRAN, SERIAL_FORTRAN_1 } serial_language;

typedef struct serial_attribute {
    struct serial_attribute *next;
    int keyval;
    serial_language language;
    void *pointer;    /* set from C */
    MPI_Aint integer; /* set from Fortran with an integer of kind MPI_ADDRESS_KIND */
    int old_integer;  /* set from Fortran with a default integer, as in MPI-1 */
} serial_attribute;

/* The callbacks of a key value: those of C, or either kind of Fortran's. */
typedef void serial_callback(void);
int serial_keyval_create(serial_language language, serial_callback *copy, serial_callback *remove,
                         void *extra, MPI_Aint extra_integer, int *keyval);
int serial_attributes_copy(int object, const serial_attribute *from, serial_attribute **to);
int serial_attributes_delete(int object, serial_attribute **list);
/* One attribute of an object's list, in the caller's language: a void ** or an integer's address
 * (of the kind that the language has). */
int serial_attribute_set(int object, serial_attribute **list, int keyval, serial_language language,
                         const void *value);
int serial_attribute_get(serial_attribute **list, int keyval, serial_language language, void *value,
                         int *flag);
int serial_attribute_remove(int object, serial_attribute **list, int keyval);
/* The values that the library itself knows: true and the value when this is such a key. */
bool serial_comm_knows(int keyval, const int **known);
bool serial_win_knows(MPI_Win win, int keyval, const void **known, MPI_Aint *integer);
serial_attribute **serial_type_attributes(MPI_Datatype type);
serial_attribute **serial_win_attributes(MPI_Win win);

/* ---- communicators (comm.c, topology.c) ------------------------------------------------------ */

typedef struct {
    int kind; /* MPI_UNDEFINED, MPI_CART, MPI_GRAPH or MPI_DIST_GRAPH */
    int ndims, *dims, *periods;
    int nsources, ntargets; /* neighbours: edges to oneself of the graphs */
    int *in_weights, *out_weights;
    bool weighted;
} serial_topology;

typedef struct {
    char name[MPI_MAX_OBJECT_NAME];
    MPI_Errhandler handler;
    MPI_Info info;
    serial_attribute *attributes;
    serial_topology topology;
    bool freed; /* by the program, while messages of it are under way */
} serial_comm;

serial_comm *serial_comm_at(MPI_Comm comm);
/* The communicator, or an error raised: use as CHECK_COMM(c, comm, "MPI_Send"). */
#define CHECK_COMM(c, comm, function)                                                              \
    serial_comm *c = serial_comm_at(comm);                                                         \
    if (!c)                                                                                        \
    return serial_error(0, MPI_ERR_COMM, function, "no valid communicator (handle %d)", comm)
MPI_Comm serial_comm_new(const serial_comm *like);
/* True while a message or a receive on it is under way (message.c). */
bool serial_comm_in_use(MPI_Comm comm);
void serial_topology_copy(serial_topology *to, const serial_topology *from);
void serial_topology_free(serial_topology *topology);
/* Neighbours that data come from (in) and go to; each is 0 or MPI_PROC_NULL. */
int serial_neighbors(const serial_comm *c, int *nsources, int **in, int *ntargets, int **out);

/* ---- datatypes (datatype.c, constructors.c) -------------------------------------------------- */

/* Fortran's integer(16) and real(16), in C. */
__extension__ typedef __int128 stretto_int16;
#if __LDBL_MANT_DIG__ == 113
typedef long double stretto_real16;
#else
__extension__ typedef __float128 stretto_real16;
#endif

/* The kinds of elements, for reductions. */
typedef enum {
    KIND_NONE, /* bytes, or a mixture */
    KIND_I8,
    KIND_I16,
    KIND_I32,
    KIND_I64,
    KIND_U8,
    KIND_U16,
    KIND_U32,
    KIND_U64,
    KIND_F32,
    KIND_F64,
    KIND_F80,
    KIND_C32,
    KIND_C64,
    KIND_C80,
    KIND_FLOAT_INT,
    KIND_DOUBLE_INT,
    KIND_LONG_INT,
    KIND_2INT,
    KIND_SHORT_INT,
    KIND_F80_INT,
    KIND_2FLOAT,
    KIND_2DOUBLE,
    KIND_LOGICAL,
    KIND_I128,
    KIND_F128
} serial_kind;

typedef struct {
    MPI_Aint offset;
    size_t bytes, before; /* of the data: its own, and those of the pieces before it */
} serial_piece;

typedef struct {
    char name[MPI_MAX_OBJECT_NAME];
    serial_kind kind; /* of all elements, or KIND_NONE */
    bool predefined, contiguous;
    size_t size;
    MPI_Aint lb, ub, true_lb, true_ub;
    int align;         /* of the strictest element, which pads structs as a compiler does */
    MPI_Datatype base; /* predefined type that one of MPI_Type_create_f90_* stands for, or null */
    bool fixed_lb, fixed_ub; /* explicit, or a part's are: what else is there does not move them */
    int npieces;             /* in the order of the type map, neighbours joined */
    serial_piece *pieces;
    int combiner, nints, naints, ntypes;
    int *ints;
    MPI_Aint *aints;
    MPI_Datatype *types;
    int uses; /* the handle, and the types and requests made of it */
    serial_attribute *attributes;
} serial_type;

serial_type *serial_type_at(MPI_Datatype type);
/* The datatype, or an error raised: use as CHECK_TYPE(t, type, "MPI_Type_size"). */
#define CHECK_TYPE(t, type, function)                                                              \
    const serial_type *t = serial_type_at(type);                                                   \
    if (!t)                                                                                        \
    return serial_error(0, MPI_ERR_TYPE, function, "no valid datatype (handle %d)", type)
void serial_type_keep(serial_type *type);
void serial_type_leave(MPI_Datatype handle);
/* A new type of n displaced copies: block i is lengths[i] of types[i] at offsets[i] bytes. */
MPI_Datatype serial_type_make(int n, const int *lengths, const MPI_Aint *offsets,
                              const MPI_Datatype *types, int combiner);
/* Remembers the arguments of its constructor for MPI_Type_get_contents. */
void serial_type_contents(MPI_Datatype type, int nints, const int *ints, int naints,
                          const MPI_Aint *aints, int ntypes, const MPI_Datatype *types);
/* Explicit bounds, which a struct of it keeps to without padding. */
void serial_type_bounds(MPI_Datatype handle, MPI_Aint lb, MPI_Aint extent);
/* A type that is like a predefined one but for its combiner, and cannot be freed either. */
MPI_Datatype serial_type_unnamed(MPI_Datatype predefined, int combiner);
/* What a duplicate has of the original and its pieces do not say. */
void serial_type_become_copy(MPI_Datatype handle, MPI_Datatype original);
/* count elements at `data` to or from `packed` (type->size * count bytes); unpacking stops after
 * `bytes`. */
void serial_pack(const serial_type *type, const void *data, long long count, void *packed);
void serial_unpack(const serial_type *type, const void *packed, size_t bytes, void *data,
                   long long count);
/* From one description to another; what does not fit is an error of class MPI_ERR_TRUNCATE. The
 * buffers must not overlap unless they are the same with the same type. */
int serial_transfer(MPI_Comm comm, const char *function, const void *in, long long in_count,
                    MPI_Datatype in_type, void *out, long long out_count, MPI_Datatype out_type);
MPI_Aint serial_extent(MPI_Datatype type);

/* Between packed data of this process's representation and of external32 (external32.c), of types
 * whose elements are as long in both: false for others, and nothing is done. */
bool serial_external_same(MPI_Datatype type);
void serial_to_external(MPI_Datatype type, long long count, void *packed, void *external);
void serial_from_external(MPI_Datatype type, long long count, void *packed, void *external);

/* ---- operations (op.c) ----------------------------------------------------------------------- */

bool serial_op_exists(MPI_Op op);
/* inout = in op inout, count elements of type; false when op is not defined on it. */
bool serial_reduce(MPI_Op op, const void *in, void *inout, int count, MPI_Datatype type);

/* ---- requests and messages (message.c, request.c) -------------------------------------------- */

typedef struct {
    bool done, persistent, active, cancelled, is_receive;
    bool freed; /* under way without a handle of the program's: goes when it is done */
    int error;
    MPI_Status status;
    /* a receive that waits for its message, and the arguments of a persistent operation */
    void *buffer;
    long long count;
    MPI_Datatype type;
    int peer, tag;
    MPI_Comm comm;
    int mode; /* of a persistent send: 0 standard, 's' synchronous */
    /* generalised requests */
    void *extra;
    int (*query)(void *, MPI_Status *);
    int (*free_extra)(void *);
    int (*cancel)(void *, int);
} serial_request;

serial_request *serial_request_new(MPI_Request *handle);
serial_request *serial_request_at(MPI_Request handle);
void serial_request_drop(MPI_Request handle);
/* What it waited for has come; of one that the program has freed already nothing is left. */
void serial_request_over(MPI_Request handle);
/* A request of an operation that is over, as all but receives and synchronous sends are. */
int serial_request_done(MPI_Request *handle, int rc);
/* Starts what the request describes. */
int serial_start(MPI_Request handle, const char *function);
void serial_status(MPI_Status *status, int source, int tag, long long bytes);
#define SERIAL_PROC_NULL_STATUS(status) serial_status(status, MPI_PROC_NULL, MPI_ANY_TAG, 0)

/* One rank: the checks of a root, a peer and a count in words. */
int serial_check_root(MPI_Comm comm, int root, const char *function);

#endif
