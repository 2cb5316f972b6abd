/* Predefined operations and datatypes, found by handle.
 *
 * Only predefined handles are remembered: they live as long as the MPI, whereas a handle of a
 * derived type or a user operation can be freed and come again as another one.
 */
#include "engine/engine.h"

#include <string.h>

typedef struct {
    uint64_t key;
    int8_t op, type; /* stretto_op, stretto_type; -1 none */
    uint32_t size;   /* dense types: bytes of an element */
} known;

enum { SLOTS = 512 }; /* about 80 handles: short probes */
static known handles[SLOTS];

static inline uint32_t place(uint64_t key) {
    return (uint32_t)((key * 0x9e3779b97f4a7c15u) >> 50) & (SLOTS - 1);
}

static inline uint64_t op_key(MPI_Op op) {
    uint64_t key = 0;
    memcpy(&key, &op, sizeof op);
    return key;
}

static inline uint64_t type_key(MPI_Datatype type) {
    uint64_t key = 0;
    memcpy(&key, &type, sizeof type);
    return key;
}

static inline const known *find(uint64_t key) {
    if (key == 0)
        return NULL; /* no handle at all */
    for (uint32_t i = place(key);; i = (i + 1) & (SLOTS - 1)) {
        if (handles[i].key == key)
            return &handles[i];
        if (handles[i].key == 0)
            return NULL;
    }
}

static void add(uint64_t key, int op, int type, size_t size) {
    if (key == 0)
        return; /* Open MPI lacks the handle */
    uint32_t i = place(key);
    while (handles[i].key != 0 && handles[i].key != key)
        i = (i + 1) & (SLOTS - 1);
    if (handles[i].key == 0)
        handles[i] = (known){key, (int8_t)op, (int8_t)type, (uint32_t)size};
}

static void add_type(MPI_Datatype datatype, stretto_type type) {
    if (datatype == MPI_DATATYPE_NULL)
        return;
    size_t extent = stretto_type_extent(type);
    int size;
    MPI_Aint lb, ext;
    /* The MPI's word on it, not our belief: an optional type may be something else here. */
    if (PMPI_Type_size(datatype, &size) != MPI_SUCCESS ||
        PMPI_Type_get_extent(datatype, &lb, &ext) != MPI_SUCCESS || lb != 0 ||
        (size_t)ext != extent || size <= 0)
        return;
    bool dense = (size_t)size == extent;
    add(type_key(datatype), -1, (int)type, dense ? extent : 0);
}

/* A signed or unsigned integer type by its size. */
static void add_integer(MPI_Datatype datatype, size_t size, bool is_signed) {
    static const stretto_type types[2][4] = {
        {STRETTO_UINT8, STRETTO_UINT16, STRETTO_UINT32, STRETTO_UINT64},
        {STRETTO_INT8, STRETTO_INT16, STRETTO_INT32, STRETTO_INT64}};
    int i = size == 1 ? 0 : size == 2 ? 1 : size == 4 ? 2 : 3;
    add_type(datatype, types[is_signed][i]);
}

static void add_dense(MPI_Datatype datatype) {
    int size;
    if (datatype == MPI_DATATYPE_NULL || type_key(datatype) == 0)
        return;
    if (PMPI_Type_size(datatype, &size) == MPI_SUCCESS && size > 0)
        add(type_key(datatype), -1, -1, (size_t)size);
}

