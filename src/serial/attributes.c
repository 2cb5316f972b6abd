/* Attributes of communicators, datatypes and windows: key values, and the callbacks of copying and
 * deleting. */
#include "serial/internal.h"

#include <limits.h>
#include <stdlib.h>

typedef int copy_function(int, int, void *, void *, void *, int *);
typedef int delete_function(int, int, void *, void *);

typedef struct {
    copy_function *copy;
    delete_function *remove;
    void *extra;
} serial_keyval;

enum { FIRST_KEYVAL = 64 };

static serial_table keyvals = {.size = sizeof(serial_keyval), .first = FIRST_KEYVAL};

int stretto_serial_dup_fn(int object, int keyval, void *extra, void *value, void *copied,
                          int *flag) {
    (void)object, (void)keyval, (void)extra;
    *(void **)copied = value;
    *flag = 1;
    return MPI_SUCCESS;
}

static int create(copy_function *copy, delete_function *remove, int *keyval, void *extra) {
    serial_keyval *k = serial_add(&keyvals, keyval);
    *k = (serial_keyval){copy, remove, extra};
    return MPI_SUCCESS;
}

/* Attributes may outlive their key value (MPI-3.1 section 6.7.2), so it is kept to the end. */
static int release(int *keyval) {
    *keyval = MPI_KEYVAL_INVALID;
    return MPI_SUCCESS;
}

static serial_attribute **find(serial_attribute **list, int keyval) {
    while (*list && (*list)->keyval != keyval)
        list = &(*list)->next;
    return list;
}

int serial_attributes_copy(int object, const serial_attribute *from, serial_attribute **to) {
    for (; from; from = from->next) {
        const serial_keyval *k = serial_at(&keyvals, from->keyval);
        void *value = NULL;
        int flag = 0, rc;
        if (!k || !k->copy)
            continue;
        rc = k->copy(object, from->keyval, k->extra, from->value, (void *)&value, &flag);
        if (rc != MPI_SUCCESS)
            return rc;
        if (!flag)
            continue;
        serial_attribute **end = to;
        while (*end)
            end = &(*end)->next;
        *end = serial_memory(sizeof **end);
        **end = (serial_attribute){NULL, from->keyval, value};
    }
    return MPI_SUCCESS;
}

static int delete_at(int object, serial_attribute **list, serial_attribute **place) {
    serial_attribute *gone = *place;
    const serial_keyval *k = serial_at(&keyvals, gone->keyval);
    int rc = k && k->remove ? k->remove(object, gone->keyval, gone->value, k->extra) : MPI_SUCCESS;
    if (rc == MPI_SUCCESS) {
        /* its callback may have deleted others, or this one */
        for (place = list; *place && *place != gone; place = &(*place)->next) {
        }
        if (!*place)
            return rc;
        *place = gone->next;
        free(gone);
    }
    return rc;
}

/* The newest first, as MPI_Finalize needs it (MPI-3.1 section 8.7.1). */
int serial_attributes_delete(int object, serial_attribute **list) {
    while (*list) {
        serial_attribute **last = list;
        while ((*last)->next)
            last = &(*last)->next;
        int rc = delete_at(object, list, last);
        if (rc != MPI_SUCCESS)
            return rc;
    }
    return MPI_SUCCESS;
}

static int set(int object, serial_attribute **list, int keyval, void *value) {
    serial_attribute **place = find(list, keyval);
    if (!serial_at(&keyvals, keyval))
        return serial_error(0, MPI_ERR_KEYVAL, "MPI_*_set_attr", "no valid key value (%d)", keyval);
    if (*place) {
        int rc = delete_at(object, list, place);
        if (rc != MPI_SUCCESS)
            return rc;
        place = find(list, keyval);
    }
    *place = serial_memory(sizeof **place);
    **place = (serial_attribute){NULL, keyval, value};
    return MPI_SUCCESS;
}

static int get(serial_attribute **list, int keyval, void *value, int *flag) {
    const serial_attribute *found = *find(list, keyval);
    *flag = found != NULL;
    if (found)
        *(void **)value = found->value;
    return MPI_SUCCESS;
}

