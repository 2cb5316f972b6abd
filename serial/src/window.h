/* What a window is: memory of this process, and what accesses to it need to know. */
#ifndef STRETTO_SERIAL_WINDOW_H
#define STRETTO_SERIAL_WINDOW_H

#include "internal.h"

typedef struct {
    char name[MPI_MAX_OBJECT_NAME];
    char *base;
    MPI_Aint size;
    int unit, flavor;
    bool owned; /* memory of ours */
    MPI_Errhandler handler;
    MPI_Info info;
    serial_attribute *attributes;
} serial_win;

serial_win *serial_win_at(MPI_Win win);
#define CHECK_WIN(w, win, function)                                                                \
    serial_win *w = serial_win_at(win);                                                            \
    if (!w)                                                                                        \
    return serial_error(0, MPI_ERR_WIN, function, "no valid window (handle %d)", win)

#endif