STRETTO_COLD void stretto_types_init(void) {
    memset(handles, 0, sizeof handles);
    const MPI_Op ops[STRETTO_OPS] = {
        [STRETTO_OP_SUM] = MPI_SUM,       [STRETTO_OP_PROD] = MPI_PROD,
        [STRETTO_OP_MAX] = MPI_MAX,       [STRETTO_OP_MIN] = MPI_MIN,
        [STRETTO_OP_LAND] = MPI_LAND,     [STRETTO_OP_LOR] = MPI_LOR,
        [STRETTO_OP_LXOR] = MPI_LXOR,     [STRETTO_OP_BAND] = MPI_BAND,
        [STRETTO_OP_BOR] = MPI_BOR,       [STRETTO_OP_BXOR] = MPI_BXOR,
        [STRETTO_OP_MAXLOC] = MPI_MAXLOC, [STRETTO_OP_MINLOC] = MPI_MINLOC};
    for (int i = 0; i < STRETTO_OPS; i++)
        add(op_key(ops[i]), i, -1, 0);
    add(op_key(MPI_REPLACE), STRETTO_OPS, -1, 0); /* for windows only: no kernel */
    add(op_key(MPI_NO_OP), STRETTO_OPS, -1, 0);

    add_integer(MPI_SIGNED_CHAR, 1, true);
    add_integer(MPI_SHORT, sizeof(short), true);
    add_integer(MPI_INT, sizeof(int), true);
    add_integer(MPI_LONG, sizeof(long), true);
    add_integer(MPI_LONG_LONG, sizeof(long long), true);
    add_integer(MPI_UNSIGNED_CHAR, 1, false);
    add_integer(MPI_UNSIGNED_SHORT, sizeof(short), false);
    add_integer(MPI_UNSIGNED, sizeof(int), false);
    add_integer(MPI_UNSIGNED_LONG, sizeof(long), false);
    add_integer(MPI_UNSIGNED_LONG_LONG, sizeof(long long), false);
    add_integer(MPI_INT8_T, 1, true);
    add_integer(MPI_INT16_T, 2, true);
    add_integer(MPI_INT32_T, 4, true);
    add_integer(MPI_INT64_T, 8, true);
    add_integer(MPI_UINT8_T, 1, false);
    add_integer(MPI_UINT16_T, 2, false);
    add_integer(MPI_UINT32_T, 4, false);
    add_integer(MPI_UINT64_T, 8, false);
    add_integer(MPI_AINT, sizeof(MPI_Aint), true);
    add_integer(MPI_OFFSET, sizeof(MPI_Offset), true);
    add_integer(MPI_COUNT, sizeof(MPI_Count), true);
    add_type(MPI_FLOAT, STRETTO_FLOAT);
    add_type(MPI_DOUBLE, STRETTO_DOUBLE);
    add_type(MPI_LONG_DOUBLE, STRETTO_LONG_DOUBLE);
    add_type(MPI_C_BOOL, STRETTO_BOOL);
    add_type(MPI_C_FLOAT_COMPLEX, STRETTO_COMPLEX_FLOAT);
    add_type(MPI_C_DOUBLE_COMPLEX, STRETTO_COMPLEX_DOUBLE);
    add_type(MPI_DOUBLE_INT, STRETTO_DOUBLE_INT);
    add_type(MPI_FLOAT_INT, STRETTO_FLOAT_INT);
    add_type(MPI_2INT, STRETTO_INT_INT);
    add_type(MPI_LONG_INT, STRETTO_LONG_INT);
    add_type(MPI_SHORT_INT, STRETTO_SHORT_INT);
    /* Fortran's, in the sizes that compilers without -r8 and -i8 give them; the extent check drops
     * others */
    add_type(MPI_INTEGER, STRETTO_INT32);
    add_type(MPI_REAL, STRETTO_FLOAT);
    add_type(MPI_DOUBLE_PRECISION, STRETTO_DOUBLE);
    add_type(MPI_COMPLEX, STRETTO_COMPLEX_FLOAT);
    add_type(MPI_DOUBLE_COMPLEX, STRETTO_COMPLEX_DOUBLE);
    add_type(MPI_INTEGER8, STRETTO_INT64);
    add_type(MPI_REAL8, STRETTO_DOUBLE);
    /* moved, never reduced, by us */
    add_dense(MPI_BYTE);
    add_dense(MPI_CHAR);
    add_dense(MPI_PACKED);
    add_dense(MPI_WCHAR);
    add_dense(MPI_CHARACTER);
    add_dense(MPI_LOGICAL);
}

stretto_reduce_fn stretto_kernel_for(MPI_Op op, MPI_Datatype datatype, size_t *extent,
                                     stretto_store_fn *store) {
    const known *o = find(op_key(op)), *t = find(type_key(datatype));
    if (!o || !t || o->op < 0 || o->op == STRETTO_OPS || t->type < 0)
        return NULL;
    *extent = stretto_type_extent((stretto_type)t->type);
    *store = stretto_pair_store((stretto_type)t->type);
    return stretto_reduce_kernel((stretto_op)o->op, (stretto_type)t->type);
}

bool stretto_has_kernels(MPI_Datatype datatype) {
    const known *t = find(type_key(datatype));
    return t && t->type >= 0;
}

size_t stretto_dense_size(MPI_Datatype datatype) {
    const known *t = find(type_key(datatype));
    return t ? t->size : 0;
}

bool stretto_is_predefined_op(MPI_Op op) {
    const known *o = find(op_key(op));
    return o && o->op >= 0;
}

bool stretto_is_predefined_type(MPI_Datatype datatype) {
    const known *t = find(type_key(datatype));
    return t && t->op < 0;
}

int stretto_op_number(MPI_Op op) {
    const known *o = find(op_key(op));
    return o && o->op >= 0 ? o->op : STRETTO_OPS;
}

const char *stretto_op_name(int number) {
    static const char *const names[STRETTO_OPS + 1] = {[STRETTO_OP_SUM] = "MPI_SUM",
                                                       [STRETTO_OP_PROD] = "MPI_PROD",
                                                       [STRETTO_OP_MAX] = "MPI_MAX",
                                                       [STRETTO_OP_MIN] = "MPI_MIN",
                                                       [STRETTO_OP_LAND] = "MPI_LAND",
                                                       [STRETTO_OP_LOR] = "MPI_LOR",
                                                       [STRETTO_OP_LXOR] = "MPI_LXOR",
                                                       [STRETTO_OP_BAND] = "MPI_BAND",
                                                       [STRETTO_OP_BOR] = "MPI_BOR",
                                                       [STRETTO_OP_BXOR] = "MPI_BXOR",
                                                       [STRETTO_OP_MAXLOC] = "MPI_MAXLOC",
                                                       [STRETTO_OP_MINLOC] = "MPI_MINLOC",
                                                       [STRETTO_OPS] = "an operation of its own"};
    return number < 0 || number > STRETTO_OPS ? "no operation" : names[number];
}
