/* Names and sizes of datatypes and operations, as small numbers. Predefined ones are known by the
 * MPI's own word (the combiner is "named"), kept for ever; derived ones share one number and are
 * asked for their size each time, because a handle may be freed and come again. */
#include "record/core.h"

#include <pthread.h>
#include <string.h>

enum { SLOTS = 512, NAMES = 255, DERIVED = STRETTO_TYPE_DERIVED, USER = 2, FIRST_FREE = 3 };

typedef struct {
    uint64_t handle;
    int name, bytes;
    int ready; /* published last */
} type_slot;

static type_slot slots[SLOTS];
static stretto_raw_name *names; /* NULL when there was no room */
static int nnames = FIRST_FREE - 1;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

typedef struct {
    uint64_t handle;
    int name;
} op_row;

static op_row ops[32];
static int nops;

static void name_put(int index1, const char *name, uint32_t kind) {
    if (!names)
        return;
    memcpy(names[index1 - 1].name, name, strnlen(name, sizeof names[0].name - 1));
    names[index1 - 1].kind = kind;
}

static int name_add(const char *name, uint32_t kind) {
    if (nnames >= NAMES)
        return DERIVED;
    name_put(nnames + 1, name, kind);
    return ++nnames;
}

static void op_add(MPI_Op op, const char *name) {
    ops[nops++] = (op_row){STRETTO_HANDLE(op), name_add(name, STRETTO_RAW_OPERATION)};
}

void stretto_types_begin(void) {
    names = stretto_store_section(STRETTO_RAW_NAMES, sizeof *names, NAMES);
    name_put(DERIVED, "derived", STRETTO_RAW_DATATYPE);
    name_put(USER, "user", STRETTO_RAW_OPERATION);
#define OP(op) op_add(op, #op)
    OP(MPI_SUM);
    OP(MPI_MAX);
    OP(MPI_MIN);
    OP(MPI_PROD);
    OP(MPI_LAND);
    OP(MPI_LOR);
    OP(MPI_LXOR);
    OP(MPI_BAND);
    OP(MPI_BOR);
    OP(MPI_BXOR);
    OP(MPI_MAXLOC);
    OP(MPI_MINLOC);
    OP(MPI_REPLACE);
    OP(MPI_NO_OP);
#undef OP
}

int stretto_op_name(MPI_Op op) {
    for (int i = 0; i < nops; i++)
        if (ops[i].handle == STRETTO_HANDLE(op))
            return ops[i].name;
    return USER;
}

static type_slot *home(uint64_t handle) {
    return &slots[stretto_mix(handle) % SLOTS];
}

/* The large-count form where there is one: a type made by a large-count constructor must not be
 * asked in the other way (MPI-4.1, 5.1.13), and MPICH ends the job. */
static int how_made(MPI_Datatype datatype, int *combiner) {
    MPI_Count n[4];
    int i[3];
    if (STRETTO_HOST_HAS(Type_get_envelope_c))
        return PMPI_Type_get_envelope_c(datatype, &n[0], &n[1], &n[2], &n[3], combiner);
    return PMPI_Type_get_envelope(datatype, &i[0], &i[1], &i[2], combiner);
}

/* Adds a predefined datatype to the table. NULL when it is derived or the table is full there. */
static type_slot *learn(MPI_Datatype datatype, int bytes) {
    int combiner = -1, length = 0;
    char name[MPI_MAX_OBJECT_NAME + 1] = "";
    if (how_made(datatype, &combiner) != MPI_SUCCESS || combiner != MPI_COMBINER_NAMED)
        return NULL;
    PMPI_Type_get_name(datatype, name, &length);
    type_slot *slot = home(STRETTO_HANDLE(datatype)), *found = NULL;
    pthread_mutex_lock(&lock);
    for (int i = 0; i < 16 && !found; i++, slot = slot + 1 < slots + SLOTS ? slot + 1 : slots) {
        if (slot->ready && slot->handle == STRETTO_HANDLE(datatype))
            found = slot; /* another thread was first */
        else if (!slot->ready) {
            slot->handle = STRETTO_HANDLE(datatype);
            slot->bytes = bytes;
            slot->name = name_add(name, STRETTO_RAW_DATATYPE);
            __atomic_store_n(&slot->ready, 1, __ATOMIC_RELEASE);
            found = slot;
        }
    }
    pthread_mutex_unlock(&lock);
    return found;
}

void stretto_type_look(MPI_Datatype datatype, int *name, int64_t *bytes) {
    stretto_thread *self = &stretto_self;
    uint64_t handle = STRETTO_HANDLE(datatype);
    type_slot *slot = home(handle), *found = NULL;
    for (int i = 0; i < 16; i++, slot = slot + 1 < slots + SLOTS ? slot + 1 : slots) {
        if (!__atomic_load_n(&slot->ready, __ATOMIC_ACQUIRE))
            break;
        if (slot->handle == handle) {
            found = slot;
            break;
        }
    }
    if (!found) {
        int size = 0;
        if (datatype == MPI_DATATYPE_NULL || PMPI_Type_size(datatype, &size) != MPI_SUCCESS ||
            size < 0) { /* MPI_UNDEFINED: larger than an int holds */
            *name = DERIVED;
            *bytes = 0;
            MPI_Count large = 0;
            if (size < 0 && STRETTO_HOST_HAS(Type_size_x) &&
                PMPI_Type_size_x(datatype, &large) == MPI_SUCCESS)
                *bytes = large;
            return;
        }
        found = learn(datatype, size);
        if (!found) {
            *name = DERIVED;
            *bytes = size;
            return;
        }
    }
    self->type_handle = handle;
    self->type_name = *name = found->name;
    *bytes = self->type_bytes = found->bytes;
}