static int remove_one(int object, serial_attribute **list, int keyval) {
    serial_attribute **place = find(list, keyval);
    return *place ? delete_at(object, list, place)
                  : serial_error(0, MPI_ERR_KEYVAL, "MPI_*_delete_attr",
                                 "there is no such attribute (key value %d)", keyval);
}

/* ---- communicators --------------------------------------------------------------------------- */

int MPI_Comm_create_keyval(MPI_Comm_copy_attr_function *copy, MPI_Comm_delete_attr_function *remove,
                           int *keyval, void *extra) {
    return create(copy, remove, keyval, extra);
}

int MPI_Comm_free_keyval(int *keyval) {
    return release(keyval);
}

int MPI_Comm_set_attr(MPI_Comm comm, int keyval, void *value) {
    CHECK_COMM(c, comm, "MPI_Comm_set_attr");
    return set(comm, &c->attributes, keyval, value);
}

int MPI_Comm_get_attr(MPI_Comm comm, int keyval, void *value, int *flag) {
    static int tag_ub = INT_MAX, host = MPI_PROC_NULL, io = MPI_ANY_SOURCE, global = 1,
               universe = 1, last_code = MPI_ERR_LASTCODE;
    int *known = keyval == MPI_TAG_UB            ? &tag_ub
                 : keyval == MPI_HOST            ? &host
                 : keyval == MPI_IO              ? &io
                 : keyval == MPI_WTIME_IS_GLOBAL ? &global
                 : keyval == MPI_UNIVERSE_SIZE   ? &universe
                 : keyval == MPI_LASTUSEDCODE    ? &last_code
                                                 : NULL;
    CHECK_COMM(c, comm, "MPI_Comm_get_attr");
    if (!known)
        return get(&c->attributes, keyval, value, flag);
    *(int **)value = known;
    *flag = 1;
    return MPI_SUCCESS;
}

int MPI_Comm_delete_attr(MPI_Comm comm, int keyval) {
    CHECK_COMM(c, comm, "MPI_Comm_delete_attr");
    return remove_one(comm, &c->attributes, keyval);
}

int MPI_Keyval_create(MPI_Copy_function *copy, MPI_Delete_function *remove, int *keyval,
                      void *extra) {
    return create(copy, remove, keyval, extra);
}

int MPI_Keyval_free(int *keyval) {
    return release(keyval);
}

int MPI_Attr_put(MPI_Comm comm, int keyval, void *value) {
    return MPI_Comm_set_attr(comm, keyval, value);
}

int MPI_Attr_get(MPI_Comm comm, int keyval, void *value, int *flag) {
    return MPI_Comm_get_attr(comm, keyval, value, flag);
}

int MPI_Attr_delete(MPI_Comm comm, int keyval) {
    return MPI_Comm_delete_attr(comm, keyval);
}

/* ---- datatypes ------------------------------------------------------------------------------- */

static serial_attribute **of_type(MPI_Datatype type) {
    serial_type *t = serial_type_at(type);
    return t ? &t->attributes : NULL;
}

int MPI_Type_create_keyval(MPI_Type_copy_attr_function *copy, MPI_Type_delete_attr_function *remove,
                           int *keyval, void *extra) {
    return create(copy, remove, keyval, extra);
}

int MPI_Type_free_keyval(int *keyval) {
    return release(keyval);
}

int MPI_Type_set_attr(MPI_Datatype type, int keyval, void *value) {
    return of_type(type) ? set(type, of_type(type), keyval, value)
                         : serial_error(0, MPI_ERR_TYPE, "MPI_Type_set_attr", "no valid datatype");
}

int MPI_Type_get_attr(MPI_Datatype type, int keyval, void *value, int *flag) {
    return of_type(type) ? get(of_type(type), keyval, value, flag)
                         : serial_error(0, MPI_ERR_TYPE, "MPI_Type_get_attr", "no valid datatype");
}

int MPI_Type_delete_attr(MPI_Datatype type, int keyval) {
    return of_type(type)
               ? remove_one(type, of_type(type), keyval)
               : serial_error(0, MPI_ERR_TYPE, "MPI_Type_delete_attr", "no valid datatype");
}
