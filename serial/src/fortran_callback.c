/* Fortran: what takes procedures of the program's: attributes (in both of Fortran's forms, MPI-2's
 * with integers of kind MPI_ADDRESS_KIND and MPI-1's with default ones), error handlers and
 * generalised requests. */
#include "fortran.h"

#include <stdlib.h>

/* ---- attributes -------------------------------------------------------------------------------
 */

static serial_attribute **of_comm(MPI_Comm comm) {
    serial_comm *c = serial_comm_at(comm);
    if (!c)
        serial_error(0, MPI_ERR_COMM, "MPI_Comm_*_attr", "no valid communicator (handle %d)", comm);
    return c ? &c->attributes : NULL;
}

static int set(int object, serial_attribute **list, int keyval, serial_language language,
               const void *value) {
    return list ? serial_attribute_set(object, list, keyval, language, value) : MPI_ERR_ARG;
}

static int get(serial_attribute **list, int keyval, serial_language language, void *value,
               int *flag) {
    return list ? serial_attribute_get(list, keyval, language, value, flag) : MPI_ERR_ARG;
}

static int drop(int object, serial_attribute **list, int keyval) {
    return list ? serial_attribute_remove(object, list, keyval) : MPI_ERR_ARG;
}

/* What the library knows is given by value, not by address (MPI-3.1 section 17.2.7). */
static int get_of_comm(MPI_Comm comm, int keyval, MPI_Aint *value, int *flag) {
    const int *known;
    if (!serial_comm_knows(keyval, &known))
        return get(of_comm(comm), keyval, SERIAL_FORTRAN, value, flag);
    *flag = known != NULL;
    if (known)
        *value = *known;
    return MPI_SUCCESS;
}

static int old_get_of_comm(MPI_Comm comm, int keyval, int *value, int *flag) {
    MPI_Aint wide = 0;
    int rc = get_of_comm(comm, keyval, &wide, flag);
    if (rc == MPI_SUCCESS && *flag)
        *value = (int)wide;
    return rc;
}

static int get_of_win(MPI_Win win, int keyval, MPI_Aint *value, int *flag) {
    serial_attribute **list = serial_win_attributes(win);
    const void *known;
    *flag = list && serial_win_knows(win, keyval, &known, value);
    return *flag ? MPI_SUCCESS : get(list, keyval, SERIAL_FORTRAN, value, flag);
}

#define CREATES(name, language, extra_type)                                                        \
    FORTRAN(name,                                                                                  \
            (serial_callback * copy, serial_callback * remove, int *keyval, extra_type *extra,     \
             int *ierr),                                                                           \
            serial_keyval_create(language, copy, remove, NULL, *extra, keyval))
CREATES(comm_create_keyval, SERIAL_FORTRAN, MPI_Aint)
CREATES(type_create_keyval, SERIAL_FORTRAN, MPI_Aint)
CREATES(win_create_keyval, SERIAL_FORTRAN, MPI_Aint)
CREATES(keyval_create, SERIAL_FORTRAN_1, int)
FORTRAN(comm_free_keyval, (int *keyval, int *ierr), MPI_Comm_free_keyval(keyval))
FORTRAN(type_free_keyval, (int *keyval, int *ierr), MPI_Type_free_keyval(keyval))
FORTRAN(win_free_keyval, (int *keyval, int *ierr), MPI_Win_free_keyval(keyval))
FORTRAN(keyval_free, (int *keyval, int *ierr), MPI_Keyval_free(keyval))
FORTRAN(comm_set_attr, (int *comm, int *keyval, MPI_Aint *value, int *ierr),
        set(*comm, of_comm(*comm), *keyval, SERIAL_FORTRAN, value))
FORTRAN(type_set_attr, (int *type, int *keyval, MPI_Aint *value, int *ierr),
        set(*type, serial_type_attributes(*type), *keyval, SERIAL_FORTRAN, value))
FORTRAN(win_set_attr, (int *win, int *keyval, MPI_Aint *value, int *ierr),
        set(*win, serial_win_attributes(*win), *keyval, SERIAL_FORTRAN, value))
FORTRAN(attr_put, (int *comm, int *keyval, int *value, int *ierr),
        set(*comm, of_comm(*comm), *keyval, SERIAL_FORTRAN_1, value))
FORTRAN(comm_get_attr, (int *comm, int *keyval, MPI_Aint *value, int *flag, int *ierr),
        get_of_comm(*comm, *keyval, value, flag))
FORTRAN(type_get_attr, (int *type, int *keyval, MPI_Aint *value, int *flag, int *ierr),
        get(serial_type_attributes(*type), *keyval, SERIAL_FORTRAN, value, flag))
FORTRAN(win_get_attr, (int *win, int *keyval, MPI_Aint *value, int *flag, int *ierr),
        get_of_win(*win, *keyval, value, flag))
FORTRAN(attr_get, (int *comm, int *keyval, int *value, int *flag, int *ierr),
        old_get_of_comm(*comm, *keyval, value, flag))
