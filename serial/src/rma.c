/* Accesses to windows on one's own memory. Every access is done when it is called, so that
 * synchronisation has nothing to wait for; it is checked that the target lies within the window. */
#include "window.h"

#include <stdlib.h>

/* ---- accesses -------------------------------------------------------------------------------- */

/* Where `count` elements of type at `displacement` of the target lie; NULL and an error raised when
 * that is not within the window. */
static void *target(const char *function, MPI_Win win, int rank, MPI_Aint displacement, int count,
                    MPI_Datatype handle, int *rc) {
    const serial_win *w = serial_win_at(win);
    const serial_type *type = serial_type_at(handle);
    *rc = !w          ? serial_error(0, MPI_ERR_WIN, function, "no valid window (handle %d)", win)
          : rank != 0 ? serial_win_error(win, MPI_ERR_RANK, function, "the only rank is 0")
          : !type     ? serial_win_error(win, MPI_ERR_TYPE, function, "no valid datatype")
          : count < 0 ? serial_win_error(win, MPI_ERR_COUNT, function, "negative count")
                      : MPI_SUCCESS;
    if (*rc != MPI_SUCCESS)
        return NULL;
    if (w->flavor == MPI_WIN_FLAVOR_DYNAMIC)
        return (void *)displacement;
    MPI_Aint first = displacement * w->unit + type->true_lb,
             last = displacement * w->unit + (count - 1) * (type->ub - type->lb) + type->true_ub;
    if (count > 0 && type->size && (first < 0 || last > w->size)) {
        *rc = serial_win_error(win, MPI_ERR_RMA_RANGE, function,
                               "the target does not lie within the window");
        return NULL;
    }
    return w->base + displacement * w->unit;
}

int MPI_Put(const void *data, int count, MPI_Datatype type, int rank, MPI_Aint displacement,
            int target_count, MPI_Datatype target_type, MPI_Win win) {
    int rc;
    if (rank == MPI_PROC_NULL)
        return MPI_SUCCESS;
    void *to = target("MPI_Put", win, rank, displacement, target_count, target_type, &rc);
    return rc == MPI_SUCCESS
               ? serial_transfer(0, "MPI_Put", data, count, type, to, target_count, target_type)
               : rc;
}

int MPI_Get(void *data, int count, MPI_Datatype type, int rank, MPI_Aint displacement,
            int target_count, MPI_Datatype target_type, MPI_Win win) {
    int rc;
    if (rank == MPI_PROC_NULL)
        return MPI_SUCCESS;
    const void *from = target("MPI_Get", win, rank, displacement, target_count, target_type, &rc);
    return rc == MPI_SUCCESS
               ? serial_transfer(0, "MPI_Get", from, target_count, target_type, data, count, type)
               : rc;
}

/* target = data op target, element by element: both sides as runs of one predefined type. */
static int accumulate(const char *function, const void *data, int count, MPI_Datatype type,
                      void *to, int target_count, MPI_Datatype target_type, MPI_Op op,
                      MPI_Win win) {
    const serial_type *from_type = serial_type_at(type), *to_type = serial_type_at(target_type);
    if (op == MPI_NO_OP)
        return MPI_SUCCESS;
    if (op == MPI_REPLACE)
        return serial_transfer(0, function, data, count, type, to, target_count, target_type);
    MPI_Datatype element = target_type;
    while (!serial_type_at(element)->predefined && serial_type_at(element)->ntypes)
        element = serial_type_at(element)->types[0];
    const serial_type *e = serial_type_at(element);
    size_t bytes = to_type->size * (size_t)target_count;
    if (!from_type || to_type->kind == KIND_NONE || from_type->size * (size_t)count != bytes ||
        e->size == 0)
        return serial_win_error(win, MPI_ERR_TYPE, function,
                                "the types are not runs of one predefined type, or differ in size");
    /* packed, and as the operation wants elements: pairs have gaps */
    const size_t n = bytes / e->size, spread = n * (size_t)(e->ub - e->lb);
    char *packed = serial_memory(bytes), *mine = serial_memory(spread),
         *theirs = serial_memory(spread);
    serial_pack(from_type, data, count, packed);
    serial_unpack(e, packed, bytes, mine, (long long)n);
    serial_pack(to_type, to, target_count, packed);
    serial_unpack(e, packed, bytes, theirs, (long long)n);
    int rc = serial_reduce(op, mine, theirs, (int)n, element)
                 ? MPI_SUCCESS
                 : serial_win_error(win, MPI_ERR_OP, function,
                                    "the operation is not defined on the type");
    if (rc == MPI_SUCCESS) {
        serial_pack(e, theirs, (long long)n, packed);
        serial_unpack(to_type, packed, bytes, to, target_count);
    }
    free(packed);
    free(mine);
    free(theirs);
    return rc;
}

int MPI_Accumulate(const void *data, int count, MPI_Datatype type, int rank, MPI_Aint displacement,
                   int target_count, MPI_Datatype target_type, MPI_Op op, MPI_Win win) {
    int rc;
    if (rank == MPI_PROC_NULL)
        return MPI_SUCCESS;
    void *to = target("MPI_Accumulate", win, rank, displacement, target_count, target_type, &rc);
    return rc == MPI_SUCCESS ? accumulate("MPI_Accumulate", data, count, type, to, target_count,
                                          target_type, op, win)
                             : rc;
}

