/* Attributes of communicators, datatypes and windows: key values, and the callbacks of copying and
 * deleting, in C and in both of Fortran's forms. A value set in one language can be asked for in
 * another: C sees the address of Fortran's integer, Fortran sees C's pointer as an integer (MPI-3.1
 * section 17.2.7). */
#include "internal.h"

#include <limits.h>
#include <stdlib.h>

typedef int c_copy(int, int, void *, void *, void *, int *);
typedef int c_delete(int, int, void *, void *);
typedef void f_copy(int *, int *, MPI_Aint *, MPI_Aint *, MPI_Aint *, int *, int *);
typedef void f_delete(int *, int *, MPI_Aint *, MPI_Aint *, int *);
typedef void f1_copy(int *, int *, int *, int *, int *, int *, int *);
typedef void f1_delete(int *, int *, int *, int *, int *);

typedef struct {
    serial_language language;
    serial_callback *copy, *remove;
    void *extra;
    MPI_Aint extra_integer;
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

int serial_keyval_create(serial_language language, serial_callback *copy, serial_callback *remove,
                         void *extra, MPI_Aint extra_integer, int *keyval) {
    serial_keyval *k = serial_add(&keyvals, keyval);
    *k = (serial_keyval){language, copy, remove, extra, extra_integer};
    return MPI_SUCCESS;
}

static int create(c_copy *copy, c_delete *remove, int *keyval, void *extra) {
    return serial_keyval_create(SERIAL_C, (serial_callback *)copy, (serial_callback *)remove, extra,
                                0, keyval);
}

/* Attributes may outlive their key value (MPI-3.1 section 6.7.2), so it is kept to the end. */
static int release(const char *function, int *keyval) {
    if (!serial_at(&keyvals, *keyval))
        return serial_error(0, MPI_ERR_KEYVAL, function, "no valid key value (%d)", *keyval);
    *keyval = MPI_KEYVAL_INVALID;
    return MPI_SUCCESS;
}

/* ---- values in each language ----------------------------------------------------------------- */

static void *as_pointer(serial_attribute *a) {
    return a->language == SERIAL_C         ? a->pointer
           : a->language == SERIAL_FORTRAN ? (void *)&a->integer
                                           : (void *)&a->old_integer;
}

static MPI_Aint as_integer(const serial_attribute *a) {
    return a->language == SERIAL_C         ? (MPI_Aint)a->pointer
           : a->language == SERIAL_FORTRAN ? a->integer
                                           : a->old_integer;
}

static void put(serial_attribute *a, serial_language language, const void *value) {
    a->language = language;
    if (language == SERIAL_C)
        a->pointer = *(void *const *)value;
    else if (language == SERIAL_FORTRAN)
        a->integer = *(const MPI_Aint *)value;
    else
        a->old_integer = *(const int *)value;
}

/* ---- callbacks ------------------------------------------------------------------------------- */

/* Asks for a copy; the value arrives in `made`, which has the language of the key value. */
static int call_copy(const serial_keyval *k, int object, serial_attribute *from,
                     serial_attribute *made, int *flag) {
    int keyval = from->keyval, rc = MPI_SUCCESS;
    *made = (serial_attribute){.keyval = keyval, .language = k->language};
    *flag = 0;
    if (!k->copy)
        return MPI_SUCCESS;
    if (k->language == SERIAL_C)
        return ((c_copy *)k->copy)(object, keyval, k->extra, as_pointer(from),
                                   (void *)&made->pointer, flag);
    MPI_Aint in = as_integer(from), extra = k->extra_integer;
    int old_in = (int)in, old_extra = (int)extra;
    if (k->language == SERIAL_FORTRAN)
        ((f_copy *)k->copy)(&object, &keyval, &extra, &in, &made->integer, flag, &rc);
    else
        ((f1_copy *)k->copy)(&object, &keyval, &old_extra, &old_in, &made->old_integer, flag, &rc);
    return rc;
}

static int call_delete(const serial_keyval *k, int object, serial_attribute *gone) {
    int keyval = gone->keyval, rc = MPI_SUCCESS;
    if (!k || !k->remove)
        return MPI_SUCCESS;
    if (k->language == SERIAL_C)
        return ((c_delete *)k->remove)(object, keyval, as_pointer(gone), k->extra);
    MPI_Aint value = as_integer(gone), extra = k->extra_integer;
    int old_value = (int)value, old_extra = (int)extra;
    if (k->language == SERIAL_FORTRAN)
        ((f_delete *)k->remove)(&object, &keyval, &value, &extra, &rc);
    else
        ((f1_delete *)k->remove)(&object, &keyval, &old_value, &old_extra, &rc);
    return rc;
}

/* ---- lists ----------------------------------------------------------------------------------- */

static serial_attribute **find(serial_attribute **list, int keyval) {
    while (*list && (*list)->keyval != keyval)
        list = &(*list)->next;
    return list;
}

int serial_attributes_copy(int object, const serial_attribute *from, serial_attribute **to) {
    for (; from; from = from->next) {
        const serial_keyval *k = serial_at(&keyvals, from->keyval);
        serial_attribute made;
        int flag = 0;
        int rc = k ? call_copy(k, object, (serial_attribute *)(uintptr_t)from, &made, &flag)
                   : MPI_SUCCESS;
        if (rc != MPI_SUCCESS)
            return rc;
        if (!flag)
            continue;
        serial_attribute **end = to;
        while (*end)
            end = &(*end)->next;
        *end = serial_memory(sizeof **end);
        **end = made;
    }
    return MPI_SUCCESS;
}

static int delete_at(int object, serial_attribute **list, serial_attribute **place) {
    serial_attribute *gone = *place;
    int rc = call_delete(serial_at(&keyvals, gone->keyval), object, gone);
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

static int no_keyval(const char *function, int keyval) {
    return serial_error(0, MPI_ERR_KEYVAL, function, "no valid key value (%d)", keyval);
}

int serial_attribute_set(int object, serial_attribute **list, int keyval, serial_language language,
                         const void *value) {
    serial_attribute **place = find(list, keyval);
    if (!serial_at(&keyvals, keyval))
        return no_keyval("MPI_*_set_attr", keyval);
    if (*place) {
        int rc = delete_at(object, list, place);
        if (rc != MPI_SUCCESS)
            return rc;
        place = find(list, keyval);
    }
    *place = serial_memory(sizeof **place);
    **place = (serial_attribute){.keyval = keyval};
    put(*place, language, value);
    return MPI_SUCCESS;
}

int serial_attribute_get(serial_attribute **list, int keyval, serial_language language, void *value,
                         int *flag) {
    serial_attribute *found = *find(list, keyval);
    *flag = found != NULL;
    if (!found)
        return serial_at(&keyvals, keyval) ? MPI_SUCCESS : no_keyval("MPI_*_get_attr", keyval);
    if (language == SERIAL_C)
        *(void **)value = as_pointer(found);
    else if (language == SERIAL_FORTRAN)
        *(MPI_Aint *)value = as_integer(found);
    else
        *(int *)value = (int)as_integer(found);
    return MPI_SUCCESS;
}

int serial_attribute_remove(int object, serial_attribute **list, int keyval) {
    serial_attribute **place = find(list, keyval);
    return *place ? delete_at(object, list, place)
                  : serial_error(0, MPI_ERR_KEYVAL, "MPI_*_delete_attr",
                                 "there is no such attribute (key value %d)", keyval);
}

/* ---- communicators --------------------------------------------------------------------------- */

bool serial_comm_knows(int keyval, const int **known) {
    static const int tag_ub = INT_MAX, host = MPI_PROC_NULL, io = MPI_ANY_SOURCE, global = 1,
                     universe = 1;
    *known = keyval == MPI_TAG_UB            ? &tag_ub
             : keyval == MPI_HOST            ? &host
             : keyval == MPI_IO              ? &io
             : keyval == MPI_WTIME_IS_GLOBAL ? &global
             : keyval == MPI_UNIVERSE_SIZE   ? &universe
             : keyval == MPI_LASTUSEDCODE    ? serial_last_used_code()
                                             : NULL;
    return *known || keyval == MPI_APPNUM; /* which has no value: started without mpiexec */
}

int MPI_Comm_create_keyval(MPI_Comm_copy_attr_function *copy, MPI_Comm_delete_attr_function *remove,
                           int *keyval, void *extra) {
    return create(copy, remove, keyval, extra);
}

int MPI_Comm_free_keyval(int *keyval) {
    return release("MPI_Comm_free_keyval", keyval);
}

int MPI_Comm_set_attr(MPI_Comm comm, int keyval, void *value) {
    CHECK_COMM(c, comm, "MPI_Comm_set_attr");
    return serial_attribute_set(comm, &c->attributes, keyval, SERIAL_C, &value);
}

int MPI_Comm_get_attr(MPI_Comm comm, int keyval, void *value, int *flag) {
    const int *known;
    CHECK_COMM(c, comm, "MPI_Comm_get_attr");
    if (!serial_comm_knows(keyval, &known))
        return serial_attribute_get(&c->attributes, keyval, SERIAL_C, value, flag);
    *flag = known != NULL;
    if (known)
        *(const int **)value = known;
    return MPI_SUCCESS;
}

int MPI_Comm_delete_attr(MPI_Comm comm, int keyval) {
    CHECK_COMM(c, comm, "MPI_Comm_delete_attr");
    return serial_attribute_remove(comm, &c->attributes, keyval);
}

int MPI_Keyval_create(MPI_Copy_function *copy, MPI_Delete_function *remove, int *keyval,
                      void *extra) {
    return create(copy, remove, keyval, extra);
}

int MPI_Keyval_free(int *keyval) {
    return release("MPI_Keyval_free", keyval);
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

serial_attribute **serial_type_attributes(MPI_Datatype type) {
    serial_type *t = serial_type_at(type);
    if (!t)
        serial_error(0, MPI_ERR_TYPE, "MPI_Type_*_attr", "no valid datatype (handle %d)", type);
    return t ? &t->attributes : NULL;
}

int MPI_Type_create_keyval(MPI_Type_copy_attr_function *copy, MPI_Type_delete_attr_function *remove,
                           int *keyval, void *extra) {
    return create(copy, remove, keyval, extra);
}

int MPI_Type_free_keyval(int *keyval) {
    return release("MPI_Type_free_keyval", keyval);
}

int MPI_Type_set_attr(MPI_Datatype type, int keyval, void *value) {
    serial_attribute **list = serial_type_attributes(type);
    return list ? serial_attribute_set(type, list, keyval, SERIAL_C, &value) : MPI_ERR_TYPE;
}

int MPI_Type_get_attr(MPI_Datatype type, int keyval, void *value, int *flag) {
    serial_attribute **list = serial_type_attributes(type);
    return list ? serial_attribute_get(list, keyval, SERIAL_C, value, flag) : MPI_ERR_TYPE;
}

int MPI_Type_delete_attr(MPI_Datatype type, int keyval) {
    serial_attribute **list = serial_type_attributes(type);
    return list ? serial_attribute_remove(type, list, keyval) : MPI_ERR_TYPE;
}

/* ---- windows --------------------------------------------------------------------------------- */

int MPI_Win_create_keyval(MPI_Win_copy_attr_function *copy, MPI_Win_delete_attr_function *remove,
                          int *keyval, void *extra) {
    return create(copy, remove, keyval, extra);
}

int MPI_Win_free_keyval(int *keyval) {
    return release("MPI_Win_free_keyval", keyval);
}

int MPI_Win_set_attr(MPI_Win win, int keyval, void *value) {
    serial_attribute **list = serial_win_attributes(win);
    return list ? serial_attribute_set(win, list, keyval, SERIAL_C, &value) : MPI_ERR_WIN;
}

int MPI_Win_get_attr(MPI_Win win, int keyval, void *value, int *flag) {
    serial_attribute **list = serial_win_attributes(win);
    const void *known;
    MPI_Aint integer;
    if (!list)
        return MPI_ERR_WIN;
    if (!serial_win_knows(win, keyval, &known, &integer))
        return serial_attribute_get(list, keyval, SERIAL_C, value, flag);
    *(const void **)value = known;
    *flag = 1;
    return MPI_SUCCESS;
}

int MPI_Win_delete_attr(MPI_Win win, int keyval) {
    serial_attribute **list = serial_win_attributes(win);
    return list ? serial_attribute_remove(win, list, keyval) : MPI_ERR_WIN;
}
