/* Fortran: windows. */
#include "fortran.h"

FORTRAN(win_create,
        (void *base, MPI_Aint *size, int *unit, int *info, int *comm, int *win, int *ierr),
        MPI_Win_create(BUFFER(base), *size, *unit, *info, *comm, win))
FORTRAN(win_allocate,
        (MPI_Aint * size, int *unit, int *info, int *comm, void *base, int *win, int *ierr),
        MPI_Win_allocate(*size, *unit, *info, *comm, base, win))
FORTRAN(win_allocate_shared,
        (MPI_Aint * size, int *unit, int *info, int *comm, void *base, int *win, int *ierr),
        MPI_Win_allocate_shared(*size, *unit, *info, *comm, base, win))
FORTRAN(win_shared_query, (int *win, int *rank, MPI_Aint *size, int *unit, void *base, int *ierr),
        MPI_Win_shared_query(*win, *rank, size, unit, base))
FORTRAN(win_free, (int *win, int *ierr), MPI_Win_free(win))
FORTRAN(win_fence, (int *assertion, int *win, int *ierr), MPI_Win_fence(*assertion, *win))
FORTRAN(win_start, (int *group, int *assertion, int *win, int *ierr),
        MPI_Win_start(*group, *assertion, *win))
FORTRAN(win_post, (int *group, int *assertion, int *win, int *ierr),
        MPI_Win_post(*group, *assertion, *win))
FORTRAN(win_complete, (int *win, int *ierr), MPI_Win_complete(*win))
FORTRAN(win_wait, (int *win, int *ierr), MPI_Win_wait(*win))
FORTRAN(win_unlock_all, (int *win, int *ierr), MPI_Win_unlock_all(*win))
FORTRAN(win_flush_all, (int *win, int *ierr), MPI_Win_flush_all(*win))
FORTRAN(win_flush_local_all, (int *win, int *ierr), MPI_Win_flush_local_all(*win))
FORTRAN(win_sync, (int *win, int *ierr), MPI_Win_sync(*win))
FORTRAN(win_lock, (int *type, int *rank, int *assertion, int *win, int *ierr),
        MPI_Win_lock(*type, *rank, *assertion, *win))
FORTRAN(win_lock_all, (int *assertion, int *win, int *ierr), MPI_Win_lock_all(*assertion, *win))
FORTRAN(win_unlock, (int *rank, int *win, int *ierr), MPI_Win_unlock(*rank, *win))
FORTRAN(win_flush, (int *rank, int *win, int *ierr), MPI_Win_flush(*rank, *win))
FORTRAN(win_flush_local, (int *rank, int *win, int *ierr), MPI_Win_flush_local(*rank, *win))
FORTRAN(put,
        (const void *data, int *count, int *type, int *rank, MPI_Aint *where, int *m, int *target,
         int *win, int *ierr),
        MPI_Put(BUFFER(data), *count, *type, *rank, *where, *m, *target, *win))
FORTRAN(get,
        (void *data, int *count, int *type, int *rank, MPI_Aint *where, int *m, int *target,
         int *win, int *ierr),
        MPI_Get(BUFFER(data), *count, *type, *rank, *where, *m, *target, *win))
FORTRAN(accumulate,
        (const void *data, int *count, int *type, int *rank, MPI_Aint *where, int *m, int *target,
         int *op, int *win, int *ierr),
        MPI_Accumulate(BUFFER(data), *count, *type, *rank, *where, *m, *target, *op, *win))
FORTRAN(fetch_and_op,
        (const void *data, void *result, int *type, int *rank, MPI_Aint *where, int *op, int *win,
         int *ierr),
        MPI_Fetch_and_op(BUFFER(data), BUFFER(result), *type, *rank, *where, *op, *win))
FORTRAN(rput,
        (const void *data, int *count, int *type, int *rank, MPI_Aint *where, int *m, int *target,
         int *win, int *request, int *ierr),
        MPI_Rput(BUFFER(data), *count, *type, *rank, *where, *m, *target, *win, request))
FORTRAN(rget,
        (void *data, int *count, int *type, int *rank, MPI_Aint *where, int *m, int *target,
         int *win, int *request, int *ierr),
        MPI_Rget(BUFFER(data), *count, *type, *rank, *where, *m, *target, *win, request))
FORTRAN(raccumulate,
        (const void *data, int *count, int *type, int *rank, MPI_Aint *where, int *m, int *target,
         int *op, int *win, int *request, int *ierr),
        MPI_Raccumulate(BUFFER(data), *count, *type, *rank, *where, *m, *target, *op, *win,
                        request))
FORTRAN(get_accumulate,
        (const void *data, int *count, int *type, void *result, int *n, int *result_type, int *rank,
         MPI_Aint *where, int *m, int *target, int *op, int *win, int *ierr),
        MPI_Get_accumulate(BUFFER(data), *count, *type, BUFFER(result), *n, *result_type, *rank,
                           *where, *m, *target, *op, *win))
FORTRAN(rget_accumulate,
        (const void *data, int *count, int *type, void *result, int *n, int *result_type, int *rank,
         MPI_Aint *where, int *m, int *target, int *op, int *win, int *request, int *ierr),
        MPI_Rget_accumulate(BUFFER(data), *count, *type, BUFFER(result), *n, *result_type, *rank,
                            *where, *m, *target, *op, *win, request))
FORTRAN(compare_and_swap,
        (const void *data, const void *compare, void *result, int *type, int *rank, MPI_Aint *where,
         int *win, int *ierr),
        MPI_Compare_and_swap(BUFFER(data), BUFFER(compare), BUFFER(result), *type, *rank, *where,
                             *win))
FORTRAN(win_create_dynamic, (int *info, int *comm, int *win, int *ierr),
        MPI_Win_create_dynamic(*info, *comm, win))
FORTRAN(win_attach, (int *win, void *base, MPI_Aint *size, int *ierr),
        MPI_Win_attach(*win, base, *size))
FORTRAN(win_detach, (int *win, void *base, int *ierr), MPI_Win_detach(*win, base))
FORTRAN(win_get_group, (int *win, int *group, int *ierr), MPI_Win_get_group(*win, group))
FORTRAN(win_set_info, (int *win, int *info, int *ierr), MPI_Win_set_info(*win, *info))
FORTRAN(win_get_info, (int *win, int *info, int *ierr), MPI_Win_get_info(*win, info))
FORTRAN(win_test, (int *win, int *flag, int *ierr), MPI_Win_test(*win, flag))