int MPI_Get_accumulate(const void *data, int count, MPI_Datatype type, void *result,
                       int result_count, MPI_Datatype result_type, int rank, MPI_Aint displacement,
                       int target_count, MPI_Datatype target_type, MPI_Op op, MPI_Win win) {
    int rc = MPI_Get(result, result_count, result_type, rank, displacement, target_count,
                     target_type, win);
    if (rc != MPI_SUCCESS || op == MPI_NO_OP)
        return rc;
    return MPI_Accumulate(data, count, type, rank, displacement, target_count, target_type, op,
                          win);
}

int MPI_Fetch_and_op(const void *data, void *result, MPI_Datatype type, int rank,
                     MPI_Aint displacement, MPI_Op op, MPI_Win win) {
    return MPI_Get_accumulate(data, 1, type, result, 1, type, rank, displacement, 1, type, op, win);
}

int MPI_Compare_and_swap(const void *data, const void *compare, void *result, MPI_Datatype type,
                         int rank, MPI_Aint displacement, MPI_Win win) {
    int rc;
    if (rank == MPI_PROC_NULL)
        return MPI_SUCCESS;
    void *to = target("MPI_Compare_and_swap", win, rank, displacement, 1, type, &rc);
    if (rc != MPI_SUCCESS)
        return rc;
    size_t bytes = serial_type_at(type)->size;
    memcpy(result, to, bytes);
    if (memcmp(to, compare, bytes) == 0)
        memcpy(to, data, bytes);
    return MPI_SUCCESS;
}

int MPI_Rput(const void *data, int count, MPI_Datatype type, int rank, MPI_Aint displacement,
             int target_count, MPI_Datatype target_type, MPI_Win win, MPI_Request *request) {
    return serial_request_done(
        request, MPI_Put(data, count, type, rank, displacement, target_count, target_type, win));
}

int MPI_Rget(void *data, int count, MPI_Datatype type, int rank, MPI_Aint displacement,
             int target_count, MPI_Datatype target_type, MPI_Win win, MPI_Request *request) {
    return serial_request_done(
        request, MPI_Get(data, count, type, rank, displacement, target_count, target_type, win));
}

int MPI_Raccumulate(const void *data, int count, MPI_Datatype type, int rank, MPI_Aint displacement,
                    int target_count, MPI_Datatype target_type, MPI_Op op, MPI_Win win,
                    MPI_Request *request) {
    return serial_request_done(request, MPI_Accumulate(data, count, type, rank, displacement,
                                                       target_count, target_type, op, win));
}

int MPI_Rget_accumulate(const void *data, int count, MPI_Datatype type, void *result,
                        int result_count, MPI_Datatype result_type, int rank, MPI_Aint displacement,
                        int target_count, MPI_Datatype target_type, MPI_Op op, MPI_Win win,
                        MPI_Request *request) {
    return serial_request_done(request, MPI_Get_accumulate(data, count, type, result, result_count,
                                                           result_type, rank, displacement,
                                                           target_count, target_type, op, win));
}

/* ---- synchronisation: nothing to wait for ---------------------------------------------------- */

static int nothing(const char *function, MPI_Win win, int rank) {
    CHECK_WIN(w, win, function);
    (void)w;
    return rank == 0 || rank == MPI_PROC_NULL
               ? MPI_SUCCESS
               : serial_win_error(win, MPI_ERR_RANK, function, "the only rank is 0");
}

int MPI_Win_fence(int assert, MPI_Win win) {
    (void)assert;
    return nothing("MPI_Win_fence", win, 0);
}

int MPI_Win_start(MPI_Group group, int assert, MPI_Win win) {
    (void)group, (void)assert;
    return nothing("MPI_Win_start", win, 0);
}

int MPI_Win_complete(MPI_Win win) {
    return nothing("MPI_Win_complete", win, 0);
}

int MPI_Win_post(MPI_Group group, int assert, MPI_Win win) {
    (void)group, (void)assert;
    return nothing("MPI_Win_post", win, 0);
}

int MPI_Win_wait(MPI_Win win) {
    return nothing("MPI_Win_wait", win, 0);
}

int MPI_Win_test(MPI_Win win, int *flag) {
    *flag = 1;
    return nothing("MPI_Win_test", win, 0);
}

int MPI_Win_lock(int type, int rank, int assert, MPI_Win win) {
    (void)type, (void)assert;
    return nothing("MPI_Win_lock", win, rank);
}

int MPI_Win_unlock(int rank, MPI_Win win) {
    return nothing("MPI_Win_unlock", win, rank);
}

int MPI_Win_lock_all(int assert, MPI_Win win) {
    (void)assert;
    return nothing("MPI_Win_lock_all", win, 0);
}

int MPI_Win_unlock_all(MPI_Win win) {
    return nothing("MPI_Win_unlock_all", win, 0);
}

int MPI_Win_flush(int rank, MPI_Win win) {
    return nothing("MPI_Win_flush", win, rank);
}

int MPI_Win_flush_all(MPI_Win win) {
    return nothing("MPI_Win_flush_all", win, 0);
}

int MPI_Win_flush_local(int rank, MPI_Win win) {
    return nothing("MPI_Win_flush_local", win, rank);
}

int MPI_Win_flush_local_all(MPI_Win win) {
    return nothing("MPI_Win_flush_local_all", win, 0);
}

int MPI_Win_sync(MPI_Win win) {
    return nothing("MPI_Win_sync", win, 0);
}
