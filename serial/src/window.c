/* Windows: making, freeing, naming, and what is known of them. */
#include "window.h"

#include <stdio.h>
#include <stdlib.h>

static serial_table wins = {.size = sizeof(serial_win), .first = 1};

serial_win *serial_win_at(MPI_Win win) {
    return serial_at(&wins, win);
}

static int make(const char *function, void *base, MPI_Aint size, int unit, int flavor, bool owned,
                MPI_Info info, MPI_Comm comm, MPI_Win *win) {
    CHECK_COMM(c, comm, function);
    (void)c;
    if (size < 0 || unit < 1)
        return serial_error(comm, MPI_ERR_SIZE, function, "size %lld, displacement unit %d",
                            (long long)size, unit);
    serial_win *w = serial_add(&wins, win);
    w->base = owned ? serial_memory((size_t)size) : base;
    w->size = size;
    w->unit = unit;
    w->flavor = flavor;
    w->owned = owned;
    w->handler = MPI_ERRORS_ARE_FATAL; /* not the communicator's (MPI-3.1, 11.6.1) */
    return serial_info_keep(&w->info, info);
}

int MPI_Win_create(void *base, MPI_Aint size, int unit, MPI_Info info, MPI_Comm comm,
                   MPI_Win *win) {
    return make("MPI_Win_create", base, size, unit, MPI_WIN_FLAVOR_CREATE, false, info, comm, win);
}

int MPI_Win_allocate(MPI_Aint size, int unit, MPI_Info info, MPI_Comm comm, void *base,
                     MPI_Win *win) {
    int rc =
        make("MPI_Win_allocate", NULL, size, unit, MPI_WIN_FLAVOR_ALLOCATE, true, info, comm, win);
    if (rc == MPI_SUCCESS)
        *(void **)base = serial_win_at(*win)->base;
    return rc;
}

int MPI_Win_allocate_shared(MPI_Aint size, int unit, MPI_Info info, MPI_Comm comm, void *base,
                            MPI_Win *win) {
    int rc = make("MPI_Win_allocate_shared", NULL, size, unit, MPI_WIN_FLAVOR_SHARED, true, info,
                  comm, win);
    if (rc == MPI_SUCCESS)
        *(void **)base = serial_win_at(*win)->base;
    return rc;
}

int MPI_Win_shared_query(MPI_Win win, int rank, MPI_Aint *size, int *unit, void *base) {
    CHECK_WIN(w, win, "MPI_Win_shared_query");
    if (w->flavor != MPI_WIN_FLAVOR_SHARED || (rank != 0 && rank != MPI_PROC_NULL))
        return serial_win_error(win, MPI_ERR_WIN, "MPI_Win_shared_query",
                                "not a shared window, or not rank 0");
    *size = w->size;
    *unit = w->unit;
    *(void **)base = w->base;
    return MPI_SUCCESS;
}

/* All addresses are displacements from MPI_BOTTOM. */
int MPI_Win_create_dynamic(MPI_Info info, MPI_Comm comm, MPI_Win *win) {
    return make("MPI_Win_create_dynamic", NULL, 0, 1, MPI_WIN_FLAVOR_DYNAMIC, false, info, comm,
                win);
}

int MPI_Win_attach(MPI_Win win, void *base, MPI_Aint size) {
    CHECK_WIN(w, win, "MPI_Win_attach");
    (void)w, (void)base, (void)size;
    return MPI_SUCCESS;
}

int MPI_Win_detach(MPI_Win win, const void *base) {
    CHECK_WIN(w, win, "MPI_Win_detach");
    (void)w, (void)base;
    return MPI_SUCCESS;
}

int MPI_Win_free(MPI_Win *win) {
    CHECK_WIN(w, *win, "MPI_Win_free");
    int rc = serial_attributes_delete(*win, &w->attributes);
    if (rc != MPI_SUCCESS)
        return rc;
    if (w->owned)
        free(w->base);
    serial_info_keep(&w->info, MPI_INFO_NULL);
    serial_drop(&wins, *win);
    *win = MPI_WIN_NULL;
    return MPI_SUCCESS;
}

int MPI_Win_get_group(MPI_Win win, MPI_Group *group) {
    CHECK_WIN(w, win, "MPI_Win_get_group");
    (void)w; /* whose communicator may be gone */
    return MPI_Comm_group(MPI_COMM_SELF, group);
}

int MPI_Win_set_name(MPI_Win win, const char *name) {
    CHECK_WIN(w, win, "MPI_Win_set_name");
    snprintf(w->name, sizeof w->name, "%s", name);
    return MPI_SUCCESS;
}

int MPI_Win_get_name(MPI_Win win, char *name, int *length) {
    CHECK_WIN(w, win, "MPI_Win_get_name");
    *length = snprintf(name, MPI_MAX_OBJECT_NAME, "%s", w->name);
    return MPI_SUCCESS;
}

int MPI_Win_set_errhandler(MPI_Win win, MPI_Errhandler handler) {
    CHECK_WIN(w, win, "MPI_Win_set_errhandler");
    if (!serial_errhandler_exists(handler))
        return serial_error(0, MPI_ERR_ARG, "MPI_Win_set_errhandler", "no valid error handler");
    w->handler = handler;
    return MPI_SUCCESS;
}

int MPI_Win_get_errhandler(MPI_Win win, MPI_Errhandler *handler) {
    CHECK_WIN(w, win, "MPI_Win_get_errhandler");
    *handler = w->handler;
    return MPI_SUCCESS;
}

int MPI_Win_set_info(MPI_Win win, MPI_Info info) {
    CHECK_WIN(w, win, "MPI_Win_set_info");
    return serial_info_keep(&w->info, info);
}

int MPI_Win_get_info(MPI_Win win, MPI_Info *info) {
    CHECK_WIN(w, win, "MPI_Win_get_info");
    return serial_info_give(w->info, info);
}

/* ---- attributes (attributes.c) --------------------------------------------------------------- */

serial_attribute **serial_win_attributes(MPI_Win win) {
    serial_win *w = serial_win_at(win);
    if (!w)
        serial_error(0, MPI_ERR_WIN, "MPI_Win_*_attr", "no valid window (handle %d)", win);
    return w ? &w->attributes : NULL;
}

bool serial_win_knows(MPI_Win win, int keyval, const void **known, MPI_Aint *integer) {
    static const int model = MPI_WIN_UNIFIED;
    const serial_win *w = serial_win_at(win);
    switch (keyval) {
    case MPI_WIN_BASE:
        *known = w->base;
        *integer = (MPI_Aint)w->base;
        return true;
    case MPI_WIN_SIZE:
        *known = &w->size;
        *integer = w->size;
        return true;
    case MPI_WIN_DISP_UNIT:
        *known = &w->unit;
        *integer = w->unit;
        return true;
    case MPI_WIN_CREATE_FLAVOR:
        *known = &w->flavor;
        *integer = w->flavor;
        return true;
    case MPI_WIN_MODEL:
        *known = &model;
        *integer = model;
        return true;
    default: return false;
    }
}