FORTRAN(comm_delete_attr, (int *comm, int *keyval, int *ierr), drop(*comm, of_comm(*comm), *keyval))
FORTRAN(type_delete_attr, (int *type, int *keyval, int *ierr),
        drop(*type, serial_type_attributes(*type), *keyval))
FORTRAN(win_delete_attr, (int *win, int *keyval, int *ierr),
        drop(*win, serial_win_attributes(*win), *keyval))
FORTRAN(attr_delete, (int *comm, int *keyval, int *ierr), drop(*comm, of_comm(*comm), *keyval))

/* The callbacks that the standard names, for both forms. */
#define CALLBACKS(prefix, integer)                                                                 \
    FORTRAN(                                                                                       \
        prefix##null_copy_fn,                                                                      \
        (int *object, int *keyval, integer *extra, integer *in, integer *out, int *flag,           \
         int *ierr),                                                                               \
        ((void)object, (void)keyval, (void)extra, (void)in, (void)out, *flag = 0, MPI_SUCCESS))    \
    FORTRAN(prefix##dup_fn,                                                                        \
            (int *object, int *keyval, integer *extra, integer *in, integer *out, int *flag,       \
             int *ierr),                                                                           \
            ((void)object, (void)keyval, (void)extra, *out = *in, *flag = 1, MPI_SUCCESS))         \
    FORTRAN(prefix##null_delete_fn,                                                                \
            (int *object, int *keyval, integer *value, integer *extra, int *ierr),                 \
            ((void)object, (void)keyval, (void)value, (void)extra, MPI_SUCCESS))
CALLBACKS(comm_, MPI_Aint)
CALLBACKS(type_, MPI_Aint)
CALLBACKS(win_, MPI_Aint)
CALLBACKS(, int)

/* ---- error handlers: called by reference, as in C ---------------------------------------------
 */

FORTRAN(comm_create_errhandler, (MPI_Comm_errhandler_function * function, int *handler, int *ierr),
        MPI_Comm_create_errhandler(function, handler))
FORTRAN(win_create_errhandler, (MPI_Win_errhandler_function * function, int *handler, int *ierr),
        MPI_Win_create_errhandler(function, handler))
FORTRAN(file_create_errhandler, (MPI_File_errhandler_function * function, int *handler, int *ierr),
        MPI_File_create_errhandler(function, handler))
FORTRAN(errhandler_create, (MPI_Handler_function * function, int *handler, int *ierr),
        MPI_Errhandler_create(function, handler))
FORTRAN(comm_call_errhandler, (int *comm, int *code, int *ierr),
        MPI_Comm_call_errhandler(*comm, *code))
FORTRAN(win_call_errhandler, (int *win, int *code, int *ierr), MPI_Win_call_errhandler(*win, *code))
FORTRAN(file_call_errhandler, (int *file, int *code, int *ierr),
        MPI_File_call_errhandler(*file, *code))
FORTRAN(win_set_errhandler, (int *win, int *handler, int *ierr),
        MPI_Win_set_errhandler(*win, *handler))
FORTRAN(win_get_errhandler, (int *win, int *handler, int *ierr),
        MPI_Win_get_errhandler(*win, handler))
FORTRAN(file_get_errhandler, (int *file, int *handler, int *ierr),
        MPI_File_get_errhandler(*file, handler))
FORTRAN(add_error_class, (int *error_class, int *ierr), MPI_Add_error_class(error_class))
FORTRAN(add_error_code, (int *error_class, int *code, int *ierr),
        MPI_Add_error_code(*error_class, code))

/* ---- generalised requests ---------------------------------------------------------------------
 */

typedef struct {
    void (*query)(MPI_Aint *extra, MPI_Status *status, int *ierr);
    void (*free_extra)(MPI_Aint *extra, int *ierr);
    void (*cancel)(MPI_Aint *extra, int *complete, int *ierr);
    MPI_Aint *extra; /* the program's variable, which its procedures may change */
} grequest;

static int query(void *state, MPI_Status *status) {
    grequest *g = state;
    int rc = MPI_SUCCESS;
    g->query(g->extra, status, &rc);
    return rc;
}

static int free_extra(void *state) {
    grequest *g = state;
    int rc = MPI_SUCCESS;
    g->free_extra(g->extra, &rc);
    free(g);
    return rc;
}

static int cancel(void *state, int complete) {
    grequest *g = state;
    int rc = MPI_SUCCESS;
    g->cancel(g->extra, &complete, &rc);
    return rc;
}

static int start(grequest made, int *request) {
    grequest *g = serial_memory(sizeof *g);
    *g = made;
    return MPI_Grequest_start(query, free_extra, cancel, g, request);
}

FORTRAN(grequest_start,
        (void (*query_)(MPI_Aint *, MPI_Status *, int *), void (*free_)(MPI_Aint *, int *),
         void (*cancel_)(MPI_Aint *, int *, int *), MPI_Aint *extra, int *request, int *ierr),
        start((grequest){query_, free_, cancel_, extra}, request))
FORTRAN(grequest_complete, (int *request, int *ierr), MPI_Grequest_complete(*request))
